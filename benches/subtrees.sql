-- What whole subtrees cost, next to one plain statement over the same rows with the same indexes. Run by psql as a
-- superuser in an empty database that has the extension, in a release build; prints milliseconds and ratios. Each
-- figure is the median of seven runs, taken in turns, each rolled back. Time is processor time of the backend, as
-- Linux counts it, so that other load does not count.
\set ON_ERROR_STOP on
\set QUIET on
\pset pager off
set client_min_messages = warning;
set max_parallel_workers_per_gather = 0;
set search_path = public;

-- 10,000 memories of about 600 bytes in 200 trees below share/src, beside 20,000 others.
select count(me.memory_batch_create((
  select jsonb_agg(jsonb_build_object(
    'tree', case when part <= 10 then 'share/src' else 'share/other' end || '/p' || g % 20 || '/t' || g % 10,
    'name', 'n' || part || '-' || g,
    'content', repeat(md5(part || ' ' || g) || ' ', 18),
    'meta', jsonb_build_object('part', part, 'tag', 'x' || g % 50),
    'temporal', jsonb_build_object('start', to_char(timestamp '2025-01-01' + g * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))))
  from generate_series(1, 1000) as g)))
from generate_series(1, 30) as part;
vacuum analyze me.memory, me.memory_event;

create table plain (like me.memory including all);
insert into plain select * from me.memory;
vacuum analyze plain;

create function cpu_ms() returns float8 language sql volatile as $$
  select split_part(pg_read_file('/proc/self/schedstat', 0, 100), ' ', 1)::float8 / 1e6
$$;
create table timing (what text, ms float8);
create function timed(what text, statement text) returns void language plpgsql as $$
declare
  begun float8;
  ms float8;
begin
  begin
    begun := cpu_ms();
    execute statement;
    ms := cpu_ms() - begun;
    raise exception 'undo' using errcode = 'ME999';
  exception when sqlstate 'ME999' then
    insert into timing values (what, ms);
  end;
end $$;

select count(timed(what, statement)) from generate_series(1, 7) as round, (values
  ('update', $$update plain set tree = ('share.dst' || substr(tree::text, 10))::ltree, version = version + 1, updated_at = now()
    where space = 'default' and tree <@ 'share.src'$$),
  ('mv', $$select me.memory_mv('share/src', 'share/dst', false)$$),
  ('insert select', $$insert into plain select space, gen_random_uuid(), ('share.dst' || substr(tree::text, 10))::ltree, name, content, meta,
    temporal, 1, 1, version_hash, now(), created_by, null from plain where space = 'default' and tree <@ 'share.src'$$),
  ('copy', $$select me.memory_copy('share/src', 'share/dst', false)$$),
  ('delete', $$delete from plain where space = 'default' and tree <@ 'share.src'$$),
  ('delete_tree', $$select me.memory_delete_tree('share/src', false)$$)
) as work (what, statement);

-- An import of 10,000 records, next to COPY of the same rows into a table with the columns and indexes of the memories'
-- own, and into one that has an index over its text besides, like the one that the memories have in another table.
\set file `file=$(mktemp /tmp/memory_engine_bench-XXXXXX) && chmod 644 "$file" && echo "$file"`
copy (select * from me.memory where tree <@ 'share.src') to stdout \g :file
create table text_to_import as
  select jsonb_agg(record)::text as json from me.memory_export_rows('share/src') as record;
select me.space_create('empty-' || round) is not null from generate_series(1, 7) as round;
create table copied (like me.memory including all);
create table copied_text (
  like me.memory including all,
  lexemes tsvector generated always as (to_tsvector('pg_catalog.english', content)) stored
);
create index on copied_text using gin (lexemes) with (fastupdate = on, gin_pending_list_limit = 512);
select count(timed(what, statement)) from generate_series(1, 7) as round, lateral (values
  ('COPY', format('copy copied from %L', :'file')),
  ('COPY, text index', format('copy copied_text from %L', :'file')),
  ('import', format($$select me.memory_import((select json from text_to_import), 'json', 'empty-%s')$$, round))
) as work (what, statement);
\set gone `rm -f :'file'`

-- 100,000 memories in 2,200 trees: how many lie where.
select count(me.memory_batch_create((
  select jsonb_agg(jsonb_build_object('tree', 'share/many/p' || part || '/t' || g % 30, 'content', repeat(md5(part || ' ' || g) || ' ', 18)))
  from generate_series(1, 1000) as g)))
from generate_series(1, 70) as part;
vacuum analyze me.memory;
drop role if exists bench_reader;
create role bench_reader;
select me.space_member_add('bench_reader') is not null;
select me.access_grant('bench_reader', '/share/many', 'read') is not null;
select count(timed(what, statement)) from generate_series(1, 7) as round, (values
  ('group by', $$select count(*) from (select tree, count(*) from me.memory where space = 'default' group by tree) as t$$),
  ('tree', $$select me.memory_tree()$$),
  ('group by, subtree', $$select count(*) from (select tree, count(*) from me.memory where space = 'default' and tree <@ 'share.many' group by tree) as t$$),
  ('count', $$select me.memory_count('*')$$),
  ('count, pattern', $$select me.memory_count('*/t7/*')$$)
) as work (what, statement);
create function pg_temp.cpu_ms() returns float8 language sql volatile security definer as 'select public.cpu_ms()';
set role bench_reader;
create function pg_temp.timed_reader() returns float8 language plpgsql as $$
declare begun float8 := pg_temp.cpu_ms();
begin
  perform me.memory_tree();
  return pg_temp.cpu_ms() - begun;
end $$;
create temporary table reader as select pg_temp.timed_reader() as ms from generate_series(1, 7);
reset role;
insert into timing select 'tree, subtree of a reader', ms from reader;

create temporary table median as
  select what, percentile_cont(0.5) within group (order by ms) as ms from timing group by what;
select what, round(ms::numeric, 1) as ms from median order by what;
select r.what, round((m.ms / p.ms)::numeric, 2) as ratio, r.wanted
from (values
  ('mv / update', 'mv', 'update', '<= 2.0'), ('copy / insert select', 'copy', 'insert select', '<= 2.0'),
  ('delete_tree / delete', 'delete_tree', 'delete', ''), ('COPY with a text index / import', 'COPY, text index', 'import', '>= 0.45'),
  ('COPY / import', 'COPY', 'import', ''),
  ('tree / group by', 'tree', 'group by', '<= 1.2'),
  ('tree / group by, of a reader', 'tree, subtree of a reader', 'group by, subtree', '<= 1.2')
) as r (what, ours, plain, wanted)
join median as m on m.what = r.ours
join median as p on p.what = r.plain;
