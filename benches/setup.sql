-- What the measured scripts work on: ten thousand memories, and plain tables with the columns and indexes of ours.
set client_min_messages = warning;
create extension memory_engine cascade;
select count(me.memory_batch_create((
  select jsonb_agg(jsonb_build_object(
    'content', repeat('The quick brown fox jumps over the lazy dog. ', 10) || m,
    'tree', 'share/' || chunk,
    'name', 'n' || m,
    'id', '0190a1b2-0000-7000-8000-' || lpad((chunk * 1000 + m)::text, 12, '0'),
    'meta', jsonb_build_object('topic', 'fox', 'n', m)))
  from generate_series(0, 999) as m)))
from generate_series(1, 10) as chunk;
create schema plain;
create table plain.memory (like me.memory including all);
insert into plain.memory select * from me.memory;
-- The same with an index over its text, like the one that the memories have in a table of its own.
create table plain.memory_text (
  like me.memory including all,
  lexemes tsvector generated always as (to_tsvector('pg_catalog.english', content)) stored
);
create index on plain.memory_text using gin (lexemes) with (fastupdate = on, gin_pending_list_limit = 512);
insert into plain.memory_text select * from me.memory;
create role reader login;
grant select on plain.memory to reader;
grant usage on schema plain to reader;
do $$
begin
  perform me.space_member_add('reader', kind => 'user');
  perform me.access_grant('reader', '/share', 'read');
end
$$;
vacuum (analyze) me.memory, me.memory_event, me.memory_lexeme, plain.memory, plain.memory_text;
checkpoint;
