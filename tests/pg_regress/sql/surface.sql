-- What holds for every object of the extension. Each query names what breaks a rule: no row, no breach.

-- Everything is documented in the catalogue.
select p.proname as function_without_comment
from pg_proc as p
where p.pronamespace = 'me'::regnamespace and obj_description(p.oid, 'pg_proc') is null
order by 1;
select c.relname as relation_without_comment
from pg_class as c
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'v', 'p', 'm', 'f')
  and obj_description(c.oid, 'pg_class') is null
order by 1;
select c.relname, a.attname as column_without_comment
from pg_class as c
join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'v', 'p', 'm', 'f')
  and col_description(c.oid, a.attnum) is null
order by 1, 2;

-- Nothing that breaks a restore, a second database or a distribution.
select t.tgname as trigger from pg_trigger as t join pg_class as c on c.oid = t.tgrelid
where c.relnamespace = 'me'::regnamespace;
select c.relname as sequence from pg_class as c where c.relnamespace = 'me'::regnamespace and c.relkind = 'S';
select p.polname as policy from pg_policy as p join pg_class as c on c.oid = p.polrelid
where c.relnamespace = 'me'::regnamespace;
select k.conname as foreign_key from pg_constraint as k where k.connamespace = 'me'::regnamespace and k.contype = 'f';
select e.evtname as event_trigger from pg_event_trigger as e join pg_proc as p on p.oid = e.evtfoid
where p.pronamespace = 'me'::regnamespace;

-- Every table of the extension is in a dump of the database.
select c.relname as table_not_dumped
from pg_class as c
join pg_depend as d on d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e'
join pg_extension as e on e.oid = d.refobjid and e.extname = 'memory_engine'
where c.relkind in ('r', 'p') and c.oid <> all (coalesce(e.extconfig, '{}'))
order by 1;

-- The space leads the keys of every table that has one.
select c.relname, i.indexrelid::regclass as key_not_led_by_space
from pg_class as c
join pg_index as i on i.indrelid = c.oid and i.indisunique
join pg_attribute as a on a.attrelid = c.oid and a.attname = 'space'
where c.relnamespace = 'me'::regnamespace and i.indkey[0] <> a.attnum
order by 1, 2;

-- Arguments are named, optional, of plain types, and NULL means "not given".
create temporary view surface as
select p.oid, p.proname, p.proisstrict, p.provolatile, p.proparallel, p.prosecdef, p.pronargs, p.pronargdefaults,
  p.proargnames, p.proargtypes, p.prorettype
from pg_proc as p
where p.pronamespace = 'me'::regnamespace and p.proname not like '\_%';
select proname as overloaded from surface group by 1 having count(*) > 1;
select proname as strict from surface where proisstrict and pronargs > 0 order by 1;
select proname as argument_without_default from surface where pronargdefaults < pronargs order by 1;
select s.proname, a.name, a.type::regtype as type_not_of_the_surface
from surface as s, unnest(s.proargnames, s.proargtypes::oid[]) as a (name, type)
where a.type is not null and a.type::regtype::text <> all (array[
  'text', 'uuid', 'bigint', 'integer', 'double precision', 'boolean', 'timestamp with time zone', 'text[]', 'real[]',
  'jsonb'])
order by 1, 2;
select s.proname, a.type::regtype as result_not_of_the_surface
from surface as s,
  unnest(case s.prorettype when 'record'::regtype then
    (select p.proallargtypes from pg_proc as p where p.oid = s.oid) else array[s.prorettype] end) as a (type)
where a.type::regtype::text <> all (array[
  'text', 'uuid', 'bigint', 'integer', 'double precision', 'boolean', 'timestamp with time zone', 'text[]', 'real[]',
  'jsonb'])
order by 1, 2;
select proname as space_is_not_last
from surface
where 'space' = any (proargnames) and proargnames[pronargs] <> 'space'
order by 1;

-- What is volatile may write, so it runs in no parallel worker; what is immutable reads nothing, so it may.
select proname as volatile_but_parallel from surface where provolatile = 'v' and proparallel <> 'u' order by 1;
select proname as immutable_but_not_parallel from surface where provolatile = 'i' and proparallel <> 's' order by 1;

-- Nobody but the owner touches tables and internal functions; the views are barriers that all may read.
select proname as definer from surface where prosecdef;
select c.relname, x.privilege_type as granted_to_public
from pg_class as c, aclexplode(c.relacl) as x
where c.relnamespace = 'me'::regnamespace and x.grantee = 0 and c.relkind <> 'v'
order by 1, 2;
select c.relname as view_without_barrier
from pg_class as c
where c.relnamespace = 'me'::regnamespace and c.relkind = 'v'
  and 'security_barrier=true' <> all (coalesce(c.reloptions, '{}'))
order by 1;
select p.proname as internal_but_public
from pg_proc as p
where p.pronamespace = 'me'::regnamespace and p.proname like '\_%' and has_function_privilege('public', p.oid, 'execute')
order by 1;

-- Nothing in the schema that the extension does not own.
select p.proname as not_ours
from pg_proc as p
where p.pronamespace = 'me'::regnamespace
  and not exists (select from pg_depend as d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
order by 1;

-- The MCP tools are those functions: each is listed with a schema whose arguments the function has.
select t ->> 'name' as tool_without_function
from jsonb_array_elements(me.mcp_tools('memory')) as t
where not exists (select from surface as s where 'me_' || s.proname = t ->> 'name')
order by 1;
