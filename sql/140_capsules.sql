-- Capsules: the trust record beside a memory, and what is said about it later. Nothing here changes a capsule once it
-- is captured but its being forgotten. The space leads every key; numbers come from me.capsule_ledger.

create table me.capsule_ledger (
  space text collate "C",
  capsules bigint not null,
  sessions bigint not null,
  outcomes bigint not null,
  preferences bigint not null,
  tokens bigint not null,
  journal bigint not null,
  head text collate "C" not null,
  packed bigint not null default 0,
  constraint capsule_ledger_pkey primary key (space),
  constraint capsule_ledger_check check (least(capsules, sessions, outcomes, preferences, tokens, journal) >= 0)
);
comment on table me.capsule_ledger is 'Per space, the numbers given out and the head of the journal. Every call that writes capsules locks its row first.';
comment on column me.capsule_ledger.space is 'Slug of the space.';
comment on column me.capsule_ledger.capsules is 'Highest number of a capsule, forgotten ones included.';
comment on column me.capsule_ledger.sessions is 'Highest number of a session.';
comment on column me.capsule_ledger.outcomes is 'Highest number of an outcome.';
comment on column me.capsule_ledger.preferences is 'Highest number of a preference.';
comment on column me.capsule_ledger.tokens is 'Tokens of all contents that are left.';
comment on column me.capsule_ledger.journal is 'Rows of the journal.';
comment on column me.capsule_ledger.head is 'Seal of its last row; empty before the first.';
comment on column me.capsule_ledger.packed is 'Up to this capsule, tokens that many hold are packed.';

create table me.capsule (
  space text collate "C" not null,
  seq bigint not null,
  memory_id uuid,
  tree @extschema:ltree@.ltree not null,
  project_id text not null,
  source text,
  anchor text,
  source_hash text collate "C" not null,
  confidence float8,
  valid_from text,
  valid_from_at timestamptz,
  valid_to text,
  valid_to_at timestamptz,
  authority_class text collate "C" not null,
  instruction_taint boolean not null,
  created_at timestamptz not null,
  session_id text collate "C",
  length int not null,
  thread text,
  constraint capsule_pkey primary key (space, seq),
  constraint capsule_hash_key unique (space, source_hash),
  constraint capsule_authority_check check (authority_class in ('observed-fact', 'user-stated', 'agent-inferred', 'externally-imported')),
  constraint capsule_frame_check check (seq >= 1 and length >= 0 and project_id <> ''),
  constraint capsule_whole_check check (memory_id is null or (source <> '' and anchor <> '' and confidence between 0 and 1
    and valid_from is not null and valid_from_at is not null and (valid_to is null) = (valid_to_at is null)))
);
create index capsule_project_idx on me.capsule (space, project_id, seq);
create unique index capsule_memory_key on me.capsule (space, memory_id) where memory_id is not null;
create index capsule_handoff_idx on me.capsule (space, project_id, thread, seq) where thread is not null;
comment on table me.capsule is 'The capsules: what a captured memory carries beside its content, which is a row of me.memory. Of a forgotten one only the frame is left.';
comment on column me.capsule.space is 'Slug of the space.';
comment on column me.capsule.seq is 'Number: the capsule is cap-<seq>.';
comment on column me.capsule.memory_id is 'The memory that holds the content; null once forgotten.';
comment on column me.capsule.tree is 'Where the memory stands: decides who may read and write the capsule.';
comment on column me.capsule.project_id is 'The fence it stands behind.';
comment on column me.capsule.source is 'Where it comes from.';
comment on column me.capsule.anchor is 'Where in there.';
comment on column me.capsule.source_hash is 'SHA-256 of the content: stays, so that forgotten content is not captured again.';
comment on column me.capsule.confidence is '0 to 1.';
comment on column me.capsule.valid_from is 'From when it holds, as the caller wrote it.';
comment on column me.capsule.valid_from_at is 'The same, as an instant.';
comment on column me.capsule.valid_to is 'Until when it holds, or null.';
comment on column me.capsule.valid_to_at is 'The same, as an instant.';
comment on column me.capsule.authority_class is 'Who vouches for it.';
comment on column me.capsule.instruction_taint is 'Whether it may be giving orders.';
comment on column me.capsule.created_at is 'When it was captured.';
comment on column me.capsule.session_id is 'The session it was captured in, or null.';
comment on column me.capsule.length is 'Tokens of the content; 0 once forgotten.';
comment on column me.capsule.thread is 'Of a handoff: empty, or the thread it names.';

