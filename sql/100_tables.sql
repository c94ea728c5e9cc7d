-- Tables. The slug of the space leads every key of the data tables, so that a space lives whole on one node or in
-- one partition. No triggers, sequences, policies, foreign keys or roles: each breaks a restore or a distribution.

create table me.space (
  slug text collate "C" primary key check (slug ~ '^[a-z0-9-]{1,63}$'),
  id uuid not null,
  name text not null check (name <> ''),
  text_config text not null default 'english',
  fulltext_fields text[] not null default '{content}',
  home_grants boolean not null default true,
  created_at timestamptz not null,
  created_by text not null,
  lexeme_configuration int
);
comment on table me.space is 'The spaces: worlds of memories that share nothing.';
comment on column me.space.slug is 'Immutable key of the space.';
comment on column me.space.id is 'UUIDv7, for clients that want one.';
comment on column me.space.name is 'Display name; me.space_rename() changes it.';
comment on column me.space.text_config is 'Text search configuration of full text search.';
comment on column me.space.fulltext_fields is 'What full text sees: content, and any of name, tree, meta, temporal.';
comment on column me.space.home_grants is 'Whether a user that joins owns its home.';
comment on column me.space.created_at is 'When the space was made.';
comment on column me.space.created_by is 'Name of the principal that made it.';
comment on column me.space.lexeme_configuration is 'Under which configuration all its memories were last found indexed for full text search; null before anybody looked.';

create table me.principal (
  id uuid primary key,
  name text not null check (name <> ''),
  kind text not null check (kind in ('user', 'service', 'group')),
  role_oid oid,
  cluster text collate "C" not null,
  created_at timestamptz not null
);
create unique index principal_name_key on me.principal (name);
create unique index principal_role_key on me.principal (cluster, role_oid) where role_oid is not null;
comment on table me.principal is 'Who acts: roles of this cluster and application users of a gateway, registered by their first write, roster entry or grant.';
comment on column me.principal.id is 'UUIDv7; its 32 digits label the home.';
comment on column me.principal.name is 'Role name, or the name an application user has.';
comment on column me.principal.kind is 'user, service or group.';
comment on column me.principal.role_oid is 'The role in the cluster named beside it; null for an application user.';
comment on column me.principal.cluster is 'System identifier of the cluster role_oid belongs to; elsewhere names bind anew.';
comment on column me.principal.created_at is 'When it was registered.';

create table me.memory (
  space text collate "C" not null,
  id uuid not null,
  tree @extschema:ltree@.ltree not null,
  name text collate "C",
  content text not null,
  meta jsonb not null,
  temporal tstzrange,
  version bigint not null,
  content_version bigint not null,
  version_hash uuid not null,
  created_at timestamptz not null,
  created_by text not null,
  updated_at timestamptz,
  constraint memory_pkey primary key (space, id),
  constraint memory_content_check check (content <> ''),
  constraint memory_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  constraint memory_meta_check check (jsonb_typeof(meta) = 'object'),
  constraint memory_version_check check (version >= 1 and content_version >= 1 and content_version <= version),
  constraint memory_temporal_check check (
    temporal is null
    or (lower_inc(temporal) and not lower_inf(temporal) and not upper_inf(temporal)
      and upper_inc(temporal) = (lower(temporal) = upper(temporal))))
);
-- Names are unique within a tree; rows without one are all distinct, and are in it for the sake of their trees: a
-- subtree is an interval of this index.
create unique index memory_path_key on me.memory (space, tree, name);
create index memory_tree_idx on me.memory using gist (tree);
create index memory_meta_idx on me.memory using gin (meta jsonb_path_ops);
create index memory_temporal_idx on me.memory using gist (temporal) where temporal is not null;
comment on table me.memory is 'The live memories. Read them through me.memories, write them through the functions.';
comment on column me.memory.space is 'Slug of the space.';
comment on column me.memory.id is 'UUIDv7, unique within the space.';
comment on column me.memory.tree is 'Labels joined by dots; the root is empty.';
comment on column me.memory.name is 'Leaf name, unique within its tree, or null.';
comment on column me.memory.content is 'The text, as it was given.';
comment on column me.memory.meta is 'Metadata: an object.';
comment on column me.memory.temporal is 'A point [t,t] or a period [start,end), or null.';
comment on column me.memory.version is 'Starts at 1 and rises by one with each change of tree, name, meta, temporal or content.';
comment on column me.memory.content_version is 'Starts at 1 and rises by one with each change of content; a vector belongs to one.';
comment on column me.memory.version_hash is 'MD5 of the payload as jsonb text.';
comment on column me.memory.created_at is 'Start of the transaction that made the row.';
comment on column me.memory.created_by is 'Name of the principal that made it.';
comment on column me.memory.updated_at is 'Start of the transaction of the last update, or null.';

