-- $1 space, $2 this cluster, $3 the caller's role.
select s.id, s.name, p.id, p.kind, p.name
from (values (true)) as one (row)
left join me.space as s on s.slug = $1
left join me.principal as p on p.cluster = $2 and p.role_oid = $3
