-- $8 ids. The rows are locked already.
with changed as (
  delete from me.memory as m
  where m.space = $1 and m.id = any ($8)
  returning m.*, 'delete' as operation
),