create table me.capsule_token (
  space text collate "C" not null,
  token text collate "C" not null,
  seq bigint not null,
  count int not null,
  -- Recall reads the index alone.
  constraint capsule_token_pkey primary key (space, token, seq) include (count)
);
comment on table me.capsule_token is 'Which capsules hold which tokens, for recall.';
comment on column me.capsule_token.space is 'Slug of the space.';
comment on column me.capsule_token.token is 'A token of the content.';
comment on column me.capsule_token.seq is 'Number of the capsule.';
comment on column me.capsule_token.count is 'How often.';

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

create table me.capsule_relation (
  space text collate "C" not null,
  kind text collate "C" not null,
  to_seq bigint not null,
  from_outcome boolean not null,
  from_seq bigint not null,
  at timestamptz not null,
  origin text collate "C" not null,
  constraint capsule_relation_pkey primary key (space, kind, to_seq, from_outcome, from_seq),
  constraint capsule_relation_kind_check check (kind in ('supersedes', 'derived_from', 'witnesses', 'blocks', 'falsifies',
    'proposes', 'part_of', 'grounded_in', 'about')),
  constraint capsule_relation_origin_check check (origin in ('manual', 'import'))
);
create index capsule_relation_to_idx on me.capsule_relation (space, to_seq);
create index capsule_relation_from_idx on me.capsule_relation (space, from_seq) where not from_outcome;
comment on table me.capsule_relation is 'Edges: from does kind to to.';
comment on column me.capsule_relation.space is 'Slug of the space.';
comment on column me.capsule_relation.kind is 'supersedes, derived_from, witnesses, blocks, falsifies, proposes, part_of, grounded_in or about.';
comment on column me.capsule_relation.to_seq is 'The capsule it is done to.';
comment on column me.capsule_relation.from_outcome is 'Whether from is an outcome.';
comment on column me.capsule_relation.from_seq is 'Number of the capsule, or of the outcome, that does it.';
comment on column me.capsule_relation.at is 'When it was first recorded.';
comment on column me.capsule_relation.origin is 'manual: a caller wrote it; import: the import did.';

create table me.capsule_classification (
  space text collate "C" not null,
  seq bigint not null,
  kind text collate "C" not null,
  scope text collate "C" not null,
  at timestamptz not null,
  constraint capsule_classification_pkey primary key (space, seq),
  constraint capsule_classification_kind_check check (kind in ('fact', 'procedure', 'decision', 'task', 'epic', 'brainstorm', 'doc',
    'constraint', 'capability', 'failure_pattern')),
  constraint capsule_classification_scope_check check (scope in ('project', 'global', 'session'))
);
create index capsule_classification_kind_idx on me.capsule_classification (space, kind, seq);
comment on table me.capsule_classification is 'Labels.';
comment on column me.capsule_classification.space is 'Slug of the space.';
comment on column me.capsule_classification.seq is 'Number of the capsule.';
comment on column me.capsule_classification.kind is 'What it is about.';
comment on column me.capsule_classification.scope is 'How far the label reaches.';
comment on column me.capsule_classification.at is 'When it was last set.';

