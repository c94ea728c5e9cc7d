-- Searching by words and by filters: what is found, in which order, and what is refused.
begin;
select count(me.memory_create(content, tree, id => id, meta => meta, temporal => temporal, name => name)) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, 'the quick fox jumps', 'share/f', '{"team": "red", "$thread": "t"}'::jsonb, '{"start": "2024-01-10T00:00:00Z", "end": "2024-02-10T00:00:00Z"}'::jsonb, 'one'),
  ('0190a1b2-0000-7000-8000-000000000002', 'lazy dogs were sleeping', 'share/f', '{"team": "blue"}', '{"start": "2024-09-10T00:00:00Z"}', null),
  ('0190a1b2-0000-7000-8000-000000000003', 'a fox and a dog', 'share/g', '{"team": "red"}', null, null),
  ('0190a1b2-0000-7000-8000-000000000004', '今天讨论了部署方案。', 'share/g', '{}', null, 'zh'),
  ('0190a1b2-0000-7000-8000-000000000005', '서울에서 회의했다', 'share/h', '{}', null, 'ko'),
  ('0190a1b2-0000-7000-8000-000000000006', 'カタカナの長い文を書く猫', 'share/h', '{}', null, 'ja')
) as v (id, content, tree, meta, temporal, name);

create function pg_temp.found(answer jsonb) returns text language sql as
$$ select coalesce(string_agg(right(r->>'id', 1), ',' order by n), '-')
   from jsonb_array_elements(answer->'results') with ordinality as a (r, n) $$;

