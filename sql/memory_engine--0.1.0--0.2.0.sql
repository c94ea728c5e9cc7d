-- Whatever changes the SQL of the extension is added here too, with the same text (see docs/development.md): tests/upgrade.rs names what is missing.

-- Changes nothing but the row: sessions that are open look at the version again when a function changes.
alter function me.space_list() called on null input;

alter table me.space add column lexeme_configuration int;
comment on column me.space.lexeme_configuration is 'Under which configuration all its memories were last found indexed for full text search; null before anybody looked.';

create function me.doctor() returns table ("check" text, "status" text, "detail" text, "remedy" text)
stable parallel restricted language c as 'MODULE_PATHNAME', 'doctor_wrapper';
revoke all on function me.doctor from public;
comment on function me.doctor is 'What is wrong with this database and its server, and what to do about it. For superusers, and roles that were granted EXECUTE.';

create function me._managed_spaces() returns table ("space" text)
strict stable parallel restricted language c as 'MODULE_PATHNAME', 'managed_spaces_wrapper';
revoke all on function me._managed_spaces from public;
grant execute on function me._managed_spaces to public;
comment on function me._managed_spaces is 'Internal: the spaces the caller manages.';

-- What is shown depends on the tree that lets the caller read it, so that no condition is tried on hidden rows.
create or replace view me.memories with (security_barrier) as
select
  (r.space collate "C") || '' as space,
  m.id,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then me._tree_display(m.tree::text, (select me._home_label())) end as tree,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.name end as name,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.content end as content,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.meta end as meta,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.temporal end as temporal,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.version end as version,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then replace(m.version_hash::text, '-', '') end as version_hash,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then exists (
    select from me.embedding_use as u
    join me.embedded as e on e.space = u.space and e.memory_id = m.id and e.model = u.model
    where u.space = m.space and u.state = 'current' and e.content_version = m.content_version) end as has_embedding,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.created_at end as created_at,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.created_by end as created_by,
  case when m.tree operator(@extschema:ltree@.<@) r.tree then m.updated_at end as updated_at
from (select t.space, t.tree::@extschema:ltree@.ltree from me.readable_trees() as t offset 0) as r
join me.memory as m on m.space = r.space and m.tree operator(@extschema:ltree@.<@) r.tree;
create or replace view me.memory_events with (security_barrier) as
select
  (r.space collate "C") || '' as space,
  e.event_id,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.at end as at,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.operation end as operation,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.operation_id end as operation_id,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.cause end as cause,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.actor_id end as actor_id,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.actor_name end as actor_name,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.api_key_id end as api_key_id,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.api_key_name end as api_key_name,
  e.memory_id,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then me._tree_display(e.tree::text, (select me._home_label())) end as tree,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.name end as name,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.meta end as meta,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.temporal end as temporal,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then nullif(e.content, '') end as content,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then e.version end as version,
  case when e.tree operator(@extschema:ltree@.<@) r.tree then replace(e.version_hash::text, '-', '') end as version_hash
from (select t.space, t.tree::@extschema:ltree@.ltree from me.readable_trees() as t offset 0) as r
join me.memory_event as e on e.space = r.space and e.tree operator(@extschema:ltree@.<@) r.tree;

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

-- What was written before waits for the index.
insert into me.lexical_tail (space, memory_id, entry, fresh)
select l.space, l.memory_id, pg_catalog.gen_random_uuid(), false from me.memory_lexeme as l where l.piece = 0;

-- Recall reads the entries of a frequent token by the thousand.
create table me.capsule_posting (
  space text collate "C" not null,
  token text collate "C" not null,
  first_seq bigint not null,
  last_seq bigint not null,
  postings bytea storage external not null,
  constraint capsule_posting_pkey primary key (space, token, first_seq),
  constraint capsule_posting_check check (first_seq between 1 and last_seq)
) with (toast_tuple_target = 8160);
comment on table me.capsule_posting is 'Entries of me.capsule_token, packed: up to a thousand of a token to a row. Made of them, and made anew at any time.';
comment on column me.capsule_posting.space is 'Slug of the space.';
comment on column me.capsule_posting.token is 'The token.';
comment on column me.capsule_posting.first_seq is 'From this number of a capsule on.';
comment on column me.capsule_posting.last_seq is 'Up to this one: entries of the token behind its last pack are not packed.';
comment on column me.capsule_posting.postings is 'The entries, as src/domain/capsule/posting.rs writes them.';
select pg_catalog.pg_extension_config_dump('me.capsule_posting', '');
alter table me.capsule_posting alter column token set statistics 0, alter column postings set statistics 0;

