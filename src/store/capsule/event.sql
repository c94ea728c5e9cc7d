-- A fragment like ../event.sql, for rows of which the history keeps the fact and nothing else. The payload digest is
-- over what stays, the name: audit_check.sql recomputes it.
stamped as (
  select c.*, me._uuid_v7() as event_id, pg_catalog.clock_timestamp() as at,
    me._payload_digest('', c.tree::text, c.name, '{}', null, null, '') as payload_digest
  from changed as c
), event as (
  insert into me.memory_event (
    space, event_id, at, operation, operation_id, cause, actor_id, actor_name, api_key_id, api_key_name,
    memory_id, tree, version, content_version, name, payload_digest, digest)
  select
    $1, d.event_id, d.at, d.operation, $2, $3, $4, $5, $6, $7,
    d.id, d.tree, d.version, d.content_version, d.name, d.payload_digest,
    me._event_digest($1, d.event_id, d.at, d.operation, $2, $3, $4, $5, $6, $7,
      d.id, d.tree::text, d.version, d.content_version, d.payload_digest)
  from stamped as d
)
