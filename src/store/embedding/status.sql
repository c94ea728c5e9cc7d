-- One object (EST-1, EST-2), with how fast the queue moves. filter.sql follows, with its $1 to $17; $18 now.
-- An error may quote what could not be embedded: it is told of what the caller may read, and of nothing else.
select pg_catalog.jsonb_build_object(
  'pending', p.pending,
  'inFlight', p.in_flight,
  'waiting', p.pending - p.in_flight,
  'failed', f.failed,
  'oldestPendingAt', me._iso_millis(p.oldest),
  'lastError', e.last_error,
  'perMinute', r.done,
  'estimatedSeconds', case when p.pending = 0 then 0 when r.done > 0 then pg_catalog.round(p.pending * 60.0 / r.done) end,
  'model', (select u.model from me.embedding_use as u where u.space = $1 and u.state = 'current'),
  'next', (
    select pg_catalog.jsonb_build_object(
      'model', u.model,
      'since', me._iso_millis(u.since),
      'done', (select pg_catalog.count(*) from me.embedded as d
        join me.memory as m on m.space = $1 and m.id = d.memory_id and m.content_version = d.content_version
        where d.space = $1 and d.model = u.model),
      'total', (select pg_catalog.count(*) from me.memory as m where m.space = $1))
    from me.embedding_use as u where u.space = $1 and u.state = 'next'))
from (
  select pg_catalog.count(*) as pending, pg_catalog.count(*) filter (where q.vt > $18) as in_flight,
    pg_catalog.min(q.created_at) as oldest
  from me.embedding_queue as q
  where q.space = $1 and q.outcome is null
) as p
cross join (
  select pg_catalog.count(*) as failed from me.embedding_queue as q
  where q.space = $1 and q.outcome = 'failed'
) as f
cross join (
  select pg_catalog.count(*) as done from me.embedding_queue as q
  where q.space = $1 and q.outcome = 'completed' and q.finished_at > $18 - pg_catalog.make_interval(mins => 1)
) as r
left join lateral (
  select q.last_error from me.embedding_queue as q
  join me.memory as m on m.space = q.space and m.id = q.memory_id
  where q.space = $1 and q.last_error is not null and (q.outcome is null or q.outcome = 'failed') and 