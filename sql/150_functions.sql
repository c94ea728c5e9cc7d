-- Functions in SQL that statements use as macros: the planner puts their bodies in place.

create function me._temporal("start" timestamptz, "end" timestamptz) returns tstzrange
language sql immutable parallel safe
return case
  when "start" is null then null
  when "start" = "end" then tstzrange("start", "end", '[]')
  else tstzrange("start", "end", '[)')
end;
comment on function me._temporal is 'Internal: the stored form of a time (TEMP-3).';

create function me._temporal_json(temporal tstzrange) returns jsonb
language sql immutable parallel safe
return case when temporal is null then null
  else jsonb_build_object('start', me._iso_millis(lower(temporal)), 'end', me._iso_millis(upper(temporal)))
end;
comment on function me._temporal_json is 'Internal: the displayed form of a time (TEMP-9).';

create function me._rebased(tree text, source text, destination text) returns text
language sql immutable parallel safe
return case
  when tree = source then destination
  when destination = '' then substr(tree, length(source) + 2)
  when source = '' then destination || '.' || tree
  else destination || substr(tree, length(source) + 1)
end;
comment on function me._rebased is 'Internal: the place below destination that a tree has below source, all in dotted form.';

create function me._record_of(m me.memory, home text, has_embedding boolean) returns jsonb
language sql stable parallel safe
return jsonb_build_object(
  'id', (m).id,
  'content', (m).content,
  'meta', (m).meta,
  'tree', me._tree_display((m).tree::text, home),
  'name', (m).name,
  'temporal', me._temporal_json((m).temporal),
  'version', (m).version,
  'versionHash', replace((m).version_hash::text, '-', ''),
  'hasEmbedding', has_embedding,
  'createdAt', me._iso_millis((m).created_at),
  'createdBy', (m).created_by,
  'updatedAt', me._iso_millis((m).updated_at)
);
comment on function me._record_of is 'Internal: a memory as callers see it (REC-1), where the statement knows whether it has an embedding.';

create function me._record(m me.memory, home text) returns jsonb
language sql stable parallel safe
return me._record_of(m, home, me._has_embedding((m).space, (m).id, (m).content_version));
comment on function me._record is 'Internal: a memory as callers see it (REC-1).';

create function me._lexical_bytes(space text) returns bigint
language sql stable parallel safe
return (select coalesce(sum(pg_column_size(p.*)), 0)::bigint from me.lexical_page as p where p.space = $1);
comment on function me._lexical_bytes is 'Internal: how many bytes the pages of the lexical index of a space have.';