create function me._lexical_bytes(space text) returns bigint
language sql stable parallel safe
return (select coalesce(sum(pg_column_size(p.*)), 0)::bigint from me.lexical_page as p where p.space = $1)
  + (select coalesce(sum(pg_column_size(p.*)), 0)::bigint from me.capsule_posting as p where p.space = $1);
comment on function me._lexical_bytes is 'Internal: how many bytes the pages of the lexical index of a space have, and the packs of its capsules.';

create view me.stat_spaces with (security_barrier) as
select
  s.space,
  m.memories,
  m.content_bytes,
  u.model,
  case when u.model is not null and m.memories > 0 then m.embedded::float8 / m.memories end as embedded_share,
  greatest(
    (select e.at from me.memory_event as e where e.space = s.space order by e.event_id desc limit 1),
    (select e.at from me.access_event as e where e.space = s.space order by e.event_id desc limit 1)) as last_write,
  h.events as history_rows,
  h.content_bytes as history_bytes,
  l.memories as lexical_memories,
  w.memories as lexical_waiting,
  l.dead::float8 / nullif(l.memories + l.dead, 0) as lexical_stale_share,
  (select coalesce(pg_catalog.sum(pg_catalog.pg_column_size(p.*)), 0)::bigint from me.lexical_page as p
    where p.space = s.space)
  + (select coalesce(pg_catalog.sum(pg_catalog.pg_column_size(p.*)), 0)::bigint from me.capsule_posting as p
    where p.space = s.space) as lexical_bytes
from me._managed_spaces() as s
left join me.embedding_use as u on u.space = s.space and u.state = 'current'
cross join lateral (
  select pg_catalog.count(*) as memories,
    coalesce(pg_catalog.sum(pg_catalog.octet_length(c.content)), 0)::bigint as content_bytes,
    pg_catalog.count(e.memory_id) as embedded
  from me.memory as c
  left join me.embedded as e
    on e.space = c.space and e.memory_id = c.id and e.model = u.model and e.content_version = c.content_version
  where c.space = s.space
) as m
cross join lateral (
  select pg_catalog.count(*) as events,
    coalesce(pg_catalog.sum(pg_catalog.octet_length(e.content)), 0)::bigint as content_bytes
  from me.memory_event as e
  where e.space = s.space
) as h
cross join lateral (
  select coalesce(pg_catalog.sum(g.memories - g.dead_memories), 0)::bigint as memories,
    coalesce(pg_catalog.sum(g.dead_memories), 0)::bigint as dead
  from me.lexical_segment as g
  where g.space = s.space
) as l
cross join lateral (
  select pg_catalog.count(distinct t.memory_id) as memories
  from me.lexical_tail as t
  where t.space = s.space
) as w;
comment on view me.stat_spaces is 'How large each space is that the caller manages. Counts its rows: for dashboards by the minute, not by the second.';
comment on column me.stat_spaces.space is 'Slug of the space.';
comment on column me.stat_spaces.memories is 'Live memories.';
comment on column me.stat_spaces.content_bytes is 'Bytes of their content.';
comment on column me.stat_spaces.model is 'The model it searches with.';
comment on column me.stat_spaces.embedded_share is 'The part of them, from 0 to 1, that has a vector of it; null without a model or memories.';
comment on column me.stat_spaces.last_write is 'When something was last written: a memory, a roster, a grant.';
comment on column me.stat_spaces.history_rows is 'Events of its memories.';
comment on column me.stat_spaces.history_bytes is 'Bytes of the content that these hold.';
comment on column me.stat_spaces.lexical_memories is 'Memories in the lexical index.';
comment on column me.stat_spaces.lexical_waiting is 'Memories whose changes it has not taken in yet.';
comment on column me.stat_spaces.lexical_stale_share is 'The part of it, from 0 to 1, that is of memories changed or gone since; null while it is empty.';
comment on column me.stat_spaces.lexical_bytes is 'Bytes of its pages, and of the packs of the capsules.';
grant select on me.stat_spaces to public;
revoke all on function me._lexical_bytes from public;

