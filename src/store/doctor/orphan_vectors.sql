-- One model's table ({table}): vectors of memories that are gone.
select pg_catalog.count(*) from {table} as v
where not exists (select from me.memory as m where m.space = v.space and m.id = v.memory_id)
