insert into plain.memory_text (
  space, id, tree, content, meta, version, content_version, version_hash, created_at, created_by)
select
  'default', gen_random_uuid(), 'share.bench', 'The quick brown fox jumps over the lazy dog, again and again, until it is tired. ' || n,
  '{"topic": "fox", "tired": false}', 1, 1, '9f680940-0fdf-51fc-7772-9bddede9e202', now(), 'postgres'
from generate_series(1, 100) as n;
