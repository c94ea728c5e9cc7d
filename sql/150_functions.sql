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
return me._record_json((m).id, (m).content, (m).meta, (m).tree::text, (m).name, lower((m).temporal), upper((m).temporal),
  (m).version, (m).version_hash, has_embedding, (m).created_at, (m).created_by, (m).updated_at, home);
comment on function me._record_of is 'Internal: a memory as callers see it (REC-1), where the statement knows whether it has an embedding.';

create function me._record(m me.memory, home text) returns jsonb
language sql stable parallel safe
return me._record_of(m, home, me._has_embedding((m).space, (m).id, (m).content_version));
comment on function me._record is 'Internal: a memory as callers see it (REC-1).';

create function me._lexical_bytes(space text) returns bigint
language sql stable parallel safe
return (select coalesce(sum(pg_column_size(p.*)), 0)::bigint from me.lexical_page as p where p.space = $1)
  + (select coalesce(sum(pg_column_size(p.*)), 0)::bigint from me.capsule_posting as p where p.space = $1);
comment on function me._lexical_bytes is 'Internal: how many bytes the pages of the lexical index of a space have, and the packs of its capsules.';
