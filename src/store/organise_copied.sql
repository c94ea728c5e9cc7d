-- Follows the events of a copy. Vectors of the present content are copied along by store::embedding::copy_vectors, in
-- the same call: until then the lock keeps them as they are. What has none waits for them (CPY-3).
, vectors as (
  select s.id, s.new_id, s.content_version, e.model
  from source as s
  join me.embedded as e on e.space = $1 and e.memory_id = s.id and e.content_version = s.content_version
  for share of e
), noted as (
  insert into me.embedded (space, memory_id, model, content_version)
  select $1, v.new_id, v.model, 1 from vectors as v
), queued as (
  insert into me.embedding_queue (space, id, memory_id, content_version, model, vt, created_at)
  select $1, me._queue_id(), i.id, 1, u.model, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp()
  from inserted as i
  join me.embedding_use as u on u.space = $1
  where not exists (select from vectors as v where v.new_id = i.id and v.model = u.model)
), found as (
  select (select count(*) from source) as wanted, (select count(*) from inserted) as copied
), sources as (
  select pg_catalog.array_agg(d.id) as ids, pg_catalog.array_agg(d.new_id) as new_ids,
    pg_catalog.array_agg(d.content_version) as versions
  from (select distinct v.id, v.new_id, v.content_version from vectors as v) as d
)
-- How many rows were copied, the first slot that was taken, if one was, and which copies have vectors.
select f.copied, clash.new_tree, clash.name, s.ids, s.new_ids, s.versions
from found as f
cross join sources as s
left join lateral (
  select s.new_tree, s.name
  from source as s
  where f.copied < f.wanted and not exists (select from inserted as i where i.id = s.new_id)
  order by s.new_tree::{ltree}.ltree, s.name
  limit 1
) as clash on f.copied < f.wanted
