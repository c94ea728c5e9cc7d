-- $1 space, $2 the registrations that count for the caller: their places on the roster, and their grants.
select null::text, null::int2, m.principal_id, m.admin
from me.space_member as m
where m.space = $1 and m.principal_id = any ($2)
union all
select g.tree::text, g.level, null::uuid, null::bool
from me.tree_grant as g
where g.space = $1 and g.principal_id = any ($2)
