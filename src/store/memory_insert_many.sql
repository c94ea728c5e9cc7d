-- $1 space, $2 ids, $3 trees, $4 names, $5 contents, $6 metas, $7 starts, $8 ends, $9 version hashes, $10 who. The rows
-- come in key order, so that two batches with the same keys wait for each other instead of dying in a deadlock; unnested
-- side by side in the list of what is selected, they go one by one.
insert into me.memory as m (
  space, id, tree, name, content, meta, temporal, version, content_version, version_hash, created_at, created_by)
select
  $1, g.id, g.tree::{ltree}.ltree, g.name, g.content, g.meta, me._temporal(g.start, g."end"), 1, 1, g.version_hash,
  pg_catalog.transaction_timestamp(), $10
from (
  select unnest($2::uuid[]) as id, unnest($3::text[]) as tree, unnest($4::text[]) as name,
    unnest($5::text[]) as content, unnest($6::jsonb[]) as meta, unnest($7::timestamptz[]) as start,
    unnest($8::timestamptz[]) as "end", unnest($9::uuid[]) as version_hash
) as g
on conflict do nothing
returning m.id
