-- A session that plants look-alikes of everything our statements name, and calls that switch identities: no answer
-- changes, and the caller stays who it was.
begin;
set local client_min_messages = warning;
create role hostile_role;
create role hostile_definer;
grant create on database :"DBNAME" to hostile_role;
select me.space_create('target') is not null as made;
set local me.space = 'target';
select me.memory_create('readable', '/share/a', name => 'one', meta => '{"k": 1}') is not null as made;
select me.memory_create('hidden', '/vault/a', name => 'two') is not null as made;
select me.access_grant('hostile_role', '/share', 'write') is not null as made;

-- What the role sees, as one text.
create schema probe;
grant usage on schema probe to public;
-- Parsed once, under the path of now: what runs under a hostile path later are the calls alone.
create function probe.answers() returns text language sql begin atomic
  select pg_catalog.concat_ws(E'\n',
    me.memory_get_by_path('/share/a/one') - '{id,createdAt,updatedAt}'::text[],
    me.memory_count('/share') , me.memory_count('*'),
    me.memory_tree(),
    (select pg_catalog.string_agg(m.content, ',' order by m.content) from me.memories as m where m.space = 'target'),
    (select pg_catalog.count(*) from me.memory_events as e where e.content in ('readable', 'hidden')),
    me.memory_context() - 'space' #- '{principal,id}',
    me.space_list(), me.access_list('hostile_role') #- '{grants,0,grantedAt}' #- '{grants,1,grantedAt}',
    me.memory_create('new', '/share/b', temporal => '{"start": "2025-01-01T00:00:00Z"}') ->> 'tree',
    me.memory_delete_tree('/share/b', false),
    me.memory_batch_create('[{"content": "x", "tree": "/share/c"}]') -> 'results' #> '{0,status}',
    me.memory_delete_tree('/share/c', false));
end;
set local role hostile_role;
create temp table before as select probe.answers() as answers;
select answers ~ 'readable' as readable, answers ~ 'hidden' as hidden, length(answers) > 400 as much from before;

-- Tables and views of ours, in pg_temp.
do $$
declare t text;
begin
  for t in select relname from pg_class where relnamespace = 'me'::regnamespace and relkind in ('r', 'v') loop
    execute format('create temp table %I (x int)', t);
  end loop;
end $$;
-- The server's functions and operators on the types we use, in a schema that comes first.
create schema evil;
do $$
declare f record; n int := 0;
begin
  for f in
    select p.proname, p.oid::regprocedure as signature, p.prorettype::regtype as result,
      (select string_agg(t::regtype::text, ', ' order by o) from unnest(p.proargtypes::oid[]) with ordinality as a (t, o))
        as arguments
    from pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and not p.proretset and p.pronargs > 0
      and p.provariadic = 0
      and p.proargtypes::oid[] <@ array[
        'text', 'text[]', 'uuid', 'bytea', 'bool', 'int4', 'int8', 'int2', 'oid', 'timestamptz', 'tstzrange', 'jsonb',
        'name', 'float8']::regtype[]::oid[]
      and p.prorettype = any (array[
        'text', 'uuid', 'bytea', 'bool', 'int4', 'int8', 'jsonb', 'timestamptz', 'tstzrange', 'name',
        'float8']::regtype[]::oid[])
  loop
    execute format(
      'create function evil.%I(%s) returns %s language plpgsql as %L',
      f.proname, f.arguments, f.result,
      format('begin raise exception using errcode = ''ZZ001'', message = %L; end', f.signature || ' was called'));
    n := n + 1;
  end loop;
  perform set_config('probe.functions', (n > 300)::text, true);
end $$;
do $$
declare o record; n int := 0;
begin
  for o in
    select p.oprname, p.oprleft::regtype as l, p.oprright::regtype as r, f.proname
    from pg_operator as p join pg_proc as f on f.oid = p.oprcode
    join pg_proc as e on e.pronamespace = 'evil'::regnamespace and e.proname = f.proname
      and e.proargtypes = f.proargtypes
    where p.oprnamespace = 'pg_catalog'::regnamespace and p.oprkind = 'b' and p.oprcanhash is not null
  loop
    execute format('create operator evil.%s (function = evil.%I, leftarg = %s, rightarg = %s)',
      o.oprname, o.proname, o.l, o.r);
    n := n + 1;
  end loop;
  perform set_config('probe.operators', (n > 50)::text, true);
end $$;
select current_setting('probe.functions') as many_functions, current_setting('probe.operators') as many_operators;
-- Those of ltree too.
do $$
declare o record; home text;
begin
  select n.nspname into home from pg_extension as x join pg_namespace as n on n.oid = x.extnamespace
  where x.extname = 'ltree';
  execute format($f$
    create function evil.never(%1$I.ltree, %1$I.ltree) returns bool language plpgsql as
    $b$begin raise exception using errcode = 'ZZ001', message = 'a planted ltree operator was called'; end$b$;
    create operator evil.<@ (function = evil.never, leftarg = %1$I.ltree, rightarg = %1$I.ltree);
    create operator evil.@> (function = evil.never, leftarg = %1$I.ltree, rightarg = %1$I.ltree);
    create operator evil.= (function = evil.never, leftarg = %1$I.ltree, rightarg = %1$I.ltree)$f$, home);
