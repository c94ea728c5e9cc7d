-- $8 id, $9 tree or null (keep), $10 whether the name is set, $11 name, $12 content or null (keep),
-- $13 meta or null (keep), $14 whether the time is set, $15 start, $16 end, $17 home. The row is locked already.
with planned as (
  select
    coalesce($9, m.tree::text) as new_tree,
    case when $10 then $11 else m.name end as new_name,
    coalesce($12, m.content) as new_content,
    coalesce($13, m.meta) as new_meta,
    case when $14 then me._temporal($15, $16) else m.temporal end as new_temporal,
    coalesce($12 is distinct from m.content and $12 is not null, false) as new_text,
    m.tree, m.name, m.meta, m.temporal
  from me.memory as m
  where m.space = $1 and m.id = $8
), judged as (
  select p.*,
    p.new_text
    or p.new_tree is distinct from p.tree::text
    or p.new_name is distinct from p.name
    or p.new_meta is distinct from p.meta
    or p.new_temporal is distinct from p.temporal as differs
  from planned as p
), updated as (
  update me.memory as m set
    tree = j.new_tree::{ltree}.ltree,
    name = j.new_name,
    content = j.new_content,
    meta = j.new_meta,
    temporal = j.new_temporal,
    version = m.version + j.differs::int,
    content_version = m.content_version + j.new_text::int,
    version_hash = case
      when j.differs then me._version_hash(j.new_tree, j.new_name, j.new_meta,
        lower(j.new_temporal), upper(j.new_temporal), j.new_content)
      else m.version_hash end,
    updated_at = pg_catalog.transaction_timestamp()
  from judged as j
  where m.space = $1 and m.id = $8
  returning m.*, j.differs, j.new_text, me._record_of(m, $17, exists (
    select from me.embedding_use as u
    join me.embedded as e on e.space = u.space and e.memory_id = m.id and e.model = u.model
    where u.space = m.space and u.state = 'current' and e.content_version = m.content_version)) as record
), changed as (
  select u.*, 'update' as operation from updated as u where u.differs
),
