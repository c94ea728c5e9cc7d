-- Filters on metadata and time, as export and search use them.
begin;
select count(me.memory_create(content => c, tree => 'f', name => c, meta => m::jsonb, temporal => t::jsonb))
from (values
  ('bare', null, null),
  ('open', '{"status": "open", "n": 3, "tags": ["x", "y"], "due": "2025-03-01"}', '{"start": "2025-01-01T00:00:00Z"}'),
  ('done', '{"status": "done", "n": "3", "due": "2025-03-01T12:00:00+05:00"}',
    '{"start": "2025-01-01T00:00:00Z", "end": "2025-02-01T00:00:00Z"}'),
  ('flag', '{"flag": true, "n": {"m": 1}}', '{"start": "2025-02-01T00:00:00Z", "end": "2025-03-01T00:00:00Z"}')
) as v (c, m, t);

create function pg_temp.names(meta jsonb default null, predicate text default null, temporal jsonb default null)
returns text language sql as $$
  select string_agg(r->>'name', ' ' order by r->>'name')
  from me.memory_export_rows('f', meta, predicate, temporal) as r
$$;

select m, pg_temp.names(meta => m::jsonb) from (values
  ('{}'), ('{"status": "open"}'), ('{"n": 3}'), ('{"n": 3.0}'), ('{"tags": ["y"]}'), ('{"tags": "y"}'), ('{"n": {}}')
) as v (m);
select p, pg_temp.names(predicate => p) from (values
  ('$.n > 2'), ('$.flag'), ('$.status'), ('$.missing == null'), ('exists($.tags[*] ? (@ == "x"))'),
  ('$.status like_regex "^O" flag "i"'), ('$.n / 0 == 1'),
  ('$.due.datetime() < "2025-03-01T10:00:00+00:00".datetime()')
) as v (p);
-- The time zone of the session changes nothing, and is left alone.
set local timezone = 'Pacific/Auckland';
select pg_temp.names(predicate => '$.due.datetime() < "2025-03-01T00:00:01+00:00".datetime()');
select current_setting('timezone');

select t, pg_temp.names(temporal => t::jsonb) from (values
  ('{"before": "2025-01-01T00:00:00Z"}'), ('{"before": "2025-01-01T00:00:01Z"}'), ('{"before": "2025-02-01T00:00:00Z"}'),
  ('{"after": "2025-01-01T00:00:00Z"}'), ('{"after": "2024-12-31T23:59:59Z"}'),
  ('{"contains": "2025-01-01T00:00:00Z"}'), ('{"contains": "2025-02-01T00:00:00Z"}'),
  ('{"overlaps": {"start": "2025-01-01T00:00:00Z", "end": "2025-01-01T00:00:01Z"}}'),
  ('{"overlaps": {"start": "2024-12-01T00:00:00Z", "end": "2025-01-01T00:00:00Z"}}'),
  ('{"overlaps": {"start": "2025-01-15T00:00:00Z", "end": "2025-01-15T00:00:00Z"}}'),
  ('{"within": {"start": "2025-01-01T00:00:00Z", "end": "2025-02-01T00:00:00Z"}}'),
  ('{"within": {"start": "2025-01-01T00:00:00Z", "end": "2025-01-01T00:00:00Z"}}'),
  ('{"after": "2025-01-01T00:00:00Z", "before": "2025-03-01T00:00:00Z"}'),
  ('{"after": "2025-12-01T00:00:00Z", "before": "2025-01-01T00:00:00Z"}')
) as v (t);
rollback;

select me.memory_export('json', meta => '[]');
select me.memory_export('json', meta => '"{}"');
select me.memory_export('json', meta_predicate => ' ');
select me.memory_export('json', meta_predicate => '$.a = 1');
select me.memory_export('json', meta_predicate => '$.a like_regex "("');
select me.memory_export('json', temporal => '{}');
select me.memory_export('json', temporal => '{"before": "yesterday"}');
select me.memory_export('json', temporal => '{"within": {"start": "2025-01-02T00:00:00Z", "end": "2025-01-01T00:00:00Z"}}');
select me.memory_export('json', temporal => '{"befor": "2025-01-02T00:00:00Z"}');
select me.memory_export('json', "limit" => 1001);
select me.memory_export('xml');
select me.memory_export();
