-- $8 id. The row is locked already.
with changed as (
  delete from me.memory as m
  where m.space = $1 and m.id = $8
  returning m.*, 'delete' as operation
),
