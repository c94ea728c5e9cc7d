-- $1 space, $2 the id before which events are old, $3 and $4 the ids from and before which they are looked at. An old
-- event goes when a later state of its memory is old too, or when it is the end of it; so the state of every instant
-- that is not old can still be told. Purges stay.
with gone as (
  delete from me.memory_event as e
  where e.space = $1 and e.event_id >= $3 and e.event_id < $4 and e.operation <> 'purge'
    and (e.operation = 'delete' or exists (
      select from me.memory_event as later
      where later.space = $1 and later.memory_id = e.memory_id and later.event_id < $2
        and (later.version > e.version
          or later.version = e.version and later.operation in ('delete', 'purge'))))
  returning e.event_id
)
select g.event_id from gone as g order by g.event_id
