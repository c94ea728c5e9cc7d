-- $1 the caller's role, $2 this cluster, $3 its registration or null, $4 whether it sees everything.
with mine as materialized (
  select p.id
  from me.principal as p
  left join pg_catalog.pg_roles as r
    on case when p.cluster = $2 then r.oid = p.role_oid else r.rolname = p.name end
  where p.id = $3
    or (p.role_oid is not null and r.oid is not null and pg_catalog.pg_has_role($1, r.oid, 'USAGE'))
)
select s.slug, s.name
from me.space as s
where $4 or exists (
  select from me.space_member as m join mine on mine.id = m.principal_id where m.space = s.slug)
order by s.created_at desc, s.slug
