-- Some memories, each looked up by its tree alone through the index of trees, which an upgrade of ltree or a broken file
-- could spoil. (Planned without sequential scans; the fence keeps the keys out of it.)
with sampled as materialized (
  (select m.space, m.id, m.tree from me.memory as m order by m.space, m.id limit 5)
  union all
  (select m.space, m.id, m.tree from me.memory as m order by m.space desc, m.id desc limit 5)
)
select 'error',
  pg_catalog.format('%s of %s memories are not found by their tree', pg_catalog.count(*) filter (where not f.found), pg_catalog.count(*)),
  'REINDEX TABLE CONCURRENTLY me.memory;'
from sampled as s
cross join lateral (
  select exists (
    select from (select m.space, m.id from me.memory as m where m.tree operator({ltree}.=) s.tree offset 0) as t
    where t.space = s.space and t.id = s.id) as found
) as f
having pg_catalog.count(*) filter (where not f.found) > 0
