-- $8 id, $9 tree, $10 name, $11 content, $12 meta, $13 start, $14 end, $15 whether the caller gave the id, $16 home.
-- No row comes back when a key is taken. An id that lived before goes on with its version numbers.
with inserted as (
  insert into me.memory (
    space, id, tree, name, content, meta, temporal, version, content_version, version_hash, created_at, created_by)
  select
    $1, $8, $9::{ltree}.ltree, $10, $11, $12, me._temporal($13, $14), past.version + 1, past.content_version + 1,
    me._version_hash($9, $10, $12, $13, $14, $11), pg_catalog.transaction_timestamp(), $5
  from (
    select coalesce(max(l.version), 0) as version, coalesce(max(l.content_version), 0) as content_version
    from (
      -- In the order of the index over (space, memory, event): in a space that is new to the planner's statistics
      -- every index on the space looks as good, and most of them would read all its events.
      select e.version, e.content_version
      from me.memory_event as e
      where $15 and e.space = $1 and e.memory_id = $8
      order by e.event_id
    ) as l
  ) as past
  on conflict do nothing
  returning *
), changed as (
  select i.*, 'insert' as operation, true as new_text from inserted as i
),
