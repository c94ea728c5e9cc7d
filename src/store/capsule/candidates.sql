-- $1 space, $2 readable trees, $3 project, $4 project and below, $5 numbers, $6 session or null.
select
  c.seq, c.tier, c.falsified, c.superseded, c.verdict, c.valid_from, c.valid_to, c.confidence, c.pinned,
  c.event_from_at, c.event_to_at, c.recall_count, c.last_recalled_at, c.length
