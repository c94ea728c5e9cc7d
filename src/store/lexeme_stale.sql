-- $1 space, $2 most rows, $3 the space's present configuration, $4 the id from which on.
-- The rows whose lexemes are missing, or were made of other content or under another configuration. Each is held, so
-- that nobody changes it meanwhile; one that somebody holds gets its lexemes from them, or at the next turn.
select m.id
from me.memory as m
where m.space = $1 and m.id >= $4
  and not exists (
    select from me.memory_lexeme as l
    where l.space = $1 and l.memory_id = m.id and l.piece = 0 and l.content_version = m.content_version
      and l.configuration = $3)
order by m.id
limit $2
for no key update of m skip locked
