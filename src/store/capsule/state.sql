-- A fragment: what is read of a capsule c of capsule.sql, in the order of state.rs; more columns may follow.
select
  c.seq, c.tree::text, c.project_id, c.memory_id, c.source, c.anchor, c.source_hash, c.confidence, c.valid_from, c.valid_to,
  c.authority_class, c.instruction_taint, c.created_at, c.session_id, c.content, c.tier, c.superseded,
  c.kind, c.scope, c.classified_at, c.evidence_state, c.proof_hint, c.stale_if, c.annotated_at,
  c.event_from, c.event_to, c.recall_count, c.last_recalled_at, c.pinned, c.verdict
