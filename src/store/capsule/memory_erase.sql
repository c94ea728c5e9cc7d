-- $8 id. The event says that the memory goes; store::erase takes it away.
with changed as (
  select m.*, 'purge' as operation from me.memory as m where m.space = $1 and m.id = $8
),
