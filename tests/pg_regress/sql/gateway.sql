-- Application users behind a gateway, and what becomes of roles that change.
begin;
set local client_min_messages = warning;
create role gateway_web;
create role gateway_other;
create role gateway_team;
create role gateway_person;
set local client_min_messages = notice;

create function pg_temp.try(call text) returns text language plpgsql as $$
declare answer jsonb; detail text;
begin
  execute 'select ' || call into answer;
  return answer;
exception when others then
  get stacked diagnostics detail = pg_exception_detail;
  return sqlstate || ' ' || sqlerrm || ' ' || coalesce(detail, '');
end $$;

select me.space_create('shop');
set local me.space = 'shop';
select me.gateway_add('gateway_web');
select me.gateway_add('gateway_web');
select pg_temp.try($$me.gateway_add(current_user::text)$$);
select pg_temp.try($$me.gateway_add('no_role_of_that_name')$$);

-- An application user comes into being by a roster entry that says what it is.
select pg_temp.try($$me.space_member_add('ada@example.org')$$);
select me.space_member_add('ada@example.org', 'user') - 'id';
select me.space_member_add('robot', 'service') - 'id';
select pg_temp.try($$me.space_member_add('clique', 'group')$$);
select me.access_grant('robot', '/share', 'write');

set local role gateway_web;
select pg_temp.try($$me.memory_context()$$);
savepoint before;
set local me.principal = 'ada@example.org';
select me.memory_context() - 'server' #- '{space,id}' #- '{principal,id}' as context;
select me.memory_create('hers', '~/notes') ->> 'createdBy' as by;
select actor_name from me.memory_events;
rollback to before;
select pg_temp.try($$me.memory_context()$$);
set local me.principal = 'robot';
select me.memory_context() ->> 'mode' as mode;
select pg_temp.try($$me.memory_create('x', '~')$$);
-- Somebody who is not known is admitted nowhere.
set local me.principal = 'mallory@example.org';
select pg_temp.try($$me.memory_context()$$);
select count(*) from me.memories;
-- Whoever has a role is not for gateways.
set local me.principal = 'gateway_person';
select pg_temp.try($$me.memory_context()$$);
set local me.principal = 'postgres';
select pg_temp.try($$me.memory_context()$$);
-- A gateway does not make gateways.
set local me.principal = '';
select pg_temp.try($$me.gateway_add('gateway_other')$$);

-- Others may not set it, superusers neither.
set local role gateway_other;
set local me.principal = 'ada@example.org';
select pg_temp.try($$me.memory_context()$$);
select pg_temp.try($$me.memory_create('x', '/share')$$);
select pg_temp.try($$me.space_list()$$);
reset role;
select pg_temp.try($$me.memory_context()$$);
set local me.principal = '';

-- Groups of application users are roles.
select me.group_member_add('gateway_team', 'ada@example.org');
select me.group_member_add('gateway_team', 'ada@example.org');
select pg_temp.try($$me.group_member_add('gateway_team', 'gateway_person')$$);
select pg_temp.try($$me.group_member_add(current_user::text, 'ada@example.org')$$);
select me.access_grant('gateway_team', '/team', 'write');
set local role gateway_web;
set local me.principal = 'ada@example.org';
select me.memory_create('ours', '/team') ->> 'tree' as tree;
set local me.principal = '';
reset role;
-- The last admin may be a user of a group.
select me.space_member_add('gateway_team', admin => true) - 'id';
select me.space_member_remove(current_user::text);
select pg_temp.try($$me.group_member_remove('gateway_team', 'ada@example.org')$$);
select me.space_member_add(current_user::text, admin => true) - 'id';
select me.group_member_remove('gateway_team', 'ada@example.org');
select me.group_member_remove('gateway_team', 'ada@example.org');
-- EXECUTE alone does not make one the admin of a group.
grant execute on function me.group_member_add to gateway_person;
set local role gateway_person;
select pg_temp.try($$me.group_member_add('gateway_team', 'ada@example.org')$$);
reset role;
grant gateway_team to gateway_person with admin option;
set local role gateway_person;
select me.group_member_add('gateway_team', 'ada@example.org');
reset role;

revoke gateway_team from gateway_person;
revoke execute on function me.group_member_add from gateway_person;

-- A renamed role keeps its home.
select me.space_member_add('gateway_person') - 'id';
set local role gateway_person;
select me.memory_create('kept', '~/box', name => 'thing') ->> 'tree' as tree;
reset role;
alter role gateway_person rename to gateway_renamed;
set local role gateway_renamed;
select me.memory_get_by_path('~/box/thing') ->> 'content' as content;
select me.memory_create('new', '~/box') ->> 'createdBy' as by;
reset role;
-- Its old name is free for another role.
create role gateway_person;
select me.space_member_add('gateway_person') - 'id';
set local role gateway_person;
select pg_temp.try($$me.memory_get_by_path('~/box/thing')$$) ~ '^P0002' as absent;
reset role;
-- One dropped and made anew is locked out, until it is bound again.
drop role gateway_renamed;
create role gateway_renamed;
set local role gateway_renamed;
select pg_temp.try($$me.memory_get_by_path('~/box/thing')$$);
select pg_temp.try($$me.memory_create('x', '/share')$$);
select pg_temp.try($$me.principal_rebind('gateway_renamed')$$);
reset role;
select pg_temp.try($$me.access_grant('gateway_renamed', '/share', 'read')$$);
select me.access_revoke('gateway_renamed', '/share');
select pg_temp.try($$me.principal_rebind('gateway_renamed', 'gateway_person')$$);
select me.principal_rebind('gateway_renamed');
set local role gateway_renamed;
select me.memory_get_by_path('~/box/thing') ->> 'content' as content;
reset role;
-- In another cluster, names bind anew by themselves: to read at once, for good with the first write.
update me.principal set cluster = 'elsewhere', role_oid = role_oid::bigint + 1000000;
update me.gateway set cluster = 'elsewhere', role_oid = role_oid::bigint + 1000000;
set local role gateway_renamed;
select me.memory_get_by_path('~/box/thing') ->> 'content' as content;
select count(*) from me.memories;
select me.memory_create('again', '~/box') ->> 'tree' as tree;
select count(*) from me.memories;
set local role gateway_web;
set local me.principal = 'ada@example.org';
select me.memory_context() -> 'access' #- '{0,treePath}' as access;
set local me.principal = '';
reset role;
select name from me.principal where cluster <> 'elsewhere' order by name collate "C";

-- Without gateways nobody acts for others.
select me.gateway_remove('gateway_web');
select me.gateway_remove('gateway_web');
set local role gateway_web;
set local me.principal = 'ada@example.org';
select pg_temp.try($$me.memory_context()$$);
rollback;

-- A plain SET outlives its transaction, but counts for nothing after it.
begin;
create role gateway_web;
select me.gateway_add('gateway_web');
commit;
set role gateway_web;
set me.principal = 'ada@example.org';
select me.memory_context();
begin;
select me.space_list();
rollback;
begin;
set local me.principal = 'ada@example.org';
select me.space_list();
rollback;
reset me.principal;
select me.space_list();
reset role;
select me.gateway_remove('gateway_web');
drop role gateway_web;
