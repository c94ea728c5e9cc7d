-- $1 space, $2 ids, $3 trees, $4 names of what moves, $5 source, $6 destination: the first slot that a row outside the
-- move holds (MV-4, MV-5).
select o.tree::text, o.name
from (select unnest($3::text[]) as tree, unnest($4::text[]) as name) as g
join me.memory as o on o.space = $1 and o.name = g.name
  and o.tree operator({ltree}.=) me._rebased(g.tree, $5, $6)::{ltree}.ltree
where o.id <> all ($2)
order by o.tree, o.name
limit 1
