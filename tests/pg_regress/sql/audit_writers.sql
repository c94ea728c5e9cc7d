-- Whatever writes memories leaves events that verify, sealed or not.
select jsonb_array_length(me.memory_batch_create((
  select jsonb_agg(jsonb_build_object('content', 'c' || g, 'tree', '/a/b' || g % 3, 'name', 'n' || g, 'meta', '{"n": 1.50e2}'::jsonb,
    'temporal', '{"start": "2025-01-01T00:00:00.123456Z"}'::jsonb))
  from generate_series(1, 20) as g))->'results') as made;
select me.memory_create('c1 again', '/a/b1', name => 'n1', on_conflict => 'replace')->'version' as version;
select me.memory_copy('/a', '/c', false);
select me.memory_mv('/a', '/a/inner', false);
select me.memory_delete_tree('/c/b1', false);
select me.memory_delete_orphans('/c', '{"n": 150}', dry_run => false);
select me.memory_import('[{"content": "imported", "tree": "/i", "meta": {"n": 1e40}}]', 'json')->'imported' as imported;
select me.memory_revert(1, path => '/c/b2/n2')->'version' as version;
select me.memory_purge(id, 'test') from me.memories where tree = '/i';
select v->'ok' as ok, v->'sealed' as sealed, v->'unsealed' > '80' as unsealed from me.audit_verify() as v;
select s->'ok' as ok, s->'sealed' > '80' as sealed, s->'unsealed' as unsealed from me.audit_seal() as s;
select v->'ok' as ok, v->'problems' as problems from me.audit_verify() as v;
