-- $1 space, $2 the caller's role, $3 this cluster, $4 the caller's registration or null.
-- A principal counts when it is the caller or a role the caller inherits from.
with mine as materialized (
  select p.id, p.id = $4 as self
  from me.principal as p
  left join pg_catalog.pg_roles as r
    on case when p.cluster = $3 then r.oid = p.role_oid else r.rolname = p.name end
  where p.id = $4
    or (p.role_oid is not null and r.oid is not null and pg_catalog.pg_has_role($2, r.oid, 'USAGE'))
)
select
  exists (select from me.space_member as s join mine on mine.id = s.principal_id where s.space = $1),
  coalesce(pg_catalog.array_agg(g.tree::text order by g.tree, g.level), '{}'),
  coalesce(pg_catalog.array_agg(g.level order by g.tree, g.level), '{}')
from me.tree_grant as g
join mine on mine.id = g.principal_id
where g.space = $1
