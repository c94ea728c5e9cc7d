-- Everything the catalogue says about the extension, a row for each thing: what it is, how it is defined, and the
-- statement that makes it so. Columns, constraints and rows have no order here, object identifiers no part.
with member as (
  select d.classid, d.objid
  from pg_depend as d join pg_extension as e on e.oid = d.refobjid
  where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e' and e.extname = 'memory_engine'
),
ours as ( -- tables, indexes and views, with what hangs on them
  select c.*, quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = 'me' and (
    exists (select from member as m where m.classid = 'pg_class'::regclass and m.objid = c.oid)
    or exists (
      select from pg_index as i join member as m on m.classid = 'pg_class'::regclass and m.objid = i.indrelid
      where i.indexrelid = c.oid))
),
routine as (
  select p.*, p.oid::regprocedure::text as name
  from pg_proc as p join member as m on m.classid = 'pg_proc'::regclass and m.objid = p.oid
),
granted (what, acl, statement) as (
  select 'table ' || o.name, coalesce(o.relacl, acldefault('r', o.relowner)), 'table ' || o.name
  from ours as o where o.relkind in ('r', 'p', 'v', 'm')
  union all
  select 'sequence ' || o.name, coalesce(o.relacl, acldefault('s', o.relowner)), 'sequence ' || o.name
  from ours as o where o.relkind = 'S'
  union all
  select 'column ' || o.name || '.' || a.attname, a.attacl, 'table ' || o.name
  from ours as o join pg_attribute as a on a.attrelid = o.oid where a.attacl is not null
  union all
  select 'function ' || r.name, coalesce(r.proacl, acldefault('f', r.proowner)), 'function ' || r.name from routine as r
  union all
  select 'schema me', coalesce(n.nspacl, acldefault('n', n.nspowner)), 'schema me'
  from pg_namespace as n where n.nspname = 'me'
)
select 'table ' || o.name,
  concat_ws(' ', o.relkind, o.relpersistence, o.reloptions::text, o.relreplident,
    case when o.relrowsecurity then 'row security' end, 'owner ' || pg_get_userbyid(o.relowner)),
  case o.relkind when 'v' then 'create view ' || o.name || ' … (sql/200_views.sql)'
    else 'create table ' || o.name || ' (…);' end
from ours as o where o.relkind not in ('i', 'I')
union all
select 'column ' || o.name || '.' || a.attname,
  concat_ws(' ', format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
    'default ' || pg_get_expr(d.adbin, d.adrelid), nullif('collate ' || l.collname, 'collate default'),
    'storage ' || a.attstorage::text, 'compression ' || nullif(a.attcompression::text, ''), 'identity ' || nullif(a.attidentity::text, ''),
    'generated ' || nullif(a.attgenerated::text, ''), 'statistics ' || nullif(a.attstattarget, -1)),
  'alter table ' || o.name || ' add column ' || quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
    || ' …; or alter table ' || o.name || ' alter column ' || quote_ident(a.attname) || ' …;'
from ours as o join pg_attribute as a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_collation as l on l.oid = a.attcollation
where o.relkind not in ('i', 'I')
union all
select 'constraint ' || k.conname || ' on ' || o.name,
  pg_get_constraintdef(k.oid) || case when k.convalidated then '' else ' not valid' end,
  'alter table ' || o.name || ' add constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid) || ';'
from ours as o join pg_constraint as k on k.conrelid = o.oid
union all
select 'index ' || o.name,
  pg_get_indexdef(o.oid) || ' ' || concat_ws(' ', x.indisvalid, x.indisprimary, x.indisreplident, x.indisclustered),
  pg_get_indexdef(o.oid) || ';'
