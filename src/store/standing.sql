-- $1 space, $2 this cluster, $3 the caller's role or null, $4 its registration when it has no role or another
-- cluster's, $5 the roles it inherits from, $6 their names.
-- Who is asking, and all it may do in the space. A principal counts when it is the caller, or a role the caller
-- inherits from.
with self as materialized (
  select p.id, p.kind, p.name from me.principal as p where p.cluster = $2 and p.role_oid = $3
  union all
  select p.id, p.kind, p.name from me.principal as p where p.id = $4
  limit 1
), mine as materialized (
  select array(
    select s.id from self as s
    union all
    select p.id from me.principal as p where p.cluster = $2 and p.role_oid = any ($5)
    union all
    select p.id from me.principal as p where p.name = any ($6) and p.role_oid is not null and p.cluster <> $2
  ) as ids
)
select
  space.id,
  space.name,
  self.id,
  self.kind,
  self.name,
  mine.ids,
  roster.admitted,
  roster.admin,
  held.trees,
  held.levels
from mine
left join me.space as space on space.slug = $1
left join self on true
left join lateral (
  select
    count(*) > 0 as admitted,
    coalesce(bool_or(s.admin and (s.principal_id = self.id or self.kind is distinct from 'service')), false) as admin
  from me.space_member as s
  where s.space = $1 and s.principal_id = any (mine.ids)
) as roster on true
left join lateral (
  select
    coalesce(array_agg(g.tree::text), '{}') as trees,
    coalesce(array_agg(g.level), '{}') as levels
  from me.tree_grant as g
  where g.space = $1 and g.principal_id = any (mine.ids)
) as held on true
