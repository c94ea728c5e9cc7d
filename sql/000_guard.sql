-- Refuses a database that cannot hold the data, before anything is created.
do $$
begin
  if pg_catalog.getdatabaseencoding() operator(pg_catalog.<>) 'UTF8' then
    raise exception using
      errcode = 'feature_not_supported',
      message = 'memory_engine needs a database with encoding UTF8',
      hint = 'Create one with: CREATE DATABASE memory ENCODING ''UTF8'' TEMPLATE template0.';
  end if;
  if exists (
    select from pg_catalog.pg_class as c
    where c.relnamespace operator(pg_catalog.=) (
      select n.oid from pg_catalog.pg_namespace as n where n.nspname operator(pg_catalog.=) 'me')
  ) or exists (
    select from pg_catalog.pg_proc as p
    where p.pronamespace operator(pg_catalog.=) (
      select n.oid from pg_catalog.pg_namespace as n where n.nspname operator(pg_catalog.=) 'me')
  ) then
    raise exception using
      errcode = 'duplicate_schema',
      message = 'schema "me" holds objects already',
      hint = 'Drop or rename that schema first: memory_engine needs it for itself.';
  end if;
  -- Whoever owns the schema, or may create in it, could plant functions beside ours for the owner's statements to find.
  if exists (
    select from pg_catalog.pg_namespace as n
    where n.nspname operator(pg_catalog.=) 'me'
      and (
        not exists (
          select from pg_catalog.pg_roles as r
          where r.oid operator(pg_catalog.=) n.nspowner
            and (r.rolsuper or r.rolname operator(pg_catalog.=) current_user))
        or exists (
          select from pg_catalog.aclexplode(n.nspacl) as a
          where a.privilege_type operator(pg_catalog.=) 'CREATE' and a.grantee operator(pg_catalog.<>) n.nspowner))
  ) then
    raise exception using
      errcode = 'insufficient_privilege',
      message = 'schema "me" belongs to somebody else, or somebody else may create objects in it',
      hint = 'Drop that schema first: CREATE EXTENSION memory_engine makes it anew.';
  end if;
  -- Who owns an extension that ours is built upon, or the schema it is in, may drop it, and ours with everything in it:
  -- the server asks the owner of what is dropped, and nobody of what goes with it. Anybody who may create in the
  -- database can have made ltree.
  if exists (
    select from pg_catalog.pg_extension as e
    join pg_catalog.pg_namespace as n on n.oid operator(pg_catalog.=) e.extnamespace
    join pg_catalog.pg_roles as r on r.oid operator(pg_catalog.=) any (array[e.extowner, n.nspowner])
    where e.extname operator(pg_catalog.=) any (array['ltree', 'vector'])
      and not r.rolsuper
      and r.rolname operator(pg_catalog.<>) all (array[current_user, 'pg_database_owner'])
      and not exists (
        select from pg_catalog.pg_database as d
        where d.datname operator(pg_catalog.=) pg_catalog.current_database() and d.datdba operator(pg_catalog.=) r.oid)
  ) then
    raise exception using
      errcode = 'insufficient_privilege',
      message = 'extension ltree or vector, or the schema it is in, belongs to somebody who could drop memory_engine with it',
      hint = 'REASSIGN OWNED BY that role TO a superuser, or drop the extension: CREATE EXTENSION memory_engine CASCADE makes it anew.';
  end if;
end
$$;

-- The script runs with a search path that holds the installer's schemas; nothing of ours depends on it.
comment on schema me is 'memory_engine: the memory of AI agents. \df+ me.* is the reference.';
