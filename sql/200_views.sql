-- Plain SQL sees through these exactly what the functions show. The barrier keeps a caller's own conditions behind
-- the access check, but for operators that cannot leak by themselves: those the server would try on every row, and
-- EXPLAIN ANALYZE tell how many passed, which finds out the text of a hidden row by halving. So whatever is shown
-- depends on the tree that lets the caller read it, and is compared where both are at hand. Keys alone go to the indexes
-- as they are: ids are not guessed.

-- A caller has few topmost trees: with the default guess of 1000 the planner reads whole tables instead of looking up.
alter function me.readable_trees() rows 4;

create view me.memories with (security_barrier) as
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
comment on view me.memories is 'The memories the caller may read, in every space it may read (or the locked one).';
comment on column me.memories.space is 'Slug of the space.';
comment on column me.memories.id is 'UUIDv7, unique within the space.';
comment on column me.memories.tree is 'Where it is, as the caller writes it: ~ is the caller''s home.';
comment on column me.memories.name is 'Leaf name, unique within its tree, or null.';
comment on column me.memories.content is 'The text.';
comment on column me.memories.meta is 'Metadata: an object.';
comment on column me.memories.temporal is 'A point [t,t] or a period [start,end), or null.';
comment on column me.memories.version is 'Rises by one with each change of the payload.';
comment on column me.memories.version_hash is 'What me.memory_update() asks for.';
comment on column me.memories.has_embedding is 'Whether search by meaning finds it now.';
comment on column me.memories.created_at is 'When it was made.';
comment on column me.memories.created_by is 'Name of the principal that made it.';
comment on column me.memories.updated_at is 'When it was last updated, or null.';

create view me.memory_events with (security_barrier) as
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
comment on view me.memory_events is 'The history the caller may read: each event by the tree it happened in.';
comment on column me.memory_events.space is 'Slug of the space.';
comment on column me.memory_events.event_id is 'UUIDv7; its order is the order of events.';
comment on column me.memory_events.at is 'Wall clock at the event.';
comment on column me.memory_events.operation is 'insert, update, delete or purge.';
comment on column me.memory_events.operation_id is 'Shared by all events of one call.';
comment on column me.memory_events.cause is 'The call: create, update, delete, move …';
comment on column me.memory_events.actor_id is 'The acting principal.';
comment on column me.memory_events.actor_name is 'Its name at the time.';
comment on column me.memory_events.api_key_id is 'The API key it came with, if any.';
comment on column me.memory_events.api_key_name is 'The name of that key.';
comment on column me.memory_events.memory_id is 'The memory, which may be gone.';
comment on column me.memory_events.tree is 'Where it was.';
comment on column me.memory_events.name is 'Its name after the event; before, for a delete.';
comment on column me.memory_events.meta is 'Its metadata; null once purged. That of a purge is its reason.';
comment on column me.memory_events.temporal is 'Its time.';
comment on column me.memory_events.content is 'Its text; null once purged.';
comment on column me.memory_events.version is 'Its version.';
comment on column me.memory_events.version_hash is 'Its version hash.';

create view me.embedding_queue_status with (security_barrier) as
select
  s.space,
  (select u.model from me.embedding_use as u where u.space = s.space and u.state = 'current') as model,
  (select u.model from me.embedding_use as u where u.space = s.space and u.state = 'next') as next_model,
  q.pending,
  q.in_flight,
  q.pending - q.in_flight as waiting,
  (select pg_catalog.count(*) from me.embedding_queue as f where f.space = s.space and f.outcome = 'failed') as failed,
  q.oldest_pending_at
from (select distinct r.space from me.readable_trees() as r) as s
cross join lateral (
  select pg_catalog.count(*) as pending,
    pg_catalog.count(*) filter (where p.vt > pg_catalog.clock_timestamp()) as in_flight,
    pg_catalog.min(p.created_at) as oldest_pending_at
  from me.embedding_queue as p
  where p.space = s.space and p.outcome is null
) as q;
comment on view me.embedding_queue_status is 'How the embedding queue of each space stands that the caller may read in.';
comment on column me.embedding_queue_status.space is 'Slug of the space.';
comment on column me.embedding_queue_status.model is 'The model it searches with.';
comment on column me.embedding_queue_status.next_model is 'The model that takes over when it has all vectors.';
comment on column me.embedding_queue_status.pending is 'Entries without an outcome.';
comment on column me.embedding_queue_status.in_flight is 'Those that are claimed or wait for another try.';
comment on column me.embedding_queue_status.waiting is 'Those that can be claimed now.';
comment on column me.embedding_queue_status.failed is 'Entries that were given up; me.embedding_retry() queues them again.';
comment on column me.embedding_queue_status.oldest_pending_at is 'When the oldest entry was queued.';

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
