-- A fragment, after "changed": what is gone waits for nothing and has no vectors. The vectors themselves are removed
-- by store::embedding::remove_vectors, in the same call.
, unqueued as (
  delete from me.embedding_queue as q using changed as c where q.space = $1 and q.memory_id = c.id
), unembedded as (
  delete from me.embedded as e using changed as c where e.space = $1 and e.memory_id = c.id
)
