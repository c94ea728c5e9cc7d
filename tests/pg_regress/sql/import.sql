-- Memories from text: every format, all or none, the same text twice.
begin;
create function pg_temp.told(result jsonb) returns jsonb language sql as $$
  select result - 'ids' - 'skippedIds' || jsonb_build_object('ids', jsonb_array_length(result->'ids'), 'skippedIds', jsonb_array_length(result->'skippedIds'))
$$;
select pg_temp.told(me.memory_import('{"content": "one", "name": "one"}'));
select pg_temp.told(me.memory_import(E'{"content": "n1", "tree": "~/i"}\n{"content": "n2", "tree": "/i", "other": 1}\n'));
select pg_temp.told(me.memory_import(E'- content: |\n    y1\n    y1\n  name: y1\n  temporal: [2025-01-01T00:00:00Z, 2025-01-02T00:00:00Z]\n- content: y2\n  meta: {k: 1.50}'));
select pg_temp.told(me.memory_import(E'---\ntree: i/md\nname: note.md\nmeta:\n  k: [1, 2]\n---\n\n# Title\n\nText.\n'));
select tree, name, content, meta, temporal is not null as dated from me.memories order by content;

-- Again: what has a name is skipped, what has none comes again, nothing changes.
select pg_temp.told(me.memory_import('[{"content": "other", "name": "one", "meta": {"k": 1}}, {"content": "anonymous"}, {"content": "anonymous"}]'));
select content, version, updated_at is null as untouched from me.memories where name = 'one';
select pg_temp.told(me.memory_import('[{"content": "x", "id": "0190a1b2-0000-7000-8000-000000000001"}]'));
select pg_temp.told(me.memory_import('[{"content": "y", "id": "0190a1b2-0000-7000-8000-000000000001"}, {"content": "z", "id": "0190a1b2-0000-7000-8000-000000000002"}]'));
select cause, operation, count(*) from me.memory_events group by 1, 2;
rollback;

-- More than one part, under one operation; ids come in the order of the text.
begin;
create temporary table answer as
  select me.memory_import((select jsonb_agg(jsonb_build_object('content', 'c' || g, 'name', 'n' || g, 'tree', 't' || g % 7) order by g)::text
    from generate_series(1, 2500) as g)) as r;
select r->'imported' as imported, jsonb_array_length(r->'ids') as ids,
  (select bool_and(m.content = 'c' || n) from jsonb_array_elements_text(r->'ids') with ordinality as i (id, n)
    join me.memory as m on m.id = i.id::uuid) as in_order
from answer;
select count(*), count(distinct operation_id) as calls from me.memory_events;

-- Out and into an empty space: the same memories. A second time: nothing.
select count(me.memory_create(content => c, tree => t, name => n, meta => m::jsonb, temporal => w::jsonb)) from (values
  (E' \n---\nid: x\n---\r\n\t', '~/x', 'md.md', '{"n": 1.0, "big": 12345678901234567890.10, "e": {"a": [null, {}]}}', null),
  (E'\u2028"\\\x7f😀', '/', null, null, '{"start": "2025-01-01T00:00:00.5Z"}'),
  ('null', '/T', '7', '{}', '{"start": "2025-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}')
) as v (c, t, n, m, w);
select me.space_create('copy') is not null as made;
select me.memory_import(string_agg(r::text, E'\n'), 'json', space => 'copy')->'imported' as imported from me.memory_export_rows() as r;
select count(*) as different from (
  (select id, tree, name, content, meta, temporal, version_hash from me.memories where space = 'default'
   except select id, tree, name, content, meta, temporal, version_hash from me.memories where space = 'copy')
  union all
  (select id, tree, name, content, meta, temporal, version_hash from me.memories where space = 'copy'
   except select id, tree, name, content, meta, temporal, version_hash from me.memories where space = 'default')
) as difference;
create temporary table stored as select * from me.memory where space = 'copy';
select r->'imported' as imported, r->'skipped' as skipped
from (select me.memory_import(string_agg(r::text, E'\n'), space => 'copy') as r from me.memory_export_rows() as r) as again;
select count(*) as changed from (select * from me.memory where space = 'copy' except select * from stored) as change;
select f, me.memory_import(me.memory_export(f, t)->>'content', f, space => 'copy')->'skipped' as skipped
from (values ('json', '/T|x|t1'), ('yaml', '~'), ('md', '~'), ('md', '/T')) as v (f, t);
rollback;

-- All or none; the record and the field are named.
begin;
select me.memory_import('[{"content": "good"}, {"content": "bad", "name": ".x"}]');
rollback;
select me.memory_import('[{"content": "first ok"}, {"content": "bad\u0000byte"}, {"content": "third ok"}]');
select me.memory_import('[{"content": "x", "meta": {"a": "\u0000"}}]');
select me.memory_import('[{"content": "x"}, {"content": "y", "tree": "a b"}]');
select me.memory_import('[{"content": "x", "name": "n"}, {"content": "y", "name": "n", "tree": "/share"}]');
select me.memory_import(E'{"content": "x"}\n{"content": 7}');
select me.memory_import('[]');
select me.memory_import('');
select me.memory_import();
select me.memory_import('{"content": "x"}', 'xml');
begin;
set local me.max_content_bytes = '1kB';
select me.memory_import(jsonb_build_array('{"content": "x"}'::jsonb, jsonb_build_object('content', repeat('x', 1025)))::text);
rollback;
-- One stored memory addressed twice, and an id that another memory has.
begin;
select me.memory_create(content => 'x', tree => 'share', name => 'n', id => '0190a1b2-0000-7000-8000-000000000001') is not null;
savepoint stored;
select me.memory_import('[{"content": "y", "name": "n"}, {"content": "z", "id": "0190a1b2-0000-7000-8000-000000000001"}]');
rollback to stored;
select me.memory_import('[{"content": "y", "name": "m", "id": "0190a1b2-0000-7000-8000-000000000001"}]');
rollback;
select count(*) from me.memory;
