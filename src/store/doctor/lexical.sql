-- What the lexical index has not taken in, and what is missing in it. $1 how long a change may wait, in seconds,
-- $2 how many memories a page of ids holds.
select 'error',
  pg_catalog.format('space %s: the lexical index is damaged: segment %s has lost its memories', s.space, s.segment),
  pg_catalog.format('Call me.lexical_maintain(rebuild => true, space => %L), and then without rebuild until it is complete.', s.space)
from me.lexical_segment as s
where (select pg_catalog.count(*) from me.lexical_page as p where p.space = s.space and p.segment = s.segment and p.kind = 2)
  <> (s.memories + $2 - 1) / $2
union all
select 'warning',
  pg_catalog.format('space %s: %s memories wait for the lexical index, since %s: searches for common words are slow',
    w.space, w.memories, me._iso_millis(w.since)),
  pg_catalog.format('The worker takes them in by itself; without it call me.lexical_maintain(space => %L) until it is complete.', w.space)
from (
  select t.space, pg_catalog.count(distinct t.memory_id) as memories,
    -- The first 48 bits of an entry say when it was made, in milliseconds.
    pg_catalog.to_timestamp(min(('x' || left(pg_catalog.replace(t.entry::text, '-', ''), 12))::bit(48)::int8) / 1000.0) as since
  from me.lexical_tail as t group by t.space
) as w
where w.memories > 500 and w.since < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $1)
order by 2
