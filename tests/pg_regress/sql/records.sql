-- A record is the same value, byte for byte, as one that the server builds; found at once, by a statement, or as the
-- answer of a write.
begin;
select me.space_create('records') is not null as made;
set local me.space = 'records';
create temp table made as
select m ->> 'id' as id, m as answer
from (values
  ('short', null, null, null),
  ('named', 'n1', '{"a": 1}', null),
  ('at a point', 'n2', '{}', '{"start": "2025-02-01T10:00:00.123456Z"}'),
  ('over a period', 'n3', '{"deep": {"er": [1, "two", null, true, {"x": []}]}}',
    '{"start": "0001-01-01T00:00:00Z", "end": "9999-12-31T23:59:59.999999Z"}'),
  (repeat('long ', 100000), 'n4', null, null),
  (repeat(md5('x'), 10) || E' \u00e4\u4e2d\U0001F600 "quoted" \\ \t\n', 'n5', '{"n": 123456789012345678901234567890.5, "e": 1e-20}', null),
  ('wide', 'n6', (select jsonb_object_agg('k' || n, repeat(md5(n::text), 50)) from generate_series(1, 100) as n)::text, null),
  ('odd', 'n7', '{"a": "b", "ab": 1, "abc": {"": ""}, "abcd": -0.0}', null)
) as given (content, name, meta, temporal),
lateral me.memory_create(content, 'share/x', name => given.name, meta => given.meta::jsonb, temporal => given.temporal::jsonb) as m;
select count(me.memory_update(id => (answer ->> 'id')::uuid, version_hash => answer ->> 'versionHash', meta_patch => '{"more": [1]}'))
from made where answer ->> 'name' in ('n1', 'n3');
select m.name,
  g = w as equal, g::text = w::text as same_text, pg_column_size(g) = pg_column_size(w) as same_size,
  g::text::jsonb = g as read_again, jsonb_hash(g) = jsonb_hash(w) as same_hash, p = g as by_path,
  me._record(m, null) = g and pg_column_size(me._record(m, null)) = pg_column_size(w) as by_statement,
  (select bool_and(g -> key is not distinct from value and g ? key) from jsonb_each(w)) as every_key
from me.memory as m,
  lateral me.memory_get(m.id) as g,
  lateral jsonb_build_object(
    'id', m.id, 'content', m.content, 'meta', m.meta, 'tree', '/' || replace(m.tree::text, '.', '/'), 'name', m.name,
    'temporal', case when m.temporal is not null then jsonb_build_object(
      'start', to_char(lower(m.temporal) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'end', to_char(upper(m.temporal) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end,
    'version', m.version, 'versionHash', replace(m.version_hash::text, '-', ''), 'hasEmbedding', false,
    'createdAt', to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'createdBy', m.created_by,
    'updatedAt', to_char(m.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as w,
  lateral (select case when m.name is null then g else me.memory_get_by_path('share/x/' || m.name) end as p) as by_path
where m.space = 'records'
order by m.name nulls first;
select count(*) as answers, count(*) filter (where answer - 'updatedAt' = me.memory_get((answer ->> 'id')::uuid) - 'updatedAt') as unchanged
from made;
-- The caller's home is shown as such.
select me.memory_create('at home', '~/notes', name => 'h') ->> 'tree' as tree;
select r ->> 'tree' as tree from me.memory_get_by_path('~/notes/h') as r;
select r ->> 'tree' as tree from me.memory_get((me.memory_get_by_path('~/notes/h') ->> 'id')::uuid) as r;
rollback;
