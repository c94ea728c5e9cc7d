-- $1 space, $2 and $3 the ids from and before which, $4 how many. Each event with what is wrong within it.
select e.event_id, e.digest,
  case
    when e.digest is distinct from me._event_digest($1, e.event_id, e.at, e.operation, e.operation_id, e.cause,
      e.actor_id, e.actor_name, e.api_key_id, e.api_key_name, e.memory_id, e.tree::text, e.version, e.content_version,
      e.payload_digest) then 'columns'
    -- The history of a capsule keeps its name, and nothing else of it.
    when e.tree operator({ltree}.<@) 'capsules' then case
      when e.meta is not null or e.temporal is not null or e.content is not null or e.version_hash is not null
        or e.salt is not null
        or e.payload_digest is distinct from me._payload_digest('', e.tree::text, e.name, '{}', null, null, '')
      then 'payload' end
    -- A purge keeps its reason in the metadata, and nothing else.
    when e.operation = 'purge' then case
      when e.version_hash is not null or e.name is not null or e.temporal is not null or e.content is distinct from ''
        or e.payload_digest is distinct from me._payload_digest(e.salt, e.tree::text, null, e.meta, null, null, '')
      then 'payload' end
    when e.content is null then case
      when e.meta is not null or e.name is not null or e.temporal is not null or e.version_hash is not null
        or e.salt is not null then 'payload'
      when not exists (
        select from me.memory_event as p
        where p.space = $1 and p.memory_id = e.memory_id and p.operation = 'purge' and p.version >= e.version)
      then 'payload_gone' end
    -- The digest knows the two ends of a time; its bounds follow from them.
    when e.temporal is distinct from me._temporal(lower(e.temporal), upper(e.temporal))
      or e.payload_digest is distinct from me._payload_digest(e.salt, e.tree::text, e.name, e.meta,
        lower(e.temporal), upper(e.temporal), e.content) then 'payload'
    when e.version_hash is distinct from me._version_hash(e.tree::text, e.name, e.meta,
      lower(e.temporal), upper(e.temporal), e.content) then 'version_hash'
  end
from me.memory_event as e
where e.space = $1 and e.event_id >= $2 and e.event_id < $3
union all
select a.event_id, a.digest,
  case
    when a.digest is distinct from me._access_event_digest($1, a.event_id, a.at, a.operation, a.operation_id, a.actor_id,
      a.actor_name, a.api_key_id, a.api_key_name, a.subject_id, a.subject_name, a.details) then 'columns'
  end
from me.access_event as a
where a.space = $1 and a.event_id >= $2 and a.event_id < $3
order by 1
limit $4
