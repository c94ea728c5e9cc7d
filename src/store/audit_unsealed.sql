-- The spaces with events behind their last seal; the empty one is the outside of all spaces.
select s.slug
from (select p.slug from me.space as p union all select '') as s (slug)
cross join lateral (
  select coalesce(
    (select a.end_id from me.audit_seal as a where a.space = s.slug order by a.number desc limit 1),
    '00000000-0000-0000-0000-000000000000') as end_id
) as tip
where exists (select from me.memory_event as e where e.space = s.slug and e.event_id >= tip.end_id)
  or exists (select from me.access_event as e where e.space = s.slug and e.event_id >= tip.end_id)
order by s.slug
