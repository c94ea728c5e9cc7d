-- $1 this cluster. Spaces that only a superuser can manage, and grants that nobody can use.
select 'warning', pg_catalog.format('space %s has no admin whose role exists', s.slug),
  pg_catalog.format('As a superuser: me.space_member_add(''…'', admin => true, space => %L).', s.slug)
from me.space as s
where not exists (
  select from me.space_member as m
  join me.principal as p on p.id = m.principal_id
  left join pg_catalog.pg_authid as r
    on p.role_oid is not null and case when p.cluster = $1 then r.oid = p.role_oid else r.rolname::text = p.name end
  where m.space = s.slug and m.admin and (p.role_oid is null or r.oid is not null))
union all
select 'warning', pg_catalog.format('space %s: %s grants are of principals that are not on its roster', g.space, pg_catalog.count(*)),
  pg_catalog.format('Admit them with me.space_member_add(…, space => %L), or take the grants back with me.access_revoke().', g.space)
from me.tree_grant as g
join me.principal as p on p.id = g.principal_id
left join pg_catalog.pg_authid as r
  on p.role_oid is not null and case when p.cluster = $1 then r.oid = p.role_oid else r.rolname::text = p.name end
where not exists (
  select from me.space_member as m
  join me.principal as h on h.id = m.principal_id
  left join pg_catalog.pg_authid as o
    on h.role_oid is not null and case when h.cluster = $1 then o.oid = h.role_oid else o.rolname::text = h.name end
  where m.space = g.space
    and (m.principal_id = g.principal_id
      or r.oid is not null and o.oid is not null and pg_catalog.pg_has_role(r.oid, o.oid, 'USAGE')
      or p.role_oid is null and exists (
        select from me.group_member as x where x.member_id = p.id and x.group_id = m.principal_id)))
group by g.space
order by 2
