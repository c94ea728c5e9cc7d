-- Memories as text and as rows.
begin;
select count(me.memory_create(content => c, tree => t, id => ('0190a1b2-0000-7000-8000-00000000000' || n)::uuid, name => m,
  meta => j::jsonb, temporal => w::jsonb))
from (values
  (2, 'second', 'e/x', null, '{"k": 1.50, "z": null}', '{"start": "2025-01-01T00:00:00.123456Z"}'),
  (1, E'first\nline', 'e/x', 'one', null, null),
  (3, 'third', '~', null, null, null)
) as v (n, c, t, m, j, w);
select me.memory_export('json', 'e')->>'content';
select me.memory_export('yaml', 'e')->>'content';
select me.memory_export('md', 'e', "limit" => 1)->>'content';
select me.memory_export('md', 'none');
select me.memory_export('json', 'e', "limit" => 1)->'truncated' as more, me.memory_export('json', 'e', "limit" => 2)->'truncated' as no_more,
  me.memory_export('json', '', "limit" => 0)->'count' as everything;
select r from me.memory_export_rows() as r;
select me.memory_export_rows('e');

-- More than a page holds, in order.
select count(me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', repeat('x', 5000), 'tree', 'big'))
  from generate_series(1, 900)))) from generate_series(1, 3);
select count(*), bool_and(id > before) is not false as in_order
from (select r->>'id' as id, lag(r->>'id') over () as before from me.memory_export_rows('big') as r) as rows;
select count(*) from (select me.memory_export_rows() limit 3) as some_rows;
select me.memory_export('json', 'big')->'count' as count, me.memory_export('json', 'big')->'truncated' as truncated;

-- A cursor goes on as whoever opened it.
create role regress_export_reader;
declare rows cursor for select me.memory_export_rows('e')->>'content';
fetch 1 from rows;
set local role regress_export_reader;
fetch all from rows;
select count(*) from me.memory_export_rows('e');
rollback;

begin;
select count(me.memory_create(content => 'x', tree => 'e')) from generate_series(1, 2);
select me.memory_export('md', 'e');
rollback;
