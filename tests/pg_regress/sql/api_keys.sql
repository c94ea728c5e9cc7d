-- API keys: who may make one, what it proves, how far it reaches, and when it no longer counts.
begin;
set local client_min_messages = warning;
create role keys_gateway;
create role keys_holder;
create role keys_other;
create role keys_team;
grant keys_team to keys_holder;
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
create function pg_temp.names(list jsonb) returns text language sql as $$
  select string_agg(concat_ws(' ', k ->> 'name', k ->> 'principal', k ->> 'revokedAt' is not null), ', ' order by k ->> 'name')
  from jsonb_array_elements(list -> 'keys') as k
$$;

select me.space_create('one', home_grants => false) ->> 'slug' as made;
select me.space_create('two', home_grants => false) ->> 'slug' as made;
select me.gateway_add('keys_gateway');
grant execute on function me.api_key_authenticate, me.api_key_create, me.api_key_list, me.api_key_revoke
  to keys_gateway, keys_holder, keys_other;
set local me.space = 'one';
select me.access_grant('keys_holder', '/share', 'write'), me.access_grant('keys_team', '/team', 'read');
select me.access_grant('keys_holder', '/deep', 'read', space => 'two');
select me.space_member_add('keys_holder', admin => true) - 'id';
select me.space_member_add('grace@example.org', 'user') - 'id';
select me.memory_create('in share', '/share/a', name => 'm') ->> 'tree' as tree;
select me.memory_create('in team', '/team', name => 'm') ->> 'tree' as tree;
select me.memory_create('in two', '/deep/er', name => 'm', space => 'two') ->> 'tree' as tree;

-- A key of the text that is promised; only a digest of its secret is stored.
select me.api_key_create('keys_holder', 'all') as made \gset
select :'made'::jsonb ->> 'key' as all_key, :'made'::jsonb ->> 'id' as all_id \gset
select :'all_key' ~ '^me\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]{32}$' as well_formed,
  :'made'::jsonb - '{id,key}'::text[] as answer;
select count(*) as stored, bool_and(secret_digest = sha256(convert_to(split_part(:'all_key', '.', 3), 'UTF8'))) as digest,
  bool_or(k::text ~ split_part(:'all_key', '.', 3)) as secret_somewhere
from me.api_key as k;
select bool_or(e::text ~ split_part(:'all_key', '.', 3)) as secret_in_events from me.access_event as e;
select me.api_key_create('keys_holder', 'narrow',
  allow => '{"spaces": {"one": {"trees": {"/share/a": "owner", "/team": "read", "/vault": "read"}}}}') ->> 'key' as narrow_key \gset
select me.api_key_create('keys_holder', 'admin', allow => '{"spaces": {"one": {"admin": true}}}') ->> 'key' as admin_key \gset
select me.api_key_create('grace@example.org', 'hers') ->> 'key' as hers_key \gset
select me.api_key_list('keys_holder') #> '{keys,1,allow}' as allow;
select pg_temp.names(me.api_key_list());

-- Who may make one.
select pg_temp.try($$me.api_key_create(current_user::text)$$);
select pg_temp.try($$me.api_key_create('nobody_of_that_name')$$);
select pg_temp.try($$me.api_key_create('keys_holder', expires => now() - interval '1 second')$$);
select pg_temp.try($$me.api_key_create('keys_holder', expires => 'infinity')$$);
select pg_temp.try($$me.api_key_create('keys_holder', allow => '{"spaces": {"one": {"tree": "/x"}}}')$$);
select pg_temp.try($$me.api_key_create('keys_holder', allow => '[]')$$);
set local role keys_other;
select pg_temp.try($$me.api_key_create('keys_holder')$$);
select pg_temp.try($$me.api_key_list('keys_holder')$$);
select pg_temp.try($$me.api_key_list()$$);
-- One that is somebody else's and one that does not exist are refused alike.
select replace(pg_temp.try(format('me.api_key_revoke(%L)', id)), id, 'ID')
from (values (:'all_id'), ('01890000-0000-7000-8000-000000000001')) as k (id);
select me.api_key_create('keys_other', 'my own') ->> 'name' as name;
select pg_temp.names(me.api_key_list('keys_other'));
set local role keys_gateway;
select me.api_key_create('grace@example.org', 'by the gateway') ->> 'name' as name;
select pg_temp.try($$me.api_key_create('keys_holder')$$);
reset role;

