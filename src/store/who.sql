select s.slug is not null, p.id, p.kind = 'user'
from (values (true)) as one (row)
left join me.space as s on s.slug = $1
left join me.principal as p on p.cluster = $2 and p.role_oid = $3
