-- Each model's table, with a usable index of each kind that searches use.
select case when t.oid is null then 'error' else 'warning' end,
  case when t.oid is null then pg_catalog.format('the table of model %s is missing', m.name)
    else pg_catalog.format('table me.%I of model %s has no usable %s index', m.relation, m.name, w.label) end,
  case when t.oid is null
    then pg_catalog.format('Restore me.%I from a backup, or drop the model and add it anew.', m.relation)
    else pg_catalog.format('CREATE INDEX CONCURRENTLY ON me.%I USING %s.', m.relation, w.method || ' ' || w.columns) end
from me.embedding_model as m
left join pg_catalog.pg_class as t on t.relname = m.relation and t.relnamespace = 'me'::regnamespace
join (values ('hnsw', 'HNSW', '(vector halfvec_cosine_ops)'), ('hash', 'hash', '(memory_id)')) as w (method, label, columns)
  on t.oid is not null or w.method = 'hnsw'
where t.oid is null or not exists (
  select from pg_catalog.pg_index as i
  join pg_catalog.pg_class as x on x.oid = i.indexrelid
  join pg_catalog.pg_am as a on a.oid = x.relam
  where i.indrelid = t.oid and a.amname = w.method and i.indisvalid and i.indisready)
order by 2
