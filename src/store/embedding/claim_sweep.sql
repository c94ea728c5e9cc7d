-- $1 space, $2 now, $3 most attempts, $4 model or null. Settles entries that will not be claimed again (EMB-7, EMB-8,
-- EMB-9): of the oldest that are visible, so that a long queue is not read at each claim.
update me.embedding_queue as q
set outcome = s.verdict,
  finished_at = $2,
  last_error = case when s.verdict = 'failed' then coalesce(q.last_error, 'exceeded max attempts') else q.last_error end
from (
  select v.id, v.verdict
  from (
    select q.id,
      case
        when exists (
          select from me.embedding_queue as n
          where n.space = $1 and n.memory_id = q.memory_id and n.model = q.model
            and n.outcome is null and n.content_version > q.content_version)
        then 'cancelled'
        when q.attempts >= $3 then 'failed'
        when not exists (
          select from me.memory as m
          where m.space = $1 and m.id = q.memory_id and m.content_version = q.content_version)
          or not exists (select from me.embedding_use as u where u.space = $1 and u.model = q.model)
        then 'cancelled'
      end as verdict
    from (
      select w.* from me.embedding_queue as w
      where w.space = $1 and w.outcome is null and w.vt <= $2 and ($4 is null or w.model = $4)
      order by w.vt, w.id
      limit 500
    ) as q
  ) as v
  join me.embedding_queue as l on l.space = $1 and l.id = v.id and l.outcome is null
  where v.verdict is not null
  for update of l skip locked
) as s
where q.space = $1 and q.id = s.id
