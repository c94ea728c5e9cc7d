-- Texts of a batch are taken apart word by word: that must find what the server finds in them as a whole. Random texts
-- of what its parser treats specially.
\set QUIET on
\pset format unaligned
set client_min_messages = warning;
begin;
select setseed(0.42);
create temporary table given as
select n, (
  select string_agg(case when random() < 0.25
      then (array[' ', E'\n', E'\t', '  ', ' '])[1 + (random() * 4)::int]
      else (array['a', 'b', 'Z', '0', '7', '19', '-', '-', '.', '.', '/', '/', '+', '@', ':', '://', 'http', 'www', 'com',
        '_', '~', '&', 'amp;', '#x41;', ';', '%', '=', '?', '''', '"', '(', ')', ',', '<', '>', 'é', 'ß', '1e5', '-3.4',
        'e-', 'word', 'foo', '*', '!', '\', '|', '[', ']', '$', '^', '`', '{', '}', 'lt', 'ftp', 'x@y.z', '.html', 'İ'
        ])[1 + (random() * 57)::int]
      end, '')
  from generate_series(1, 14 + n % 9)) as text
from generate_series(1, 4000) as n;
select sum(jsonb_array_length(me.memory_batch_create(batch.memories) -> 'results')) as created
from (
  select jsonb_agg(jsonb_build_object('tree', 'share', 'name', 'n' || n, 'content', 'x ' || text)) as memories
  from given group by n / 500
) as batch;
with found as (
  select m.name, substr(l.lexeme, 5) as lexeme, l.positions[1] / 2 as count
  from me.memory as m
  join me.memory_lexeme as e on e.space = m.space and e.memory_id = m.id
  cross join unnest(e.lexemes) as l
), wanted as (
  select 'n' || g.n as name, l.lexeme, cardinality(l.positions) as count
  from given as g
  cross join unnest(to_tsvector('pg_catalog.english', 'x ' || g.text)) as l
)
select count(*) > 10000 as many, count(*) filter (where f.count is distinct from w.count) as different
from found as f
full join wanted as w using (name, lexeme);
rollback;
