-- A line for every table of the schema: its rows, and a checksum of them in any order. Not for those that dumps leave
-- empty on purpose.
select format(
  'select %L, count(*), coalesce(md5(string_agg(md5(to_jsonb(t)::text), '''' order by md5(to_jsonb(t)::text))), '''') from me.%I as t',
  c.relname, c.relname)
from pg_class as c
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and not exists (
  select from pg_extension as e, unnest(e.extconfig, e.extcondition) as t (relation, condition)
  where t.relation = c.oid and t.condition = 'where false')
order by c.relname \gexec
