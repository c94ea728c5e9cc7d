-- $1 space, $2 memories, $3 how many pieces each has now: what is left of more goes.
delete from me.memory_lexeme as l
using unnest($2::uuid[], $3::int2[]) as g (id, pieces)
where l.space = $1 and l.memory_id = g.id and l.piece >= g.pieces
