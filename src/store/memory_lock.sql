select m.tree::text, m.name, m.version, replace(m.version_hash::text, '-', ''), m.meta
from me.memory as m
where m.space = $1 and m.id = $2
for update
