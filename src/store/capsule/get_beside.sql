-- Follows capsule.sql: what get.sql selects from.
left join me.capsule_tombstone as d on d.space = c.space and d.seq = c.seq
left join lateral (
  select a.actor, a.at, a.action
  from me.capsule_audit as a
  where a.space = $1 and a.subject = 'cap-' || $2
  order by a.seq desc
  limit 1
) as a on true
where c.space = $1 and c.seq = $2