-- Words: stems, one shared word suffices, rare ones count more; stop words and blanks match nothing.
select q, pg_temp.found(me.memory_search(fulltext => q)) as found
from (values ('fox'), ('jumping DOG'), ('quick fox'), ('zebra'), ('the and were'), (''), ('   '), ('fox fox dog')) as v (q);
-- Any text is a query.
select q, pg_temp.found(me.memory_search(fulltext => q)) as found
from (values (repeat('-', 33)), ('a & | b'), ('"fox'), ('fox:*'), ('!fox'), ('(fox'), ('fox <-> dog'), ('fox''; drop'), ('\'), ('fox\dog')) as v (q);
-- Languages without blanks between words, inside sentences.
select q, pg_temp.found(me.memory_search(fulltext => q)) as found
from (values ('部署'), ('部'), ('方案'), ('署部'), ('서울'), ('回议'), ('猫'), ('カタカナ'), ('长')) as v (q);
-- Scores: above zero, best first.
select r->>'content' as content, (r->>'score')::numeric > 0 as positive
from jsonb_array_elements(me.memory_search(fulltext => 'fox')->'results') as r;
-- A writer finds what it wrote, and no longer what it changed or deleted.
select me.memory_update('0190a1b2-0000-7000-8000-000000000003', me.memory_get('0190a1b2-0000-7000-8000-000000000003')->>'versionHash', content => 'a vixen')->>'version' as version;
select pg_temp.found(me.memory_search(fulltext => 'fox')) as fox, pg_temp.found(me.memory_search(fulltext => 'vixen')) as vixen;
select me.memory_update('0190a1b2-0000-7000-8000-000000000003', me.memory_get('0190a1b2-0000-7000-8000-000000000003')->>'versionHash', tree => 'share/moved', meta => '{"team": "green"}')->>'version' as version;
select pg_temp.found(me.memory_search(fulltext => 'vixen', tree => 'share/moved')) as moved;
select me.memory_delete('0190a1b2-0000-7000-8000-000000000003');
select pg_temp.found(me.memory_search(fulltext => 'vixen')) as deleted, count(*) as lexemes from me.memory_lexeme;

-- Filters narrow both a listing and a ranking.
select pg_temp.found(me.memory_search()) as newest,
  pg_temp.found(me.memory_search(order_by => 'asc', "limit" => 2)) as oldest,
  pg_temp.found(me.memory_search("limit" => 2, after => '0190a1b2-0000-7000-8000-000000000005')) as next_page,
  pg_temp.found(me.memory_search(order_by => 'asc', "limit" => 2, after => '0190a1b2-0000-7000-8000-000000000002')) as next_up;
select pg_temp.found(me.memory_search(fulltext => 'fox dogs', tree => 'share/f', meta => '{"team": "red"}')) as meta,
  pg_temp.found(me.memory_search(fulltext => 'fox dogs', meta_predicate => '$.team == "blue"')) as predicate,
  pg_temp.found(me.memory_search(fulltext => 'fox dogs', temporal => '{"before": "2024-06-01T00:00:00Z"}')) as before,
  pg_temp.found(me.memory_search(fulltext => 'fox dogs', grep => '^LAZY')) as grep,
  pg_temp.found(me.memory_search(grep => 'o.*u', tree => 'share/f', order_by => 'asc')) as grep_listed;
select me.memory_search(tree => 'share/f', "limit" => 1, "select" => '{content:5,score,meta.team}');
select me.memory_search(tree => 'nowhere'), me.memory_search(fulltext => 'fox', "limit" => 0)->'limit' as limit;

-- Rows, for joins.
select s.name, s.tree, s.content, s.temporal_start at time zone 'UTC' as start, s.score > 0 as positive
from me.search(fulltext => 'fox', tree => 'share/*') as s;
-- Why a search went as it did.
select e->>'mode' as mode, jsonb_path_query_array(e, '$.steps[*].step') as steps
from me.search_explain(fulltext => 'fox', tree => 'share') as e;

-- Extreme texts.
select length(me.memory_create((select string_agg(md5(i::text), ' ') from generate_series(1, 40000) as i), 'share/big', id => '0190a1b2-0000-7000-8000-000000000009')->>'content') as length;
select pg_temp.found(me.memory_search(fulltext => md5('1'))) as head, pg_temp.found(me.memory_search(fulltext => md5('40000'))) as tail;
select pg_temp.found(me.memory_search(fulltext => repeat('word fox ', 1200000))) as ten_megabytes;
select pg_temp.found(me.memory_search(fulltext => (select string_agg('x' || i, ' ') from generate_series(1, 3000) as i))) as many_terms;
rollback;

-- Fields beside the content count once the space says so, and less.
begin;
select me.space_create('fields')->>'slug' as space;
select me.space_configure(fulltext_fields => '{content,name,tree,meta,temporal}', space => 'fields')->'fulltextFields' as fields;
select count(me.memory_create(content, tree, id => id, meta => meta, temporal => temporal, name => name, space => 'fields')) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, 'harbour log', 'share/ships', '{"captain": "Mary Read", "crew": ["Anne"]}'::jsonb, '{"start": "2023-05-07T12:00:00Z"}'::jsonb, 'day-log.md'),
  ('0190a1b2-0000-7000-8000-000000000002', 'ships and more ships', 'share/x', '{}', null, null)
) as v (id, content, tree, meta, temporal, name);
create function pg_temp.found(answer jsonb) returns text language sql as
$$ select coalesce(string_agg(right(r->>'id', 1), ',' order by n), '-')
   from jsonb_array_elements(answer->'results') with ordinality as a (r, n) $$;
select q, pg_temp.found(me.memory_search(fulltext => q, space => 'fields')) as found
from (values ('in May 2023'), ('mary'), ('Anne'), ('captain'), ('day'), ('ship')) as v (q);
select me.memory_update('0190a1b2-0000-7000-8000-000000000001', me.memory_get('0190a1b2-0000-7000-8000-000000000001', space => 'fields')->>'versionHash', meta => '{"captain": "Ching Shih"}', space => 'fields')->>'version' as version;
select pg_temp.found(me.memory_search(fulltext => 'mary', space => 'fields')) as old, pg_temp.found(me.memory_search(fulltext => 'ching', space => 'fields')) as new;
rollback;

