-- Indexes that the server does not use.
select 'error', pg_catalog.format('index me.%I is not valid', x.relname),
  pg_catalog.format('REINDEX INDEX CONCURRENTLY me.%I;', x.relname)
from pg_catalog.pg_index as i
join pg_catalog.pg_class as x on x.oid = i.indexrelid
where x.relnamespace = 'me'::regnamespace and not (i.indisvalid and i.indisready)
order by 2
