-- Counting, listing and deleting subtrees.
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

select me.memory_delete_tree('/share/*', false);
select me.memory_delete_tree('', false);
select me.memory_delete_tree('/share');
select me.memory_delete_tree(dry_run => false);