create table me.capsule_epistemic (
  space text collate "C" not null,
  seq bigint not null,
  evidence_state text collate "C",
  proof_hint text,
  stale_if text,
  at timestamptz not null,
  constraint capsule_epistemic_pkey primary key (space, seq),
  constraint capsule_epistemic_state_check check (evidence_state in ('observed', 'inferred', 'unverified')),
  constraint capsule_epistemic_some_check check (num_nonnulls(evidence_state, proof_hint, stale_if) > 0)
);
comment on table me.capsule_epistemic is 'What supports a capsule.';
comment on column me.capsule_epistemic.space is 'Slug of the space.';
comment on column me.capsule_epistemic.seq is 'Number of the capsule.';
comment on column me.capsule_epistemic.evidence_state is 'observed, inferred or unverified.';
comment on column me.capsule_epistemic.proof_hint is 'How to check it; never executed.';
comment on column me.capsule_epistemic.stale_if is 'When it stops being so; never evaluated.';
comment on column me.capsule_epistemic.at is 'Last write to any of them.';

create table me.capsule_event_time (
  space text collate "C" not null,
  seq bigint not null,
  event_from text not null,
  event_from_at timestamptz not null,
  event_to text not null,
  event_to_at timestamptz not null,
  declared_at timestamptz not null,
  constraint capsule_event_time_pkey primary key (space, seq),
  constraint capsule_event_time_check check (event_from_at <= event_to_at)
);
comment on table me.capsule_event_time is 'When the fact was, as declared at capture.';
comment on column me.capsule_event_time.space is 'Slug of the space.';
comment on column me.capsule_event_time.seq is 'Number of the capsule.';
comment on column me.capsule_event_time.event_from is 'The begin, as written.';
comment on column me.capsule_event_time.event_from_at is 'The same, as an instant.';
comment on column me.capsule_event_time.event_to is 'The end, as written.';
comment on column me.capsule_event_time.event_to_at is 'The same, as an instant.';
comment on column me.capsule_event_time.declared_at is 'When it was declared.';

create table me.capsule_tier (
  space text collate "C" not null,
  seq bigint not null,
  memory_id uuid not null,
  tier text collate "C" not null,
  at timestamptz not null,
  constraint capsule_tier_pkey primary key (space, seq),
  constraint capsule_tier_check check (tier in ('active', 'archived', 'quarantined'))
);
create index capsule_quarantine_idx on me.capsule_tier (space, memory_id) where tier = 'quarantined';
comment on table me.capsule_tier is 'Capsules that were moved out of the active tier, or back.';
comment on column me.capsule_tier.space is 'Slug of the space.';
comment on column me.capsule_tier.seq is 'Number of the capsule.';
comment on column me.capsule_tier.memory_id is 'The memory of the capsule: what search looks quarantined ones up by.';
comment on column me.capsule_tier.tier is 'active, archived or quarantined.';
comment on column me.capsule_tier.at is 'When it was moved.';

create table me.capsule_tombstone (
  space text collate "C" not null,
  seq bigint not null,
  mode text collate "C" not null,
  content_hmac text collate "C" not null,
  at timestamptz not null,
  reason text not null,
  source text,
  anchor text,
  constraint capsule_tombstone_pkey primary key (space, seq),
  constraint capsule_tombstone_mode_check check (mode in ('purged', 'redacted')),
  constraint capsule_tombstone_trace_check check (mode = 'redacted' or (source is null and anchor is null))
);
comment on table me.capsule_tombstone is 'What is left of forgotten capsules.';
comment on column me.capsule_tombstone.space is 'Slug of the space.';
comment on column me.capsule_tombstone.seq is 'Number of the capsule.';
comment on column me.capsule_tombstone.mode is 'purged, or redacted: source and anchor stay.';
comment on column me.capsule_tombstone.content_hmac is 'Fingerprint of the content under the key of the space.';
comment on column me.capsule_tombstone.at is 'When it was forgotten.';
comment on column me.capsule_tombstone.reason is 'Why.';
comment on column me.capsule_tombstone.source is 'Its source, if redacted.';
comment on column me.capsule_tombstone.anchor is 'Its anchor, if redacted.';

