-- What reads of the history need besides its tables.

-- A range of trees is a subtree, and what was last seen at a path is found by it. A btree, not GiST: see docs/history.md.
create index memory_event_tree_idx on me.memory_event (space, tree, name);

create table me.audit_seal (
  space text collate "C" not null,
  number bigint not null,
  kind text collate "C" not null check (kind in ('events', 'prune')),
  sealed_at timestamptz not null,
  first_id uuid not null,
  end_id uuid not null,
  event_ids uuid[] not null,
  digests bytea not null,
  previous bytea,
  hash bytea not null,
  constraint audit_seal_pkey primary key (space, number),
  constraint audit_seal_number_check check (number >= 1),
  constraint audit_seal_hash_check check (octet_length(hash) = 32 and octet_length(previous) = 32)
);
-- Digests do not compress.
alter table me.audit_seal alter column digests set storage external;
comment on table me.audit_seal is 'The seals over the history: each hashes the digests of a run of events, in order, and the seal before it.';
comment on column me.audit_seal.space is 'Slug of the space; each has a chain of its own.';
comment on column me.audit_seal.number is 'Counted from 1, without gaps.';
comment on column me.audit_seal.kind is 'events: these events are there. prune: these sealed events were pruned.';
comment on column me.audit_seal.sealed_at is 'When it was made.';
comment on column me.audit_seal.first_id is 'The seal covers every event from this id on …';
comment on column me.audit_seal.end_id is '… that comes before this one. Nothing could still appear before it when the seal was made.';
comment on column me.audit_seal.event_ids is 'The events, in order.';
comment on column me.audit_seal.digests is 'Their digests, 32 bytes each, in the same order; empty for a pruning.';
comment on column me.audit_seal.previous is 'Hash of the seal before, null for the first.';
comment on column me.audit_seal.hash is 'SHA-256 over all of the above: pin the last one outside to prove what was there.';
select pg_catalog.pg_extension_config_dump('me.audit_seal', '');
