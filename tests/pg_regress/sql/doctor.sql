-- me.doctor() names what is wrong and what to do; me.stat_spaces shows sizes to those who manage a space.
create function pg_temp.look(about text) returns table (status text, detail text, remedy text) language sql as $$
  select d.status, d.detail, d.remedy from me.doctor() as d where d."check" = about
$$;
-- Everything is fine in a new database (settings of the test server aside).
select d."check", d.status from me.doctor() as d where d."check" not in ('server') order by 1;
select count(*) as without_remedy from me.doctor() as d where (d.status = 'ok') <> (d.remedy is null);

select me.memory_create('one', '/share/a') is not null as made;
select me.embedding_model_add('mine', 'manual', 2) is not null as added;
select me.embedding_model_use('mine')->'queued' as queued;
select distinct d.status from me.doctor() as d where d."check" in ('vectors', 'queue', 'text search', 'rosters', 'vector tables', 'tree index');

-- One fault after another, each undone.
begin;
select me.embedding_model_add('far', 'openai', 2, '{"url": "http://embed.example"}') is not null as added;
select * from pg_temp.look('endpoint');
select me.embedding_model_add('gone', 'local', 256, '{"path": "no-such-model"}') is not null as added;
select status, detail like 'model "gone" cannot be read: %' as named from pg_temp.look('model files');
select me.embedding_model_add('other', 'local', 77, '{"path": "wordllama-256"}') is not null as added;
select status, detail from pg_temp.look('model files') where detail like '%other%';
rollback;
begin;
select me.embedding_model_add('static', 'local', 256, '{"path": "wordllama-256"}') is not null as added;
select me.embedding_model_use('static')->'state' as state;
update me.embedding_queue set created_at = created_at - interval '2 hours', vt = vt - interval '2 hours' where model = 'static';
select status, regexp_replace(detail, 'for [0-9]+', 'for …') as detail, remedy from pg_temp.look('queue');
update me.embedding_queue set outcome = 'failed', finished_at = now(), last_error = 'the vector holds NaN' where model = 'static';
select * from pg_temp.look('queue');
delete from me.embedding_queue;
select * from pg_temp.look('vectors');
insert into me.embedded select 'default', '0190a1b2-0000-7000-8000-000000000001', 'static', 1;
select detail from pg_temp.look('vectors');
do $$
declare t text;
begin
  select relation into t from me.embedding_model where name = 'static';
  execute format('insert into me.%I values (''default'', ''0190a1b2-0000-7000-8000-000000000001'', 0, 1, array_fill(1::real, ''{256}'')::halfvec(256))', t);
  execute (select string_agg(format('drop index %s', i.indexrelid::regclass), ';') from pg_index as i
    join pg_class as c on c.oid = i.indexrelid join pg_am as a on a.oid = c.relam where a.amname in ('hnsw', 'hash') and i.indrelid = format('me.%I', t)::regclass);
end $$;
select status, regexp_replace(detail, 'vectors_static_[0-9a-z]+', 'vectors_static_…') as detail from pg_temp.look('vector tables');
select status, regexp_replace(detail, 'vectors_static_[0-9a-z]+', 'vectors_static_…') as detail from pg_temp.look('orphan vectors');
rollback;
begin;
update me.memory_event set at = at - interval '1 year';
select status, regexp_replace(detail, 'since .* are', 'since … are') as detail, remedy from pg_temp.look('seals');
rollback;
begin;
update me.space set text_config = 'no.such';
select * from pg_temp.look('text search');
update me.space set text_config = 'simple';
select * from pg_temp.look('text search');
rollback;
begin;
insert into me.lexical_tail select 'default', '0190a1b2-0000-7000-8000-000000000000'::uuid, ('0190a1b2-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, true
  from generate_series(1, 501) as n;
select status from pg_temp.look('lexical index');
update me.lexical_tail set memory_id = entry;
select * from pg_temp.look('lexical index');
delete from me.lexical_tail where memory_id = entry;
select me.memory_create('two', '/share/b') is not null as made;
select me.lexical_maintain()->'indexed' as indexed;
delete from me.lexical_page where kind = 2;
select * from pg_temp.look('lexical index');
rollback;
begin;
update me.space_member set admin = false;
create role doctor_guest;
insert into me.principal select '0190a1b2-0000-7000-8000-000000000002', 'doctor_guest', 'user', 'doctor_guest'::regrole, cluster, now()
from me.principal limit 1;
insert into me.tree_grant values ('default', '0190a1b2-0000-7000-8000-000000000002', 'share', 1, now(), 'x');
select * from pg_temp.look('rosters');
drop role doctor_guest;
select * from pg_temp.look('principals');
rollback;
begin;
create role doctor_guest;
grant create on schema me to doctor_guest;
grant select, delete on me.memory to doctor_guest;
grant execute on function me.embedding_claim to public;
alter function me.space_list owner to doctor_guest;
select * from pg_temp.look('privileges');
rollback;
begin;
update pg_index set indisvalid = false where indexrelid = 'me.memory_meta_idx'::regclass;
select * from pg_temp.look('indexes');
rollback;
begin;
update pg_extension set extversion = '0.7.4' where extname = 'vector';
select * from pg_temp.look('extensions');
-- Objects of another version are not looked into.
update pg_extension set extversion = '0.0.9' where extname = 'memory_engine';
select d."check", d.status, regexp_replace(d.detail, '[^ ]+$', '…') as detail, d.remedy from me.doctor() as d where d."check" <> 'endpoint' and d."check" <> 'model files';
rollback;

-- Sizes: of the spaces one manages.
select space, memories, content_bytes, model, embedded_share, last_write is not null as written, history_rows, history_bytes from me.stat_spaces;
select lexical_memories, lexical_waiting, lexical_stale_share, lexical_bytes from me.stat_spaces;
select me.lexical_maintain()->'indexed' as indexed;
select lexical_memories, lexical_waiting, lexical_stale_share, lexical_bytes > 0 as has_bytes from me.stat_spaces;
select me.embedding_set((select id from me.memories), '{1,0}');
select me.space_create('second', 'second') is not null as made;
select space, memories, embedded_share, history_rows from me.stat_spaces order by space;
create role doctor_admin;
create role doctor_member;
create role doctor_crew;
grant doctor_crew to doctor_member;
select me.space_member_add('doctor_admin', admin => true) is not null as added;
select me.space_member_add('doctor_member') is not null as added;
set role doctor_admin;
select space, memories from me.stat_spaces;
select * from me.doctor();
set role doctor_member;
select space, memories from me.stat_spaces;
reset role;
select me.space_member_add('doctor_crew', 'group', admin => true, space => 'second') is not null as added;
grant execute on function me.doctor to doctor_member;
set role doctor_member;
select space, memories from me.stat_spaces;
select count(*) > 10 as looked from me.doctor();
reset role;
set me.space_locked = on;
select space from me.stat_spaces;
reset me.space_locked;
revoke execute on function me.doctor from doctor_member;
drop role doctor_admin, doctor_member, doctor_crew;
