-- $1 space, $2 this cluster. Whether a user manages the space: by an entry of its own, or by one of a group that it
-- inherits from. A role that nobody is a member of and that is not registered as something else acts for itself.
select exists (
  select
  from me.space_member as m
  join me.principal as p on p.id = m.principal_id
  left join pg_catalog.pg_authid as r
    on p.role_oid is not null
    and case when p.cluster = $2 then r.oid = p.role_oid else r.rolname::text = p.name end
  where m.space = $1 and m.admin and (
    (p.kind = 'user' and (p.role_oid is null or r.oid is not null))
    or (p.kind = 'group' and r.oid is not null and (
      exists (
        select from me.group_member as g join me.principal as u on u.id = g.member_id
        where g.group_id = p.id and u.kind = 'user')
      or exists (
        select
        from pg_catalog.pg_authid as x
        left join me.principal as u on u.cluster = $2 and u.role_oid = x.oid
        where x.oid <> r.oid
          and not x.rolsuper
          and case
            when u.id is not null then u.kind = 'user'
            else x.rolcanlogin or not exists (select from pg_catalog.pg_auth_members as a where a.roleid = x.oid) end
          and pg_catalog.pg_has_role(x.oid, r.oid, 'USAGE'))))
  )
)
