\set n random(1000, 10999)
select me.memory_update(
  id => id, version_hash => replace(version_hash::text, '-', ''), meta => jsonb_build_object('n', :n::int, 'v', version))
from me.memory
where space = 'default' and id = ('0190a1b2-0000-7000-8000-0000000' || lpad(:n::text, 5, '0'))::uuid;
