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
  h.content_bytes as history_bytes
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
) as h;
comment on view me.stat_spaces is 'How large each space is that the caller manages. Counts its rows: for dashboards by the minute, not by the second.';
comment on column me.stat_spaces.space is 'Slug of the space.';
comment on column me.stat_spaces.memories is 'Live memories.';
comment on column me.stat_spaces.content_bytes is 'Bytes of their content.';
comment on column me.stat_spaces.model is 'The model it searches with.';
comment on column me.stat_spaces.embedded_share is 'The part of them, from 0 to 1, that has a vector of it; null without a model or memories.';
comment on column me.stat_spaces.last_write is 'When something was last written: a memory, a roster, a grant.';
comment on column me.stat_spaces.history_rows is 'Events of its memories.';
comment on column me.stat_spaces.history_bytes is 'Bytes of the content that these hold.';
grant select on me.stat_spaces to public;
