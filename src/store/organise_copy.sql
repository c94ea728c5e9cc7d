-- $8 first tree, $9 tree after the last, $10 source, $11 destination. One snapshot: copies are not copied again
-- (CPY-6). In key order, as batches.
with source as materialized (
  select m.*, me._uuid_v7() as new_id, me._rebased(m.tree::text, $10, $11) as new_tree
  from me.memory as m
  where m.space = $1
    and ($8 is null or m.tree operator({ltree}.>=) $8::{ltree}.ltree)
    and ($9 is null or m.tree operator({ltree}.<) $9::{ltree}.ltree)
  order by m.tree::text collate "C", m.name, m.id
), inserted as (
  insert into me.memory (
    space, id, tree, name, content, meta, temporal, version, content_version, version_hash, created_at, created_by)
  select
    $1, s.new_id, s.new_tree::{ltree}.ltree, s.name, s.content, s.meta, s.temporal, 1, 1,
    me._version_hash(s.new_tree, s.name, s.meta, lower(s.temporal), upper(s.temporal), s.content),
    pg_catalog.transaction_timestamp(), $5
  from source as s
  on conflict do nothing
  returning *
), changed as (
  select i.*, 'insert' as operation from inserted as i
),
