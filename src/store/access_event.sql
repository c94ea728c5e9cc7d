-- $1 space, $2 operation, $3 operation id, $4 actor id, $5 actor name, $6 API key id, $7 API key name, $8 subject id,
-- $9 subject name, $10 details.
insert into me.access_event (
  space, event_id, at, operation, operation_id, actor_id, actor_name, api_key_id, api_key_name,
  subject_id, subject_name, details, digest)
select
  $1, e.event_id, e.at, $2, $3, $4, $5, $6, $7, $8, $9, $10,
  me._access_event_digest($1, e.event_id, e.at, $2, $3, $4, $5, $6, $7, $8, $9, $10)
from (select me._uuid_v7() as event_id, pg_catalog.clock_timestamp() as at offset 0) as e
