-- The model that comes with the extension, in the caller's own transaction: no worker sees what is not committed.
\set VERBOSITY terse
begin;
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare detail text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics detail = pg_exception_detail;
  return sqlstate || ' ' || sqlerrm || ' ' || detail;
end $$;

select me.memory_create(content => 'before any model', tree => 'share')->'version' as version;
select pg_temp.refused($$ select me.embed('text') $$);
select me.embedding_model_add('all-MiniLM-L6-v2', 'local', 384);
select me.embedding_model_use('all-MiniLM-L6-v2');

-- A query becomes a vector of length one.
select cardinality(v) as dimensions, round((select sum(x::float8 * x) from unnest(v) x)::numeric, 4) as length from me.embed('Who keeps the keys?') v;
select pg_temp.refused($$ select me.embed('') $$);
select pg_temp.refused($$ select me.embed() $$);

-- What waits is embedded here and now.
select me.embed_pending();
select me.embedding_status()->'pending' as pending;
select content, has_embedding from me.memories;
select pg_temp.refused($$ select me.embed_pending("limit" => 0) $$);

-- A writer that asks for it has its vectors at once.
set local me.embed_sync = on;
select me.memory_create(content => 'The night watchman keeps the keys of the vault.', tree => 'share', name => 'keys')->'hasEmbedding' as has;
select me.memory_batch_create('[{"content": "A cat sleeps on the sofa.", "tree": "share", "name": "cat"},
  {"content": "Quarterly revenue grew by four percent.", "tree": "share", "name": "revenue"}]')->'results'->1->'status' as status;
select (me.memory_update(id => m.id, version_hash => m.version_hash, content => 'A dog sleeps on the sofa.'))->'hasEmbedding' as has
from me.memories m where name = 'cat';
set local me.embed_sync = off;
select name, has_embedding from me.memories order by name;
do $$
declare found text; relation text; query real[] := me.embed('Who has access to the strongroom?');
begin
  select m.relation into relation from me.embedding_model m;
  execute format('select m.name from me.%I v join me.memories m on m.id = v.memory_id
    order by v.vector <=> $1::halfvec, m.id limit 1', relation) into found using query;
  raise notice 'nearest: %', found;
end $$;

-- A long text has several vectors, and one that says so at its end is found by it.
select me.memory_create(content => repeat('Nothing happened that day. ', 300) || 'The ferry to the island leaves at noon.', tree => 'share', name => 'diary')->'version' as version;
select me.embed_pending(10);
do $$
declare windows int; best int; relation text; query real[] := me.embed('When does the boat go to the island?');
begin
  select m.relation into relation from me.embedding_model m;
  execute format('select count(*), (array_agg(v.window_no order by v.vector <=> $1::halfvec))[1]
    from me.%I v join me.memories m on m.id = v.memory_id where m.name = ''diary''', relation) into windows, best using query;
  raise notice 'windows: %, best: %', windows, best;
end $$;

-- Changing to a model of another length: the old one counts until the new one has everything.
select me.embedding_model_add('static', 'local', 256, '{"path": "wordllama-256"}');
select me.embedding_model_use('static');
select me.embedding_status()->'model' as model, me.embedding_status()->'next'->'model' as next;
select me.memory_create(content => 'written meanwhile', tree => 'share', name => 'meanwhile')->'version' as version;
select me.embed_pending(2) - 'error' as first;
select me.embedding_status()->'next'->'done' as done, me.embedding_status()->'next'->'total' as total;
select me.embed_pending() - 'error' as rest;
select me.embedding_status()->'model' as model, me.embedding_status()->'next' as next, me.embedding_status()->'pending' as pending;
select cardinality(me.embed('text')) as dimensions;

-- A query in words finds what means the same: by the space's model, alone and beside its own words.
select r->>'name' as nearest from me.memory_search(semantic => 'Who has access to the strongroom?', "limit" => 1) s, jsonb_array_elements(s->'results') r;
select r->>'name' as nearest from me.mcp_call('me_memory_search', '{"semantic": "a pet on the couch", "fulltext": "dog", "limit": 1}') s, jsonb_array_elements(s->'results') r;
select name from me.search(semantic => 'income of the company', "limit" => 1);

-- A model that cannot be read says so, and costs no attempt.
select me.embedding_model_add('missing', 'local', 8, '{"path": "no-such-model"}');
select me.embedding_model_add('wrong', 'local', 8, '{"path": "wordllama-256"}');
select me.space_create('broken')->'slug' as space;
select me.embedding_model_use('missing', space => 'broken');
select me.memory_create(content => 'waits', tree => 'share', space => 'broken')->'version' as version;
select pg_temp.refused($$ select me.embed('text', space => 'broken') $$);
select pg_temp.refused($$ select me.memory_search(semantic => 'text', space => 'broken') $$);
select me.embed_pending(space => 'broken')->'embedded' as embedded, me.embedding_status(space => 'broken')->'pending' as pending;
select attempts from me.embedding_queue where "space" = 'broken';
select me.space_create('wrong')->'slug' as space;
select me.embedding_model_use('wrong', space => 'wrong');
select pg_temp.refused($$ select me.embed('text', space => 'wrong') $$);
rollback;
