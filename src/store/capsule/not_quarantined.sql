-- A fragment, for searches over memories m: a quarantined capsule is not found.
and not exists (
  select from me.capsule_tier as q
  where q.space = m.space and q.memory_id = m.id and q.tier = 'quarantined')
