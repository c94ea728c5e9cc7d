-- $8 ids. The memories go, with what search finds them by.
with changed as (
  delete from me.memory as m
  where m.space = $1 and m.id = any ($8)
  returning m.*, 'purge' as operation
), lexemes_dropped as (
  delete from me.memory_lexeme as l where l.space = $1 and l.memory_id = any ($8)
),
