-- $8 id, $9 reason. The row is locked already, if there is one. Events keep their digests, not their payload.
with last as (
  select s.tree, s.version, s.content_version
  from (
    select m.tree, m.version, m.content_version from me.memory as m where m.space = $1 and m.id = $8
    union all
    select e.tree, e.version, e.content_version from me.memory_event as e where e.space = $1 and e.memory_id = $8
  ) as s
  order by s.version desc, s.content_version desc
  limit 1
), emptied as (
  update me.memory_event as e
  set name = null, meta = null, temporal = null, content = null, version_hash = null, salt = null
  where e.space = $1 and e.memory_id = $8 and e.operation <> 'purge' and e.content is not null
  returning 1
), changed as (
  select 'purge' as operation, $8 as id, l.tree, l.version, l.content_version, null::text as name,
    jsonb_build_object('reason', $9) as meta, null::tstzrange as temporal, ''::text as content,
    null::uuid as version_hash
  from last as l
),
