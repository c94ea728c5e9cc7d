-- $1 space, $2 readable trees (null: all).
select
  (select count(*) from me.capsule_relation as r where r.space = $1),
  (select count(*) from me.capsule_session as s where s.space = $1 and s.finished_at is null),
  (select coalesce(l.journal, 0) from (values (true)) as one (row) left join me.capsule_ledger as l on l.space = $1),
  (select coalesce(sum(m.miss_count), 0)::int8 from me.capsule_miss as m where m.space = $1),
  (select count(*) from me.capsule as c
    where c.space = $1 and c.memory_id is not null
      and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))),
  (select count(*) from me.capsule_tier as t join me.capsule as c on c.space = t.space and c.seq = t.seq
    where t.space = $1 and t.tier = 'archived' and c.memory_id is not null
      and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))),
  (select count(*) from me.capsule_tier as t join me.capsule as c on c.space = t.space and c.seq = t.seq
    where t.space = $1 and t.tier = 'quarantined' and c.memory_id is not null
      and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))
