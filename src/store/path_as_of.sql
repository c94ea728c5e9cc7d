-- $1 space, $2 tree, $3 name, $4 the instant. The memory that was at the path then.
select s.memory_id
from (
  select distinct e.memory_id
  from me.memory_event as e
  where e.space = $1 and e.tree operator({ltree}.=) $2::{ltree}.ltree and e.name = $3 and e.at <= $4
) as candidate
cross join lateral (
  select e.memory_id, e.tree, e.name, e.operation, e.at, e.event_id
  from me.memory_event as e
  where e.space = $1 and e.memory_id = candidate.memory_id and e.at <= $4
  order by e.version desc, e.operation in ('delete', 'purge') desc, e.event_id desc
  limit 1
) as s
where s.tree operator({ltree}.=) $2::{ltree}.ltree and s.name = $3 and s.operation in ('insert', 'update')
order by s.at desc, s.event_id desc
limit 1
