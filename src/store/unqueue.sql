-- A fragment, after "changed": what is gone is not found by its words, waits for nothing and has no vectors. The vectors
-- themselves are removed by store::embedding::remove_vectors, in the same call.
, unlexed as (
  delete from me.memory_lexeme as l using changed as c where l.space = $1 and l.memory_id = c.id
), lexical_noted as (
  insert into me.lexical_tail (space, memory_id, entry, fresh)
  select $1, c.id, me._uuid_v7(), false from changed as c where c.operation = 'delete'
), unqueued as (
  delete from me.embedding_queue as q using changed as c where q.space = $1 and q.memory_id = c.id
), unembedded as (
  delete from me.embedded as e using changed as c where e.space = $1 and e.memory_id = c.id
)
