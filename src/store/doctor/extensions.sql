-- What the extensions below must be able to do.
select 'error', pg_catalog.format('pgvector is version %s', e.extversion),
  'Install pgvector 0.8 or later and run ALTER EXTENSION vector UPDATE: filtered searches need its iterative scans.'
from pg_catalog.pg_extension as e
where e.extname = 'vector'
  and pg_catalog.regexp_split_to_array(pg_catalog.substring(e.extversion, '^[0-9]+(?:\.[0-9]+)*'), '\.')::int[] < '{0,8}'::int[]