create table me.capsule_usage (
  space text collate "C" not null,
  seq bigint not null,
  recall_count bigint not null,
  last_recalled_at timestamptz not null,
  constraint capsule_usage_pkey primary key (space, seq),
  constraint capsule_usage_check check (recall_count > 0)
  -- Every recall changes rows of it: in their place, and no index knows of it.
) with (fillfactor = 70);
comment on table me.capsule_usage is 'How often capsules were recalled.';
comment on column me.capsule_usage.space is 'Slug of the space.';
comment on column me.capsule_usage.seq is 'Number of the capsule.';
comment on column me.capsule_usage.recall_count is 'How often.';
comment on column me.capsule_usage.last_recalled_at is 'When last.';

create table me.capsule_vector (
  space text collate "C" not null,
  seq bigint not null,
  embedding real[] not null,
  model_tag text not null,
  at timestamptz not null,
  constraint capsule_vector_pkey primary key (space, seq)
);
comment on table me.capsule_vector is 'Vectors that callers brought.';
comment on column me.capsule_vector.space is 'Slug of the space.';
comment on column me.capsule_vector.seq is 'Number of the capsule.';
comment on column me.capsule_vector.embedding is 'The vector, exactly as it came.';
comment on column me.capsule_vector.model_tag is 'What made it: one tag for a whole space.';
comment on column me.capsule_vector.at is 'When it was stored.';

create table me.capsule_anchor (
  space text collate "C" not null,
  seq bigint not null,
  file_hash text collate "C" not null,
  at timestamptz not null,
  constraint capsule_anchor_pkey primary key (space, seq)
);
comment on table me.capsule_anchor is 'Hashes of anchored files at capture.';
comment on column me.capsule_anchor.space is 'Slug of the space.';
comment on column me.capsule_anchor.seq is 'Number of the capsule.';
comment on column me.capsule_anchor.file_hash is 'SHA-256 of the file.';
comment on column me.capsule_anchor.at is 'When it was read.';

create table me.capsule_import (
  space text collate "C" not null,
  source_key text not null,
  ordinal int not null,
  seq bigint not null,
  created boolean not null,
  present boolean not null,
  at timestamptz not null,
  constraint capsule_import_pkey primary key (space, source_key, seq)
);
create index capsule_import_seq_idx on me.capsule_import (space, seq);
comment on table me.capsule_import is 'Which pieces of which files became which capsules.';
comment on column me.capsule_import.space is 'Slug of the space.';
comment on column me.capsule_import.source_key is 'The file.';
comment on column me.capsule_import.ordinal is 'Place of the piece in it, from 1.';
comment on column me.capsule_import.seq is 'Number of the capsule.';
comment on column me.capsule_import.created is 'Whether the import captured it, rather than finding it captured by hand.';
comment on column me.capsule_import.present is 'Whether the piece was there at the last import.';
comment on column me.capsule_import.at is 'When it was last seen.';

create table me.capsule_pin (
  space text collate "C" not null,
  seq bigint not null,
  number int not null,
  pinned boolean not null,
  reason text not null,
  actor text not null,
  at timestamptz not null,
  constraint capsule_pin_pkey primary key (space, seq, number)
);
comment on table me.capsule_pin is 'Pins and unpins; the newest decides.';
comment on column me.capsule_pin.space is 'Slug of the space.';
comment on column me.capsule_pin.seq is 'Number of the capsule.';
comment on column me.capsule_pin.number is 'From 1, per capsule.';
comment on column me.capsule_pin.pinned is 'Pinned or unpinned.';
comment on column me.capsule_pin.reason is 'Why.';
comment on column me.capsule_pin.actor is 'Who.';
comment on column me.capsule_pin.at is 'When.';

create table me.capsule_review (
  space text collate "C" not null,
  seq bigint not null,
  number int not null,
  verdict text collate "C" not null,
  reason text not null,
  actor text not null,
  at timestamptz not null,
  constraint capsule_review_pkey primary key (space, seq, number),
  constraint capsule_review_verdict_check check (verdict in ('proposed', 'ratified', 'rejected'))
);
comment on table me.capsule_review is 'Verdicts about proposals; the newest decides.';
comment on column me.capsule_review.space is 'Slug of the space.';
comment on column me.capsule_review.seq is 'Number of the capsule.';
comment on column me.capsule_review.number is 'From 1, per capsule.';
comment on column me.capsule_review.verdict is 'proposed, ratified or rejected.';
comment on column me.capsule_review.reason is 'Why.';
comment on column me.capsule_review.actor is 'Who.';
comment on column me.capsule_review.at is 'When.';

