-- A fragment: which rows m of me.memory pass the filters and may be read. Statements with it begin with the same
-- parameters, of which null asks for nothing; what they need besides begins at $18.
-- $1 space, $2 first tree, $3 tree after the last, $4 subtrees, $5 lquery, $6 lquery for our own matcher,
-- $7 ltxtquery, $8 contained metadata, $9 predicate on metadata, $10 the same with times in it or that may run long,
-- $11 before, $12 after, $13 contains, $14 $15 overlaps, $16 $17 within.
-- What may run long looks only at rows in scope: the planner orders conditions as it likes, and how long an answer took
-- would tell what stands in rows that the caller may not read. A case decides first.
m.space = $1
and {in_scope}
and ($5 is null or m.tree operator({ltree}.~) $5::{ltree}.lquery)
and ($6 is null or case when {in_scope} then me._tree_matches(m.tree::text, $6) end)
and ($7 is null or m.tree operator({ltree}.@) $7::{ltree}.ltxtquery)
and ($8 is null or m.meta @> $8::jsonb)
and ($9 is null or m.meta @@ $9::jsonpath)
and ($10 is null or case when {in_scope} then pg_catalog.jsonb_path_match_tz(m.meta, $10::jsonpath, '{}', true) end)
and ($11 is null or m.temporal << pg_catalog.tstzrange($11, $11, '[]'))
and ($12 is null or m.temporal >> pg_catalog.tstzrange($12, $12, '[]'))
and ($13 is null or m.temporal @> $13)
and ($14 is null or m.temporal && pg_catalog.tstzrange($14, $15))
and ($16 is null or m.temporal <@ pg_catalog.tstzrange($16, $17))
