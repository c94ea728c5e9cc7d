select m.tree::text, me._record_of(m, $3, exists (
    select from me.embedding_use as u
    join me.embedded as e on e.space = u.space and e.memory_id = m.id and e.model = u.model
    where u.space = m.space and u.state = 'current' and e.content_version = m.content_version))
from me.memory as m
where m.space = $1 and m.id = $2
