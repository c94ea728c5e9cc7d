-- Tree filters: paths, patterns and expressions, by index and by scan; our own matcher and the server's agree.
begin;
set local me.space = 'default';
select count(me.memory_create(content => 'n ' || g, tree => '/share/q/Label-' || (g % 10) || '/x_' || g))
from generate_series(1, 300) as g;
select count(me.memory_create(content => 'other', tree => t))
from unnest(array['/', '/share', '/sharex', '/share-1', '/other/q', '/Share']) as t;

create temporary table filter (tree text);
insert into filter values
  ('/share/q'), ('share'), ('share/*'), ('share/*{1,}'), ('/share/q/Label-7/*'), ('q & x_7'), ('*/q/*'), ('*'),
  ('*{0}'), ('*{1}'), ('SHARE@'), ('share*'), ('share|other/*'), ('!share/*'), ('*/q/*/x_8/*'), ('*/q/*/!x_8/*{0}'),
  ('share/!q/*'), ('*/x_1*{1}'), ('*/x%*/*'), ('share & !q'), ('nothing/at/all');
select tree, me.memory_count(tree)->'count' as count from filter order by tree collate "C";

-- The same by scan alone and by index alone.
set local enable_seqscan = off;
create temporary table by_index as select tree, me.memory_count(tree) as answer from filter;
set local enable_seqscan = on;
set local enable_indexscan = off;
set local enable_bitmapscan = off;
set local enable_indexonlyscan = off;
select tree, me.memory_count(tree) as scanned, answer as by_index
from by_index where me.memory_count(tree) is distinct from answer;
rollback;

-- Patterns with many items that vary are ours to match, in bounded time; the server's matcher agrees.
with tree (t) as (
  select array_to_string((array['a', 'b', 'a', 'c'])[s : e], '.') from generate_series(1, 4) s, generate_series(s, 4) e
  union select '' union select 'a.b.b.c' union select 'ab.B' union select 'x_a.a_b'
), pattern (p) as (
  select concat_ws('.', i, j, k)
  from unnest(array['*', 'a', 'a*@', '!b{1,2}', 'b|c', 'a_b%{,2}']) i, unnest(array['*{1,2}', 'b', '!c', '*']) j,
    unnest(array['*', 'c', null, 'B@{0,1}']) k
)
select count(*), count(*) filter (where t::ltree ~ p::lquery) as matched,
  count(*) filter (where (t::ltree ~ p::lquery) <> me._tree_matches(t, p)) as different
from tree, pattern;

begin;
select count(me.memory_create(content => 'deep', tree => repeat('a/', 250) || 'b'));
set local statement_timeout = '5s';
select me.memory_count(repeat('*/a/', 20) || 'c');
select me.memory_count(repeat('*/a/', 20) || '*/b');
rollback;

-- What is no filter.
select me.memory_count(null);
select me.memory_count('');
select me.memory_count(' / ');
select me.memory_count('a b');
select me.memory_count('a/*{3,1}');
select me.memory_count('*', max_count => 0);
select me.memory_tree('a/*');
select me.memory_tree(levels => 101);
