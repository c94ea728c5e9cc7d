-- For each space and model with something to embed: from when on.
select u.space, u.model, q.vt
from me.embedding_use as u
join me.embedding_model as m on m.name = u.model
cross join lateral (
  select pg_catalog.min(w.vt) as vt from me.embedding_queue as w
  where w.space = u.space and w.model = u.model and w.outcome is null
) as q
where m.provider <> 'manual' and q.vt is not null
order by u.space, u.state, u.model
