\set n random(1, 1000000000)
insert into plain.memory_text (
  space, id, tree, name, content, meta, version, content_version, version_hash, created_at, created_by)
values (
  'default', gen_random_uuid(), 'share.bench', 'n' || :n, 'The quick brown fox jumps over the lazy dog, again and again, until it is tired. ' || :n,
  '{"topic": "fox", "tired": false}', 1, 1, '9f680940-0fdf-51fc-7772-9bddede9e202', now(), 'postgres')
on conflict do nothing;
