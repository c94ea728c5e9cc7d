select pg_catalog.jsonb_build_object('models', coalesce(pg_catalog.jsonb_agg(
  pg_catalog.jsonb_build_object(
    'name', m.name,
    'provider', m.provider,
    'dimensions', m.dimensions,
    'options', m.options,
    'createdAt', me._iso_millis(m.created_at),
    'spaces', (
      select coalesce(pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('space', u.space, 'state', u.state, 'since', me._iso_millis(u.since))
        order by u.space), '[]')
      from me.embedding_use as u where u.model = m.name))
  order by m.name), '[]'))
from me.embedding_model as m
