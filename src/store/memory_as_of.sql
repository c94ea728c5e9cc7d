-- $1 space, $2 id, $3 the instant. The state is the event with the highest version so far; a delete repeats the version
-- it ends. What was purged has no past.
with state as (
  select e.*
  from me.memory_event as e
  where e.space = $1 and e.memory_id = $2 and e.at <= $3
  order by e.version desc, e.operation in ('delete', 'purge') desc, e.event_id desc
  limit 1
), birth as (
  select b.at, b.actor_name, b.version
  from state as s
  join me.memory_event as b on b.space = $1 and b.memory_id = $2 and b.operation = 'insert' and b.version <= s.version
  order by b.version desc
  limit 1
), life as (
  -- The stored row knows when this life began more exactly than the log, and still does when the log was pruned.
  select m.created_at, m.created_by
  from state as s
  join me.memory as m on m.space = $1 and m.id = $2
  where not exists (
    select from me.memory_event as later
    where later.space = $1 and later.memory_id = $2 and later.operation = 'insert' and later.version > s.version)
)
select
  s.tree::text, s.name, s.content, s.meta, lower(s.temporal), upper(s.temporal), s.version, s.version_hash,
  me._has_embedding($1, s.memory_id, s.content_version),
  coalesce(l.created_at, b.at, s.at), coalesce(l.created_by, b.actor_name, s.actor_name, ''),
  case when s.operation = 'update' then s.at end
from state as s
left join birth as b on true
left join life as l on true
where s.operation in ('insert', 'update') and s.content is not null
