-- Models, the queue, and which memory has which vectors. The vectors themselves are in one table per model, which
-- me.embedding_model_add() makes outside the extension's membership: a dump then carries table and index.

create table me.embedding_model (
  name text collate "C" primary key,
  provider text collate "C" not null check (provider in ('local', 'openai', 'manual')),
  dimensions integer not null check (dimensions between 1 and 4000),
  options jsonb not null check (jsonb_typeof(options) = 'object'),
  relation text collate "C" not null unique check (relation ~ '^vectors_[a-z0-9_]{1,55}$'),
  created_at timestamptz not null,
  created_by text not null
);
comment on table me.embedding_model is 'The embedding models of this database, whichever space uses them.';
comment on column me.embedding_model.name is 'What the model is called here.';
comment on column me.embedding_model.provider is 'local (in this server), openai (an HTTP endpoint of that protocol) or manual (callers bring vectors).';
comment on column me.embedding_model.dimensions is 'Length of its vectors.';
comment on column me.embedding_model.options is 'Settings of the provider; never a secret.';
comment on column me.embedding_model.relation is 'Name of the table in schema me that holds its vectors.';
comment on column me.embedding_model.created_at is 'When it was added.';
comment on column me.embedding_model.created_by is 'Name of the principal that added it.';

create table me.embedding_use (
  space text collate "C" not null,
  model text collate "C" not null,
  state text collate "C" not null check (state in ('current', 'next')),
  since timestamptz not null,
  constraint embedding_use_pkey primary key (space, model),
  constraint embedding_use_state_key unique (space, state)
);
comment on table me.embedding_use is 'Which model a space searches with (current), and which one is being filled to take its place (next).';
comment on column me.embedding_use.space is 'Slug of the space.';
comment on column me.embedding_use.model is 'Name of the model.';
comment on column me.embedding_use.state is 'current or next.';
comment on column me.embedding_use.since is 'When it got into this state.';

create table me.embedded (
  space text collate "C" not null,
  memory_id uuid not null,
  model text collate "C" not null,
  content_version bigint not null,
  constraint embedded_pkey primary key (space, memory_id, model)
);
comment on table me.embedded is 'Which content of a memory each model has vectors of.';
comment on column me.embedded.space is 'Slug of the space.';
comment on column me.embedded.memory_id is 'The memory.';
comment on column me.embedded.model is 'Name of the model.';
comment on column me.embedded.content_version is 'The vectors count while the memory still has this content version.';

create table me.embedding_queue (
  space text collate "C" not null,
  id uuid not null,
  memory_id uuid not null,
  content_version bigint not null,
  model text collate "C" not null,
  vt timestamptz not null,
  attempts integer not null default 0,
  outcome text collate "C" check (outcome in ('completed', 'failed', 'cancelled')),
  last_error text,
  by_server boolean not null default false,
  created_at timestamptz not null,
  finished_at timestamptz,
  constraint embedding_queue_pkey primary key (space, id),
  constraint embedding_queue_finished_check check ((outcome is null) = (finished_at is null))
);
create index embedding_queue_memory_idx on me.embedding_queue (space, memory_id);
create index embedding_queue_pending_idx on me.embedding_queue (space, vt, id) where outcome is null;
create index embedding_queue_server_idx on me.embedding_queue (space, id) where by_server and outcome is null;
create index embedding_queue_finished_idx on me.embedding_queue (space, finished_at) where outcome is not null;
create index embedding_queue_failed_idx on me.embedding_queue (space, id) where outcome = 'failed';
comment on table me.embedding_queue is 'Content that waits for its vectors, one entry for each content version and model.';
comment on column me.embedding_queue.space is 'Slug of the space.';
comment on column me.embedding_queue.id is 'UUIDv7 of the entry.';
comment on column me.embedding_queue.memory_id is 'The memory.';
comment on column me.embedding_queue.content_version is 'The content version that is to be embedded.';
comment on column me.embedding_queue.model is 'Name of the model.';
comment on column me.embedding_queue.vt is 'From when on it may be claimed: the end of a claim or of a delay.';
comment on column me.embedding_queue.attempts is 'How often it was claimed.';
comment on column me.embedding_queue.outcome is 'completed, failed or cancelled; null while it waits.';
comment on column me.embedding_queue.last_error is 'Why the last attempt failed.';
comment on column me.embedding_queue.by_server is 'Whether the server''s own worker holds it: the next one takes it over if that one dies.';
comment on column me.embedding_queue.created_at is 'When it was queued.';
comment on column me.embedding_queue.finished_at is 'When it got its outcome.';

select pg_catalog.pg_extension_config_dump('me.embedding_model', '');
select pg_catalog.pg_extension_config_dump('me.embedding_use', '');
select pg_catalog.pg_extension_config_dump('me.embedded', '');
select pg_catalog.pg_extension_config_dump('me.embedding_queue', '');
