-- Capsules from SQL: capture, recall, replace, forget; and what keeps plain memories and capsules apart.
begin;
set local me.actor = 'keeper';
set local me.project = 'plant';
select me.capsule_ingest(content => 'The pump in hall 3 needs 6 bar.', source => 'field-notes', anchor => 'notes.md:4',
  kind => 'constraint', confidence => 0.9) as captured;
select me.capsule_ingest(items => '[{"content": "The pump in hall 3 needs 6 bar.", "source": "s", "anchor": "a"},
  {"content": " ", "source": "s", "anchor": "a"}, {"content": "x", "source": "s", "anchor": "a", "colour": 1}]');
select c -> 'id' as id, (c -> 'capsule') - '{freshness}'::text[] as capsule, c -> 'classification' ->> 'kind' as kind,
  (c -> 'last_mutation') - 'at' as last_mutation
from me.capsule_get('cap-1') as c;

-- The content is a memory among others to whoever reads, and frozen to whoever writes.
select tree, name, content, meta, temporal from me.memories where tree = '/capsules/plant';
select operation, cause, name, content is null and meta is null as empty from me.memory_events where tree = '/capsules/plant';
savepoint s;
select me.memory_create(content => 'x', tree => '/capsules/plant');
rollback to s;
select me.memory_delete_by_path('/capsules/plant/cap-1');
rollback to s;
select me.memory_update(id => id, version_hash => version_hash, content => 'x') from me.memories where name = 'cap-1';
rollback to s;
select me.memory_create(content => 'x', tree => '/share', id => id, on_conflict => 'replace') from me.memories where name = 'cap-1';
rollback to s;
select me.memory_delete_tree('/', false);
rollback to s;
select me.memory_mv('/capsules/plant', '/share', false);
rollback to s;
select me.memory_copy('/', '/share', false);
rollback to s;
select me.memory_delete_orphans('/', '{"project_id": "plant"}');
rollback to s;
select me.capsule_get('cap-2');
rollback to s;
select me.capsule_get();
rollback to s;
select me.capsule_relate('blocks', 'cap-1', 'cap-1');
rollback to s;
select me.capsule_ingest(content => 'x', source => 's', anchor => 'a', confidence => 'NaN');
rollback to s;

-- A successor takes its place in recall.
select me.capsule_ingest(content => 'The pump in hall 3 needs 8 bar since its overhaul.', source => 'log', anchor => 'log:88',
  supersedes => 'cap-1') -> 'outcomes' -> 0 as captured;
select r -> 'outcome' as outcome, r -> 'excluded' as excluded, r #> '{results,0,id}' as id, r #> '{results,0,headline}' as headline
from me.capsule_retrieve(terms => array['bar', 'pressure'], project_prefix => 'plant') as r;
select me.capsule_retrieve(terms => array['walrus']);

-- Forgetting leaves a tombstone and no word of the content.
select t - 'at' - 'content_hmac' - 'last_mutation' #- '{relations,0,at}' as tombstone
from me.capsule_forget('cap-1', 'redacted', 'recorded by mistake') as t;
select count(*) from me.memories where tree = '/capsules/plant';
select me.capsule_ingest(content => 'The pump in hall 3 needs 6 bar.', source => 's', anchor => 'a') #> '{outcomes,0}' as again;
select me.capsule_verify() - 'head' as verified;
rollback to s;

-- A read-only transaction recalls all the same and leaves no trace.
set transaction read only;
select me.capsule_retrieve(terms => array['pump']) ->> 'outcome' as outcome;
select me.capsule_digest() -> 'most_recalled' as recalled;
rollback;
