-- What holds for every object of schema me.
\a
\t on
\pset fieldsep ' | '
-- What should print nothing: overloads, strict or definer functions for callers, objects without a comment, triggers,
-- sequences, policies, tables a dump would leave empty.
select 'overloaded', proname from pg_proc where pronamespace = 'me'::regnamespace group by proname having count(*) > 1;
select 'strict', proname from pg_proc
where pronamespace = 'me'::regnamespace and proisstrict and proname !~ '^_';
select 'unpinned definer', proname from pg_proc
where pronamespace = 'me'::regnamespace and prosecdef
  and not exists (select from unnest(proconfig) as c where c ~ '^search_path=.*pg_temp"?$');
select 'no comment', p.oid::regprocedure from pg_proc as p
where p.pronamespace = 'me'::regnamespace and obj_description(p.oid, 'pg_proc') is null;
select 'no comment', c.oid::regclass from pg_class as c
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'v', 'p')
  and obj_description(c.oid, 'pg_class') is null;
select 'no comment', c.oid::regclass, a.attname from pg_class as c join pg_attribute as a on a.attrelid = c.oid
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'v', 'p') and a.attnum > 0 and not a.attisdropped
  and col_description(c.oid, a.attnum) is null;
select 'trigger', t.tgrelid::regclass from pg_trigger as t join pg_class as c on c.oid = t.tgrelid
where c.relnamespace = 'me'::regnamespace;
select 'sequence', oid::regclass from pg_class where relnamespace = 'me'::regnamespace and relkind = 'S';
select 'policy', polname from pg_policy as p join pg_class as c on c.oid = p.polrelid
where c.relnamespace = 'me'::regnamespace;
select 'not dumped', c.oid::regclass from pg_class as c, pg_extension as e
where e.extname = 'memory_engine' and c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p')
  and not coalesce(c.oid = any (e.extconfig), false);

-- A space lives whole on one node or in one partition: every key begins with it, but in the tables that every node has.
-- Replication finds every row by its key.
select 'key without the space', i.indexrelid::regclass
from pg_index as i join pg_class as c on c.oid = i.indrelid
left join pg_attribute as a on a.attrelid = c.oid and a.attnum = i.indkey[0]
where c.relnamespace = 'me'::regnamespace and (i.indisunique or i.indisexclusion) and a.attname is distinct from 'space'
  and c.relname not in ('api_key', 'embedding_model', 'gateway', 'group_member', 'principal', 'space');
select 'foreign key', conname from pg_constraint
where connamespace = 'me'::regnamespace and contype in ('f', 'x');
select 'no primary key', c.oid::regclass from pg_class as c
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p')
  and not exists (select from pg_index as i where i.indrelid = c.oid and i.indisprimary);

-- And by trying: an ordinary role can touch no table, and call nothing that is not for everybody.
begin;
create role surface_somebody;
set local role surface_somebody;
do $$
declare t text; what text;
begin
  for t in select c.oid::regclass from pg_class as c where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p') loop
    foreach what in array array[
      'select from %s', 'delete from %s', 'insert into %s default values', 'truncate %s', 'lock table %s',
      'alter table %s add column x int', 'drop table %s', 'create index on %s ((1))'] loop
      begin
        execute format(what, t);
        raise exception using errcode = 'ZZ000', message = format(what, t) || ' went through';
      exception
        when insufficient_privilege then null;
      end;
    end loop;
  end loop;
end $$;
do $$
declare f record; given text; arguments text;
begin
  for f in
    select p.oid::regproc as name, p.oid::regprocedure as signature, p.proargtypes
    from pg_proc as p
    where p.pronamespace = 'me'::regnamespace
      and not exists (select from aclexplode(p.proacl) as a where a.grantee = 0)
      -- One with an argument of type internal cannot be called by SQL at all.
      and not 'internal'::regtype = any (p.proargtypes::oid[])
  loop
    -- Not constants: a strict function of a null constant is not called at all.
    select
      coalesce(string_agg(format('null::%s as a%s', format_type(t.type, null), t.n), ', '), '1'),
      coalesce(string_agg('a' || t.n, ', '), '')
    into given, arguments
    from unnest(f.proargtypes::oid[]) with ordinality as t (type, n);
    begin
      execute format('with g as materialized (select %s) select %s(%s) from g', given, f.name, arguments);
      raise exception using errcode = 'ZZ000', message = f.signature || ' could be called';
    exception
      when insufficient_privilege then null;
    end;
  end loop;
end $$;
do $$
begin
  create table me.planted (x int);
  raise exception using errcode = 'ZZ000', message = 'a table could be planted in schema me';
exception
  when insufficient_privilege then null;
end $$;
rollback;
