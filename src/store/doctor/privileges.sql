-- Who may do in schema me what only the owner of the extension should.
select 'error', pg_catalog.format('%s may create objects in schema me', r.name),
  pg_catalog.format('REVOKE CREATE ON SCHEMA me FROM %s;', r.quoted)
from pg_catalog.pg_namespace as n
cross join lateral pg_catalog.aclexplode(n.nspacl) as a
cross join lateral (
  select case a.grantee when 0 then 'PUBLIC' else pg_catalog.pg_get_userbyid(a.grantee)::text end as name,
    case a.grantee when 0 then 'PUBLIC' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end as quoted
) as r
where n.nspname = 'me' and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
union all
select 'error', pg_catalog.format('%s may %s table me.%I past the functions', r.name, pg_catalog.lower(a.privilege_type), c.relname),
  pg_catalog.format('REVOKE %s ON me.%I FROM %s;', a.privilege_type, c.relname, r.quoted)
from pg_catalog.pg_class as c
cross join lateral pg_catalog.aclexplode(c.relacl) as a
cross join lateral (
  select case a.grantee when 0 then 'PUBLIC' else pg_catalog.pg_get_userbyid(a.grantee)::text end as name,
    case a.grantee when 0 then 'PUBLIC' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end as quoted
) as r
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p') and a.grantee <> c.relowner
union all
select 'error', pg_catalog.format('%s may drop extension %s, and memory_engine with it', pg_catalog.pg_get_userbyid(r.oid), x.extname),
  pg_catalog.format('REASSIGN OWNED BY %I TO %I;', pg_catalog.pg_get_userbyid(r.oid), pg_catalog.pg_get_userbyid(e.extowner))
from pg_catalog.pg_extension as e
join pg_catalog.pg_extension as x on x.extname in ('ltree', 'vector')
join pg_catalog.pg_namespace as n on n.oid = x.extnamespace
join pg_catalog.pg_roles as r on r.oid in (x.extowner, n.nspowner)
where e.extname = 'memory_engine' and not r.rolsuper and r.oid <> e.extowner and r.rolname <> 'pg_database_owner'
  and r.oid <> (select d.datdba from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database())
union all
select 'error', pg_catalog.format('everybody may call me.%I()', p.proname),
  pg_catalog.format('REVOKE EXECUTE ON FUNCTION me.%I FROM PUBLIC; and grant it by name.', p.proname)
from pg_catalog.pg_proc as p
cross join lateral pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as a
where p.pronamespace = 'me'::regnamespace and a.grantee = 0 and a.privilege_type = 'EXECUTE'
  and p.proname ~ '^(gateway_|api_key_|embedding_(claim|complete|fail|release|prune|retry|model_add|model_use|model_drop)$|principal_rebind$|space_create$|doctor$)'
union all
select 'error', pg_catalog.format('%s me.%I belongs to %s, not to the owner of the extension', o.what, o.name, pg_catalog.pg_get_userbyid(o.owner)),
  pg_catalog.format('ALTER %s me.%I OWNER TO %I;', pg_catalog.upper(o.what), o.name, pg_catalog.pg_get_userbyid(e.extowner))
from pg_catalog.pg_extension as e
cross join lateral (
  select 'table', c.relname, c.relowner from pg_catalog.pg_class as c
  where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p')
  union all
  select 'view', c.relname, c.relowner from pg_catalog.pg_class as c
  where c.relnamespace = 'me'::regnamespace and c.relkind = 'v'
  union all
  select 'function', p.proname, p.proowner from pg_catalog.pg_proc as p
  where p.pronamespace = 'me'::regnamespace and p.prokind = 'f'
) as o (what, name, owner)
where e.extname = 'memory_engine' and o.owner <> e.extowner
order by 2
