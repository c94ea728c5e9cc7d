-- The parameters of event_insert.sql, but for the operation an array each. Unnested side by side in the list of what is
-- selected, they go row by row; in the list of what is selected from, they would be kept whole.
insert into me.memory_event (
  space, operation_id, cause, actor_id, actor_name, api_key_id, api_key_name,
  event_id, at, operation, memory_id, tree, version, content_version, name, meta, temporal, content, version_hash,
  salt, payload_digest, digest)
select
  $1, $2, $3, $4, $5, $6, $7,
  g.event_id, g.at, $10, g.memory_id, g.tree::{ltree}.ltree, g.version, g.content_version, g.name, g.meta,
  me._temporal(g.start, g."end"), g.content, g.version_hash, g.salt, g.payload_digest, g.digest
from (
  select unnest($8::uuid[]) as event_id, unnest($9::timestamptz[]) as at, unnest($11::uuid[]) as memory_id,
    unnest($12::text[]) as tree, unnest($13::int8[]) as version, unnest($14::int8[]) as content_version,
    unnest($15::text[]) as name, unnest($16::jsonb[]) as meta, unnest($17::timestamptz[]) as start,
    unnest($18::timestamptz[]) as "end", unnest($19::text[]) as content, unnest($20::uuid[]) as version_hash,
    unnest($21::bytea[]) as salt, unnest($22::bytea[]) as payload_digest, unnest($23::bytea[]) as digest
) as g
