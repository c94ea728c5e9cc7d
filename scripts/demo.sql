-- A space of its own, as new in every run.
select me.space_drop('demo') where me.space_list() @> '{"spaces": [{"slug": "demo"}]}';
select me.space_create('demo', name => 'Demonstration');
set me.space = 'demo';

-- Real files: this project's documents, and its history in git, one memory a commit, about the time it was made.
\set docs `scripts/memories docs`
\set commits `scripts/memories history`
select 'documents: ' || (me.memory_import(:'docs') ->> 'imported');
select 'commits: ' || (me.memory_import(:'commits') ->> 'imported') where :'commits' <> '';
select path, count from jsonb_to_recordset(me.memory_tree() -> 'nodes') as node (path text, count int);

-- Remember something, under a name.
select me.memory_create('Deploy on Tuesdays, never on Fridays.', tree => 'team/decisions', name => 'deploy-day', meta => '{"topic": "deploy"}') ->> 'id' as id \gset

-- Read it by id, and by path with the parts of interest. As text for people and models:
select me.memory_get(:'id', '{content,meta.topic,version}');
select me.memory_get_by_path('team/decisions/deploy-day', '{content:18,createdBy}');
select me.format(me.memory_get(:'id'));

-- Change it under the version hash that was read.
select me.memory_get(:'id') ->> 'versionHash' as hash \gset
select me.memory_update(:'id', :'hash', content => 'Deploy on Mondays, never on Fridays.') ->> 'version';

-- Somebody else read it before that. Their change would undo it, so it is refused:
select me.memory_update(:'id', :'hash', content => 'Deploy on Wednesdays.');

-- Find by words, best first, within filters or without.
select round(score::numeric, 2), tree || '/' || name, split_part(content, E'\n', 1) from me.search(fulltext => 'version hash of an update', "limit" => 3);
select me.memory_search(fulltext => 'deploy on mondays', meta => '{"topic": "deploy"}', "select" => '{name,content}');

-- Find by meaning: a model in the server, without a key, a network or another process.
select me.embedding_model_add('words', 'local', 256, '{"path": "wordllama-256"}') ->> 'name' where not me.embedding_model_list() @> '{"models": [{"name": "words"}]}';
select me.embedding_model_use('words') ->> 'model';
select me.embed_pending("limit" => 1000) ->> 'failed';
select round(score::numeric, 2), tree || '/' || name, split_part(content, E'\n', 1) from me.search(semantic => 'permissions of database roles', tree => 'project/docs', "limit" => 2);

-- Plain SQL sees the same rows.
select tree, name, left(content, 30) from me.memories where meta @> '{"topic": "deploy"}';
select to_char(lower(temporal) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), split_part(content, E'\n', 1) from me.memories where meta @> '{"type": "commit"}' order by temporal desc limit 3;

-- Delete it, see what happened, and bring it back as it was at first.
select me.memory_delete_by_path('team/decisions/deploy-day');
select e ->> 'operation', e ->> 'version', e ->> 'content' from jsonb_array_elements(me.memory_history(memory_id => :'id', "order" => 'asc') -> 'events') as e;
select me.memory_revert(1, id => :'id') ->> 'content';

-- The whole log is plain rows.
select cause, operation, count(*) from me.memory_events where space = 'demo' group by 1, 2 order by 1, 2;

-- Knowledge that carries its origin, is never edited, and can be forgotten for good.
set me.project = 'demo';
select me.capsule_ingest('The release is cut from main.', source => 'README.md', anchor => 'README.md:1', kind => 'decision') #>> '{outcomes,0,id}' as capsule \gset
select r ->> 'id', r ->> 'headline', r #>> '{provenance,anchor}', r ->> 'confidence' from jsonb_array_elements(me.capsule_retrieve(terms => '{release,main}') -> 'results') as r;
select me.capsule_forget(:'capsule', mode => 'redacted', reason => 'shown') ->> 'outcome';
