-- An answer that is put together inside a call outlives the call: it is the same every time, whatever its size.
begin;
select count(me.memory_create(repeat(md5(n::text), 20), 'share/r', name => 'n' || n)) from generate_series(1, 300) as n;
select count(distinct md5(r::text)), max(jsonb_array_length(r -> 'results'))
from generate_series(1, 50) as turn,
  lateral me.memory_search(tree => 'share/r', "limit" => 200 + turn * 0, "select" => '{name,content:200}') as r;
select count(distinct md5(r::text)) from generate_series(1, 50) as turn,
  lateral me.mcp_call('me_memory_history', jsonb_build_object('tree', 'share/r', 'limit', 200 + turn * 0, 'select', '["name", "content"]'::jsonb)) as r;
select count(distinct md5((r - 'content')::text)) from generate_series(1, 20) as turn,
  lateral me.memory_export(format => 'json', tree => 'share/r', "limit" => 300 + turn * 0) as r;
rollback;
