-- A fragment: the events of the rows in "changed". Every statement that writes begins with the same parameters:
-- $1 space, $2 operation id, $3 cause, $4 actor id, $5 actor name, $6 API key id, $7 API key name.
-- The clock is read before the id is made, so that no event is older than the time in its id.
stamped as (
  select c.*, pg_catalog.clock_timestamp() as at, me._uuid_v7() as event_id, me._salt() as salt
  from changed as c
), digested as materialized (
  select s.*, me._payload_digest(s.salt, s.tree::text, s.name, s.meta,
    lower(s.temporal), upper(s.temporal), s.content) as payload_digest
  from stamped as s
), event as (
  insert into me.memory_event (
    space, event_id, at, operation, operation_id, cause, actor_id, actor_name, api_key_id, api_key_name,
    memory_id, tree, version, content_version, name, meta, temporal, content, version_hash,
    salt, payload_digest, digest)
  select
    $1, d.event_id, d.at, d.operation, $2, $3, $4, $5, $6, $7,
    d.id, d.tree, d.version, d.content_version, d.name, d.meta, d.temporal, d.content, d.version_hash,
    d.salt, d.payload_digest,
    me._event_digest($1, d.event_id, d.at, d.operation, $2, $3, $4, $5, $6, $7,
      d.id, d.tree::text, d.version, d.content_version, d.payload_digest)
  from digested as d
),
-- What full text search finds the rows by, made anew where something it is made of may have changed.
lexed as materialized (
  select c.id, c.content_version, p.piece, p.pieces, p.configuration, p.length, p.lexemes
  from changed as c
  join me.space as s on s.slug = $1
  -- A lateral join, so that one entry is looked up: as a condition it may be planned to read those of the whole space.
  left join lateral (
    select true as fresh
    from me.memory_lexeme as l
    where c.operation = 'update' and l.space = $1 and l.memory_id = c.id and l.piece = 0
      and l.content_version = c.content_version and s.fulltext_fields = '{content}'
      and l.configuration = me._fulltext_configuration(s.text_config, s.fulltext_fields)
    limit 1
  ) as stored on true
  cross join lateral me._lexemes($1, s.text_config, s.fulltext_fields, c.content, c.name, c.tree::text, c.meta,
    lower(c.temporal), upper(c.temporal)) as p
  where c.operation = 'insert' or (c.operation = 'update' and stored.fresh is null)
), lexemes_stored as (
  insert into me.memory_lexeme (
    space, memory_id, piece, pieces, content_version, configuration, length, lexemes)
  select $1, x.id, x.piece, x.pieces, x.content_version, x.configuration, x.length, x.lexemes
  from lexed as x
  on conflict (space, memory_id, piece) do update set
    pieces = excluded.pieces, content_version = excluded.content_version, configuration = excluded.configuration,
    length = excluded.length, lexemes = excluded.lexemes
), lexemes_dropped as (
  delete from me.memory_lexeme as l
  using changed as c
  where c.operation <> 'insert' and l.space = $1 and l.memory_id = c.id
    and (c.operation = 'delete' or l.piece >= (select max(x.pieces) from lexed as x where x.id = c.id))
), lexical_noted as (
  insert into me.lexical_tail (space, memory_id, entry, fresh)
  select $1, d.id, d.event_id, d.operation = 'insert'
  from digested as d
  where d.operation in ('insert', 'delete') or exists (select from lexed as x where x.id = d.id)
)
