-- Seals: what was sealed cannot change, go or come unnoticed; purging and pruning leave the proof whole.
create function pg_temp.proof() returns text language sql as $$
  select concat_ws(' ', 'ok=' || (v->>'ok'), 'sealed=' || (v->>'sealed'), 'unsealed=' || (v->>'unsealed'),
    'seal=' || (v->'problems'->0->>'seal'), v->'problems'->0->>'problem')
  from me.audit_verify() as v
$$;
create function pg_temp.log(id text) returns setof text language sql as $$
  select concat_ws(' ', e->>'operation', e->>'cause', 'v' || (e->>'version'), e->>'tree', e->>'name', e->>'content', e->>'meta')
  from me.memory_history(id::uuid, "order" => 'asc') as h, jsonb_array_elements(h->'events') as e
$$;
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare detail text; state text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics detail = pg_exception_detail, state = returned_sqlstate;
  return concat_ws(' ', state, detail::jsonb->>'code', detail::jsonb->>'argument', detail::jsonb->>'rule', sqlerrm);
end
$$;

-- An empty space is whole. A seal without events is none.
select me.audit_verify();
select s->'ok' as ok, s->'sealed' = (select to_jsonb(count(*)) from me.access_event where space = 'default') as founding
from me.audit_seal() as s;

select r->>'id' as id, r->>'versionHash' as hash from me.memory_create('one', '/share/a', name => 'n',
  meta => '{"k": 1.0}', temporal => '{"start": "2025-01-01T00:00:00Z", "end": "2025-02-01T00:00:00Z"}') as r \gset
select me.memory_update(:'id', :'hash', content => 'two') is not null as updated;
select count(*) from generate_series(1, 5) as g, me.memory_create('many ' || g, '/share/b');
select pg_temp.proof();
select s->'ok' as ok, s->'sealed' as sealed, s->'unsealed' as unsealed, s->>'head' ~ '^[0-9a-f]{64}$' as head, s->'problems' as problems
from me.audit_seal() as s;
select pg_temp.proof();
-- Nothing new, no new seal.
select me.audit_seal()->>'head' = me.audit_verify()->>'head' as same_head;
select me.memory_delete(:'id');
select me.audit_seal()->'sealed' as sealed;
select number, kind, cardinality(event_ids) as events, octet_length(digests) as bytes, previous is null as first from me.audit_seal order by number;

-- Within one transaction the own events are sealed with it.
begin;
select me.memory_create('mine', '/share/b') is not null as made;
select s->'sealed' as sealed, s->'unsealed' as unsealed from me.audit_seal() as s;
rollback;
select pg_temp.proof();
-- Under one snapshot nothing can be said to be settled: nothing is sealed, nothing breaks.
begin isolation level repeatable read;
select me.memory_create('mine', '/share/b') is not null as made;
select s->'sealed' as sealed, s->'unsealed' as unsealed from me.audit_seal() as s;
rollback;

-- What was changed before it was sealed is named by the seal too.
begin;
select me.memory_create('mine', '/share/b') is not null as made;
update me.memory_event set content = 'tampered' where content = 'mine';
select s->'ok' as ok, s->'problems'->0->'problem' as problem from me.audit_seal() as s;
rollback;

-- Every column of a sealed event, changed as superuser; the digests recomputed where that could hide it.
alter table me.memory_event drop constraint memory_event_operation_check;
create function pg_temp.tampered(change text) returns text language plpgsql as $$
declare report text; changed int;
begin
  execute 'update me.memory_event set ' || change || ' where event_id = (
    select event_id from me.memory_event where version = 1 and meta <> ''{}'' and operation = ''insert'')';
  get diagnostics changed = row_count;
  if changed <> 1 then raise exception 'changed % rows', changed; end if;
  raise exception 'undo' using detail = pg_temp.proof();
exception when raise_exception then
  get stacked diagnostics report = pg_exception_detail;
  return coalesce(nullif(report, ''), sqlerrm);
