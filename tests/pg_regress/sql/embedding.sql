-- Models, the queue protocol and what counts as embedded, with vectors that callers bring.
\set VERBOSITY terse
begin;

-- Refusals write nothing and name the argument.
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare detail text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics detail = pg_exception_detail;
  return sqlstate || ' ' || sqlerrm || ' ' || detail;
end $$;

select pg_temp.refused($$ select me.embedding_model_add('m 1', 'manual', 2) $$);
select pg_temp.refused($$ select me.embedding_model_add('m', 'magic', 2) $$);
select pg_temp.refused($$ select me.embedding_model_add('m', 'manual', 4001) $$);
select pg_temp.refused($$ select me.embedding_model_add('m', 'manual') $$);
select pg_temp.refused($$ select me.embedding_model_add('m', 'openai', 2, '{"api_key": "sk-1"}') $$);
select pg_temp.refused($$ select me.embedding_model_use('m') $$);
select me.embedding_model_list();

-- Without a model nothing is queued, and nothing is embedded.
select (me.memory_create(content => 'before', tree => 'share/e', name => 'before'))->'hasEmbedding';
select me.embedding_status()->'pending' as pending, me.embedding_status()->'model' as model;
select pg_temp.refused($$ select me.embedding_set((select id from me.memories), '{1,0}') $$);

-- A model that is used finds what was there, and what comes.
select me.embedding_model_add('m', 'manual', 2);
select pg_temp.refused($$ select me.embedding_model_add('m', 'manual', 3) $$);
select me.embedding_model_use('m');
select (me.memory_create(content => 'a', tree => 'share/e', name => 'a'))->'version' as version;
select me.memory_batch_create('[{"content": "b", "tree": "share/e", "name": "b"},
  {"content": "c", "tree": "share/e", "name": "c"}]')->'results'->1->>'status';
select me.embedding_status() - '{oldestPendingAt}'::text[];

-- A create that is skipped, or that changes only metadata, queues nothing (EMB-4).
select (me.memory_create(content => 'other', tree => 'share/e', name => 'a', on_conflict => 'ignore'))->'content';
select (me.memory_create(content => 'a', tree => 'share/e', name => 'a', meta => '{"k": 1}', on_conflict => 'replace'))->'version';
select me.embedding_status()->'pending' as pending;

-- Claiming hides an entry until its lock ends (EMB-10, EMB-11).
create temp table claimed as
  select c.* from jsonb_to_recordset(me.embedding_claim(batch_size => 3)->'claimed')
    as c ("queueId" uuid, "memoryId" uuid, "contentVersion" bigint, content text, attempts int, model text);
select "contentVersion", content, attempts, model from claimed order by "queueId";
select me.embedding_claim(batch_size => 1)->'claimed'->0->'content' as last;
select me.embedding_claim();
select me.embedding_status()->'pending' as pending, me.embedding_status()->'inFlight' as in_flight,
  me.embedding_status()->'waiting' as waiting;

-- Completing stores the vectors of the content that was claimed, and of no other (EMB-12).
select m.name, me.embedding_complete(c."queueId", c."memoryId", c."contentVersion", '[[3, 4], [0, 1]]') as outcome
from claimed c join me.memories m on m.id = c."memoryId" where m.name in ('a', 'before') order by m.name;
select m.name, me.embedding_complete(c."queueId", c."memoryId", c."contentVersion", '[[1, 0]]') as again
from claimed c join me.memories m on m.id = c."memoryId" where m.name = 'a';
select (me.memory_update(id => m.id, version_hash => m.version_hash, content => 'b, rewritten'))->'hasEmbedding' as has
from me.memories m where m.name = 'b';
select me.embedding_complete(c."queueId", c."memoryId", c."contentVersion", '[[1, 0]]')
from claimed c join me.memories m on m.id = c."memoryId" where m.name = 'b';
select pg_temp.refused(format($$ select me.embedding_complete(%L, %L, 1, '[[1, 2, 3]]') $$, q.id, q.memory_id))
from me.embedding_queue q join me.memories m on m.id = q.memory_id where m.name = 'c';
select pg_temp.refused($$ select me.embedding_complete('01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002', 1) $$);
select me.embedding_complete('01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002', 1, '[[1, 0]]');
select name, has_embedding, (me.memory_get(id))->'hasEmbedding' as record, version from me.memories order by name;

