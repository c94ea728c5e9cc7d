-- Who may act, and what was changed about it. Rosters and grants are in 100_tables.sql.

create index space_member_principal_idx on me.space_member (principal_id, space);
create index tree_grant_principal_idx on me.tree_grant (principal_id, space);

create table me.gateway (
  cluster text collate "C" not null,
  role_oid oid not null,
  role_name text not null,
  added_at timestamptz not null,
  added_by text not null,
  constraint gateway_pkey primary key (cluster, role_oid)
);
comment on table me.gateway is 'The roles that may act for application users by setting me.principal.';
comment on column me.gateway.cluster is 'System identifier of the cluster role_oid belongs to; elsewhere the name counts.';
comment on column me.gateway.role_oid is 'The role.';
comment on column me.gateway.role_name is 'Its name when it was added.';
comment on column me.gateway.added_at is 'When it was added.';
comment on column me.gateway.added_by is 'Name of the principal that added it.';

create table me.group_member (
  group_id uuid not null,
  member_id uuid not null,
  added_at timestamptz not null,
  constraint group_member_pkey primary key (member_id, group_id)
);
comment on table me.group_member is 'Application users in groups. Roles are in groups by GRANT, as everywhere in Postgres.';
comment on column me.group_member.group_id is 'The group: the principal of a role.';
comment on column me.group_member.member_id is 'The application user.';
comment on column me.group_member.added_at is 'When it was added.';

create table me.access_event (
  space text collate "C" not null,
  event_id uuid not null,
  at timestamptz not null,
  operation text not null,
  operation_id uuid not null,
  actor_id uuid,
  actor_name text,
  api_key_id uuid,
  api_key_name text,
  subject_id uuid,
  subject_name text,
  details jsonb not null,
  digest bytea not null,
  constraint access_event_pkey primary key (space, event_id),
  constraint access_event_details_check check (jsonb_typeof(details) = 'object'),
  constraint access_event_digest_check check (octet_length(digest) = 32)
);
comment on table me.access_event is 'What was changed about spaces, rosters, grants, gateways, groups and keys: one immutable row for each change.';
comment on column me.access_event.space is 'Slug of the space; empty for what belongs to no space, and for the making and dropping of spaces.';
comment on column me.access_event.event_id is 'UUIDv7 in rising order.';
comment on column me.access_event.at is 'Wall clock at the event.';
comment on column me.access_event.operation is 'The change: grant, revoke, member_add, space_drop …';
comment on column me.access_event.operation_id is 'UUIDv7 shared by all events of one call.';
comment on column me.access_event.actor_id is 'The acting principal.';
comment on column me.access_event.actor_name is 'Its name at the time.';
comment on column me.access_event.api_key_id is 'The API key it came with, if any.';
comment on column me.access_event.api_key_name is 'The name of that key.';
comment on column me.access_event.subject_id is 'The principal or space it is about.';
comment on column me.access_event.subject_name is 'Its name at the time.';
comment on column me.access_event.details is 'What the change set: tree, level, admin …';
comment on column me.access_event.digest is 'SHA-256 over the event: what a seal hashes.';

select pg_catalog.pg_extension_config_dump('me.gateway', '');
select pg_catalog.pg_extension_config_dump('me.group_member', '');
select pg_catalog.pg_extension_config_dump('me.access_event', '');

create table me.api_key (
  lookup text collate "C" primary key check (lookup ~ '^[A-Za-z0-9_-]{16}$'),
  id uuid not null,
  principal_id uuid not null,
  name text not null check (name <> ''),
  secret_digest bytea not null check (octet_length(secret_digest) = 32),
  allow jsonb check (jsonb_typeof(allow) = 'object'),
  created_at timestamptz not null,
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create unique index api_key_id_key on me.api_key (id);
create index api_key_principal_idx on me.api_key (principal_id);
comment on table me.api_key is 'API keys. Of a secret only its digest is stored; revoked ones stay, for events name them.';
comment on column me.api_key.lookup is 'The part of the key that is no secret.';
comment on column me.api_key.id is 'UUIDv7; events name it.';
comment on column me.api_key.principal_id is 'Who holds it.';
comment on column me.api_key.name is 'What its holder calls it.';
comment on column me.api_key.secret_digest is 'SHA-256 of the secret, which is 192 random bits.';
comment on column me.api_key.allow is 'The spaces it is for and how far it reaches there; null for whatever its holder may.';
comment on column me.api_key.created_at is 'When it was made.';
comment on column me.api_key.created_by is 'Name of the principal that made it.';
comment on column me.api_key.expires_at is 'When it stops counting; null for never.';
comment on column me.api_key.revoked_at is 'When it was revoked; null while it counts.';

select pg_catalog.pg_extension_config_dump('me.api_key', '');
