-- $8 id, $9 tree, $10 name, $11 content, $12 meta. The event says that the memory came to be, and nothing of its content:
-- what is forgotten later must not live on in the history. Its salt is thrown away at once, so that the digest of the
-- payload confirms nothing to anybody.
with changed as (
  insert into me.memory (
    space, id, tree, name, content, meta, version, content_version, version_hash, created_at, created_by)
  values ($1, $8, $9::{ltree}.ltree, $10, $11, $12, 1, 1,
    me._version_hash($9, $10, $12, null, null, $11), pg_catalog.transaction_timestamp(), $5)
  returning *, 'insert' as operation, true as new_text
), lexemes_stored as (
  insert into me.memory_lexeme (
    space, memory_id, piece, pieces, content_version, configuration, length, lexemes)
  select $1, c.id, p.piece, p.pieces, c.content_version, p.configuration, p.length, p.lexemes
  from changed as c
  join me.space as s on s.slug = $1
  cross join lateral me._lexemes($1, s.text_config, s.fulltext_fields, c.content, c.name, c.tree::text, c.meta,
    null, null) as p
), lexical_noted as (
  insert into me.lexical_tail (space, memory_id, entry, fresh)
  select $1, c.id, me._uuid_v7(), true from changed as c
),
