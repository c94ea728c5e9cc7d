-- Reverting: a recorded version becomes the current state, also of a memory that is gone.
begin;
\set VERBOSITY terse
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare detail text; state text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics detail = pg_exception_detail, state = returned_sqlstate;
  return concat_ws(' ', state, detail::jsonb->>'code', detail::jsonb->>'argument', detail::jsonb->>'rule',
    detail::jsonb->>'reason', detail::jsonb->>'path', sqlerrm);
end
$$;
create function pg_temp.log(id text) returns setof text language sql as $$
  select concat_ws(' ', e->>'operation', e->>'cause', 'v' || (e->>'version'), e->>'tree', e->>'name', e->>'content')
  from me.memory_history(id::uuid, "order" => 'asc') as h, jsonb_array_elements(h->'events') as e
$$;

select r->>'id' as id, r->>'versionHash' as h1 from me.memory_create('one', '/share/r', name => 'note',
  meta => '{"v": 1.50}', temporal => '{"start": "2025-01-01T00:00:00Z", "end": "2025-02-01T00:00:00Z"}') as r \gset
select r->>'versionHash' as h2 from me.memory_update(:'id', :'h1', content => 'two', meta => '{}', tree => '/share/r2',
  name => 'other', clear => '{temporal}') as r \gset

-- REV-1, REV-2: all five fields come back, as a new version.
select r - 'id' - 'createdAt' - 'createdBy' - 'updatedAt' - 'hasEmbedding' as record, r->>'id' = :'id' as same, r->>'versionHash' = :'h1' as hash
from (select me.memory_revert(1, :'id') - 'nothing' as r) as x;
select version, content_version from me.memory where id = :'id';
-- REV-7: the present payload again is a success without a trace in version and log; updatedAt moves.
update me.memory set updated_at = '2025-01-01' where id = :'id';
select r->'version' as version, r->>'updatedAt' > '2025-01-02' as touched from me.memory_revert(1, :'id') as r;
-- REV-3: the earliest event of the version; REV-9.
select pg_temp.log(:'id');
-- REV-5
select pg_temp.refused(format('select me.memory_revert(2, %L, expected_version_hash => %L)', :'id', h))
from unnest(array[:'h2', 'short']) as h;
select r->'version' as version, r->>'content' as content from me.memory_revert(2, path => '/share/r/note', expected_version_hash => :'h1') as r;
-- REV-6: live, and by the memory's own slot.
select me.memory_create('squatter', '/share/r', name => 'note') is not null as squats;
select pg_temp.refused(format('select me.memory_revert(1, %L)', :'id'));
select pg_temp.log(:'id');
-- REV-8: undelete; the expected hash is ignored, version numbers go on, content version beyond the logged maximum.
select me.memory_delete(:'id');
select pg_temp.refused(format('select me.memory_revert(1, %L)', :'id'));
select me.memory_delete_by_path('/share/r/note');
select r->'version' as version, r->>'content' as content, r->'updatedAt' as updated, r->>'versionHash' = :'h1' as hash
from me.memory_revert(1, :'id', expected_version_hash => repeat('0', 32)) as r;
select version, content_version, (select max(content_version) from me.memory_event where memory_id = :'id' and operation <> 'insert') as logged
from me.memory where id = :'id';
select pg_temp.log(:'id');
-- REV-10: by the path it was last seen at; the live memory of a reused slot wins.
select me.memory_delete(:'id');
select r->>'id' = :'id' as same, r->'version' as version from me.memory_revert(2, path => '/share/r2/other') as r;
select me.memory_create('successor', '/share/r', name => 'note') is not null as made;
select pg_temp.refused('select me.memory_revert(2, path => ''/share/r/note'')');
-- What is refused.
select pg_temp.refused(replace(call, 'ID', :'id')) as refused from unnest(array[
  'select me.memory_revert()',
  'select me.memory_revert(id => ''ID'')',
  'select me.memory_revert(0, ''ID'')',
  'select me.memory_revert(-1, ''ID'')',
  'select me.memory_revert(1)',
  'select me.memory_revert(99, ''0190a1b2-0000-7000-8000-000000000046'')',
  'select me.memory_revert(9223372036854775807, ''0190a1b2-0000-7000-8000-000000000046'')',
  'select me.memory_revert(1, path => ''/share/never/x'')',
  'select me.mcp_call(''me_memory_revert'', ''{"id": "ID", "version": "1"}'')',
  'select me.mcp_call(''me_memory_revert'', ''{"id": "ID", "version": 1, "expectedVersionHash": "x"}'')'
]) as call;
select me.mcp_call('me_memory_revert', jsonb_build_object('id', :'id', 'version', 2))->'version' as version;
rollback;

-- REV-3, REV-4, ACC-10: rights at the snapshot's tree and at the present one.
begin;
create role revert_writer;
grant revert_writer to current_user;
select r->>'id' as id, r->>'versionHash' as hash from me.memory_create('a', '/one', name => 'm') as r \gset
select me.memory_update(:'id', :'hash', tree => '/two') is not null as moved;
insert into me.principal (id, name, kind, role_oid, cluster, created_at)
  select '0190a1b2-0000-7000-8000-0000000000ab', 'revert_writer', 'user', 'revert_writer'::regrole, system_identifier, now()
  from pg_control_system();
insert into me.space_member (space, principal_id, admin, added_at) values ('default', '0190a1b2-0000-7000-8000-0000000000ab', false, now());
create function pg_temp.tried(one int, two int, version int, id text) returns text language plpgsql as $$
declare detail text;
begin
  delete from me.tree_grant;
  insert into me.tree_grant (space, principal_id, tree, level, granted_at, granted_by)
    select 'default', '0190a1b2-0000-7000-8000-0000000000ab', tree::public.ltree, level, now(), 'test'
    from (values ('one', one), ('two', two)) as g (tree, level) where level > 0;
  set local role revert_writer;
  begin
    perform me.memory_revert(version, id::uuid);
    raise exception 'done' using detail = '{"code": "done"}';
  exception when others then
    get stacked diagnostics detail = pg_exception_detail;
  end;
  reset role;
  return detail;
end
$$;
select one, two, pg_temp.tried(one, two, 1, :'id') as back, pg_temp.tried(one, two, 2, :'id') as again
from generate_series(0, 2) as one, generate_series(0, 2) as two order by one, two;
rollback;
