-- $1 how old an event may be without a seal, in seconds.
select 'warning',
  pg_catalog.format('%s: events since %s are not sealed', case s.slug when '' then 'outside of spaces' else 'space ' || s.slug end,
    me._iso_millis(o.oldest)),
  pg_catalog.format('Call me.audit_seal(space => %L). A transaction that stays open after it wrote, or a prepared one, holds seals back.', s.slug)
from (select p.slug from me.space as p union all select '') as s (slug)
cross join lateral (
  select coalesce(
    (select a.end_id from me.audit_seal as a where a.space = s.slug order by a.number desc limit 1),
    '00000000-0000-0000-0000-000000000000') as end_id
) as tip
cross join lateral (
  select least(
    (select e.at from me.memory_event as e where e.space = s.slug and e.event_id >= tip.end_id order by e.event_id limit 1),
    (select e.at from me.access_event as e where e.space = s.slug and e.event_id >= tip.end_id order by e.event_id limit 1)
  ) as oldest
) as o
where o.oldest < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $1)
order by 2
