insert into me.principal (id, name, kind, role_oid, cluster, created_at)
values ($1, $2, $3, $4, $5, pg_catalog.transaction_timestamp())
on conflict do nothing
