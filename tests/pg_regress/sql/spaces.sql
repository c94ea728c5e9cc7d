-- Spaces: made, listed, renamed, dropped, chosen, locked.
\set show_state '\\echo :LAST_ERROR_SQLSTATE'

-- The default space comes into being with a superuser's first write; a read makes nothing.
select me.space_list();
select me.memory_get_by_path(path => 'share/none');
:show_state
select me.space_list();
select me.memory_create(content => 'first', tree => 'share', name => 'one') -> 'tree' as tree;
select me.space_list();

select me.space_create(slug => 'team-a', name => 'Team A');
select me.space_create(slug => 'team-b');
select me.space_create(slug => 'team-a');
:show_state
select me.space_create(slug => 'Team');
:show_state
select me.space_create(slug => repeat('s', 64));
:show_state
select me.space_create(slug => 'nameless', name => '');
:show_state
-- A slug of twelve characters is made when none is given.
select made ->> 'slug' ~ '^[a-z0-9]{12}$' as made, made ->> 'slug' = made ->> 'name' as name
from me.space_create() as made;
select me.space_drop(slug => space ->> 'slug')
from jsonb_array_elements(me.space_list() -> 'spaces') as space
where space ->> 'slug' ~ '^[a-z0-9]{12}$';

select me.space_rename(slug => 'team-b', name => 'Team B');
select me.space_rename(slug => 'team-b');
:show_state
select me.space_rename(slug => 'absent', name => 'x');
:show_state
select me.space_list();

-- The same id and the same name live in each space of their own.
select me.memory_create(content => 'in a', tree => 'share', name => 'one', id => '0190a1b2-0000-7000-8000-000000000001',
  space => 'team-a') -> 'id' as id;
select me.memory_create(content => 'in b', tree => 'share', name => 'one', id => '0190a1b2-0000-7000-8000-000000000001',
  space => 'team-b') -> 'id' as id;
select space, tree, name, content, version from me.memories order by space;

-- An argument goes before the setting, the setting before the default.
set me.space = 'team-b';
select me.memory_get_by_path(path => 'share/one') -> 'content' as by_setting;
select me.memory_get_by_path(path => 'share/one', space => 'team-a') -> 'content' as by_argument;
reset me.space;
select me.memory_get_by_path(path => 'share/one') -> 'content' as by_default;
select me.memory_get_by_path(path => 'share/one', space => '');
:show_state
select me.memory_get_by_path(path => 'share/one', space => 'absent');
:show_state

-- A locked session works in its space only, and no tool offers another.
set me.space = 'team-a';
set me.space_locked = on;
select me.memory_get_by_path(path => 'share/one') -> 'content' as locked;
select me.memory_get_by_path(path => 'share/one', space => 'team-b');
:show_state
select me.mcp_call('me_memory_get_by_path', '{"path": "share/one", "space": "team-a"}');
:show_state
select count(*) as tools_with_a_space
from jsonb_array_elements(me.mcp_tools()) as tool
where tool -> 'inputSchema' -> 'properties' ? 'space';
select space, content from me.memories;
reset me.space_locked;
reset me.space;

-- Dropping takes everything in it, and nothing of the others.
select me.space_drop(slug => 'team-b');
select me.space_drop(slug => 'team-b');
:show_state
select space, content from me.memories order by space;
select distinct space from me.memory_events order by space;

-- A role without a grant is told the same of a space that is there and of one that is not.
create role regress_outsider;
set role regress_outsider;
select me.space_list();
select me.memory_get_by_path(path => 'share/one', space => 'team-a');
:show_state
select me.memory_get_by_path(path => 'share/one', space => 'absent');
:show_state
select me.memory_create(content => 'x', tree => 'share', space => 'team-a');
:show_state
-- What is wrong with the arguments is said before.
select me.memory_create(content => '', tree => 'share', space => 'team-a');
:show_state
select me.space_create(slug => 'mine');
:show_state
select me.space_drop(slug => 'team-a');
:show_state
select count(*) from me.memories;
select count(*) from me.memory_events;
select count(*) from me.memory;
:show_state
select me._uuid_v7();
:show_state
reset role;
drop role regress_outsider;
