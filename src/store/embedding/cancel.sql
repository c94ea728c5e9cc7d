-- $1 space, $2 model: what waits for it waits no longer. Entries that a worker is just finishing are left to it.
update me.embedding_queue as q
set outcome = 'cancelled', finished_at = pg_catalog.clock_timestamp()
from (
  select w.id from me.embedding_queue as w
  where w.space = $1 and w.model = $2 and w.outcome is null
  for update skip locked
) as w
where q.space = $1 and q.id = w.id