create table me.memory_event (
  space text collate "C" not null,
  event_id uuid not null,
  at timestamptz not null,
  operation text collate "C" not null,
  operation_id uuid not null,
  cause text collate "C",
  actor_id uuid,
  actor_name text,
  api_key_id uuid,
  api_key_name text,
  memory_id uuid not null,
  tree @extschema:ltree@.ltree not null,
  version bigint not null,
  content_version bigint not null,
  name text collate "C",
  meta jsonb,
  temporal tstzrange,
  content text,
  version_hash uuid,
  salt bytea,
  payload_digest bytea not null,
  digest bytea not null,
  constraint memory_event_pkey primary key (space, event_id),
  constraint memory_event_operation_check check (operation in ('insert', 'update', 'delete', 'purge')),
  constraint memory_event_digest_check check (octet_length(payload_digest) = 32 and octet_length(digest) = 32)
);
create index memory_event_memory_idx on me.memory_event (space, memory_id, event_id);
comment on table me.memory_event is 'The history: one immutable row for each insert, payload change and delete of a memory.';
comment on column me.memory_event.space is 'Slug of the space.';
comment on column me.memory_event.event_id is 'UUIDv7 in rising order.';
comment on column me.memory_event.at is 'Wall clock at the event.';
comment on column me.memory_event.operation is 'insert, update, delete or purge.';
comment on column me.memory_event.operation_id is 'UUIDv7 shared by all events of one call.';
comment on column me.memory_event.cause is 'The call: create, update, delete, delete_tree, delete_orphans, copy, move, revert, purge.';
comment on column me.memory_event.actor_id is 'The acting principal.';
comment on column me.memory_event.actor_name is 'Its name at the time.';
comment on column me.memory_event.api_key_id is 'The API key it came with, if any.';
comment on column me.memory_event.api_key_name is 'The name of that key.';
comment on column me.memory_event.memory_id is 'The memory, which may be gone.';
comment on column me.memory_event.tree is 'Tree of the snapshot; decides who may read the event.';
comment on column me.memory_event.version is 'Version of the snapshot.';
comment on column me.memory_event.content_version is 'Content version of the snapshot.';
comment on column me.memory_event.name is 'Name of the snapshot.';
comment on column me.memory_event.meta is 'Metadata of the snapshot; null once purged.';
comment on column me.memory_event.temporal is 'Time of the snapshot.';
comment on column me.memory_event.content is 'Content of the snapshot; null once purged.';
comment on column me.memory_event.version_hash is 'Version hash of the snapshot; null once purged.';
comment on column me.memory_event.salt is 'Random bytes in the payload digest; null once purged.';
comment on column me.memory_event.payload_digest is 'SHA-256 over salt and payload: stays when the payload is purged.';
comment on column me.memory_event.digest is 'SHA-256 over the event and its payload digest: what a seal hashes.';

-- A dump of the database carries the data of tables that an extension owns only when told so.
select pg_catalog.pg_extension_config_dump('me.space', '');
select pg_catalog.pg_extension_config_dump('me.principal', '');
select pg_catalog.pg_extension_config_dump('me.memory', '');
select pg_catalog.pg_extension_config_dump('me.memory_event', '');

create table me.space_member (
  space text collate "C" not null,
  principal_id uuid not null,
  admin boolean not null,
  added_at timestamptz not null,
  constraint space_member_pkey primary key (space, principal_id)
);
comment on table me.space_member is 'The rosters: who is admitted to a space.';
comment on column me.space_member.space is 'Slug of the space.';
comment on column me.space_member.principal_id is 'The member: a user, a service or a group whose members are admitted with it.';
comment on column me.space_member.admin is 'Whether it manages the roster and every grant.';
comment on column me.space_member.added_at is 'When it joined.';

create table me.tree_grant (
  space text collate "C" not null,
  principal_id uuid not null,
  tree @extschema:ltree@.ltree not null,
  level smallint not null check (level between 1 and 3),
  granted_at timestamptz not null,
  granted_by text not null,
  constraint tree_grant_pkey primary key (space, principal_id, tree)
);
comment on table me.tree_grant is 'Who may do what where: a level at a tree and everything below it.';
comment on column me.tree_grant.space is 'Slug of the space.';
comment on column me.tree_grant.principal_id is 'The principal: a user, a service or a group.';
comment on column me.tree_grant.tree is 'The tree it covers, with everything below.';
comment on column me.tree_grant.level is '1 read, 2 write, 3 owner; each includes the lower ones.';
comment on column me.tree_grant.granted_at is 'When it was last set.';
comment on column me.tree_grant.granted_by is 'Name of the principal that set it.';

select pg_catalog.pg_extension_config_dump('me.space_member', '');
select pg_catalog.pg_extension_config_dump('me.tree_grant', '');
