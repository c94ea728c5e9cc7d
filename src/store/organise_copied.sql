-- Follows the events of a copy. Joins go row by row (see store::owner::use_bulk_plans): what would ask for another
-- order is asked of hashed subplans.
-- The text index says of a copy what it says of its source, while content alone decides that.
, lexed as (
  insert into me.memory_lexeme (
    space, memory_id, piece, pieces, content_version, configuration, length, lexemes)
  select $1, s.new_id, l.piece, l.pieces, 1, l.configuration, l.length, l.lexemes
  from source as s
  join me.memory_lexeme as l on l.space = $1 and l.memory_id = s.id and l.content_version = s.content_version
  where $12
), lexical_noted as (
  insert into me.lexical_tail (space, memory_id, entry, fresh)
  select $1, s.new_id, me._uuid_v7(), true from source as s where $12
),
-- Vectors of the present content are copied along by store::embedding::copy_vectors, in the same call: until then the
-- lock keeps them as they are. What has none waits for them (CPY-3).
vectors as (
  select s.id, s.new_id, s.content_version, e.model
  from source as s
  join me.embedded as e on e.space = $1 and e.memory_id = s.id and e.content_version = s.content_version
  for share of e
), noted as (
  insert into me.embedded (space, memory_id, model, content_version)
  select $1, v.new_id, v.model, 1 from vectors as v
), queued as (
  insert into me.embedding_queue (space, id, memory_id, content_version, model, vt, created_at)
  select $1, me._queue_id(), s.new_id, 1, u.model, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp()
  from me.embedding_use as u
  join source as s on true
  where u.space = $1 and (s.new_id, u.model) not in (select v.new_id, v.model from vectors as v)
), found as (
  select (select count(*) from source) as wanted, (select count(*) from changed) as copied
), sources as (
  select pg_catalog.array_agg(d.id) as ids, pg_catalog.array_agg(d.new_id) as new_ids,
    pg_catalog.array_agg(d.content_version) as versions
  from (select distinct v.id, v.new_id, v.content_version from vectors as v) as d
)
-- How many rows were copied, the first slot that was taken, if one was, which copies have vectors, and which copies are
-- to be indexed.
select f.copied, clash.tree, clash.name, s.ids, s.new_ids, s.versions,
  case when not $12 then (select pg_catalog.array_agg(i.new_id) from source as i) end
from found as f
cross join sources as s
left join lateral (
  select me._rebased(s.tree::text, $10, $11) as tree, s.name
  from source as s
  where f.copied < f.wanted and s.new_id not in (select i.id from changed as i)
  order by s.tree, s.name
  limit 1
) as clash on f.copied < f.wanted
