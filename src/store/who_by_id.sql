-- $1 space, $2 the caller's registration.
select s.id, s.name, p.id, p.kind, p.name
from (values (true)) as one (row)
left join me.space as s on s.slug = $1
left join me.principal as p on p.id = $2
