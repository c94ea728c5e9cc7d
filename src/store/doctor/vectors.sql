-- Memories that no model has vectors of and that nothing waits or was given up for; and what is left of gone ones.
select 'warning',
  pg_catalog.format('space %s: %s memories have no vector of model %s, and none is on its way', u.space, n.missing, u.model),
  pg_catalog.format('Call me.embedding_model_use(%L, space => %L): it queues what is missing.', u.model, u.space)
from me.embedding_use as u
join me.embedding_model as l on l.name = u.model and l.provider <> 'manual'
cross join lateral (
  select pg_catalog.count(*) as missing
  from me.memory as m
  where m.space = u.space
    and not exists (
      select from me.embedded as e
      where e.space = m.space and e.memory_id = m.id and e.model = u.model and e.content_version = m.content_version)
    and not exists (
      select from me.embedding_queue as q
      where q.space = m.space and q.memory_id = m.id and q.model = u.model and q.content_version = m.content_version
        and (q.outcome is null or q.outcome = 'failed'))
) as n
where n.missing > 0
union all
select 'warning', pg_catalog.format('%s notes of vectors are of memories that are gone', o.orphans),
  'Delete them: DELETE FROM me.embedded AS e WHERE NOT EXISTS (SELECT FROM me.memory AS m WHERE m.space = e.space AND m.id = e.memory_id).'
from (
  select pg_catalog.count(*) as orphans from me.embedded as e
  where not exists (select from me.memory as m where m.space = e.space and m.id = e.memory_id)
) as o
where o.orphans > 0
order by 2