-- Refused.
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare message text; detail text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics message = message_text, detail = pg_exception_detail;
  return sqlstate || ' ' || (detail::jsonb->>'code') || ' ' || coalesce(detail::jsonb->>'argument', '') || ' ' || coalesce(detail::jsonb->>'rule', '');
end $$;
select call, pg_temp.refused('select me.memory_search(' || call || ')') from (values
  ('tree => '''''), ('"limit" => 1001'), ('candidate_limit => 1001'), ('order_by => ''newest'''), ('fusion => ''sum'''),
  ('weights => ''{"semantic": 1.5}'''), ('weights => ''{"sematic": 1}'''), ('weights => ''[]'''), ('semantic_threshold => 1.01'), ('semantic_threshold => ''NaN'''),
  ('grep => ''low'''), ('grep => ''low'', tree => ''/'''), ('grep => ''low'', tree => ''/'', meta_predicate => ''true'''),
  ('grep => ''(unclosed'', tree => ''share'''), ('grep => ''((a{1,255}){1,255}){1,255}'', tree => ''share'''),
  ('meta_predicate => '' '''), ('meta_predicate => ''$.a = 1'''), ('meta => ''[]'''), ('temporal => ''{}'''),
  ('"select" => ''{}'''), ('after => ''0190a1b2-0000-4000-8000-000000000001'''), ('fulltext => ''a'', after => ''0190a1b2-0000-7000-8000-000000000001'''),
  ('embedding => ''{}'''), ('embedding => ''{NaN}'''), ('semantic => ''a'', embedding => ''{1}'''), ('semantic => ''a''')
) as v (call);

-- A change of the configuration indexes anew.
begin;
create function pg_temp.found(answer jsonb) returns text language sql as
$$ select coalesce(string_agg(right(r->>'id', 1), ',' order by n), '-')
   from jsonb_array_elements(answer->'results') with ordinality as a (r, n) $$;
select me.space_create('anew')->>'slug' as space;
select count(me.memory_create(content, 'share', name => name, id => id, space => 'anew')) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, 'die Häuser am Hafen', 'harbour'),
  ('0190a1b2-0000-7000-8000-000000000002', 'das Haus', null)
) as v (id, content, name);
select pg_temp.found(me.memory_search(fulltext => 'haus', space => 'anew')) as english,
  pg_temp.found(me.memory_search(fulltext => 'harbour', space => 'anew')) as by_name;
select me.space_configure(text_config => 'german', fulltext_fields => '{content,name}', space => 'anew')->>'textConfig' as text_config;
select pg_temp.found(me.memory_search(fulltext => 'haus', space => 'anew')) as german,
  pg_temp.found(me.memory_search(fulltext => 'harbour', space => 'anew')) as by_name;
select me.search_reindex(space => 'anew');
update me.space set fulltext_fields = '{content}' where slug = 'anew';
select me.search_reindex("limit" => 1, space => 'anew') as first, me.search_reindex("limit" => 1, space => 'anew') as second;
select pg_temp.found(me.memory_search(fulltext => 'harbour', space => 'anew')) as by_name;
rollback;

-- A quarantined capsule is not found.
begin;
select count(me.memory_create(content, 'share', id => id)) from (values
  ('0190a1b2-0000-7000-8000-000000000001'::uuid, 'ferry times'), ('0190a1b2-0000-7000-8000-000000000002', 'ferry fares')) as v (id, content);
insert into me.capsule_tier values ('default', 1, '0190a1b2-0000-7000-8000-000000000001', 'quarantined', now());
select me.memory_search(fulltext => 'ferry', "select" => '{content}')->'results' as by_words,
  me.memory_search(fulltext => 'ferry', fusion => 'blend', "select" => '{content}')->'results' as blended,
  me.memory_search(tree => 'share', "select" => '{content}')->'results' as listed;
rollback;
