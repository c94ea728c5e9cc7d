-- $1 space, $2 principal, $3 admin or null (keep; a new member is none). One row when something changed: whether the
-- member is new, and its flag.
with before as (
  select m.admin from me.space_member as m where m.space = $1 and m.principal_id = $2
), added as (
  insert into me.space_member as m (space, principal_id, admin, added_at)
  values ($1, $2, coalesce($3, false), pg_catalog.transaction_timestamp())
  on conflict (space, principal_id) do update set admin = $3
  where $3 is not null and m.admin <> $3
  returning m.admin
)
select not exists (select from before), a.admin from added as a
