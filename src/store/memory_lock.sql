select m.tree::text, m.name, m.version, m.content_version, m.version_hash, m.meta, lower(m.temporal), upper(m.temporal),
  m.content
from me.memory as m
where m.space = $1 and m.id = $2
for update