create table me.capsule_session (
  space text collate "C" not null,
  number bigint not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  summary text,
  constraint capsule_session_pkey primary key (space, number)
);
comment on table me.capsule_session is 'Sessions of work.';
comment on column me.capsule_session.space is 'Slug of the space.';
comment on column me.capsule_session.number is 'The session is sess-<number>.';
comment on column me.capsule_session.started_at is 'When it began.';
comment on column me.capsule_session.finished_at is 'When it was finished, or null.';
comment on column me.capsule_session.summary is 'What it came to.';

create table me.capsule_alias (
  space text collate "C" not null,
  term text collate "C" not null,
  alias text collate "C" not null,
  at timestamptz not null,
  constraint capsule_alias_pkey primary key (space, term, alias),
  constraint capsule_alias_check check (term <> '' and alias <> '' and term <> alias)
);
comment on table me.capsule_alias is 'Other words for terms, one way.';
comment on column me.capsule_alias.space is 'Slug of the space.';
comment on column me.capsule_alias.term is 'The term, folded.';
comment on column me.capsule_alias.alias is 'What is searched with it, folded.';
comment on column me.capsule_alias.at is 'When it was first taught.';

create table me.capsule_miss (
  space text collate "C" not null,
  term text collate "C" not null,
  miss_count bigint not null,
  last_at timestamptz not null,
  constraint capsule_miss_pkey primary key (space, term)
);
comment on table me.capsule_miss is 'Terms that recall found nothing for.';
comment on column me.capsule_miss.space is 'Slug of the space.';
comment on column me.capsule_miss.term is 'The term, folded.';
comment on column me.capsule_miss.miss_count is 'How often.';
comment on column me.capsule_miss.last_at is 'When last.';

create table me.capsule_outcome (
  space text collate "C" not null,
  number bigint not null,
  description text not null,
  actor text not null,
  evidence_ref text,
  seq bigint,
  at timestamptz not null,
  receipt text collate "C",
  score float8,
  constraint capsule_outcome_pkey primary key (space, number),
  constraint capsule_outcome_score_check check ((receipt is null) = (score is null) and score between 0 and 1)
);
comment on table me.capsule_outcome is 'What came of something.';
comment on column me.capsule_outcome.space is 'Slug of the space.';
comment on column me.capsule_outcome.number is 'The outcome is out-<number>.';
comment on column me.capsule_outcome.description is 'What came of it.';
comment on column me.capsule_outcome.actor is 'Who reports it.';
comment on column me.capsule_outcome.evidence_ref is 'Where it can be seen.';
comment on column me.capsule_outcome.seq is 'The capsule it is about, or null.';
comment on column me.capsule_outcome.at is 'When.';
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

create table me.capsule_preference (
  space text collate "C" not null,
  number bigint not null,
  preferred_seq bigint not null,
  rejected_seq bigint not null,
  context text not null,
  actor text not null,
  at timestamptz not null,
  constraint capsule_preference_pkey primary key (space, number),
  constraint capsule_preference_check check (preferred_seq <> rejected_seq)
);
comment on table me.capsule_preference is 'Which of two capsules was preferred.';
comment on column me.capsule_preference.space is 'Slug of the space.';
comment on column me.capsule_preference.number is 'The preference is pref-<number>.';
comment on column me.capsule_preference.preferred_seq is 'The preferred capsule.';
comment on column me.capsule_preference.rejected_seq is 'The other one.';
comment on column me.capsule_preference.context is 'For what.';
comment on column me.capsule_preference.actor is 'Who.';
comment on column me.capsule_preference.at is 'When.';

