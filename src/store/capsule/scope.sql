-- A fragment: which capsules c the caller may see, behind its fences. Statements with it begin with the same parameters:
-- $1 space, $2 readable trees (null: all), $3 project, $4 project and what is below it.
c.space = $1
and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
and ($3::text is null or c.project_id = $3)
and ($4::text is null or c.project_id = $4 or pg_catalog.starts_with(c.project_id, $4 || '/'))
