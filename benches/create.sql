\set n random(1, 1000000000)
select me.memory_create(
  tree => 'share/bench', name => 'n' || :n, content => 'The quick brown fox jumps over the lazy dog, again and again, until it is tired. ' || :n,
  meta => '{"topic": "fox", "tired": false}', on_conflict => 'ignore');
