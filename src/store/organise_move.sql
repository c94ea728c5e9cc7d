-- $8 ids, $9 names, $10 source, $11 destination. The rows are locked already. Names are set, not kept: a move within
-- the own subtree takes them away first, for slots are taken and left in no order. The ids come in key order, and
-- rows are written in it (see store::owner::use_row_order), so that two moves to one place wait for each other.
with moving as materialized (
  select o.id, g.name, me._rebased(o.tree::text, $10, $11) as tree
  from unnest($8::uuid[], $9::text[]) with ordinality as g (id, name, place)
  join me.memory as o on o.space = $1 and o.id = g.id
  order by g.place
), moved as (
  update me.memory as m set
    tree = p.tree::{ltree}.ltree,
    name = p.name,
    version = m.version + 1,
    version_hash = me._version_hash(p.tree, p.name, m.meta, lower(m.temporal), upper(m.temporal), m.content),
    updated_at = pg_catalog.transaction_timestamp()
  from moving as p
  where m.space = $1 and m.id = p.id
  returning m.*
), changed as (
  select m.*, 'update' as operation from moved as m
),
