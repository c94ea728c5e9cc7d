-- Moving and copying subtrees.
begin;
create function pg_temp.world() returns table (path text, version bigint, content text) language sql as $$
  select tree || ':' || coalesce(name, '-'), version, content from me.memories order by 1, 3
$$;
select count(me.memory_create(content => c, tree => t, name => n, meta => '{"k": 1}', temporal => '{"start": "2025-01-01T00:00:00Z"}'))
from (values ('a', 'one', 'a1'), ('a', 'two', 'a2'), ('a/b', 'one', 'ab1'), ('a/b', null, 'ab'), ('ab', 'one', 'beside'))
  as v (t, n, c);

-- A dry run counts and changes nothing; nothing at the source is 0.
select me.memory_mv('a', 'x', true), me.memory_copy('a', 'x', true), me.memory_mv('none', 'x', false), me.memory_copy('none', 'x', false);
select * from pg_temp.world();

-- A move keeps ids, names and creation, raises versions and leaves what lies beside it.
create temporary table before as select * from me.memories;
select me.memory_mv('a', 'x/y', false);
select * from pg_temp.world();
select count(*) as moved,
  bool_and(b.created_at = m.created_at and b.meta = m.meta and b.temporal = m.temporal and b.created_by = m.created_by) as kept,
  bool_and(b.version_hash <> m.version_hash) as other_hash, bool_and(m.updated_at is not null) as updated
from before as b join me.memories as m using (id) where b.tree <> m.tree;
select cause, operation, count(*), count(distinct operation_id) as calls, bool_and(tree like '/x/y%') as new_tree
from me.memory_events where cause = 'move' group by 1, 2;

-- Into the own subtree, and back out of it: slots are judged by where everything ends.
select me.memory_mv('x/y', 'x/y/b', false);
select * from pg_temp.world();
select me.memory_mv('x/y/b', 'x/y', false);
select me.memory_mv('/', 'all', false);
select me.memory_mv('all/x/y', '/a', false);
select me.memory_mv('all', '', false);
select * from pg_temp.world();
select bool_and(version_hash = me._version_hash(tree::text, name, meta, lower(temporal), upper(temporal), content)) is not false
  as hashes_are_right
from me.memory as m;

-- Onto itself: a touch, no new version, no event.
select count(*) as events from me.memory_events;
select me.memory_mv('a', '/a/', false), count(*) as events from me.memory_events;
select max(version) as version from me.memories where tree = '/ab';

-- A copy is new, and its source stays.
select me.memory_copy('a', 'a/copy', false);
select * from pg_temp.world();
select count(*) as copies, bool_and(version = 1 and updated_at is null and temporal is not null and meta = '{"k": 1}') as fresh
from me.memories where tree like '/a/copy%';
select cause, operation, count(*), count(distinct operation_id) as calls from me.memory_events where cause = 'copy' group by 1, 2;
select me.memory_copy('a/b', 'ab/b', false), me.memory_copy('a/copy/b', '~', false);
select me.memory_tree();
rollback;

-- A taken name refuses the whole, and says where.
begin;
select count(me.memory_create(content => t, tree => t, name => n))
from (values ('a', 'n'), ('a/b', 'n'), ('a/b', 'z'), ('c/b', 'z'), ('a/b/b', 'n')) as v (t, n);
savepoint taken;
select me.memory_mv('a', 'c', false);
rollback to taken;
select me.memory_copy('a', 'c', false);
rollback to taken;
select me.memory_copy('a', 'a', false);
rollback to taken;
select me.memory_mv('a/b', 'a', false);
rollback to taken;
select count(*), max(version), count(*) filter (where tree like '/c%') as there from me.memories;
rollback;

-- Trees that would be too long, or too deep, are refused; unnamed memories are copied every time.
begin;
select count(me.memory_create(content => 'x', tree => repeat('a/', 150), name => 'n' || g)) from generate_series(1, 3) g;
select count(me.memory_create(content => 'x', tree => 'u'));
select me.memory_copy('u', 'b', false), me.memory_copy('u', 'b', false);
select me.memory_count('b');
savepoint long;
select me.memory_mv('a', repeat('c', 999) || '/' || repeat('d', 999), false);
rollback to long;
select me.memory_copy('a', repeat('c', 1000) || '/' || repeat('d', 700), false);
rollback to long;
select me.memory_mv('/', repeat('b/', 103), false);
rollback to long;
select me.memory_mv('/', repeat('b/', 102), false), me.memory_copy('/', repeat('e/', 100), true);
select me.memory_create(content => 'x', tree => repeat('a/', 253));
rollback;

-- The longest trees there may be, and names, still fit into every index.
begin;
create function pg_temp.tree(labels int, length int, seed int) returns text language sql as $$
  select string_agg(left(md5(seed || '-' || g) || md5(g || '-' || seed), length), '/') from generate_series(1, labels) as g
$$;
select count(me.memory_create(content => 'x', tree => pg_temp.tree(l, c, s), name => repeat(md5(s::text), 4)))
from (values (252, 1), (252, 6), (126, 14), (63, 30), (31, 59)) as v (l, c), generate_series(1, 100) as s;
select me.memory_count('*');
rollback;

-- Vectors are copied along and moved along; what has none is queued.
begin;
select count(me.memory_create(content => t, tree => t, name => 'n')) from unnest(array['v', 'v/w']) as t;
select me.embedding_model_add('m', 'manual', 2) is not null as added;
select me.embedding_model_use('m') is not null as used;
select me.embedding_set((me.memory_get_by_path('v/n')->>'id')::uuid, '{1,0}') is not null as stored;
select me.memory_copy('v', 'copied', false), me.memory_mv('v', 'moved', false);
select tree, has_embedding from me.memories order by 1;
select relation from me.embedding_model \gset
select content_version, vector from me.:relation order by 1;
select me.embedding_status()->'pending' as pending;
select me.memory_delete_tree('/', false);
select (select count(*) from me.:relation) as vectors, (select count(*) from me.embedded) as noted;
rollback;

select me.memory_mv('', 'a', false);
select me.memory_mv('a', 'b');
select me.memory_mv('a', null, false);
select me.memory_mv('a/*', 'b', false);
select me.memory_copy('a', '', false);
select me.memory_copy(null, 'a', false);