end $$;

-- The look-alikes work: a plain statement of the session runs into them.
savepoint planted;
set local search_path = evil, pg_temp, public, pg_catalog;
select lower('A'::text);
rollback to planted;
create function pg_temp.changed(path text) returns boolean language plpgsql as $$
declare found text;
begin
  perform pg_catalog.set_config('search_path', path, true);
  found := probe.answers();
  perform pg_catalog.set_config('search_path', 'pg_catalog', true);
  return found is distinct from (select b.answers from before as b);
end $$;
-- The macros and kept plans of this session, and then of one that plans everything anew.
select path, pg_temp.changed(path)
from (values ('evil, pg_temp, public, pg_catalog'), ('pg_temp, evil'), ('pg_temp, me, pg_catalog'), ('evil, me'), (''))
  as p (path);
discard plans;
select path, pg_temp.changed(path)
from (values ('evil, pg_temp, public, pg_catalog'), ('pg_temp, evil'), ('evil, me'), (''))
  as p (path);

-- Every function that anybody may call, called with nothing, with nonsense and with something plausible, in a block
-- that catches the error: the role, its rights and its settings are afterwards what they were before.
create function pg_temp.identity() returns text language sql as $$
  select pg_catalog.concat_ws(' ', session_user, current_user, pg_catalog.current_setting('role'),
    pg_catalog.current_setting('is_superuser'), pg_catalog.current_setting('search_path'),
    pg_catalog.has_table_privilege('me.memory', 'select'))
$$;
create temp table attempts (function text, way text, outcome text);
create function pg_temp.attempt() returns void language plpgsql as $$
declare
  f record; way text; args text; was text := pg_temp.identity();
begin
  for f in
    select p.proname, p.proargtypes::oid[] as types, p.proretset
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'me'::regnamespace and has_function_privilege(p.oid, 'execute')
    order by p.proname
  loop
    foreach way in array array['null', 'empty', 'odd', 'plausible'] loop
      select string_agg(
        case
          when way = 'null' then 'null'
          when t = 'text'::regtype and way = 'empty' then ''''''
          when t = 'text'::regtype and way = 'odd' then quote_literal(E'~/\n''";--')
          when t = 'text'::regtype then '''/share/a'''
          when t = 'jsonb'::regtype and way = 'odd' then '''[null]'''
          when t = 'jsonb'::regtype then '''{}'''
          when t = 'uuid'::regtype then '''01890000-0000-7000-8000-000000000001'''
          when t = 'text[]'::regtype and way = 'odd' then '''{null}'''
          when t = 'text[]'::regtype then '''{}'''
          when t = 'real[]'::regtype then '''{1}'''
          when t = 'bool'::regtype then 'true'
          when t = 'timestamptz'::regtype then '''2025-01-01'''
          when t in ('int4'::regtype, 'int8'::regtype, 'float8'::regtype) and way = 'odd' then '-1'
          when t in ('int4'::regtype, 'int8'::regtype, 'float8'::regtype) then '1'
          else 'null' end || '::' || t::regtype, ', ' order by o)
      into args from unnest(f.types) with ordinality as a (t, o);
      begin
        execute format('select * from me.%I(%s)', f.proname, coalesce(args, ''));
        insert into pg_temp.attempts values (f.proname, way, 'answered');
        raise exception using errcode = 'ZZ002';
      exception
        when sqlstate 'ZZ002' then null;
        when others then insert into pg_temp.attempts values (f.proname, way, sqlstate);
      end;
      if pg_temp.identity() is distinct from was then
        raise exception 'me.%(%) left % where % was', f.proname, args, pg_temp.identity(), was;
      end if;
    end loop;
  end loop;
end $$;
select pg_temp.attempt();
-- Nobody was answered by our fault.
select distinct outcome from attempts where outcome not in ('22023', 'P0002', '42501', '55000', '23505', '22P02')
order by outcome;
select count(distinct function) > 20 as many, count(*) filter (where outcome <> 'answered') > 40 as refused
from attempts;
reset role;

-- A function of the user's own that is SECURITY DEFINER acts as its owner, and only while it runs.
create function probe.whoami() returns text language sql as $$ select me.memory_context() #>> '{principal,name}' $$;
create function probe.definer() returns text language sql security definer
  set search_path = pg_catalog, pg_temp as $$ select me.memory_context() #>> '{principal,name}' $$;
alter function probe.definer() owner to hostile_definer;
select me.access_grant('hostile_definer', '/vault', 'read') is not null as made;
set local role hostile_role;
select probe.whoami(), probe.definer(), probe.whoami();
reset role;
set local session authorization hostile_role;
select probe.whoami(), probe.definer();
reset session authorization;
-- A view answers for whoever reads it, also when another one made it.
create view probe.seen as select content from me.memories where space = 'target';
alter view probe.seen owner to hostile_definer;
grant select on probe.seen to hostile_role;
set local role hostile_role;
select * from probe.seen;
reset role;
rollback;
