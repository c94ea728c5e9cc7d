-- $1 space, $2 trees, $3 names, $4 ids: which row holds the slot, or else the id, of each item. No row is locked, for
-- none will change.
select g.item, h.id, h.by_slot
from unnest($2::text[], $3::text[], $4::uuid[]) with ordinality as g (tree, name, id, item)
cross join lateral (
  (select m.id, true as by_slot
    from me.memory as m
    where m.space = $1 and m.tree operator({ltree}.=) g.tree::{ltree}.ltree and m.name = g.name)
  union all
  (select m.id, false
    from me.memory as m
    where m.space = $1 and m.id = g.id)
  limit 1
) as h
