-- What was erased and may still stand in the files of the database: dead rows until a vacuum, their bytes in the free space
-- of pages until that is overwritten.

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
