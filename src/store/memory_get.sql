select m.tree::text, me._record(m, $3)
from me.memory as m
where m.space = $1 and m.id = $2
