select m.tree::text, me._record_of(m, $4, exists (
    select from me.embedding_use as u
    join me.embedded as e on e.space = u.space and e.memory_id = m.id and e.model = u.model
    where u.space = m.space and u.state = 'current' and e.content_version = m.content_version)), m.id
from me.memory as m
where m.space = $1 and m.tree operator({ltree}.=) $2::{ltree}.ltree and m.name = $3
