-- $1 name, $2 this cluster: the role of the name, whether it looks like a group, the registration of that role, and
-- the registration of the name.
select
  r.oid,
  not r.rolcanlogin and exists (select from pg_catalog.pg_auth_members as m where m.roleid = r.oid),
  held.id, held.kind,
  named.id, named.kind
from (values (true)) as one (row)
left join pg_catalog.pg_authid as r on r.rolname::text = $1
left join me.principal as held on held.cluster = $2 and held.role_oid = r.oid
left join me.principal as named on named.name = $1
