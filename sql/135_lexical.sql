-- The lexical index: lists of the memories that hold a lexeme, in segments that never change, beside the lexemes
-- themselves. What is not in it yet, or not any more, stands in the tail; docs/lexical-index.md.

create table me.lexical_tail (
  space text collate "C" not null,
  memory_id uuid not null,
  entry uuid not null,
  fresh boolean not null,
  constraint lexical_tail_pkey primary key (space, memory_id, entry)
);
comment on table me.lexical_tail is 'Memories whose lexemes changed since the lexical index was last brought up to date.';
comment on column me.lexical_tail.space is 'Slug of the space.';
comment on column me.lexical_tail.memory_id is 'The memory, which may be gone.';
comment on column me.lexical_tail.entry is 'UUIDv7 of the change.';
comment on column me.lexical_tail.fresh is 'Whether the memory came to be by it, so that no segment holds it but by an earlier change.';

create table me.lexical_state (
  space text collate "C" not null,
  turn bigint not null,
  constraint lexical_state_pkey primary key (space)
);
comment on table me.lexical_state is 'One row for each space whose lexical index was ever written: who writes it holds the row.';
comment on column me.lexical_state.space is 'Slug of the space.';
comment on column me.lexical_state.turn is 'How often it was written; numbers the segments.';

create table me.lexical_segment (
  space text collate "C" not null,
  segment bigint not null,
  memories int not null,
  length bigint not null,
  first_id uuid not null,
  last_id uuid not null,
  dead_memories int not null,
  dead_length bigint not null,
  dead bytea not null,
  constraint lexical_segment_pkey primary key (space, segment),
  constraint lexical_segment_check check (memories > 0 and dead_memories >= 0 and dead_memories <= memories)
);
comment on table me.lexical_segment is 'The segments of the lexical index: some memories each, numbered by their ids.';
comment on column me.lexical_segment.space is 'Slug of the space.';
comment on column me.lexical_segment.segment is 'Its number, never given twice.';
comment on column me.lexical_segment.memories is 'How many memories it was made of.';
comment on column me.lexical_segment.length is 'Their length together, in halves of a word.';
comment on column me.lexical_segment.first_id is 'The lowest id.';
comment on column me.lexical_segment.last_id is 'The highest id.';
comment on column me.lexical_segment.dead_memories is 'How many of them are not in it any more: changed or deleted since.';
comment on column me.lexical_segment.dead_length is 'The length of those, in halves of a word.';
comment on column me.lexical_segment.dead is 'Their numbers, each as the distance from the one before.';

-- Two pages of ours fit a page of the server, without a detour through a second table.
create table me.lexical_page (
  space text collate "C" not null,
  segment bigint not null,
  kind smallint not null,
  number int not null,
  first bytea,
  body bytea storage external not null,
  constraint lexical_page_pkey primary key (space, segment, kind, number),
  constraint lexical_page_kind_check check (kind between 0 and 5)
) with (toast_tuple_target = 8160);
create index lexical_page_first_idx on me.lexical_page (space, segment, kind, first) where first is not null;
comment on table me.lexical_page is 'The pages of the segments.';
comment on column me.lexical_page.space is 'Slug of the space.';
comment on column me.lexical_page.segment is 'The segment.';
comment on column me.lexical_page.kind is 'What it holds: 0 lexemes with their short lists, 1 parts of long lists, 2 ids, 3 lengths, 4 what the pages of lexemes begin with, 5 what those of ids do.';
comment on column me.lexical_page.number is 'Its number among those of its kind.';
comment on column me.lexical_page.first is 'The first lexeme or id that it knows, where pages are found by that.';
comment on column me.lexical_page.body is 'The bytes, as src/domain/lexical writes them.';

select pg_catalog.pg_extension_config_dump('me.lexical_tail', '');
select pg_catalog.pg_extension_config_dump('me.lexical_state', '');
select pg_catalog.pg_extension_config_dump('me.lexical_segment', '');
select pg_catalog.pg_extension_config_dump('me.lexical_page', '');
