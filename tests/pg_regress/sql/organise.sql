-- Counting, listing and deleting subtrees, and pruning what an importer no longer has.
begin;
select count(me.memory_create(content => t, tree => t)) from unnest(array[
  '/', '/share/app', '/share/app/x', '/share/app/x', '/share/app2', '/share/a-b', '/share/a_b', '/Share', '~', '~/notes'
]) as t;
select me.memory_tree();
select me.memory_tree('/share');
select me.memory_tree('', 1), me.memory_tree('~'), me.memory_tree('/none'), me.memory_tree('/home');
select me.memory_count('share'), me.memory_count('share', 2), me.memory_count('share/app'), me.memory_count('~');

-- A subtree is deleted whole and nothing beside it; a dry run only counts.
select me.memory_delete_tree('/share/app', true) as dry;
select me.memory_delete_tree('/share/app', false) as deleted;
select me.memory_delete_tree('/share/app', false) as again;
select me.memory_count('share') as left;
select operation, cause, count(*), count(distinct operation_id) as calls, count(distinct event_id) as events
from me.memory_events where operation = 'delete' group by 1, 2;
select me.memory_delete_tree('/', false) as all;
select me.memory_count('*') as left;
rollback;

-- Orphans are named, marked, and not kept.
begin;
select count(me.memory_create(content => t, tree => t, name => n, meta => m::jsonb)) from (values
  ('/', 'top', '{"source": "wiki"}'), ('/w', 'a', '{"source": "wiki"}'), ('/w', 'b', '{"source": "wiki", "k": 1}'),
  ('/w', null, '{"source": "wiki"}'), ('/w', 'c', '{"source": "mail"}'), ('/w/x', 'a', '{"source": "wiki"}'),
  ('/w-2', 'a', '{"source": "wiki"}'), ('~', 'a', '{"source": "wiki"}')
) as v (t, n, m);
select me.memory_delete_orphans('/w', '{"source": "wiki"}', '[{"tree": "w", "name": "a"}]', dry_run => true);
select me.memory_delete_orphans('/w', '{"source": "wiki"}', '[{"tree": "w", "name": "a"}]');
select me.memory_delete_orphans('/', '{"source": "wiki"}', '[{"tree": "~", "name": "a"}]', dry_run => true);
select me.memory_delete_orphans('/', '{"source": "wiki"}');
select tree, name from me.memories order by tree, name;
select cause, count(*), count(distinct operation_id) from me.memory_events where operation = 'delete' group by 1;
rollback;
select me.memory_delete_orphans('/', '{}');
select me.memory_delete_orphans('/');
select me.memory_delete_orphans('/', '{"a": 1}', '[{"tree": "/"}]');
select me.memory_delete_orphans('/', '{"a": 1}', '[{"tree": "a b", "name": "n"}]');
select me.memory_delete_orphans('/', '{"a": 1}', '[{"tree": "a", "name": "n", "id": 1}]');
select me.memory_delete_orphans('/', '{"a": 1}', (select jsonb_agg(jsonb_build_object('tree', '/', 'name', 'n' || g)) from generate_series(1, 25001) g));

select me.memory_delete_tree('/share/*', false);
select me.memory_delete_tree('', false);
select me.memory_delete_tree('/share');
select me.memory_delete_tree(dry_run => false);