-- Only a gateway can use one, and a wrong one is refused like one that is no key at all.
set local role keys_other;
select pg_temp.try(format('me.api_key_authenticate(%L)', :'all_key'));
set local role keys_gateway;
select pg_temp.try('me.api_key_authenticate(null)');
select distinct pg_temp.try(format('me.api_key_authenticate(%L)', key))
from (values
  (''), ('me'), ('me.x.y'), (left(:'all_key', 51)), (:'all_key' || 'x'), (upper(:'all_key')),
  (overlay(:'all_key' placing 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' from 21)),
  (overlay(:'all_key' placing 'xxxxxxxxxxxxxxxx' from 4))) as wrong (key);

-- An unrestricted key is its holder, groups included; its deeds are its holder's, by the key.
savepoint proven;
select me.api_key_authenticate(:'all_key') - 'keyId' as proven;
select me.memory_context() -> 'principal' ->> 'name' as name, me.memory_context() #>> '{principal,admin}' as admin;
select space, content from me.memories order by content;
select me.memory_create('by key', '/share/b', name => 'k') ->> 'createdBy' as by;
select actor_name, api_key_name, api_key_id = :'all_id' as this_key from me.memory_events where content = 'by key';
select me.space_list();
-- It makes and revokes no keys, and is not proven twice.
select pg_temp.try($$me.api_key_create('keys_holder')$$);
select pg_temp.try(format('me.api_key_revoke(%L)', :'all_id'));
select pg_temp.try($$me.api_key_list('keys_holder')$$);
select pg_temp.try(format('me.api_key_authenticate(%L)', :'all_key'));
-- Not beside an application user.
set local me.principal = 'grace@example.org';
select pg_temp.try('me.memory_context()');
rollback to proven;
select pg_temp.try('me.memory_context()');

-- A restricted one reaches as far as both its holder and its declaration do (PRIN-16).
select me.api_key_authenticate(:'narrow_key') ->> 'keyName' as proven;
select me.memory_context() -> 'access' as access, me.memory_context() #>> '{principal,admin}' as admin;
select space, content from me.memories order by content;
select me.memory_create('deeper', '/share/a/b') ->> 'tree' as tree;
select pg_temp.try($$me.memory_create('x', '/share/b')$$);
select pg_temp.try($$me.memory_get_by_path('/deep/er/m', space => 'two')$$);
select pg_temp.try($$me.access_grant('keys_other', '/share', 'read')$$);
select me.space_list();
rollback to proven;
select me.api_key_authenticate(:'admin_key') ->> 'keyName' as proven;
select me.memory_context() #>> '{principal,admin}' as admin, me.access_grant('keys_other', '/share', 'read');
rollback to proven;

-- An application user's key.
select me.api_key_authenticate(:'hers_key') ->> 'principal' as proven;
select me.memory_context() -> 'principal' ->> 'name' as name;
rollback to proven;

-- What stands for a proven key is no use to anybody else, nor in another backend's words.
select set_config('me.api_key', :'all_id' || '.' || repeat('0', 64), true) <> '' as set;
select pg_temp.try('me.memory_context()');
rollback to proven;
select me.api_key_authenticate(:'all_key') ->> 'keyName' as proven;
set local role keys_other;
select pg_temp.try('me.memory_context()');
reset role;
select pg_temp.try('me.memory_context()');
rollback to proven;
reset role;

-- Lost access takes effect at once, also when the holder gained the world.
select me.access_revoke('keys_holder', '/share');
alter role keys_holder superuser;
set local role keys_gateway;
select me.api_key_authenticate(:'all_key') ->> 'keyName' as proven;
select space, content from me.memories order by content;
rollback to proven;
reset role;

-- Revoked or expired: gone, in the same words, in the middle of a transaction too.
set local role keys_gateway;
select me.api_key_authenticate(:'all_key') ->> 'keyName' as proven;
select set_config('probe.token', current_setting('me.api_key'), true) <> '' as kept;
set local me.api_key = '';
reset role;
select me.api_key_revoke(:'all_id');
select me.api_key_revoke(:'all_id');
set local role keys_gateway;
select set_config('me.api_key', current_setting('probe.token'), true) <> '' as set;
select pg_temp.try('me.memory_context()');
set local me.api_key = '';
select pg_temp.try(format('me.api_key_authenticate(%L)', :'all_key'));
reset role;
update me.api_key set expires_at = now() - interval '1 second' where name = 'hers';
set local role keys_gateway;
select pg_temp.try(format('me.api_key_authenticate(%L)', :'hers_key'));
reset role;
select pg_temp.names(me.api_key_list('keys_holder'));
select operation, subject_name, details ->> 'keyName' as key from me.access_event where operation ~ '^api_key' order by event_id;
rollback;

-- It ends with its transaction.
begin;
create role keys_gateway;
select me.space_create('brief', home_grants => false) ->> 'slug' as made;
select me.gateway_add('keys_gateway');
grant execute on function me.api_key_authenticate to keys_gateway;
select me.space_member_add('keys@example.org', 'user', space => 'brief') ->> 'added' as added;
select me.api_key_create('keys@example.org') ->> 'key' as key \gset
commit;
set role keys_gateway;
begin;
select me.api_key_authenticate(:'key') ->> 'principal' as proven;
select me.memory_context('brief') -> 'principal' ->> 'name' as name;
select set_config('me.api_key', current_setting('me.api_key'), false) <> '' as kept;
commit;
select me.memory_context('brief');
begin;
select set_config('me.api_key', current_setting('me.api_key'), true) <> '' as set;
select me.memory_context('brief');
rollback;
reset me.api_key;
select me.memory_context('brief');
reset role;
drop owned by keys_gateway;
drop role keys_gateway;
