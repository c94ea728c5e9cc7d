-- The history: what it tells, page by page, and the states it holds.
begin;
\set VERBOSITY terse
create function pg_temp.shown(answer jsonb) returns table (n bigint, event text) language sql as $$
  select e.n, concat_ws(' ', e.value->>'operation', e.value->>'cause', e.value->>'tree', e.value->>'name',
    'v' || (e.value->>'version'), e.value->>'content')
  from jsonb_array_elements(answer->'events') with ordinality as e (value, n) order by e.n
$$;
-- A refusal as callers branch on it, without what differs from run to run.
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare detail text; state text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics detail = pg_exception_detail, state = returned_sqlstate;
  return concat_ws(' ', state, detail::jsonb->>'code', detail::jsonb->>'argument', detail::jsonb->>'rule',
    detail::jsonb->>'reason');
end
$$;

select r->>'id' as id, r->>'versionHash' as h1 from me.memory_create('one', '/share/h', name => 'note') as r \gset
select r->>'versionHash' as h2 from me.memory_update(:'id', :'h1', content => 'two', meta => '{"k": 1.0}') as r \gset
select clock_timestamp() as between_times \gset
select r->>'versionHash' as h3 from me.memory_update(:'id', :'h2', tree => '/share/i', name => 'other') as r \gset
select me.memory_delete(:'id');
select me.memory_create('elsewhere', '/x') is not null as made;

-- HIST-1, HIST-4: every scope, and that there must be one.
select * from pg_temp.shown(me.memory_history(:'id'));
select * from pg_temp.shown(me.memory_history(:'id', "order" => 'asc'));
select * from pg_temp.shown(me.memory_history(path => '/share/h/note', "order" => 'asc'));
select * from pg_temp.shown(me.memory_history(tree => '/share/h'));
select * from pg_temp.shown(me.memory_history(tree => '/share', operation => 'delete'));
select count(*) from pg_temp.shown(me.memory_history(tree => '/'));
select * from pg_temp.shown(me.memory_history(
  operation_id => (me.memory_history(:'id', operation => 'delete')->'events'->0->>'operationId')::uuid));
select * from pg_temp.shown(me.memory_history(since => :'between_times', tree => '/share', "order" => 'asc'));
select * from pg_temp.shown(me.memory_history(tree => '/share', until => :'between_times', "order" => 'asc'));
select count(*) from pg_temp.shown(me.memory_history(since => 'infinity'));
select count(*) from pg_temp.shown(me.memory_history(since => '-infinity', until => 'infinity'));
select count(*) from pg_temp.shown(me.memory_history(tree => '/', since => now(), until => now() - interval '1 day'));
select pg_temp.refused(call) from unnest(array[
  'select me.memory_history()',
  'select me.memory_history(operation => ''insert'', until => now(), "limit" => 5)',
  'select me.memory_history(path => '''', tree => '''')',
  'select me.memory_history(tree => ''/'', cursor => ''not-a-cursor'')',
  'select me.memory_history(tree => ''/'', "limit" => 1001)',
  'select me.memory_history(tree => ''/'', "order" => ''up'')',
  'select me.memory_history(tree => ''/'', operation => ''move'')',
  'select me.memory_history(tree => ''/a.*'')',
  'select me.memory_history(tree => ''/'', "select" => ''{bogus}'')',
  'select me.memory_history(path => ''/share/h/never'')',
  'select me.memory_history(path => ''/'')',
  'select me.memory_history(memory_id => ''00000000-0000-4000-8000-000000000000'')'
]) as call;
-- HIST-6: what is not there is an empty list.
select me.memory_history('0190a1b2-0000-7000-8000-00000000004d');

-- HIST-2, HIST-3, SEL-13: the shape of the answer and of an event.
select e - 'eventId' - 'at' - 'operationId' - 'actor' - 'memoryId' - 'versionHash' as snapshot,
  e->>'memoryId' = :'id' as same_memory, e->>'versionHash' = :'h2' as same_hash, e->>'at' ~ '^\d{4}-.*T.*\.\d{3}Z$' as at,
  array(select jsonb_object_keys(e->'actor') order by 1) as actor, e->'actor'->>'principalName' = current_user as acting
from me.memory_history(:'id', "order" => 'asc') as h, lateral (select h->'events'->1 as e);
select e - 'eventId' - 'at' - 'operationId' - 'actor' - 'memoryId' as selected
from me.memory_history(:'id', "select" => '{content:1,meta.k,id}', "limit" => 3) as h, jsonb_array_elements(h->'events') as e;
select h->'limit' as "limit", h->'nextCursor' as next from me.memory_history(:'id') as h;
select h->'limit' as "limit", h->'nextCursor' as next from me.memory_history(:'id', "limit" => -1) as h;

-- HIST-8: pages follow each other without gap or overlap, in both orders, with equal times too.
select count(*) as made from jsonb_array_elements(me.memory_batch_create(
  (select jsonb_agg(jsonb_build_object('content', 'c' || g, 'tree', '/bulk/' || g % 3)) from generate_series(1, 40) g))->'results');
