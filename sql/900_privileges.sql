-- New functions are executable by everybody until told otherwise. What decides access inside is open to all;
-- the rest is granted by name, by an administrator.
revoke all on all functions in schema me from public;
grant usage on schema me to public;

grant select on me.memories, me.memory_events, me.embedding_queue_status, me.stat_spaces to public;

grant execute on function
  me.audit_seal,
  me.audit_verify,
  me.embed,
  me.embed_pending,
  me.embedding_status,
  me.access_grant,
  me.access_list,
  me.access_revoke,
  me.capsule_adopt,
  me.capsule_alias,
  me.capsule_bootstrap,
  me.capsule_classify,
  me.capsule_consolidate,
  me.capsule_digest,
  me.capsule_dump,
  me.capsule_export,
  me.capsule_extract,
  me.capsule_forget,
  me.capsule_get,
  me.capsule_import,
  me.capsule_ingest,
  me.capsule_list,
  me.capsule_merge,
  me.capsule_outcome,
  me.capsule_pin,
  me.capsule_preference,
  me.capsule_relate,
  me.capsule_retrieve,
  me.capsule_review,
  me.capsule_session_finish,
  me.capsule_session_start,
  me.capsule_vector,
  me.capsule_verify,
  me.capsule_visual,
  me.format,
  me.history_prune,
  me.mcp_call,
  me.mcp_tools,
  me.memory_batch_create,
  me.memory_copy,
  me.memory_count,
  me.memory_context,
  me.memory_create,
  me.memory_delete,
  me.memory_delete_by_path,
  me.memory_delete_orphans,
  me.memory_delete_tree,
  me.memory_export,
  me.memory_export_files,
  me.memory_export_rows,
  me.memory_get,
  me.memory_get_by_path,
  me.memory_search,
  me.memory_import,
  me.memory_import_records,
  me.memory_mv,
  me.memory_tree,
  me.memory_history,
  me.memory_purge,
  me.memory_revert,
  me.memory_update,
  me.readable_trees,
  me.space_configure,
  me.search,
  me.search_explain,
  me.search_reindex,
  me.space_drop,
  me.space_list,
  me.space_member_add,
  me.space_member_list,
  me.space_member_remove,
  me.space_rename,
  -- The views call these on behalf of whoever reads them.
  me._home_label,
  me._managed_spaces,
  me._tree_display
to public;

-- A function without arguments is declared strict, which says nothing of it; none of ours is.
alter function me.doctor() called on null input;
alter function me.embedding_model_list() called on null input;
alter function me.erasure_scrub() called on null input;
alter function me.readable_trees() called on null input;
alter function me.space_list() called on null input;

