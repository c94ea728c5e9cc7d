-- $1 space, $2 readable trees (null: all).
select
  (select count(*) from me.capsule_relation as r
    where r.space = $1 and ($2::text[] is null or (
      exists (
        select from me.capsule as b
        where b.space = $1 and b.seq = r.to_seq and b.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
      and (r.from_outcome or exists (
        select from me.capsule as a
        where a.space = $1 and a.seq = r.from_seq and a.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))))),
  (select count(*) from me.capsule_session as s where s.space = $1 and s.finished_at is null),
  (select coalesce(l.journal, 0) from (values (true)) as one (row) left join me.capsule_ledger as l on l.space = $1),
  (select coalesce(sum(m.miss_count), 0)::int8 from me.capsule_miss as m where m.space = $1)