update me.memory_event set at = '2025-01-01' where tree::text like 'bulk.%';
create function pg_temp.walk(step int, sorted text) returns text[] language plpgsql as $$
<<walk>> declare page jsonb; cursor text; ids text[] := '{}'; pages int := 0;
begin
  loop
    page := me.memory_history(tree => '/bulk', "limit" => step, "order" => sorted, cursor => walk.cursor);
    ids := ids || array(select e->>'eventId' from jsonb_array_elements(page->'events') with ordinality as x (e, n) order by n);
    cursor := page->>'nextCursor';
    pages := pages + 1;
    exit when cursor is null or pages > 100;
  end loop;
  return ids;
end
$$;
select step, o as "order",
  pg_temp.walk(step, o) = case o
    when 'asc' then array(select event_id::text from me.memory_event where tree::text like 'bulk.%' order by event_id)
    else array(select event_id::text from me.memory_event where tree::text like 'bulk.%' order by event_id desc) end as whole
from unnest(array[1, 3, 7, 20, 40, 41, 1000]) as step, unnest(array['asc', 'desc']) as o
order by step, o;

-- The state at an instant, by id and by path.
select a->>'content' as content, a->>'tree' as tree, a->>'name' as name, a->'version' as version, a->'meta' as meta,
  a->>'versionHash' = :'h2' as hash, a->>'updatedAt' is not null as updated, a->>'createdBy' = current_user as by
from me.memory_get(:'id', as_of => :'between_times') as a;
select me.memory_get_by_path('/share/h/note', '{content,version}', :'between_times');
select pg_temp.refused(format(call, :'id', :'between_times')) from unnest(array[
  'select me.memory_get(%1$L, as_of => now() - interval ''1 day'')',
  'select me.memory_get(%1$L, as_of => clock_timestamp())',
  'select me.memory_get(%1$L)',
  'select me.memory_get_by_path(''/share/i/other'', as_of => %2$L)',
  'select me.memory_get_by_path(''/share/h/note'', as_of => clock_timestamp())',
  'select me.memory_get_by_path(''/share/h/note'', as_of => ''-infinity'')'
]) as call;
-- The record of a memory that has not changed is the same now and as of now.
select me.memory_create('still', '/share', name => 'still') as r \gset
select me.memory_get((:'r'::jsonb->>'id')::uuid, as_of => clock_timestamp()) = :'r' as same;

-- HIST-9: text of MCP clients, whatever the session's settings.
set local datestyle = 'German, DMY';
set local timezone = 'Asia/Tokyo';
select since, jsonb_array_length(me.mcp_call('me_memory_history', jsonb_build_object('tree', '/', 'since', since))->'events') as events
from unnest(array['2025-01-01T00:00:00Z', '1/2/2025', '2025-01-01', 'January 8, 1999 04:05:06 PST', 'epoch', 'tomorrow', 'infinity']) as since;
select pg_temp.refused(format('select me.mcp_call(''me_memory_history'', %L)', a)) from unnest(array[
  '{"since": "someday"}', '{"tree": "/", "until": "2025-13-01"}', '{"tree": "/", "since": "2025-01-01 \u0007"}',
  '{"since": 5}', '{"since": ""}', '{"tree": "/", "memory_id": "x"}', '{"tree": "/", "limit": 1.5}']) as a;
select me.mcp_call('me_memory_get', jsonb_build_object('id', :'id', 'as_of', :'between_times'::timestamptz, 'select', '["content"]'));
show timezone;
show datestyle;
rollback;

-- HIST-6: each event by its own tree, before the limit; functions and view agree.
begin;
create role history_reader;
grant history_reader to current_user;
select r->>'id' as id, r->>'versionHash' as hash from me.memory_create('moves', '/private', name => 'm') as r \gset
select clock_timestamp() as before_the_move \gset
select me.memory_update(:'id', :'hash', tree => '/share/to') is not null as moved;
select count(*) from generate_series(1, 30) as g, me.memory_create('hidden ' || g, '/private');
insert into me.principal (id, name, kind, role_oid, cluster, created_at)
  select '0190a1b2-0000-7000-8000-0000000000aa', 'history_reader', 'user', 'history_reader'::regrole, system_identifier, now()
  from pg_control_system();
insert into me.space_member (space, principal_id, admin, added_at) values ('default', '0190a1b2-0000-7000-8000-0000000000aa', false, now());
insert into me.tree_grant (space, principal_id, tree, level, granted_at, granted_by)
  values ('default', '0190a1b2-0000-7000-8000-0000000000aa', 'share', 1, now(), 'test');
set local role history_reader;
select e->>'tree' as tree, e->>'operation' as operation
from me.memory_history(tree => '/', "limit" => 5) as h, jsonb_array_elements(h->'events') as e;
select e->>'tree' as tree from me.memory_history(:'id') as h, jsonb_array_elements(h->'events') as e;
select me.memory_history(tree => '/private');
select count(*) from me.memory_events;
\set VERBOSITY terse
savepoint here;
select me.memory_history(path => '/private/m');
rollback to here;
select me.memory_get_by_path('/private/m', as_of => :'before_the_move');
rollback to here;
select me.memory_get_by_path('/share/to/m', '{content}', clock_timestamp());
rollback;