create function me.lexical_maintain("limit" integer default null, rebuild boolean default null, space text default null) returns jsonb
language c volatile parallel unsafe as 'MODULE_PATHNAME', 'lexical_maintain_wrapper';
comment on function me.lexical_maintain is 'Brings the lexical index of a space up to date: takes in up to limit (100000) memories, merges segments; rebuild makes it anew.';
revoke all on function me.lexical_maintain from public;

create function me.lexical_status(space text default null) returns jsonb
language c stable parallel restricted as 'MODULE_PATHNAME', 'lexical_status_wrapper';
comment on function me.lexical_status is 'What the lexical index of a space holds, and how many memories wait for it.';
revoke all on function me.lexical_status from public;

create function me._record_json("id" uuid, "content" text, "meta" jsonb, "tree" text, "name" text,
  "start" timestamp with time zone, "end" timestamp with time zone, "version" bigint, "version_hash" uuid,
  "has_embedding" bool, "created_at" timestamp with time zone, "created_by" text,
  "updated_at" timestamp with time zone, "home" text) returns jsonb
language c immutable parallel safe
as 'MODULE_PATHNAME', 'record_json_wrapper';
revoke all on function me._record_json from public;
comment on function me._record_json is 'Internal: a memory as callers see it (REC-1), of its parts.';

create or replace function me._record_of(m me.memory, home text, has_embedding boolean) returns jsonb
language sql stable parallel safe
return me._record_json((m).id, (m).content, (m).meta, (m).tree::text, (m).name, lower((m).temporal), upper((m).temporal),
  (m).version, (m).version_hash, has_embedding, (m).created_at, (m).created_by, (m).updated_at, home);

-- Capsules: receipts and scores, proposals that are decided on, neighbours by meaning, dumps.
alter table me.capsule_token drop constraint capsule_token_pkey,
  add constraint capsule_token_pkey primary key (space, token, seq) include (count);
alter table me.capsule_ledger add column packed bigint not null default 0;
comment on column me.capsule_ledger.packed is 'Up to this capsule, tokens that many hold are packed.';

drop index me.capsule_usage_count_idx;
alter table me.capsule_usage set (fillfactor = 70);
alter table me.capsule_outcome add column receipt text collate "C", add column score float8,
  add constraint capsule_outcome_score_check check ((receipt is null) = (score is null) and score between 0 and 1);
comment on column me.capsule_outcome.receipt is 'The recall it came of, or null.';
comment on column me.capsule_outcome.score is 'What that recall was worth, 0 to 1; null without a receipt.';

create table me.capsule_receipt (
  space text collate "C" not null,
  number bigint not null,
  seqs bigint[] not null,
  at timestamptz not null,
  constraint capsule_receipt_pkey primary key (space, number)
);
comment on table me.capsule_receipt is 'What recalls returned in the last months, so that outcomes can say what that was worth.';
comment on column me.capsule_receipt.space is 'Slug of the space.';
comment on column me.capsule_receipt.number is 'The receipt is rcpt-<number>: the milliseconds of the recall, and fifteen random bits.';
comment on column me.capsule_receipt.seqs is 'Numbers of the capsules.';
comment on column me.capsule_receipt.at is 'When.';

create table me.capsule_score (
  space text collate "C" not null,
  seq bigint not null,
  score float8 not null,
  outcomes bigint not null,
  at timestamptz not null,
  constraint capsule_score_pkey primary key (space, seq),
  constraint capsule_score_check check (score between 0 and 1 and outcomes > 0)
);
comment on table me.capsule_score is 'What capsules turned out to be worth, from the scores of outcomes.';
comment on column me.capsule_score.space is 'Slug of the space.';
comment on column me.capsule_score.seq is 'Number of the capsule.';
comment on column me.capsule_score.score is '0 to 1: starts at 0.5, and each score moves it a tenth of the way.';
comment on column me.capsule_score.outcomes is 'How many scores.';
comment on column me.capsule_score.at is 'The last one.';

select pg_catalog.pg_extension_config_dump('me.capsule_receipt', '');
select pg_catalog.pg_extension_config_dump('me.capsule_score', '');

