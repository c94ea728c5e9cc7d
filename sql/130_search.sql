-- Full text search: the lexemes of the memories, beside them, so that moving a memory or editing its metadata does not
-- write them again.

create table me.memory_lexeme (
  space text collate "C" not null,
  memory_id uuid not null,
  piece smallint not null,
  pieces smallint not null,
  content_version bigint not null,
  configuration int not null,
  length bigint not null,
  lexemes tsvector not null,
  -- The length is in the key's index, so that the statistics of a space are read without its rows.
  constraint memory_lexeme_pkey primary key (space, memory_id, piece) include (length),
  constraint memory_lexeme_piece_check check (piece >= 0 and piece < pieces),
  constraint memory_lexeme_length_check check (length >= 0)
);
create index memory_lexeme_lexemes_idx on me.memory_lexeme using gin (lexemes)
  with (fastupdate = on, gin_pending_list_limit = 512);
comment on table me.memory_lexeme is 'What full text search finds memories by.';
comment on column me.memory_lexeme.space is 'Slug of the space.';
comment on column me.memory_lexeme.memory_id is 'The memory.';
comment on column me.memory_lexeme.piece is 'Number of the part, from 0: one tsvector does not hold every text.';
comment on column me.memory_lexeme.pieces is 'How many parts there are.';
comment on column me.memory_lexeme.content_version is 'The content version the lexemes are of.';
comment on column me.memory_lexeme.configuration is 'Fingerprint of the text search configuration and the fields they were made under.';
comment on column me.memory_lexeme.length is 'Lexemes of the whole memory counted with repetition, in halves: two for one in the content, one for one in another field.';
comment on column me.memory_lexeme.lexemes is 'The lexemes, each behind four characters that stand for the space; the position of each is how often it occurs, in halves.';

select pg_catalog.pg_extension_config_dump('me.memory_lexeme', '');
