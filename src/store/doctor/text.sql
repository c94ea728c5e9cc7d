-- The text search configurations of the spaces, and whether their memories are indexed under them.
select 'error', pg_catalog.format('space %s: there is no text search configuration %s', s.slug, s.text_config),
  pg_catalog.format('Create it, or call me.space_configure(text_config => …, space => %L).', s.slug)
from me.space as s
where not exists (
  select from pg_catalog.pg_ts_config as c join pg_catalog.pg_namespace as n on n.oid = c.cfgnamespace
  where n.nspname = 'pg_catalog' and c.cfgname::text = s.text_config
    or n.nspname::text || '.' || c.cfgname::text = s.text_config)
union all
select 'warning', pg_catalog.format('space %s: memories are still indexed under another configuration', s.slug),
  pg_catalog.format('The worker goes on with it by itself; or call me.search_reindex(space => %L) until it is complete.', s.slug)
from me.space as s
where exists (
  select from me.memory as m
  where m.space = s.slug and not exists (
    select from me.memory_lexeme as l
    where l.space = m.space and l.memory_id = m.id and l.piece = 0 and l.content_version = m.content_version
      and l.configuration = me._fulltext_configuration(s.text_config, s.fulltext_fields)))
order by 2
