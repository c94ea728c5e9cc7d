($2 is null or m.tree operator({ltree}.>=) $2::{ltree}.ltree)
and ($3 is null or m.tree operator({ltree}.<) $3::{ltree}.ltree)
and ($4 is null or m.tree operator({ltree}.<@) any ($4::{ltree}.ltree[]))
