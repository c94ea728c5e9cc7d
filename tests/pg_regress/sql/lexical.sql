-- The lexical index: what is found is the same with it, without it and half-way, and nothing of it stays behind.
begin;
select me.space_create('lexicon', 'lexicon')->>'slug' as space;
set local me.space = 'lexicon';
create function pg_temp.id(n int) returns uuid language sql immutable as
$$ select ('0190a1b2-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
-- The answers to some queries: ids and scores, and how they came about.
create function pg_temp.answers(filter text default null) returns text language sql as
$$ select string_agg(q || ': ' || coalesce(hits, '-'), e'\n' order by q)
   from (values ('fox'), ('lazy fox'), ('n7'), ('blue lazy lazy fox'), ('absent'), ('部署')) as v (q)
   cross join lateral (
     select string_agg(right(s.id::text, 4) || '=' || round(s.score::numeric, 6), ' ' order by s.score desc, s.id) as hits
     from me.search(fulltext => q, "limit" => 4, tree => filter) as s) as s $$;
create function pg_temp.plan(fulltext text, tree text default null) returns text language sql as
$$ select e->'steps'->0->>'plan' from me.search_explain(fulltext => fulltext, tree => tree) as e $$;
select count(me.memory_create(
  'fox n' || n || repeat(' lazy', n % 5) || case when n % 3 = 0 then ' blue' else '' end || case when n % 50 = 0 then ' 今天讨论了部署方案' else '' end,
  'share/t' || n % 10, id => pg_temp.id(n)))
from generate_series(1, 400) as n;

-- Without an index, half of it, and all of it: the same, in the whole space and below a tree.
create temp table before as select pg_temp.answers() as whole, pg_temp.answers('share/t3') as part;
select whole from before;
select pg_temp.plan('fox') as plan;
select me.lexical_maintain("limit" => 150);
select pg_temp.plan('fox') as plan, me.lexical_status() - 'bytes' as status;
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t3') as part from before;
select me.lexical_maintain("limit" => 150);
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t3') as part from before;
select me.lexical_maintain();
select me.lexical_maintain();
select me.lexical_status() - 'bytes' as status;
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t3') as part from before;
-- The plan is chosen by what the filter leaves.
select pg_temp.plan('fox') as everything, pg_temp.plan('absent', 'share/t3') as absent, pg_temp.plan('n7', 'share/t3') as seldom;

-- A change is found at once, by its own transaction, and is gone with it.
savepoint changes;
select count(me.memory_update(id, version_hash, content => 'a vixen n' || right(id::text, 1))) from me.memories where id = any (array[pg_temp.id(3), pg_temp.id(250)]);
select count(me.memory_delete(pg_temp.id(n))) from generate_series(10, 20) as n;
select me.memory_create('a fox n401 that is new', 'share/t1', id => pg_temp.id(401))->>'id' as id;
select me.memory_create('fox n402, made and deleted', 'share/t1', id => pg_temp.id(402))->>'id' as id;
select me.memory_delete(pg_temp.id(402));
-- Deleted and made again under its id, before the index heard of either.
select me.memory_create('fox n10 again', 'share/t1', id => pg_temp.id(10))->>'id' as id;
create temp table changed as select pg_temp.answers() as whole, pg_temp.answers('share/t1') as part;
select whole, part from changed;
-- What going through all rows says; it needs no index.
create temp table kept as select * from me.lexical_segment;
delete from me.lexical_segment;
select pg_temp.plan('fox') as plan, whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t1') as part from changed;
insert into me.lexical_segment select * from kept;
select me.lexical_maintain("limit" => 5);
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t1') as part from changed;
select me.lexical_maintain();
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t1') as part, me.lexical_status() - 'bytes' as status from changed;
-- Merging drops what is dead.
select me.lexical_maintain();
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t1') as part, me.lexical_status() - 'bytes' as status from changed;
-- Anew, from nothing.
select me.lexical_maintain(rebuild => true);
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t1') as part, me.lexical_status() - 'bytes' as status from changed;
rollback to changes;
select whole = pg_temp.answers() as whole, part = pg_temp.answers('share/t3') as part, me.lexical_status() - 'bytes' as status from before;

-- Moving a memory or editing its metadata is nothing to the index.
select me.memory_mv('share/t3', 'share/moved', dry_run => false)->>'count' as moved;
select me.lexical_status()->'waiting' as waiting, part = pg_temp.answers('share/moved') as part from before;

-- Other fields, another configuration: everything is indexed anew.
select me.space_configure(fulltext_fields => '{content,tree}')->'fulltextFields' as fields;
select me.lexical_status()->'waiting' as waiting, me.lexical_maintain()->'indexed' as indexed;
select count(*) as below from me.search(fulltext => 'moved', "limit" => 100);

-- A text in several pieces, one without words, and words that are long.
select length(me.memory_create((select string_agg('w' || i, ' ') from generate_series(1, 45000) as i) || repeat(' fox', 9000), 'share/big', id => pg_temp.id(500))->>'content') as length;
select me.memory_create('...', 'share/none', id => pg_temp.id(501))->>'id' as id;
select me.memory_create(repeat('x', 1500) || ' ' || repeat('x', 1501), 'share/long', id => pg_temp.id(502))->>'id' as id;
create temp table odd as select q, string_agg(right(s.id::text, 3) || '=' || round(s.score::numeric, 6), ' ' order by s.score desc, s.id) as hits
from (values ('w44999 w1'), ('fox'), (repeat('x', 1500)), (repeat('x', 1501))) as v (q) cross join lateral me.search(fulltext => q, "limit" => 3) as s group by q;
select me.lexical_maintain()->'indexed' as indexed;
select left(o.q, 10) as q, hits, hits = (select string_agg(right(s.id::text, 3) || '=' || round(s.score::numeric, 6), ' ' order by s.score desc, s.id) from me.search(fulltext => o.q, "limit" => 3) as s) as same
from odd as o order by o.q;

-- What is purged leaves no lexeme, whether the index had it, had it as it was, or was yet to hear of it.
select me.memory_create('syzygy', 'share/secret', id => pg_temp.id(601))->>'id' as id;
select me.lexical_maintain()->'indexed' as indexed;
select me.memory_update(id, version_hash, content => 'quincunx') ->> 'version' as version from me.memories where id = pg_temp.id(601);
select count(*) as pages from me.lexical_page as p where position('zyg'::bytea in p.body) > 0;
select me.memory_purge(pg_temp.id(601), 'by request')->>'purged' as purged;
select count(*) as pages from me.lexical_page as p where position('zyg'::bytea in p.body) > 0;
select me.lexical_maintain()->'indexed' as indexed;
select count(*) as pages from me.lexical_page as p where position('incunx'::bytea in p.body) > 0;

-- Who may: neither is for everybody.
create role lexical_reader;
select me.space_member_add('lexical_reader')->>'added' as added;
set local role lexical_reader;
\set VERBOSITY terse
savepoint refused;
select me.lexical_maintain();
rollback to refused;
select me.lexical_status();
rollback to refused;
select count(*) from me.lexical_page;
rollback to refused;
reset role;
savepoint granted;
-- Nothing given means everything; nothing to do is not an error.
select me.lexical_maintain("limit" => null, rebuild => null, space => null) - 'merged' as turn;
select me.lexical_maintain("limit" => -1)->'busy' as busy;
select me.lexical_maintain(space => 'no-such-space');
rollback to granted;
-- A space takes its index with it.
select me.space_drop('lexicon')->>'dropped' as dropped;
select (select count(*) from me.lexical_tail) + (select count(*) from me.lexical_state) + (select count(*) from me.lexical_segment) + (select count(*) from me.lexical_page) as left_over;
rollback;
