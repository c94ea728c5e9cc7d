-- $1 space, $2 most rows, $3 the space's present configuration, $4 the id from which on. Answers how many, and the last.
-- The rows whose lexemes are missing, or were made of other content or under another configuration. Each is held, so
-- that nobody changes it meanwhile; one that somebody holds gets its lexemes from them, or at the next turn.
with stale as (
  select m.id, m.tree, m.name, m.content, m.meta, m.temporal, m.content_version
  from me.memory as m
  where m.space = $1 and m.id >= $4
    and not exists (
      select from me.memory_lexeme as l
      where l.space = $1 and l.memory_id = m.id and l.piece = 0 and l.content_version = m.content_version
        and l.configuration = $3)
  order by m.id
  limit $2
  for no key update of m skip locked
), lexed as materialized (
  select t.id, t.content_version, p.piece, p.pieces, p.configuration, p.length, p.lexemes
  from stale as t
  join me.space as s on s.slug = $1
  cross join lateral me._lexemes($1, s.text_config, s.fulltext_fields, t.content, t.name, t.tree::text, t.meta,
    lower(t.temporal), upper(t.temporal)) as p
), stored as (
  insert into me.memory_lexeme (
    space, memory_id, piece, pieces, content_version, configuration, length, lexemes)
  select $1, x.id, x.piece, x.pieces, x.content_version, x.configuration, x.length, x.lexemes
  from lexed as x
  on conflict (space, memory_id, piece) do update set
    pieces = excluded.pieces, content_version = excluded.content_version, configuration = excluded.configuration,
    length = excluded.length, lexemes = excluded.lexemes
), dropped as (
  delete from me.memory_lexeme as l
  using lexed as x
  where x.piece = 0 and l.space = $1 and l.memory_id = x.id and l.piece >= x.pieces
), noted as (
  insert into me.lexical_tail (space, memory_id, entry, fresh)
  select $1, x.id, me._uuid_v7(), false from lexed as x where x.piece = 0
)
select count(distinct x.id), (pg_catalog.array_agg(x.id order by x.id desc))[1] from lexed as x
