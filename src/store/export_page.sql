-- Follows the condition of a filter, as "page" of rows: $18 the id before, $19 most rows, $20 most bytes, $21 home.
-- The first row comes however large it is. Sizes are known without reading what is stored outside the row.
and ($18 is null or m.id > $18)
  order by m.id
  limit $19
), sized as (
  select p.*, pg_catalog.sum(pg_catalog.octet_length(p.content)) over (order by p.id) - pg_catalog.octet_length(p.content) as before
  from page as p
)
select
  s.id,
  pg_catalog.jsonb_build_object('id', s.id, 'content', s.content, 'tree', me._tree_display(s.tree::text, $21))
  || case when s.meta = '{}' then '{}' else pg_catalog.jsonb_build_object('meta', s.meta) end
  || case when s.name is null then '{}' else pg_catalog.jsonb_build_object('name', s.name) end
  || case when s.temporal is null then '{}'
    else pg_catalog.jsonb_build_object('temporal', me._temporal_json(s.temporal)) end
from sized as s
where s.before < $20
order by s.id
