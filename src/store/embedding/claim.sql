-- $1 space, $2 now, $3 most attempts, $4 model or null, $5 most entries, $6 seconds they are the claimer's.
with taken as (
  select q.id, q.vt as waited_until, m.content
  from me.embedding_queue as q
  join me.memory as m on m.space = $1 and m.id = q.memory_id and m.content_version = q.content_version
  where q.space = $1 and q.outcome is null and q.vt <= $2 and q.attempts < $3 and ($4 is null or q.model = $4)
  order by q.vt, q.id
  limit $5
  for update of q skip locked
), claimed as (
  update me.embedding_queue as q
  set vt = $2 + pg_catalog.make_interval(secs => $6), attempts = q.attempts + 1, by_server = false
  from taken as t
  where q.space = $1 and q.id = t.id
  returning q.id, q.memory_id, q.content_version, q.model, q.attempts, t.content, t.waited_until
)
select c.id, c.memory_id, c.content_version, c.model, c.attempts, c.content
from claimed as c
order by c.waited_until, c.id
