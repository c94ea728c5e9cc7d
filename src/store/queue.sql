-- A fragment, after "changed": new content waits for its vectors, for each model the space uses. "changed" says with
-- new_text which rows have new content.
, queued as (
  insert into me.embedding_queue (space, id, memory_id, content_version, model, vt, created_at)
  select $1, me._queue_id(), c.id, c.content_version, u.model,
    pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp()
  from changed as c
  join me.embedding_use as u on u.space = $1
  where c.new_text
)
