-- What a client with files asks of the database: records of a text, and memories as files.
begin;
select * from me.memory_import_records('{"content": "one", "name": "one", "tree": "~/x", "other": 1}');
select * from me.memory_import_records(E'- content: a\n  temporal: 2025-01-01T00:00:00.000001Z\n- content: b\n  meta: {k: 1.50}\n  temporal: [2025-01-01T00:00:00Z, 2025-01-02T00:00:00Z]\n', 'yaml');
select * from me.memory_import_records(E'---\nname: note.md\n---\ntext\n');
select count(*) from me.memories;
-- What they answer imports as the text itself would.
select me.memory_import((select jsonb_agg(r)::text from me.memory_import_records(E'{"content": "n1", "tree": "/i"}\n{"content": "n2", "tree": "/i", "temporal": "2025-01-01T00:00:00.000001Z"}\n') as r))->'imported' as imported;
select content, lower(temporal) at time zone 'UTC' as at from me.memories order by content;
rollback;

begin;
\set ON_ERROR_STOP 0
savepoint s;
select * from me.memory_import_records(NULL);
rollback to s;
select * from me.memory_import_records('[{"content": "a"}, {"content": ""}]');
rollback to s;
select * from me.memory_import_records('a', 'xml');
rollback to s;
select me.memory_export_files();
rollback to s;
select me.memory_export_files(tree => '/f', "limit" => 1001);
rollback to s;
select me.memory_export_files(tree => '/f');
select count(me.memory_create(content => c, tree => t, name => n)) from (values
  ('plain', '/f', 'a'), ('marked', '/f/g', 'a.md'), ('other case', '/f', 'A')) as v (c, t, n);
select me.memory_create(content => 'nameless', tree => '/f', id => '0190a1b2-0000-7000-8000-000000000061')->'id' as id;
select f->'path' as path, strpos(f->>'content', 'content:') as in_front, split_part(f->>'content', E'---\n\n', 2) as body
  from jsonb_array_elements(me.memory_export_files(tree => '/f')->'files') as f order by f->>'path' collate "C" desc limit 2;
select e->'count' as count, e->'truncated' as truncated from (select me.memory_export_files(tree => '/f', "limit" => 2) as e) as x;
rollback;
