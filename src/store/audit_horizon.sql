-- The transactions of others that may have made events and not ended yet: whoever inserts an event holds this lock
-- before its id is made. A start that cannot be seen (of a prepared transaction, or where activity is not tracked)
-- counts as unknown. A backend whose activity is seen and that has no start is between transactions: what it made
-- has ended, and what it makes next is younger.
select
  pg_catalog.count(*) filter (
    where a.pid is null or a.xact_start is null and coalesce(a.state, 'disabled') = 'disabled'),
  pg_catalog.min(a.xact_start)
from pg_catalog.pg_locks as l
left join pg_catalog.pg_stat_activity as a on a.pid = l.pid
where l.locktype = 'relation'
  and l.database = (select d.oid from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database())
  and l.relation in ('me.memory_event'::pg_catalog.regclass, 'me.access_event'::pg_catalog.regclass)
  and l.mode = 'RowExclusiveLock'
  and l.granted
  and l.pid is distinct from pg_catalog.pg_backend_pid()
