-- Follows the columns of state.sql, from column 31 on: the tombstone, the edges, the last mutation, the reviews.
-- $1 space, $2 number, $3 readable trees (null: all). An edge is shown when its other end may be read.
, d.mode, d.content_hmac, d.at, d.reason, d.source, d.anchor,
(
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(r.kind, r.from_outcome, r.from_seq, r.to_seq,
    me._capsule_stamp(r.at), r.origin))
  from (
    select * from me.capsule_relation as r where r.space = $1 and r.to_seq = $2
    union
    select * from me.capsule_relation as r where r.space = $1 and r.from_seq = $2 and not r.from_outcome
  ) as r
  where $3::text[] is null or exists (
    select from me.capsule as o
    where o.space = $1
      and o.seq = case when r.to_seq <> $2 then r.to_seq when r.from_outcome then $2 else r.from_seq end
      and o.tree operator({ltree}.<@) any ($3::{ltree}.ltree[]))
),
a.actor, a.at, a.action,
(
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('verdict', w.verdict, 'reason', w.reason, 'actor', w.actor,
    'at', me._capsule_stamp(w.at)) order by w.number)
  from me.capsule_review as w where w.space = $1 and w.seq = $2
)
