-- $1 space, $2 ids that move, $3 source, $4 destination: the first slot that a row outside the move holds (MV-4, MV-5).
with moving as materialized (select g.id from unnest($2::uuid[]) as g (id))
select o.tree::text, o.name
from moving as g
join me.memory as m on m.space = $1 and m.id = g.id
join me.memory as o on o.space = $1 and o.name = m.name
  and o.tree operator({ltree}.=) me._rebased(m.tree::text, $3, $4)::{ltree}.ltree
where not exists (select from moving as s where s.id = o.id)
order by o.tree, o.name
limit 1
