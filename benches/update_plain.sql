\set n random(1000, 10999)
update plain.memory set meta = jsonb_build_object('n', :n::int), version = version + 1, updated_at = now(),
  version_hash = gen_random_uuid()
where space = 'default' and id = ('0190a1b2-0000-7000-8000-0000000' || lpad(:n::text, 5, '0'))::uuid
returning to_jsonb(memory);
