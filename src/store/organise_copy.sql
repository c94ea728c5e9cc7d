-- $8 first tree, $9 tree after the last, $10 source, $11 destination, $12 whether entries of the text index are copied
-- along. One snapshot: copies are not copied again (CPY-6). In key order, as batches.
with source as materialized (
  select m.id, m.tree, m.name, m.content_version, me._uuid_v7() as new_id
  from me.memory as m
  where m.space = $1
    and ($8 is null or m.tree operator({ltree}.>=) $8::{ltree}.ltree)
    and ($9 is null or m.tree operator({ltree}.<) $9::{ltree}.ltree)
  order by m.tree, m.name, m.id
), changed as (
  insert into me.memory as n (
    space, id, tree, name, content, meta, temporal, version, content_version, version_hash, created_at, created_by)
  select
    $1, c.new_id, c.new_tree::{ltree}.ltree, c.name, c.content, c.meta, c.temporal, 1, 1,
    me._version_hash(c.new_tree, c.name, c.meta, lower(c.temporal), upper(c.temporal), c.content),
    pg_catalog.transaction_timestamp(), $5
  from (
    select s.new_id, me._rebased(s.tree::text, $10, $11) as new_tree, m.name, m.content, m.meta, m.temporal
    from source as s
    join me.memory as m on m.space = $1 and m.id = s.id
    offset 0
  ) as c
  on conflict do nothing
  returning n.id, n.tree, n.name, n.content, n.meta, n.temporal, n.version, n.content_version, n.version_hash,
    'insert' as operation
),
