-- $1 the caller's role, $2 this cluster, $3 its registration or null, $4 the one space to look at or null.
-- The trees the caller may read, space by space, where it is admitted.
with mine as materialized (
  select p.id
  from me.principal as p
  left join pg_catalog.pg_roles as r
    on case when p.cluster = $2 then r.oid = p.role_oid else r.rolname = p.name end
  where p.id = $3
    or (p.role_oid is not null and r.oid is not null and pg_catalog.pg_has_role($1, r.oid, 'USAGE'))
)
select g.space, g.tree::text, g.level
from me.tree_grant as g
join mine on mine.id = g.principal_id
where ($4 is null or g.space = $4)
  and exists (
    select from me.space_member as s join mine on mine.id = s.principal_id where s.space = g.space)
order by g.space, g.tree
