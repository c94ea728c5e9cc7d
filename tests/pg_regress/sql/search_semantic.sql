-- Searching by meaning, by both, and with neighbours in threads. Vectors are brought by the caller.
begin;
select me.embedding_model_add('tiny', 'manual', 2) is not null as added;
select me.memory_create('before there is a model', 'share/v') is not null as created;
select me.embedding_model_use('tiny')->>'state' as state;
select count(me.memory_create(content, 'share/v', id => id, meta => meta)) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, 'alpha word', '{"side": "east"}'::jsonb),
  ('0190a1b2-0000-7000-8000-000000000002', 'alpha other', '{}'),
  ('0190a1b2-0000-7000-8000-000000000003', 'silent', '{"side": "east"}')
) as v (id, content, meta);
select count(me.embedding_set(id, vector)) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, '{1,0}'::real[]),
  ('0190a1b2-0000-7000-8000-000000000002', '{0,1}'),
  ('0190a1b2-0000-7000-8000-000000000003', '{1,1}')
) as v (id, vector);
create function pg_temp.found(answer jsonb) returns text language sql as
$$ select coalesce(string_agg(right(r->>'id', 1) || ' ' || round((r->>'score')::numeric, 4), ', ' order by n), '-')
   from jsonb_array_elements(answer->'results') with ordinality as a (r, n) $$;

savepoint twins;
-- The same id in another space, several windows of one memory, and windows of content that it does not have any more.
select me.space_create('twin') is not null as made, me.embedding_model_use('tiny', space => 'twin')->>'state' as state;
select me.memory_create('twin', 'share/v', id => '0190a1b2-0000-7000-8000-000000000001', space => 'twin') is not null as created,
  me.embedding_set('0190a1b2-0000-7000-8000-000000000001', '{0,1}', space => 'twin') is not null as stored;
do $$ begin
  execute format('insert into me.%I values (''default'', ''0190a1b2-0000-7000-8000-000000000002'', 1, 1, ''[1,1]''),
    (''default'', ''0190a1b2-0000-7000-8000-000000000002'', 2, 9, ''[1,0]''), (''default'', ''0190a1b2-0000-7000-8000-000000000002'', 3, 1, ''[0,1]'')',
    (select relation from me.embedding_model where name = 'tiny'));
end $$;
select pg_temp.found(me.memory_search(embedding => '{1,0}', tree => 'share/v')) as below_a_tree,
  pg_temp.found(me.memory_search(embedding => '{1,0}', meta => '{}')) as with_metadata,
  pg_temp.found(me.memory_search(embedding => '{1,0}', tree => 'share', space => 'twin')) as twin;
rollback to twins;
select pg_temp.found(me.memory_search(embedding => '{1,0}')) as by_meaning,
  pg_temp.found(me.memory_search(embedding => '{1,0}', semantic_threshold => 0.5)) as above,
  pg_temp.found(me.memory_search(embedding => '{2,2}', meta => '{"side": "east"}', "limit" => 1)) as filtered;
select pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => 'alpha word')) as both,
  pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => 'alpha', "limit" => 1)) as first,
  pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => '')) as meaning_alone,
  pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => 'zebra')) as no_words;
select pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => 'alpha word', weights => '{"semantic": 0}')) as words_alone,
  pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => 'alpha word', semantic_threshold => 0.9)) as narrow,
  pg_temp.found(me.memory_search(embedding => '{1,0}', fulltext => 'alpha word', fusion => 'blend')) as blended;
-- Content that changed is not found by its old vector; what only moved is.
select me.memory_update('0190a1b2-0000-7000-8000-000000000002', me.memory_get('0190a1b2-0000-7000-8000-000000000002')->>'versionHash', content => 'changed')->'hasEmbedding' as has;
select me.memory_update('0190a1b2-0000-7000-8000-000000000003', me.memory_get('0190a1b2-0000-7000-8000-000000000003')->>'versionHash', tree => 'share/w')->'hasEmbedding' as has;
select pg_temp.found(me.memory_search(embedding => '{1,0}')) as found;
select jsonb_path_query_array(me.search_explain(embedding => '{1,0}', fulltext => 'alpha', fusion => 'blend'), '$.steps[*].step') as steps;
rollback;

-- A turn of a conversation gains from the turn beside it, within its thread.
begin;
select count(me.memory_create(content, 'share/talk', name => name, id => id, meta => meta)) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, 'where does the ferry leave from', 't1', '{"$thread": "a"}'::jsonb),
  ('0190a1b2-0000-7000-8000-000000000002', 'from the north pier at nine', 't2', '{"$thread": "a", "$prev": "/share/talk/t1"}'),
  ('0190a1b2-0000-7000-8000-000000000003', 'thanks', 't3', '{"$thread": "a", "$prev": "/share/talk/t2"}'),
  ('0190a1b2-0000-7000-8000-000000000004', 'from elsewhere', null, '{"$thread": "b", "$prev": "/share/talk/t1"}'),
  ('0190a1b2-0000-7000-8000-000000000005', 'no thread', null, '{"$prev": "/share/talk/t1"}'),
  ('0190a1b2-0000-7000-8000-000000000006', 'broken links', null, '{"$thread": "a", "$prev": "no / path", "$next": 7}')
) as v (id, content, name, meta);
create function pg_temp.found(answer jsonb) returns text language sql as
$$ select coalesce(string_agg(right(r->>'id', 1), ',' order by n), '-')
   from jsonb_array_elements(answer->'results') with ordinality as a (r, n) $$;
select pg_temp.found(me.memory_search(fulltext => 'ferry leave')) as alone,
  pg_temp.found(me.memory_search(fulltext => 'ferry leave', fusion => 'blend')) as with_neighbour,
  pg_temp.found(me.memory_search(fulltext => 'ferry leave', fusion => 'blend', grep => 'ferry')) as filtered_neighbour,
  pg_temp.found(me.memory_search(fulltext => 'broken', fusion => 'blend')) as broken;
rollback;
