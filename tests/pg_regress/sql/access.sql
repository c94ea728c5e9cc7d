-- Spaces, rosters, grants and homes, as roles see them.
\pset null '(null)'
begin;
set local client_min_messages = warning;
create role access_admin;
create role access_writer;
create role access_reader;
create role access_team;
create role access_outsider;
grant access_team to access_reader;
set local client_min_messages = notice;

-- What a call answers, or how it is refused.
create function pg_temp.try(call text) returns text language plpgsql as $$
declare answer jsonb; detail text;
begin
  execute 'select ' || call into answer;
  return answer;
exception when others then
  get stacked diagnostics detail = pg_exception_detail;
  return sqlstate || ' ' || sqlerrm || ' ' || coalesce(detail, '');
end $$;

-- A member is listed without its times and ids.
create function pg_temp.grants(list jsonb) returns table (principal text, tree text, access text)
language sql as $$
  select g ->> 'principal', regexp_replace(g ->> 'treePath', '[0-9a-f]{32}', '<id>'), g ->> 'accessName'
  from jsonb_array_elements(list -> 'grants') as g
$$;

-- The founder is admin, and owner of its home and of share, not of the root (PRIN-10).
select me.space_create('garden', 'The garden');
set local me.space = 'garden';
select * from pg_temp.grants(me.access_list());
select me.space_create('plain', home_grants => false);
select * from pg_temp.grants(me.access_list(space => 'plain'));
select pg_temp.try($$me.space_create('garden')$$);
select pg_temp.try($$me.space_create('No Slug')$$);
-- Only superusers, and roles that hold EXECUTE.
set local role access_writer;
select pg_temp.try($$me.space_create('mine')$$);
reset role;
grant execute on function me.space_create to access_writer;
set local role access_writer;
select me.space_create('mine');
select me.space_list();
select * from pg_temp.grants(me.access_list('access_writer', space => 'mine'));
select me.space_drop('mine');
reset role;

-- The roster. A user that joins owns its home; a group has none.
select me.space_member_add('access_admin', admin => true) - 'id';
select me.space_member_add('access_admin') - 'id';
select me.space_member_add('access_team', 'group') - 'id';
select me.space_member_add('access_writer', 'user') - 'id';
select jsonb_path_query(me.space_member_list(), '$.members[*]') - 'addedAt' as member;
select * from pg_temp.grants(me.access_list(tree => '/home'));
select pg_temp.try($$me.space_member_add('nobody_of_that_name')$$);
select pg_temp.try($$me.space_member_add('access_team', 'user', space => 'nowhere')$$);
select pg_temp.try($$me.space_member_add('access_writer', 'pirate')$$);
select pg_temp.try($$me.space_member_add()$$);

-- An admin sees no memories by that alone, but may grant itself everything (PRIN-5).
select me.memory_create('a secret', '/share/plans', name => 'secret') ->> 'tree' as tree;
set local role access_admin;
select pg_temp.try($$me.memory_get_by_path('/share/plans/secret')$$);
select me.access_grant('access_admin', '/', 'owner');
select me.memory_get_by_path('/share/plans/secret') ->> 'content' as content;
select me.access_revoke('access_admin', '/');
select me.access_revoke('access_admin', '/');
select me.access_grant('access_writer', '/share', 'write');
select me.access_grant('access_team', '/share', 'read');
reset role;

-- The group's members are admitted with it, and see what it may see.
set local role access_reader;
select me.memory_context() - 'server' #- '{space,id}' #- '{principal,id}' as context;
select me.memory_get_by_path('/share/plans/secret') ->> 'content' as content;
select pg_temp.try($$me.memory_create('x', '/share')$$);
select pg_temp.try($$me.memory_create('x', '~')$$);
select me.space_list();
select * from pg_temp.grants(me.access_list('access_reader'));
select pg_temp.try($$me.access_list()$$);
select pg_temp.try($$me.space_member_list()$$);
reset role;

