-- $1 space, $2 model. Queues each memory that the model has no vectors of and that has no entry for this content:
-- not one that waits, and not one that failed (EMB-17). Each is looked up by its key (offset 0 keeps the planner from joining):
-- before the tables are analyzed it takes them for small and would compare all with all.
insert into me.embedding_queue (space, id, memory_id, content_version, model, vt, created_at)
select $1, me._queue_id(), m.id, m.content_version, $2, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp()
from me.memory as m
where m.space = $1
  and not exists (
    select from me.embedded as e
    where e.space = $1 and e.memory_id = m.id and e.model = $2 and e.content_version = m.content_version
    offset 0)
  and not exists (
    select from me.embedding_queue as q
    where q.space = $1 and q.memory_id = m.id and q.model = $2 and q.content_version = m.content_version
      and (q.outcome is null or q.outcome = 'failed')
    offset 0)