end
$$;
select change, pg_temp.tampered(change) from unnest(array[
  'space = ''other''',
  'event_id = ''0190a1b2-0000-7000-8000-000000000001''',
  'event_id = ''ffffffff-0000-7000-8000-000000000001''',
  'at = at + interval ''1 microsecond''',
  'operation = ''update''',
  'operation = ''purge''',
  'operation_id = event_id',
  'cause = ''update''',
  'cause = null',
  'actor_id = event_id',
  'actor_id = null',
  'actor_name = ''somebody''',
  'api_key_id = event_id',
  'api_key_name = ''key''',
  'memory_id = event_id',
  'tree = ''share.b''',
  'version = 7',
  'content_version = 7',
  'name = ''m''',
  'name = null',
  'meta = ''{"k": 1}''',
  'meta = null',
  'temporal = null',
  'temporal = tstzrange(lower(temporal), upper(temporal), ''[]'')',
  'temporal = tstzrange(lower(temporal), upper(temporal) + interval ''1 day'')',
  'temporal = ''empty''',
  'content = ''tampered''',
  'content = null',
  'version_hash = event_id',
  'version_hash = null',
  'salt = ''\x00''',
  'salt = null',
  'payload_digest = sha256(''x'')',
  'digest = sha256(''x'')',
  'content = null, meta = null, name = null, temporal = null, version_hash = null, salt = null',
  'content = ''tampered'', payload_digest = me._payload_digest(salt, tree::text, name, meta, lower(temporal), upper(temporal), ''tampered''),
     version_hash = me._version_hash(tree::text, name, meta, lower(temporal), upper(temporal), ''tampered'')',
  'actor_name = ''somebody'', digest = me._event_digest(space, event_id, at, operation, operation_id, cause, actor_id, ''somebody'',
     api_key_id, api_key_name, memory_id, tree::text, version, content_version, payload_digest)'
]) with ordinality as c (change, n) order by n;
-- Every column is in the list above.
select count(*) as columns from pg_attribute where attrelid = 'me.memory_event'::regclass and attnum > 0 and not attisdropped;
-- The history of access is sealed with it.
create function pg_temp.resealed(change text) returns text language plpgsql as $$
declare report text;
begin
  execute change;
  raise exception 'undo' using detail = pg_temp.proof();
exception when raise_exception then
  get stacked diagnostics report = pg_exception_detail;
  return report;
end
$$;
select change, pg_temp.resealed(change) from unnest(array[
  'update me.access_event set actor_name = ''somebody'' where space = ''default''',
  'update me.access_event set details = ''{}'' where space = ''default''',
  'delete from me.access_event where space = ''default'''
]) with ordinality as c (change, n) order by n;
-- So is what happened outside of spaces, in a chain of its own; for superusers.
create role audit_gate;
select me.gateway_add('audit_gate') is not null as added;
select me.space_create('passing', 'passing') is not null as made;
select me.space_drop('passing');
create function pg_temp.outside() returns text language sql as $$
  select concat_ws(' ', 'ok=' || (v->>'ok'), 'unsealed=' || (v->>'unsealed'), v->'problems'->0->>'problem')
  from me.audit_verify(space => '') as v
$$;
select pg_temp.outside() like 'ok=true unsealed=%' as ok;
select s->'ok' as ok, s->'sealed' = (select to_jsonb(count(*)) from me.access_event where space = '') as all_sealed, s->'unsealed' as unsealed
from me.audit_seal(space => '') as s;
select pg_temp.outside() like 'ok=true unsealed=0' as ok;
create function pg_temp.rewritten(change text) returns text language plpgsql as $$
declare report text; changed int;
begin
  execute change;
  get diagnostics changed = row_count;
  if changed < 1 then raise exception 'changed nothing'; end if;
  raise exception 'undo' using detail = pg_temp.outside();
exception when raise_exception then
  get stacked diagnostics report = pg_exception_detail;
  return coalesce(nullif(report, ''), sqlerrm);
