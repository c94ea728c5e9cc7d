-- A fragment: every capsule c with its sidecars. It stands where a view would; the planner leaves out what is not asked for.
from (
select
  c.space,
  c.seq,
  c.tree,
  c.project_id,
  c.memory_id,
  c.source,
  c.anchor,
  c.source_hash,
  c.confidence,
  c.valid_from,
  c.valid_from_at,
  c.valid_to,
  c.valid_to_at,
  c.authority_class,
  c.instruction_taint,
  c.created_at,
  c.session_id,
  c.length,
  m.content,
  coalesce(t.tier, 'active') as tier,
  exists (
    select from me.capsule_relation as r where r.space = c.space and r.kind = 'supersedes' and r.to_seq = c.seq) as superseded,
  exists (
    select from me.capsule_relation as r where r.space = c.space and r.kind = 'falsifies' and r.to_seq = c.seq) as falsified,
  k.kind,
  k.scope,
  k.at as classified_at,
  e.evidence_state,
  e.proof_hint,
  e.stale_if,
  e.at as annotated_at,
  v.event_from,
  v.event_from_at,
  v.event_to,
  v.event_to_at,
  coalesce(u.recall_count, 0) as recall_count,
  u.last_recalled_at,
  coalesce((
    select p.pinned from me.capsule_pin as p where p.space = c.space and p.seq = c.seq order by p.number desc limit 1), false) as pinned,
  (
    select w.verdict from me.capsule_review as w where w.space = c.space and w.seq = c.seq order by w.number desc limit 1) as verdict
from me.capsule as c
left join me.memory as m on m.space = c.space and m.id = c.memory_id
left join me.capsule_tier as t on t.space = c.space and t.seq = c.seq
left join me.capsule_classification as k on k.space = c.space and k.seq = c.seq
left join me.capsule_epistemic as e on e.space = c.space and e.seq = c.seq
left join me.capsule_event_time as v on v.space = c.space and v.seq = c.seq
left join me.capsule_usage as u on u.space = c.space and u.seq = c.seq
) as c
