-- $1 the registrations that count for the caller, $2 the one space to look at or null.
-- The trees the caller may read, space by space, where it is admitted.
select g.space, g.tree::text, g.level
from me.tree_grant as g
where g.principal_id = any ($1)
  and ($2 is null or g.space = $2)
  and exists (select from me.space_member as s where s.space = g.space and s.principal_id = any ($1))
order by g.space, g.tree
