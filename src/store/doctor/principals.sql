-- $1 this cluster.
select 'warning', pg_catalog.format('the role of principal %s is gone', p.name),
  pg_catalog.format('Take it off the rosters, or bind it to a role that was made anew: me.principal_rebind(%L, …).', p.name)
from me.principal as p
where p.role_oid is not null and p.cluster = $1
  and not exists (select from pg_catalog.pg_authid as r where r.oid = p.role_oid)
  and (exists (select from me.space_member as m where m.principal_id = p.id)
    or exists (select from me.tree_grant as g where g.principal_id = p.id))
order by 2