from ours as o join pg_index as x on x.indexrelid = o.oid
union all
select 'view ' || o.name, pg_get_viewdef(o.oid), 'create or replace view ' || o.name || ' … (sql/200_views.sql)'
from ours as o where o.relkind in ('v', 'm')
union all
select 'trigger ' || t.tgname || ' on ' || o.name, pg_get_triggerdef(t.oid), pg_get_triggerdef(t.oid) || ';'
from ours as o join pg_trigger as t on t.tgrelid = o.oid where not t.tgisinternal
union all
select 'policy ' || p.polname || ' on ' || o.name, pg_get_expr(p.polqual, p.polrelid), 'create policy …;'
from ours as o join pg_policy as p on p.polrelid = o.oid
union all
select 'function ' || r.name, pg_get_functiondef(r.oid) || ' owner ' || pg_get_userbyid(r.proowner),
  pg_get_functiondef(r.oid) || ';'
from routine as r where r.prokind = 'f'
union all
select 'aggregate ' || r.name,
  concat_ws(' ', g.aggtransfn, g.aggfinalfn, g.aggcombinefn, g.aggserialfn, g.aggdeserialfn, g.aggtranstype::regtype,
    g.aggkind, r.proparallel, r.provolatile, pg_get_function_result(r.oid), pg_get_userbyid(r.proowner)),
  'create aggregate ' || r.name || ' …;'
from routine as r join pg_aggregate as g on g.aggfnoid = r.oid
union all
select 'comment on ' || i.type || ' ' || i.identity, d.description,
  'comment on ' || i.type || ' ' || i.identity || ' is ' || quote_literal(d.description) || ';'
from pg_description as d
cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) as i
where exists (select from member as m where m.classid = d.classoid and m.objid = d.objoid)
  or d.classoid = 'pg_class'::regclass and d.objoid in (select o.oid from ours as o)
  or d.classoid = 'pg_namespace'::regclass and d.objoid = 'me'::regnamespace
  or d.classoid = 'pg_constraint'::regclass
    and d.objoid in (select k.oid from pg_constraint as k join ours as o on o.oid = k.conrelid)
union all
select 'right on ' || g.what || ' of ' || coalesce(nullif(a.grantee, 0)::regrole::text, 'public'),
  string_agg(a.privilege_type || case when a.is_grantable then '*' else '' end, ', ' order by a.privilege_type),
  'grant ' || string_agg(a.privilege_type, ', ' order by a.privilege_type) || ' on ' || g.statement || ' to '
    || coalesce(nullif(a.grantee, 0)::regrole::text, 'public')
    || '; (a new function: revoke all on function … from public;)'
from granted as g cross join lateral aclexplode(g.acl) as a
group by g.what, g.statement, a.grantee
union all
select 'initial right on ' || i.type || ' ' || i.identity || ' of ' || coalesce(nullif(a.grantee, 0)::regrole::text, 'public'),
  string_agg(a.privilege_type, ', ' order by a.privilege_type), 'the grant or revoke belongs into the script itself'
from pg_init_privs as p
cross join lateral pg_identify_object(p.classoid, p.objoid, p.objsubid) as i
cross join lateral aclexplode(p.initprivs) as a
where exists (select from member as m where m.classid = p.classoid and m.objid = p.objoid)
group by i.type, i.identity, a.grantee
union all
select 'member ' || i.type || ' ' || i.identity, 'member', 'alter extension memory_engine add ' || i.type || ' ' || i.identity || ';'
from member as m cross join lateral pg_identify_object(m.classid, m.objid, 0) as i
union all
select 'dump of ' || t.table_oid::regclass::text, t.condition,
  'select pg_catalog.pg_extension_config_dump(' || quote_literal(t.table_oid::regclass::text) || ', '
    || quote_literal(t.condition) || ');'
from pg_extension as e cross join lateral unnest(e.extconfig, e.extcondition) as t (table_oid, condition)
where e.extname = 'memory_engine'
union all
select 'extension', concat_ws(' ', e.extversion, e.extrelocatable, e.extnamespace::regnamespace::text, pg_get_userbyid(e.extowner)),
  'default_version in memory_engine.control'
from pg_extension as e where e.extname = 'memory_engine'
order by 1
