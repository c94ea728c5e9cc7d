-- $1 name of an application user, $2 this cluster: its registration, and the roles it was put into as a group.
-- A superuser's privileges are no grants: such a role counts by its grants alone.
select p.id, p.role_oid is not null, coalesce(groups.roles, '{}')
from me.principal as p
left join lateral (
  select pg_catalog.array_agg(coalesce(here.oid, named.oid)) as roles
  from me.group_member as m
  join me.principal as g on g.id = m.group_id
  left join pg_catalog.pg_authid as here on g.cluster = $2 and here.oid = g.role_oid
  left join pg_catalog.pg_authid as named on g.cluster <> $2 and named.rolname::text = g.name
  where m.member_id = p.id and coalesce(here.oid, named.oid) is not null
) as groups on true
where p.name = $1