drop function me.capsule_merge(text, text);
create function me.capsule_merge(
  "from" text default null,
  dump jsonb default null,
  space text default null
) returns jsonb volatile parallel unsafe language c as 'MODULE_PATHNAME', 'capsule_merge_dump_wrapper';
revoke all on function me.capsule_merge from public;
grant execute on function me.capsule_merge to public;
comment on function me.capsule_merge is 'Folds the capsules of another space, or of a dump, into this one.';

drop function me.capsule_outcome(text, text, text, text, text);
create function me.capsule_outcome(
  description text default null,
  actor text default null,
  evidence_ref text default null,
  capsule_id text default null,
  receipt_id text default null,
  score float8 default null,
  space text default null
) returns jsonb volatile parallel unsafe language c as 'MODULE_PATHNAME', 'capsule_outcome_scored_wrapper';
revoke all on function me.capsule_outcome from public;
grant execute on function me.capsule_outcome to public;
comment on function me.capsule_outcome is 'Reports what came of something, or lists the reports.';

drop function me.capsule_retrieve(text[], text, text, int, int, real[], int, jsonb, text, text, boolean, text);
create function me.capsule_retrieve(
  terms text[] default null,
  project_id text default null,
  project_prefix text default null,
  "limit" int default null,
  token_budget int default null,
  query_embedding real[] default null,
  vector_k int default null,
  time_window jsonb default null,
  session_id text default null,
  lane text default null,
  include_staged boolean default null,
  effort_id text default null,
  topic_id text default null,
  weight_blend float8 default null,
  corroboration_blend float8 default null,
  neighbours int default null,
  space text default null
) returns jsonb volatile parallel unsafe language c as 'MODULE_PATHNAME', 'capsule_retrieve_beside_wrapper';
revoke all on function me.capsule_retrieve from public;
grant execute on function me.capsule_retrieve to public;
comment on function me.capsule_retrieve is 'Recall: grounded, missing_evidence or abstain, with the reasons of what was left out.';

create function me.capsule_dump(
  space text default null
) returns jsonb stable parallel restricted language c as 'MODULE_PATHNAME', 'capsule_dump_wrapper';
revoke all on function me.capsule_dump from public;
grant execute on function me.capsule_dump to public;
comment on function me.capsule_dump is 'The capsules that may be read as one JSON document, to be merged into a space of another database.';

create function me.capsule_review(
  id text default null,
  verdict text default null,
  reason text default null,
  space text default null
) returns jsonb volatile parallel unsafe language c as 'MODULE_PATHNAME', 'capsule_review_wrapper';
revoke all on function me.capsule_review from public;
grant execute on function me.capsule_review to public;
comment on function me.capsule_review is 'Ratifies or rejects a proposal.';

-- What was erased and may still stand in the files.
create table me.erasure (
  space text collate "C" not null,
  memory_id uuid not null,
  xid bigint not null,
  at timestamptz not null,
  constraint erasure_pkey primary key (space, memory_id)
);
comment on table me.erasure is 'Erased memories of which the files of the database may still hold something.';
comment on column me.erasure.space is 'Slug of the space.';
comment on column me.erasure.memory_id is 'The memory that was erased.';
comment on column me.erasure.xid is 'The transaction that erased it: a vacuum removes what it left once nobody sees the time before it.';
comment on column me.erasure.at is 'When.';

-- A restored database holds nothing of what was erased before.
select pg_catalog.pg_extension_config_dump('me.erasure', 'where false');

create function me.erasure_scrub() returns bigint volatile parallel unsafe language c as 'MODULE_PATHNAME', 'erasure_scrub_wrapper';
revoke all on function me.erasure_scrub from public;
comment on function me.erasure_scrub is 'Overwrites the free space of pages, where erased contents may still stand; answers with the number of pages. Run it after VACUUM (INDEX_CLEANUP ON) where no worker does both.';

-- The vectors of a memory are found by hash. The tables of models are no part of the extension, and nor are their indexes.
do $$
declare name text;
begin
  for name in
    select m.relation from me.embedding_model as m
    join pg_catalog.pg_class as t on t.relname = m.relation and t.relnamespace = 'me'::pg_catalog.regnamespace
    order by m.relation
  loop
    execute pg_catalog.format('create index on me.%I using hash (memory_id)', name);
  end loop;
end $$;
