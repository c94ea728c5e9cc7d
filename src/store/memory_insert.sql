-- $1 space, $2 id, $3 tree, $4 name, $5 content, $6 meta, $7 start, $8 end, $9 version hash, $10 who.
-- No row is made when a key is taken.
insert into me.memory (
  space, id, tree, name, content, meta, temporal, version, content_version, version_hash, created_at, created_by)
values (
  $1, $2, $3::{ltree}.ltree, $4, $5, $6, me._temporal($7, $8), 1, 1, $9, pg_catalog.transaction_timestamp(), $10)
on conflict do nothing