end
$$;
select change, pg_temp.rewritten('update me.access_event set ' || change || ' where space = '''' and operation = ''space_drop''')
from unnest(array[
  'space = ''default''',
  'event_id = ''0190a1b2-0000-7000-8000-000000000001''',
  'at = at + interval ''1 microsecond''',
  'operation = ''space_create''',
  'operation_id = event_id',
  'actor_id = event_id',
  'actor_name = ''somebody''',
  'api_key_id = event_id',
  'api_key_name = ''key''',
  'subject_id = event_id',
  'subject_name = ''another''',
  'details = ''{"a": 1}''',
  'digest = sha256(''x'')',
  'actor_name = ''somebody'', digest = me._access_event_digest(space, event_id, at, operation, operation_id, actor_id, ''somebody'',
     api_key_id, api_key_name, subject_id, subject_name, details)'
]) with ordinality as c (change, n) order by n;
-- Every column is in the list above.
select count(*) as columns from pg_attribute where attrelid = 'me.access_event'::regclass and attnum > 0 and not attisdropped;
select change, pg_temp.rewritten(change) from unnest(array[
  'delete from me.access_event where space = '''' and operation = ''gateway_add''',
  'insert into me.access_event select (jsonb_populate_record(e, jsonb_build_object(''event_id'', ''0190a1b2-0000-7000-8000-000000000001'',
     ''digest'', me._access_event_digest('''', ''0190a1b2-0000-7000-8000-000000000001'', at, operation, operation_id, actor_id, actor_name,
       api_key_id, api_key_name, subject_id, subject_name, details)))).*
   from me.access_event as e where space = '''' and operation = ''space_drop''',
  'update me.audit_seal set digests = ''\x'' where space = '''''
]) with ordinality as c (change, n) order by n;
select pg_temp.outside();
-- Nobody else learns of it, and a session that is held to a space keeps its hands off.
set role audit_gate;
select pg_temp.refused(call) from unnest(array[
  'select me.audit_seal(space => '''')', 'select me.audit_verify(space => '''')']) as call;
reset role;
set me.space_locked = on;
select pg_temp.refused('select me.audit_seal(space => '''')');
reset me.space_locked;
select me.gateway_remove('audit_gate') is not null as removed;
drop role audit_gate;
-- Taken away, or slipped in with digests that fit.
begin;
delete from me.memory_event where content = 'many 3';
select pg_temp.proof();
rollback;
begin;
insert into me.memory_event
select (jsonb_populate_record(e, jsonb_build_object('event_id', '0190a1b2-0000-7000-8000-000000000001', 'digest',
  me._event_digest(space, '0190a1b2-0000-7000-8000-000000000001', at, operation, operation_id, cause, actor_id, actor_name, api_key_id,
    api_key_name, memory_id, tree::text, version, content_version, payload_digest)))).*
from me.memory_event as e where content = 'many 3';
select pg_temp.proof();
-- Sealing does not heal it.
select me.audit_seal()->'sealed' as sealed;
select pg_temp.proof();
rollback;
-- The seals themselves.
select change, pg_temp.resealed(change) from unnest(array[
  'delete from me.audit_seal where number = 1',
  'update me.audit_seal set number = 9 where number = 2',
  'update me.audit_seal set kind = ''prune'' where number = 1',
  'update me.audit_seal set sealed_at = sealed_at + interval ''1 s'' where number = 1',
  'update me.audit_seal set end_id = event_ids[1] where number = 2',
  'update me.audit_seal set first_id = event_ids[1] where number = 2',
  'update me.audit_seal set event_ids = event_ids[2:] where number = 1',
  'update me.audit_seal set digests = substring(digests from 33) where number = 1',
  'update me.audit_seal set previous = hash where number = 2',
  'update me.audit_seal set hash = sha256(''x'') where number = 1',
  'update me.audit_seal set hash = sha256(''x'') where number = 2'
]) with ordinality as c (change, n) order by n;
select pg_temp.proof();

-- Purge: the fact stays, with its reason; what was there does not. Deleted memories too.
select replace(pg_temp.refused(replace(call, 'ID', :'id')), :'id', 'ID') as refused from unnest(array[
  'select me.memory_purge()',
  'select me.memory_purge(''ID'')',
  'select me.memory_purge(''ID'', '' '')',
  'select me.memory_purge(''ID'', repeat(''x'', 1001))',
  'select me.memory_purge(''0190a1b2-0000-7000-8000-000000000001'', ''gone'')'
]) as call;
select me.memory_purge(:'id', 'held a secret');
select pg_temp.log(:'id');
select count(*) as payloads from me.memory_event where memory_id = :'id' and operation <> 'purge'
  and (content, meta, name, temporal, version_hash, salt) is distinct from (null, null, null, null, null, null);
select pg_temp.proof();
select replace(pg_temp.refused(replace(call, 'ID', :'id')), :'id', 'ID') as refused from unnest(array[
  'select me.memory_purge(''ID'', ''again'')',
  'select me.memory_revert(1, ''ID'')',
  'select me.memory_get(''ID'', as_of => clock_timestamp())',
  'select me.memory_history(path => ''/share/a/n'')'
]) as call;
-- A live one; its id starts again behind the old versions.
select r->>'id' as live from me.memory_create('alive', '/share/c', name => 'l') as r \gset
select me.memory_purge(:'live', 'on request');
select count(*) as left_over from (select memory_id from me.memory_lexeme union all select memory_id from me.embedding_queue
  union all select id from me.memory) as x (id) where id = :'live';
select pg_temp.refused(format('select me.memory_get(%L)', :'live')) like 'P0002 NOT_FOUND %' as gone;
select r->'version' as version from me.memory_create('anew', '/share/c', id => :'live') as r;
select pg_temp.log(:'live');
select me.audit_seal()->'sealed' as sealed;
select pg_temp.proof();
select operation, content, meta from me.memory_events where memory_id = :'id' order by event_id;
-- Nothing rests on the session's settings.
set timezone = 'America/New_York';
set datestyle = 'German, DMY';
set extra_float_digits = -10;
set bytea_output = 'escape';
set intervalstyle = 'sql_standard';
select pg_temp.proof();
reset timezone;
reset datestyle;
reset extra_float_digits;
reset bytea_output;
reset intervalstyle;
-- A purge cannot be faked, nor its record taken away.
begin;
delete from me.memory_event where operation = 'purge' and memory_id = :'id';
select pg_temp.proof();
rollback;
begin;
update me.memory_event set meta = '{"reason": "another"}' where operation = 'purge' and memory_id = :'id';
select pg_temp.proof();
rollback;

-- Capsules: the history keeps the name and the fact, and their journal is recomputed too.
select me.capsule_ingest(content => 'The pump needs 6 bar.', source => 'notes', anchor => 'n.md:4', project_id => 'audit') is not null as ingested;
select me.audit_seal()->'ok' as ok;
select pg_temp.proof() like 'ok=true%' as ok;
select split_part(change, ' set ', 2) as change, pg_temp.resealed(change) like 'ok=false%' as noticed from unnest(array[
  'update me.memory_event set name = ''cap-9'' where tree::text like ''capsules.%''',
  'update me.memory_event set content = ''x'' where tree::text like ''capsules.%''',
  'update me.memory_event set salt = ''x'' where tree::text like ''capsules.%''',
  'update me.capsule_audit set actor = ''somebody''',
  'update me.capsule_audit set seq = 2 where seq = 1'
]) with ordinality as c (change, n) order by n;
begin;
update me.capsule_audit set actor = 'somebody';
select p from me.audit_verify() as v, jsonb_array_elements(v->'problems') as p;
rollback;
select pg_temp.refused('select me.memory_purge(id, ''no'') from me.memories where tree = ''/capsules/audit''');

-- Prune: kept for ever unless me.history_retention is set; the state at the horizon stays.
show me.history_retention;
select me.history_prune();
set me.history_retention = 'a while';
set me.history_retention = '30 days';
select p->'pruned' as pruned, p->>'before' is not null as before from me.history_prune() as p;
set me.history_retention = '3 seconds';
select r->>'id' as kept, r->>'versionHash' as hash from me.memory_create('k1', '/share/k', name => 'kept') as r \gset
select r->>'versionHash' as hash from me.memory_update(:'kept', :'hash', content => 'k2') as r \gset
select pg_sleep(3.1);
select clock_timestamp() as within \gset
select me.memory_update(:'kept', :'hash', content => 'k3')->'version' as version;
select me.history_prune()->'pruned' as pruned;
select pg_temp.log(:'kept');
select me.memory_get(:'kept', '{content}', :'within');
select pg_temp.log(:'id');
select pg_temp.proof();
select me.history_prune()->'pruned' as nothing_more;
select count(*) as prunings, min(octet_length(digests)) as bytes from me.audit_seal where kind = 'prune';
-- What was pruned cannot come back, and a pruning cannot be claimed.
begin;
create temporary table spare as select * from me.memory_event where memory_id = :'kept' and version = 2;
insert into me.memory_event select (jsonb_populate_record(s, jsonb_build_object('event_id', (
  select p.id from me.audit_seal as a, unnest(a.event_ids) as p (id) where a.kind = 'prune' order by 1 limit 1)))).* from spare as s;
select pg_temp.proof() like 'ok=false%' as noticed;
rollback;
begin;
update me.audit_seal set event_ids = event_ids || (select event_id from me.memory_event where content = 'many 3') where kind = 'prune';
delete from me.memory_event where content = 'many 3';
select pg_temp.proof() like 'ok=false%' as noticed;
rollback;
reset me.history_retention;
create role audit_somebody;
set role audit_somebody;
set me.history_retention = '1 second';
select me.audit_verify();
reset role;
drop role audit_somebody;

-- A head that was pinned is still in the chain; with the space, its seals go.
select me.audit_verify()->>'head' = encode(hash, 'hex') as pinned from me.audit_seal order by number desc limit 1;
select me.space_create('short', 'short') is not null as made;
select me.memory_create('x', '/x', space => 'short') is not null as made;
select me.audit_seal(space => 'short')->'sealed' as sealed;
select me.audit_verify(space => 'short')->'ok' as ok;
select me.space_drop('short');
select count(*) as seals_left from me.audit_seal where space = 'short';
