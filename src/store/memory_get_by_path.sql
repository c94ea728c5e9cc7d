select m.tree::text, me._record(m, $4), m.id
from me.memory as m
where m.space = $1 and m.tree operator({ltree}.=) $2::{ltree}.ltree and m.name = $3
