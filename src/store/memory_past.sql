-- $1 space, $2 ids. Those that lived before, with the versions they had come to.
select g.id, past.version, past.content_version
from unnest($2::uuid[]) as g (id)
cross join lateral (
  select max(l.version) as version, max(l.content_version) as content_version
  from (
    -- In the order of the index over (space, memory, event): in a space that is new to the planner's statistics
    -- every index on the space looks as good, and most of them would read all its events.
    select e.version, e.content_version
    from me.memory_event as e
    where e.space = $1 and e.memory_id = g.id
    order by e.event_id
  ) as l
) as past
where past.version is not null
