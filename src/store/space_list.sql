-- $1 the registrations that count for the caller, $2 whether it sees everything.
select s.slug, s.name
from me.space as s
where $2 or exists (select from me.space_member as m where m.space = s.slug and m.principal_id = any ($1))
order by s.created_at desc, s.slug
