-- $1 space, $2 id, $3 tree, $4 name, $5 content or null (keep), $6 meta or null (keep), $7 start, $8 end, $9 version,
-- $10 content version, $11 version hash, $12 home. The row is locked already. What is kept is kept as it is stored: a
-- large content is not written again.
update me.memory as m set
  tree = $3::{ltree}.ltree,
  name = $4,
  content = coalesce($5, m.content),
  meta = coalesce($6, m.meta),
  temporal = me._temporal($7, $8),
  version = $9,
  content_version = $10,
  version_hash = $11,
  updated_at = pg_catalog.transaction_timestamp()
where m.space = $1 and m.id = $2
returning me._record_of(m, $12, exists (
  select from me.embedding_use as u
  join me.embedded as e on e.space = u.space and e.memory_id = m.id and e.model = u.model
  where u.space = m.space and u.state = 'current' and e.content_version = m.content_version))
