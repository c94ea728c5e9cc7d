-- A fragment: which rows m of me.memory pass the filters and may be read. Statements with it begin with the same
-- parameters, of which null asks for nothing; what they need besides begins at $18.
-- $1 space, $2 first tree, $3 tree after the last, $4 subtrees, $5 lquery, $6 lquery for our own matcher,
-- $7 ltxtquery, $8 contained metadata, $9 predicate on metadata, $10 the same with times in it, $11 before, $12 after,
-- $13 contains, $14 $15 overlaps, $16 $17 within.
m.space = $1
and ($2 is null or m.tree operator({ltree}.>=) $2::{ltree}.ltree)
and ($3 is null or m.tree operator({ltree}.<) $3::{ltree}.ltree)
and ($4 is null or m.tree operator({ltree}.<@) any ($4::{ltree}.ltree[]))
and ($5 is null or m.tree operator({ltree}.~) $5::{ltree}.lquery)
and ($6 is null or me._tree_matches(m.tree::text, $6))
and ($7 is null or m.tree operator({ltree}.@) $7::{ltree}.ltxtquery)
and ($8 is null or m.meta @> $8::jsonb)
and ($9 is null or m.meta @@ $9::jsonpath)
and ($10 is null or pg_catalog.jsonb_path_match_tz(m.meta, $10::jsonpath, '{}', true))
and ($11 is null or m.temporal << pg_catalog.tstzrange($11, $11, '[]'))
and ($12 is null or m.temporal >> pg_catalog.tstzrange($12, $12, '[]'))
and ($13 is null or m.temporal @> $13)
and ($14 is null or m.temporal && pg_catalog.tstzrange($14, $15))
and ($16 is null or m.temporal <@ pg_catalog.tstzrange($16, $17))
