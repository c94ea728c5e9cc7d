-- $1 space, $2 home, $3 the subtrees to look in where the range from $5 to $6 does not say it, $4 memory,
-- $7 operation, $8 operation id, $9 since, $10 until, $11 and $12 the ids between which events lie.
-- Planned anew at each run: a filter that is not given is gone from the plan.
select
  e.event_id,
  jsonb_build_object(
    'eventId', e.event_id,
    'at', me._iso_millis(e.at),
    'operation', e.operation,
    'operationId', e.operation_id,
    'cause', e.cause,
    'actor', jsonb_build_object(
      'principalId', e.actor_id,
      'principalName', e.actor_name,
      'apiKeyId', e.api_key_id,
      'apiKeyName', e.api_key_name),
    'memoryId', e.memory_id,
    'tree', me._tree_display(e.tree::text, $2),
    'name', e.name,
    'meta', e.meta,
    'temporal', me._temporal_json(e.temporal),
    'content', nullif(e.content, ''),
    'version', e.version,
    'versionHash', replace(e.version_hash::text, '-', ''))
from me.memory_event as e
where e.space = $1
  and e.event_id > $11 and e.event_id < $12
  and ($3 is null or e.tree operator({ltree}.<@) any ((select $3::{ltree}.ltree[])::{ltree}.ltree[]))
  and ($4 is null or e.memory_id = $4)
  and ($5 is null or e.tree operator({ltree}.>=) $5::{ltree}.ltree)
  and ($6 is null or e.tree operator({ltree}.<) $6::{ltree}.ltree)
  and ($7 is null or e.operation = $7)
  and ($8 is null or e.operation_id = $8)
  and ($9 is null or e.at >= $9)
  and ($10 is null or e.at < $10)
order by e.event_id
