-- What waits longer than it should, and what was given up.
select case when q.waited > interval '1 hour' then 'error' else 'warning' end,
  pg_catalog.format('space %s: %s entries wait, the oldest for %s minutes%s', s.slug, q.pending,
    pg_catalog.floor(extract(epoch from q.waited) / 60), coalesce(': ' || e.last_error, '')),
  'See "When the queue does not drain" in docs/embeddings.md; me.embedding_status() has the details.'
from me.space as s
cross join lateral (
  select pg_catalog.count(*) as pending, pg_catalog.clock_timestamp() - pg_catalog.min(w.created_at) as waited
  from me.embedding_queue as w
  join me.embedding_model as m on m.name = w.model and m.provider <> 'manual'
  where w.space = s.slug and w.outcome is null
) as q
left join lateral (
  select l.last_error from me.embedding_queue as l
  where l.space = s.slug and l.outcome is null and l.last_error is not null
  order by l.id desc limit 1
) as e on true
where q.waited > interval '5 minutes'
union all
select 'warning',
  pg_catalog.format('space %s: %s entries were given up%s', f.space, f.failed, coalesce(': ' || f.last_error, '')),
  'When the cause is gone, call me.embedding_retry().'
from (
  select p.space, pg_catalog.count(*) as failed,
    (pg_catalog.array_agg(p.last_error order by p.id desc))[1] as last_error
  from me.embedding_queue as p
  where p.outcome = 'failed'
    and exists (select from me.embedding_use as u where u.space = p.space and u.model = p.model)
    and exists (
      select from me.memory as m
      where m.space = p.space and m.id = p.memory_id and m.content_version = p.content_version)
  group by p.space
) as f
order by 2