-- What each function is for. Arguments and results are in docs/reference.md.
comment on function me.api_key_authenticate is 'Proves an API key: until the transaction ends, the gateway acts as its holder. For gateways.';
comment on function me.api_key_create is 'Makes an API key for a principal; its text is in this answer and never again.';
comment on function me.api_key_list is 'The API keys of a principal, or of everybody, without their secrets.';
comment on function me.api_key_revoke is 'Revokes an API key for good.';
comment on function me.doctor is 'What is wrong with this database and its server, and what to do about it. For superusers, and roles that were granted EXECUTE.';
comment on function me.embed is 'The vector of a text by the model the space searches with.';
comment on function me.embed_pending is 'Embeds what waits in the queue of a space, at most limit (100) entries, here and now: for servers without the worker.';
comment on function me.embedding_claim is 'Hands out entries of the queue to a worker outside the server: batch_size (10) for lock_seconds (300), at most max_attempts (3) times each.';
comment on function me.embedding_complete is 'Stores the vectors of a claimed entry, one for each window, if the memory still has that content: outcome completed or cancelled.';
comment on function me.embedding_fail is 'Records why a claimed entry could not be embedded; it can be claimed again after a growing delay.';
comment on function me.embedding_model_add is 'Registers an embedding model of provider local, openai or manual, and makes the table of its vectors.';
comment on function me.embedding_model_drop is 'Forgets a model that no space uses, with its vectors.';
comment on function me.embedding_model_list is 'The registered models and the spaces that use them.';
comment on function me.embedding_model_use is 'Makes a space use a model: at once when it uses none, otherwise when all its memories have vectors of the new one.';
comment on function me.embedding_prune is 'Deletes entries with an outcome that were queued longer ago than retention_seconds (7 days).';
comment on function me.embedding_release is 'Gives a claimed entry back for backoff_seconds without counting the attempt: for rate limits.';
comment on function me.embedding_retry is 'Queues the failed entries of a space again.';
comment on function me.embedding_set is 'Stores a vector that the caller brings for a memory it may write.';
comment on function me.embedding_status is 'How the queue of a space stands: pending, in flight, waiting, failed, oldest entry, last error, rate, estimated time.';
comment on function me.access_grant is 'Sets what a principal may do at a tree and below: read, write or owner. For admins of the space, and owners of the tree.';
comment on function me.access_list is 'The grants at or below a tree, of everybody or of one principal.';
comment on function me.access_revoke is 'Removes the grant of a principal at exactly this tree.';
comment on function me.capsule_adopt is 'Captures the content of a plain memory as a capsule; the memory stays as it is.';
comment on function me.capsule_alias is 'Teaches another word for a term, or lists what was taught.';
comment on function me.capsule_bootstrap is 'What to know before beginning: constraints, the next action, decisions and traps, within a budget.';
comment on function me.capsule_classify is 'Derives the label of a text, and labels a capsule with it.';
comment on function me.capsule_consolidate is 'What could be tidied up; with apply_tiers the moves between tiers are made.';
comment on function me.capsule_digest is 'The space at a glance: counts, newest, readiness, tiers, the state of the journal.';
comment on function me.capsule_dump is 'The capsules that may be read as one JSON document, to be merged into a space of another database.';
comment on function me.capsule_export is 'The capsules as Markdown: the same store gives the same bytes, but for the stamp.';
comment on function me.capsule_extract is 'Candidates for capsules in a text, each with its cue.';
comment on function me.capsule_forget is 'Destroys the content of a capsule for good and leaves a tombstone (mode purged or redacted).';
comment on function me.capsule_get is 'A capsule with all that is known of it, or its tombstone.';
comment on function me.capsule_import is 'Captures Markdown files piece by piece; importing again follows their edits.';
comment on function me.capsule_ingest is 'Captures knowledge with its origin: one item, or a batch in items.';
comment on function me.capsule_list is 'The capsules that are not forgotten, a line each, in the order of capture.';
comment on function me.capsule_merge is 'Folds the capsules of another space, or of a dump, into this one.';
comment on function me.capsule_outcome is 'Reports what came of something, or lists the reports.';
comment on function me.capsule_pin is 'Pins or unpins a capsule: a pinned one does not decay.';
comment on function me.capsule_preference is 'Notes which of two capsules was preferred, or lists the notes.';
comment on function me.capsule_relate is 'Records an edge between capsules.';
comment on function me.capsule_retrieve is 'Recall: grounded, missing_evidence or abstain, with the reasons of what was left out.';
comment on function me.capsule_review is 'Ratifies or rejects a proposal.';
comment on function me.capsule_session_finish is 'Closes a session; a handoff is captured first.';
comment on function me.capsule_session_start is 'Opens a session that captures can be linked to.';
comment on function me.capsule_vector is 'Stores a vector of the caller''s own for a capsule, or lists which have one.';
comment on function me.capsule_verify is 'Recomputes the capsule journal of the space and names the first row that is not what was written.';
comment on function me.capsule_visual is 'A picture in Mermaid: dag, relations or tiers.';
comment on function me.erasure_scrub is 'Overwrites the free space of pages, where erased contents may still stand; answers with the number of pages. Run it after VACUUM (INDEX_CLEANUP ON) where no worker does both.';
comment on function me.format is 'An answer as text: YAML (default), JSON or compact JSON, with the keys in their documented order.';
comment on function me.gateway_add is 'Lets a role act for application users by setting me.principal. Superusers only.';
comment on function me.gateway_remove is 'Takes that away from a role. Superusers only.';
comment on function me.group_member_add is 'Puts an application user into a group; roles are put there by GRANT.';
comment on function me.group_member_remove is 'Takes an application user out of a group.';
comment on function me.lexical_maintain is 'Brings the lexical index of a space up to date: takes in up to limit (100000) memories, merges segments; rebuild makes it anew.';
comment on function me.lexical_status is 'What the lexical index of a space holds, and how many memories wait for it.';
comment on function me.audit_seal is 'Seals the events that are surely there: each seal hashes their digests and the seal before.';
comment on function me.audit_verify is 'Recomputes every seal and every event and names what differs.';
comment on function me.history_prune is 'Removes history older than me.history_retention, under a seal of its own.';
comment on function me.mcp_call is 'Runs a tool by its MCP name with its MCP arguments.';
comment on function me.mcp_tools is 'The MCP tool definitions: of toolset memory, capsule or all.';
comment on function me.memory_batch_create is 'Creates 1 to 1000 memories at once, all or none.';
comment on function me.memory_copy is 'Copies every memory at or below source to the same place below destination, or only counts them.';
comment on function me.memory_count is 'The number of memories a tree filter matches, among those the caller may read.';
comment on function me.memory_context is 'The space, the caller and what it may do there.';
comment on function me.memory_create is 'Stores a memory and returns its record; on_conflict (error, replace, ignore) settles a taken key.';
comment on function me.memory_delete is 'Deletes the memory of an id. Its history stays.';
comment on function me.memory_delete_by_path is 'Deletes the memory of a tree and name. Its history stays.';
comment on function me.memory_delete_orphans is 'Deletes the named memories below root whose metadata contains meta_contains and that keep does not name.';
comment on function me.memory_delete_tree is 'Deletes every memory at or below a tree, or only counts them. Their history stays.';
comment on function me.memory_export is 'The matching memories as one text: json, yaml, or md for a single one.';
comment on function me.memory_export_files is 'Exports memories as Markdown files: count and for each file its path below a folder and its content; at most 1000.';
comment on function me.memory_export_rows is 'Every matching memory, one row each, in id order; without limit and never held as a whole.';
comment on function me.memory_get is 'The record of an id, or the selected parts of it.';
comment on function me.memory_get_by_path is 'The record of tree/name, or the selected parts of it.';
comment on function me.memory_search is 'Finds memories by words, by meaning or both, within filters; filters alone list by id.';
comment on function me.memory_import is 'Stores the memories of a text (json, yaml, md), all or none; what is there already is skipped.';
comment on function me.memory_import_records is 'The records of a text as me.memory_import() reads them, a row each, for clients that import in parts. Stores nothing.';
comment on function me.memory_mv is 'Moves every memory at or below source to the same place below destination, or only counts them.';
comment on function me.memory_tree is 'The trees below one, each with the number of readable memories at or below it.';
comment on function me.memory_get is 'The record of an id, or the selected parts of it; as_of asks for the state at an instant.';
comment on function me.memory_get_by_path is 'The record of tree/name, or the selected parts of it; as_of asks for the state at an instant.';
comment on function me.memory_history is 'What happened to a memory, in a tree, by one call or since an instant, page by page.';
comment on function me.memory_purge is 'Erases a memory for good, with the payload of its history; the fact and the reason stay.';
comment on function me.memory_revert is 'Makes a recorded version the current state, as a new version; brings a deleted memory back.';
comment on function me.memory_update is 'Changes the given fields of a memory, if its version hash is still the one you read.';
comment on function me.principal_rebind is 'Binds a registered principal to a role that was made anew, with its home, grants and rosters.';
comment on function me.search is 'What me.memory_search finds, as rows: for joins.';
comment on function me.search_explain is 'How me.memory_search goes about a search: plan, estimates and time of each step.';
comment on function me.search_reindex is 'Indexes memories anew after the text search configuration or the fields of the space changed.';
comment on function me.readable_trees is 'The topmost trees the caller may read, by space. The views are built on it.';
comment on function me.space_configure is 'Sets what full text search sees, its text search configuration, and whether joining users own their home.';
comment on function me.space_create is 'Makes a space; a slug is made when none is given. For superusers, and roles that were granted EXECUTE.';
comment on function me.space_drop is 'Removes a space with everything in it.';
comment on function me.space_list is 'The spaces the caller is admitted to, newest first.';
comment on function me.space_member_add is 'Admits a principal to the space, or sets its admin flag. For admins of the space.';
comment on function me.space_member_list is 'The roster of the space, by name. For admins of the space.';
comment on function me.space_member_remove is 'Takes a principal off the roster, with its grants; its memories stay. For admins of the space.';
comment on function me.space_rename is 'Gives a space another display name.';
comment on function me._access_event_digest is 'Internal: the digest of an event about access.';
comment on function me._bm25_add is 'Internal: takes a row into a full text search.';
comment on function me._bm25_finish is 'Internal: scores what a full text search has gathered.';
comment on function me._capsule_stamp is 'Internal: an instant as capsule answers show it.';
comment on function me._event_digest is 'Internal: the digest of an event.';
comment on function me._has_embedding is 'Internal: whether the model in use has vectors of this content.';
comment on function me._fulltext_configuration is 'Internal: what identifies a text search configuration with its fields.';
comment on function me._home_label is 'Internal: the label of the caller''s home, or null.';
comment on function me._iso_millis is 'Internal: an instant as answers show it.';
comment on function me._lexemes is 'Internal: what full text search finds a memory by.';
comment on function me._managed_spaces is 'Internal: the spaces the caller manages.';
comment on function me._payload_digest is 'Internal: the salted digest of a payload.';
comment on function me._queue_id is 'Internal: the id of a new entry of the embedding queue; wakes the worker at commit.';
comment on function me._record_json is 'Internal: a memory as callers see it (REC-1), of its parts.';
comment on function me._salt is 'Internal: sixteen random bytes.';
comment on function me._tree_display is 'Internal: a tree as its reader writes it.';
comment on function me._tree_matches is 'Internal: whether a tree matches an lquery.';
comment on function me._uuid_v7 is 'Internal: the next UUIDv7 of this session.';
comment on function me._version_hash is 'Internal: the version hash of a payload.';
