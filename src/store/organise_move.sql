-- $8 ids, $9 trees, $10 names, $11 source, $12 destination. The rows are locked already. Names are set, not kept: a move
-- within the own subtree takes them away first, for slots are taken and left in no order. What moves comes in key order,
-- and rows are written in it (see store::owner::use_bulk_plans), so that two moves to one place wait for each other.
with changed as (
  update me.memory as m set
    tree = p.tree::{ltree}.ltree,
    name = p.name,
    version = m.version + 1,
    version_hash = me._version_hash(p.tree, p.name, m.meta, lower(m.temporal), upper(m.temporal), m.content),
    updated_at = pg_catalog.transaction_timestamp()
  from (
    select g.id, g.name, me._rebased(g.tree, $11, $12) as tree
    from (select unnest($8::uuid[]) as id, unnest($9::text[]) as tree, unnest($10::text[]) as name) as g
  ) as p
  where m.space = $1 and m.id = p.id
  returning m.id, m.tree, m.name, m.content, m.meta, m.temporal, m.version, m.content_version, m.version_hash,
    'update' as operation
),
