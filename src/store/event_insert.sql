-- $8 event, $9 when, $10 operation, $11 memory, $12 tree, $13 version, $14 content version, $15 name, $16 meta, $17 start,
-- $18 end, $19 content, $20 version hash, $21 salt, $22 payload digest, $23 digest.
insert into me.memory_event (
  space, operation_id, cause, actor_id, actor_name, api_key_id, api_key_name,
  event_id, at, operation, memory_id, tree, version, content_version, name, meta, temporal, content, version_hash,
  salt, payload_digest, digest)
values (
  $1, $2, $3, $4, $5, $6, $7,
  $8, $9, $10, $11, $12::{ltree}.ltree, $13, $14, $15, $16, me._temporal($17, $18), $19, $20, $21, $22, $23)