create table me.capsule_audit (
  space text collate "C" not null,
  seq bigint not null,
  at timestamptz not null,
  actor text not null,
  action text collate "C" not null,
  subject text collate "C" not null,
  reason text,
  chained_hash text collate "C" not null,
  constraint capsule_audit_pkey primary key (space, seq),
  constraint capsule_audit_check check (seq >= 1 and actor <> '' and action <> '' and subject <> '')
);
create index capsule_audit_subject_idx on me.capsule_audit (space, subject, seq);
comment on table me.capsule_audit is 'The journal of a space: each row seals the one before.';
comment on column me.capsule_audit.space is 'Slug of the space.';
comment on column me.capsule_audit.seq is 'From 1, gapless.';
comment on column me.capsule_audit.at is 'When.';
comment on column me.capsule_audit.actor is 'Who.';
comment on column me.capsule_audit.action is 'The tool.';
comment on column me.capsule_audit.subject is 'To what.';
comment on column me.capsule_audit.reason is 'Why, or null.';
comment on column me.capsule_audit.chained_hash is 'SHA-256 of the previous row''s hash and this row.';

create table me.capsule_secret (
  space text collate "C",
  key text collate "C" not null,
  constraint capsule_secret_pkey primary key (space)
);
comment on table me.capsule_secret is 'The key of the fingerprints, per space, made at the first forgetting. Not part of a dump.';
comment on column me.capsule_secret.space is 'Slug of the space.';
comment on column me.capsule_secret.key is '32 random bytes in hexadecimal.';

-- The key stays out of dumps: together with the tombstones it would let contents be guessed. A restored database
-- makes a new one; old fingerprints then cannot be confirmed, and nothing else changes.
select pg_catalog.pg_extension_config_dump('me.capsule_ledger', '');
select pg_catalog.pg_extension_config_dump('me.capsule', '');
select pg_catalog.pg_extension_config_dump('me.capsule_token', '');
select pg_catalog.pg_extension_config_dump('me.capsule_posting', '');
select pg_catalog.pg_extension_config_dump('me.capsule_relation', '');
select pg_catalog.pg_extension_config_dump('me.capsule_classification', '');
select pg_catalog.pg_extension_config_dump('me.capsule_epistemic', '');
select pg_catalog.pg_extension_config_dump('me.capsule_event_time', '');
select pg_catalog.pg_extension_config_dump('me.capsule_tier', '');
select pg_catalog.pg_extension_config_dump('me.capsule_tombstone', '');
select pg_catalog.pg_extension_config_dump('me.capsule_usage', '');
select pg_catalog.pg_extension_config_dump('me.capsule_vector', '');
select pg_catalog.pg_extension_config_dump('me.capsule_anchor', '');
select pg_catalog.pg_extension_config_dump('me.capsule_import', '');
select pg_catalog.pg_extension_config_dump('me.capsule_pin', '');
select pg_catalog.pg_extension_config_dump('me.capsule_review', '');
select pg_catalog.pg_extension_config_dump('me.capsule_session', '');
select pg_catalog.pg_extension_config_dump('me.capsule_alias', '');
select pg_catalog.pg_extension_config_dump('me.capsule_miss', '');
select pg_catalog.pg_extension_config_dump('me.capsule_outcome', '');
select pg_catalog.pg_extension_config_dump('me.capsule_receipt', '');
select pg_catalog.pg_extension_config_dump('me.capsule_score', '');
select pg_catalog.pg_extension_config_dump('me.capsule_preference', '');
select pg_catalog.pg_extension_config_dump('me.capsule_audit', '');
select pg_catalog.pg_extension_config_dump('me.capsule_secret', 'where false');

-- The planner's samples are copies too: no call's plan needs them of these columns.
alter table me.memory alter column content set statistics 0;
alter table me.memory_event alter column content set statistics 0;
alter table me.capsule alter column source set statistics 0, alter column anchor set statistics 0,
  alter column thread set statistics 0;
alter table me.capsule_token alter column token set statistics 0;
alter table me.capsule_posting alter column token set statistics 0, alter column postings set statistics 0;
alter table me.capsule_vector alter column embedding set statistics 0;
