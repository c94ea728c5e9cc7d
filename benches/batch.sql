select me.memory_batch_create((
  select jsonb_agg(jsonb_build_object(
    'tree', 'share/bench', 'content', 'The quick brown fox jumps over the lazy dog, again and again, until it is tired. ' || n,
    'meta', '{"topic": "fox", "tired": false}'::jsonb))
  from generate_series(1, 100) as n));
