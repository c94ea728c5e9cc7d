-- Each model's table, with a usable HNSW index.
select case when t.oid is null then 'error' else 'warning' end,
  case when t.oid is null then pg_catalog.format('the table of model %s is missing', m.name)
    else pg_catalog.format('table me.%I of model %s has no usable HNSW index', m.relation, m.name) end,
  case when t.oid is null
    then pg_catalog.format('Restore me.%I from a backup, or drop the model and add it anew.', m.relation)
    else pg_catalog.format('CREATE INDEX CONCURRENTLY ON me.%I USING hnsw (vector halfvec_cosine_ops).', m.relation) end
from me.embedding_model as m
left join pg_catalog.pg_class as t on t.relname = m.relation and t.relnamespace = 'me'::regnamespace
where t.oid is null or not exists (
  select from pg_catalog.pg_index as i
  join pg_catalog.pg_class as x on x.oid = i.indexrelid
  join pg_catalog.pg_am as a on a.oid = x.relam
  where i.indrelid = t.oid and a.amname = 'hnsw' and i.indisvalid and i.indisready)
order by 2