-- A grant is set to a level, up or down, at exactly its tree.
set local role access_writer;
select me.memory_create('x', '/share/plans') ->> 'createdBy' as by;
select me.memory_create('x', '~/notes') ->> 'tree' as tree;
select pg_temp.try($$me.access_grant('access_reader', '/share', 'read')$$);
reset role;
select me.access_grant('access_writer', 'share', 'read');
set local role access_writer;
select pg_temp.try($$me.memory_create('x', '/share/plans')$$);
reset role;
select me.access_revoke('access_writer', '/share/plans');
select pg_temp.try($$me.access_grant('access_writer', '/share', 'admin')$$);
select pg_temp.try($$me.access_grant('access_writer', '', 'read')$$);
select pg_temp.try($$me.access_grant('access_writer', '/share')$$);
select pg_temp.try($$me.access_grant('nobody_of_that_name', '/share', 'read')$$);

-- An owner manages the grants of its subtree, not above it; for somebody who is not admitted they are dormant.
set local role access_writer;
select me.access_grant('access_outsider', '~/notes', 'read');
select pg_temp.try($$me.access_grant('access_outsider', '/home', 'read')$$);
select * from pg_temp.grants(me.access_list(tree => '~'));
set local role access_outsider;
select pg_temp.try($$me.memory_context()$$);
select count(*) from me.memories;
reset role;
select me.space_member_add('access_outsider') - 'id';
set local role access_outsider;
select count(*) from me.memories;
select pg_temp.try($$me.access_revoke('access_outsider', '/share')$$);
reset role;

-- Off the roster means out, with the grants (PRIN-9). The last user admin stays (PRIN-7).
select me.space_member_remove('access_writer');
select me.space_member_remove('access_writer');
set local role access_writer;
select pg_temp.try($$me.memory_context()$$);
reset role;
select count(*) from me.memory where space = 'garden' and created_by = 'access_writer';
select me.space_member_remove('access_admin');
select pg_temp.try($$me.space_member_add(current_user::text, admin => false)$$);
select pg_temp.try($$me.space_member_remove(current_user::text)$$);
-- A group of which somebody is a member manages a space as well.
select me.space_member_add('access_team', admin => true) - 'id';
select me.space_member_remove(current_user::text);
set local role access_reader;
select me.memory_context() #> '{principal,admin}' as admin;
select me.space_rename('garden', 'Our garden');
reset role;

-- Settings.
select me.space_configure();
select me.space_configure(fulltext_fields => '{content,tree}', text_config => 'german', home_grants => false);
select pg_temp.try($$me.space_configure(fulltext_fields => '{content,id}')$$);
select pg_temp.try($$me.space_configure(fulltext_fields => '{}')$$);
select pg_temp.try($$me.space_configure(text_config => 'klingon')$$);
set local role access_outsider;
select pg_temp.try($$me.space_configure(home_grants => true)$$);
select pg_temp.try($$me.space_rename('garden', 'Mine')$$);
select pg_temp.try($$me.space_drop('garden')$$);
-- A space one is not admitted to and one that does not exist read alike (PRIN-22).
select pg_temp.try($$me.space_drop('plain')$$);
select pg_temp.try($$me.space_drop('never')$$);
select pg_temp.try($$me.memory_context('plain')$$);
select pg_temp.try($$me.memory_context('never')$$);
reset role;
select pg_temp.try($$me.space_drop('never')$$);

-- A locked session keeps to its space.
set local me.space_locked = on;
select pg_temp.try($$me.memory_context('plain')$$);
select pg_temp.try($$me.space_drop('plain')$$);
select pg_temp.try($$me.space_create('third')$$);
select me.memory_context() ->> 'activeSpace' as active;
set local me.space_locked = off;

-- Everything left its event; those of a space go with it.
select operation, count(*) from me.access_event where space = 'garden' group by operation order by operation;
select me.space_drop('garden');
select operation, subject_name, details from me.access_event where subject_name = 'garden' order by event_id;
select count(*) from me.access_event where space = 'garden';
select count(*) from me.access_event as e
where e.digest <> me._access_event_digest(e.space, e.event_id, e.at, e.operation, e.operation_id, e.actor_id,
  e.actor_name, e.api_key_id, e.api_key_name, e.subject_id, e.subject_name, e.details);
rollback;
