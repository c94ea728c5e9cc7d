-- $8 ids, $9 trees, $10 names, $11 contents, $12 metas as text, $13 starts, $14 ends, $15 which ids the caller gave.
-- In key order, so that two batches with the same keys wait for each other instead of dying in a deadlock.
with given as materialized (
  select g.id, g.tree, g.name, g.content, g.meta::jsonb as meta, g.start, g."end", g.explicit
  from unnest($8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[],
    $13::timestamptz[], $14::timestamptz[], $15::bool[])
    as g (id, tree, name, content, meta, start, "end", explicit)
  order by g.tree collate "C", g.name collate "C", g.id
), inserted as (
  insert into me.memory (
    space, id, tree, name, content, meta, temporal, version, content_version, version_hash, created_at, created_by)
  select
    $1, g.id, g.tree::{ltree}.ltree, g.name, g.content, g.meta, me._temporal(g.start, g."end"),
    past.version + 1, past.content_version + 1,
    me._version_hash(g.tree, g.name, g.meta, g.start, g."end", g.content), pg_catalog.transaction_timestamp(), $5
  from given as g
  cross join lateral (
    select coalesce(max(l.version), 0) as version, coalesce(max(l.content_version), 0) as content_version
    from (
      -- In the order of the index over (space, memory, event): in a space that is new to the planner's statistics
      -- every index on the space looks as good, and most of them would read all its events.
      select e.version, e.content_version
      from me.memory_event as e
      where g.explicit and e.space = $1 and e.memory_id = g.id
      order by e.event_id
    ) as l
  ) as past
  on conflict do nothing
  returning *
), changed as (
  select i.*, 'insert' as operation, true as new_text from inserted as i
),