-- The vectors have length one; a memory can have several.
do $$
declare found text; relation text;
begin
  select m.relation into relation from me.embedding_model m where m.name = 'm';
  execute format('select string_agg(m.name || v.window_no || v.vector::text, '' '' order by m.name, v.window_no)
    from me.%I v join me.memories m on m.id = v.memory_id', relation) into found;
  raise notice '%', found;
end $$;

-- Metadata, name and tree keep the vectors; content does not (EMB-26).
select (me.memory_update(id => m.id, version_hash => m.version_hash, meta => '{"k": 2}', tree => 'share/f', name => 'z'))->'hasEmbedding'
from me.memories m where m.name = 'a';
select (me.memory_update(id => m.id, version_hash => m.version_hash, content => 'a, rewritten'))->'hasEmbedding'
from me.memories m where m.name = 'z';
select me.embedding_set(m.id, '{0.5,0}') from me.memories m where m.name = 'z';
select (me.memory_get(m.id))->'hasEmbedding' as has from me.memories m where m.name = 'z';
select q.outcome, q.content_version from me.embedding_queue q join me.memories m on m.id = q.memory_id where m.name = 'z' order by q.id;
select pg_temp.refused(format('select me.embedding_set(%L, %L)', m.id, bad))
from me.memories m, unnest(array['{1}', '{1,NULL}', '{0,0}', '{NaN,1}']) bad where m.name = 'z';

-- A failure waits, an attempt that was not the caller's fault is not counted, and too many attempts end it.
select me.embedding_fail(q.id, 'the provider said no'), me.embedding_release(q.id, 0)
from me.embedding_queue q join me.memories m on m.id = q.memory_id where m.name = 'c';
select q.attempts, q.last_error, q.outcome, q.vt <= clock_timestamp() as visible
from me.embedding_queue q join me.memories m on m.id = q.memory_id where m.name = 'c';
select jsonb_array_length(me.embedding_claim(lock_seconds => 0)->'claimed') as claimed from generate_series(1, 4);
select me.embedding_status()->'failed' as failed, me.embedding_status()->>'lastError' as why;
select q.attempts, q.last_error, q.outcome, q.finished_at is not null as finished
from me.embedding_queue q join me.memories m on m.id = q.memory_id where m.name in ('b', 'c') and q.outcome is distinct from 'cancelled' order by m.name;
select me.embedding_fail(q.id, 'late'), me.embedding_release(q.id, 10)
from me.embedding_queue q join me.memories m on m.id = q.memory_id where m.name = 'c';
select me.embedding_retry();
select me.embedding_status()->'failed' as failed, me.embedding_status()->'waiting' as waiting;

-- Entries and vectors go with their memory (EMB-5).
select me.memory_delete(m.id) from me.memories m where m.name in ('c', 'z') order by m.name;
select (me.memory_create(content => 'gone', tree => 'share/gone', name => 'gone'))->'version' as version;
select (me.embedding_set(m.id, '{1,1}'))->'stored' as stored from me.memories m where m.name = 'gone';
select me.memory_delete_tree(tree => 'share/gone', dry_run => false);
select count(*) from me.embedding_queue q where not exists (select from me.memory m where m.id = q.memory_id);
select count(*) from me.embedded e where not exists (select from me.memory m where m.id = e.memory_id);
do $$
declare orphans int; relation text;
begin
  select m.relation into relation from me.embedding_model m where m.name = 'm';
  execute format('select count(*) from me.%I v where not exists (select from me.memory m where m.id = v.memory_id)', relation) into orphans;
  raise notice 'vectors of nothing: %', orphans;
end $$;

-- Another model takes over when it has everything; until then the old one counts.
select me.embedding_model_add('wide', 'manual', 3);
select me.embedding_model_use('wide');
select name, has_embedding from me.memories order by name;
select s.space, s.model, s.next_model, s.pending, s.waiting, s.failed from me.embedding_queue_status s;
select (me.embedding_status()->'next') - 'since'::text as next;
select pg_temp.refused($$ select me.embedding_model_drop('wide') $$);
create temp table wide as
  select c.* from jsonb_to_recordset(me.embedding_claim(model => 'wide')->'claimed') as c ("queueId" uuid, "memoryId" uuid, "contentVersion" bigint);
select me.embedding_complete(w."queueId", w."memoryId", w."contentVersion", '[[1, 2, 2]]') from wide w;
select me.embedding_status()->'model' as model, me.embedding_status()->'next' as next, me.embedding_status()->'pending' as pending;
select name, has_embedding from me.memories order by name;
select u."space", u.model, u.state from me.embedding_use u;
select jsonb_path_query_array(me.embedding_model_list(), '$.models[*].name') as models;
select me.embedding_model_drop('m');
select pg_temp.refused($$ select me.embedding_model_drop('m') $$);
select count(*) as tables from pg_class where relnamespace = 'me'::regnamespace and relname like 'vectors\_%' and relkind = 'r';

-- Pruning takes what is done.
select (me.embedding_prune(retention_seconds => 86400))->'pruned' as recent;
select (me.embedding_prune(retention_seconds => 0))->'pruned' > '0' as some;
select pg_temp.refused($$ select me.embedding_prune(retention_seconds => -1) $$);
select pg_temp.refused($$ select me.embedding_claim(batch_size => 0) $$);
select pg_temp.refused($$ select me.embedding_claim(space => 'nowhere') $$);

-- The queue shows every content of the space: only whom an administrator lets may work on it.
create role regress_embedding;
set role regress_embedding;
select pg_temp.refused($$ select me.embedding_claim() $$);
select pg_temp.refused($$ select me.embedding_model_list() $$);
select pg_temp.refused($$ select me.embedding_status() $$);
select pg_temp.refused($$ select * from me.embedding_queue $$);
select count(*) from me.embedding_queue_status;
reset role;
grant execute on function me.embedding_claim, me.embedding_model_add to regress_embedding;
set role regress_embedding;
select jsonb_typeof(me.embedding_claim()->'claimed') as granted;
select pg_temp.refused($$ select me.embedding_model_add('spy', 'openai', 2, '{"url": "http://elsewhere"}') $$);
reset role;

-- A space goes with its queue and vectors.
select me.space_drop('default');
select (select count(*) from me.embedding_queue) as queue, (select count(*) from me.embedded) as embedded, (select count(*) from me.embedding_use) as used;
rollback;
