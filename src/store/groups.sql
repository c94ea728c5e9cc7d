-- $1 this cluster, $2 the roles a caller inherits from, $3 their names: their registrations.
-- One row at a time, so that the planner looks each up instead of reading every principal.
select found.id
from unnest($2, $3) as r (role, name)
cross join lateral (
  select p.id from me.principal as p where p.cluster = $1 and p.role_oid = r.role
  union all
  select p.id from me.principal as p where p.name = r.name and p.cluster <> $1 and p.role_oid is not null
  limit 1
) as found
