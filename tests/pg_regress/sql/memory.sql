-- One memory's life, by named arguments: created, read, changed, deleted; what is refused, and what the log keeps.
\set show_state '\\echo :LAST_ERROR_SQLSTATE'
\set id '''0190a1b2-0000-7000-8000-000000000001'''

-- The record, but for its times.
select jsonb_pretty(me.memory_create(content => 'Copy snapshots off site.', tree => '/share/ops', name => 'backup',
  meta => '{"topic": "backup", "n": 1.50}', temporal => '{"start": "2025-02-01T10:00:00.5+02:00"}', id => :id)
  - 'createdAt');
select me.memory_get(id => :id) = me.memory_get_by_path(path => 'share/ops/backup') as same_record;
select me.memory_get(id => :id) ->> 'createdAt' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$' as iso;
select me.memory_get(id => :id, "select" => '{id,content:4,meta.topic,temporal}');
select me.memory_get(id => :id, "select" => '{content:5:14,content,name}');

-- A taken name, three ways.
select me.memory_create(content => 'again', tree => 'share.ops', name => 'backup');
:show_state
select me.memory_create(content => 'again', tree => 'share.ops', name => 'backup', on_conflict => 'ignore') -> 'content'
  as kept;
select r ->> 'id' = :id as same_id, r -> 'content' as content, r -> 'meta' as meta, r -> 'temporal' as temporal,
  r -> 'version' as version
from me.memory_create(content => 'again', tree => 'share.ops', name => 'backup', on_conflict => 'replace') as r;
-- A taken id.
select me.memory_create(content => 'x', tree => 'share', id => :id);
:show_state
select me.memory_create(content => 'x', tree => 'share', id => :id, on_conflict => 'ignore') -> 'content' as kept;

-- An update under the hash that was read, and under one that is stale.
select me.memory_get(id => :id, "select" => '{versionHash}') ->> 'versionHash' as hash \gset
select r -> 'content' as content, r -> 'meta' as meta, r -> 'version' as version
from me.memory_update(id => :id, version_hash => :'hash', content => 'once more', meta => '{"a": 1, "b": {"c": 2}}') as r;
select me.memory_update(id => :id, version_hash => :'hash', content => 'too late');
:show_state
select me.memory_get(id => :id, "select" => '{versionHash}') ->> 'versionHash' as hash \gset
-- A merge patch sets, removes and leaves keys.
select r -> 'meta' as meta, r ->> 'versionHash' as hash
from me.memory_update(id => :id, version_hash => :'hash', meta_patch => '{"a": null, "b": {"d": 3}, "e": []}') as r \gset
select :'meta'::jsonb as merged;
-- The same values again: no new version, but a time of update.
select r -> 'version' as version, r ->> 'versionHash' = :'hash' as same_hash, r ->> 'updatedAt' is not null as touched
from me.memory_update(id => :id, version_hash => :'hash', content => 'once more') as r;
-- What may be cleared is cleared; what is given and cleared at once is refused.
select me.memory_update(id => :id, version_hash => :'hash', clear => '{name}', name => 'n');
:show_state
select r -> 'name' as name, r -> 'meta' as meta, r -> 'version' as version, r ->> 'versionHash' as hash
from me.memory_update(id => :id, version_hash => :'hash', clear => '{name,meta}') as r \gset
select :version as version;
select me.memory_update(id => :id, version_hash => :'hash');
:show_state
-- A move onto a taken name.
select me.memory_create(content => 'holder', tree => 'share', name => 'taken') -> 'version' as version;
select me.memory_update(id => :id, version_hash => :'hash', tree => 'share', name => 'taken');
:show_state
select r -> 'tree' as tree, r -> 'name' as name
from me.memory_update(id => :id, version_hash => :'hash', tree => '', name => 'moved') as r;

-- A batch is whole or not at all.
select me.memory_batch_create(memories => '[{"content": "b", "tree": "share"}, {"content": "c", "tree": "share", "name": "taken"}]');
:show_state
select jsonb_path_query_array(me.memory_batch_create(on_conflict => 'replace', memories => '[
  {"content": "b", "tree": "share"},
  {"content": "c", "tree": "share", "name": "taken"},
  {"content": "moved", "tree": "/", "name": "moved"},
  {"content": "once more", "tree": "/", "name": "moved2"}]'), '$.results[*].status') as statuses;

-- Deleted, and not found after.
select me.memory_delete_by_path(path => '/moved');
select me.memory_delete(id => :id);
:show_state
select me.memory_get(id => :id);
:show_state
-- The id may be used again; its versions go on where they were.
select me.memory_create(content => 'back', tree => 'share', id => :id) -> 'version' as version;
select operation, cause, version, tree, name, content, actor_name = current_user as by_me
from me.memory_events where memory_id = :id order by event_id;
-- The events of one call share its operation id, and come in order.
select count(*) as events, count(distinct operation_id) as operations, bool_and(at <= clock_timestamp()) as past
from me.memory_events;

-- A function called for many rows is one call each.
select count(me.memory_create(content => 'row ' || n, tree => 'rows', name => 'r' || n)) from generate_series(1, 100) as n;
select count(*), min(version), max(version) from me.memories where tree = '/rows';
-- Where the caller rolls back, nothing stays.
begin;
select me.memory_delete_by_path(path => 'rows/r1');
rollback;
select me.memory_get_by_path(path => 'rows/r1', "select" => '{content}');
-- An error that is caught undoes its own call only.
do $$
begin
  perform me.memory_create(content => 'kept', tree => 'caught', name => 'a');
  begin
    perform me.memory_create(content => 'kept', tree => 'caught', name => 'b');
    perform me.memory_create(content => 'again', tree => 'caught', name => 'a');
  exception when unique_violation then
    raise notice '%', sqlerrm;
  end;
end
$$;
select name from me.memories where tree = '/caught';
-- In a read-only transaction reads work and writes are refused.
begin read only;
select me.memory_get_by_path(path => 'caught/a', "select" => '{content}');
select me.memory_create(content => 'x', tree => 'share');
:show_state
rollback;

-- Text for people and models.
select me.format(me.memory_get_by_path(path => 'caught/a', "select" => '{content,meta,tree,name,version}'));
select me.format('{"version": 1, "content": "a\nb", "id": "x", "results": [true, "true", null, 1.50]}');
select me.format('{"content": "x", "id": "y"}', 'compact');
select me.format('{"content": "x", "id": "y"}', 'json');
select me.format('{}', 'xml');
:show_state
select me.format(null);
:show_state

-- The MCP spellings of the same.
select me.mcp_call('me_memory_get_by_path', '{"path": "caught/a", "select": ["content"], "format": "json"}');
select me.mcp_call('me_memory_get_by_path', '{"path": "caught/a", "selekt": ["content"]}');
:show_state
select me.mcp_call('me_memory_get_by_path', '{"path": "caught/a", "select": "[\"content\"]"}');
select me.mcp_call('me_memory_get_by_path', '{"path": ["caught/a"]}');
:show_state
select me.mcp_call('me_memory_gett');
:show_state
select me.mcp_call();
:show_state
