-- A fragment: the events of the rows in "changed". Every statement with it begins with the same parameters:
-- $1 space, $2 operation id, $3 cause, $4 actor id, $5 actor name, $6 API key id, $7 API key name.
-- The clock is read before the id is made, so that no event is older than the time in its id. The rows pass through: an
-- offset keeps the planner from computing a digest once for each place it stands in.
event as (
  insert into me.memory_event (
    space, event_id, at, operation, operation_id, cause, actor_id, actor_name, api_key_id, api_key_name,
    memory_id, tree, version, content_version, name, meta, temporal, content, version_hash,
    salt, payload_digest, digest)
  select
    $1, d.event_id, d.at, d.operation, $2, $3, $4, $5, $6, $7,
    d.id, d.tree, d.version, d.content_version, d.name, d.meta, d.temporal, d.content, d.version_hash,
    d.salt, d.payload_digest,
    me._event_digest($1, d.event_id, d.at, d.operation, $2, $3, $4, $5, $6, $7,
      d.id, d.tree::text, d.version, d.content_version, d.payload_digest)
  from (
    select s.*, me._payload_digest(s.salt, s.tree::text, s.name, s.meta,
      lower(s.temporal), upper(s.temporal), s.content) as payload_digest
    from (
      select c.*, pg_catalog.clock_timestamp() as at, me._uuid_v7() as event_id, me._salt() as salt
      from changed as c
      offset 0
    ) as s
    offset 0
  ) as d
)
