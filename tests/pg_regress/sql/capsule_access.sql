-- What stands in a project is for those who may read it there: neither its number nor its place nor its words come
-- out by capturing, missing or relating.
begin;
set local client_min_messages = warning;
create role capsule_outsider;
create role capsule_writer;
create role capsule_reader;
select me.access_grant('capsule_outsider', '/share', 'write') is not null as made;
select me.access_grant('capsule_writer', '/capsules/open', 'write') is not null as made;
select me.access_grant('capsule_reader', '/capsules/open', 'read') is not null as made;
set local me.project = 'closed';
select me.capsule_ingest(content => 'The pump listens to hunter2xyz.', source => 's', anchor => 'a') -> 'captured' as n;
select me.capsule_ingest(content => 'The valve listens to nobody.', source => 's', anchor => 'a') -> 'captured' as n;
select me.capsule_forget('cap-2', 'purged', 'leaked') ->> 'outcome' as outcome;
set local me.project = 'open';
select me.capsule_ingest(content => 'The gate is open.', source => 's', anchor => 'a') -> 'captured' as n;
savepoint s;

-- Who may write nowhere among the capsules does not even hear that a content is there.
set local role capsule_outsider;
select me.capsule_ingest(content => 'The pump listens to hunter2xyz.', source => 's', anchor => 'a');
rollback to s;
set local role capsule_outsider;
select me.capsule_ingest(content => 'The gate is open.', source => 's', anchor => 'a');
rollback to s;
set local role capsule_reader;
select me.capsule_ingest(content => 'The gate is open.', source => 's', anchor => 'a');
rollback to s;

-- Who may write elsewhere hears that it cannot be captured, and the same of one that was forgotten.
set local role capsule_writer;
select me.capsule_ingest(content => 'The pump listens to hunter2xyz.', source => 's', anchor => 'a', kind => 'constraint',
  staged => true) #> '{outcomes,0}' as outcome;
select me.capsule_ingest(content => 'The valve listens to nobody.', source => 's', anchor => 'a') #> '{outcomes,0}' as outcome;
select me.capsule_ingest(content => 'The gate is open.', source => 's', anchor => 'a') #>> '{outcomes,0,id}' as id;
select me.capsule_ingest(content => 'Another gate.', source => 's', anchor => 'a', supersedes => 'cap-1') #> '{outcomes,0}' as outcome;
select me.capsule_relate('falsifies', 'cap-3', 'cap-1');
rollback to s;
set local role capsule_writer;
select me.capsule_relate('falsifies', 'cap-1', 'cap-3');
rollback to s;

-- Anybody can miss a word; the words it is like are those of capsules the caller may read.
set local role capsule_reader;
select me.capsule_retrieve(terms => array['hunter', 'gates']) ->> 'outcome' as outcome;
select me.capsule_consolidate() #> '{plan,alias_proposals}' as proposals;
reset role;
select me.capsule_consolidate() #> '{plan,alias_proposals}' as proposals;
savepoint s;

-- An import of a file of the same name neither supersedes nor revives what somebody else captured from it.
set local me.project = 'closed';
select me.capsule_import(source => 'project-claude-md', files => '{"CLAUDE.md": "## Valve\nshut it at night\n"}') -> 'captured' as n;
set local me.project = 'open';
set local role capsule_writer;
select me.capsule_import(source => 'project-claude-md', files => '{"CLAUDE.md": "## Valve\nleave it open\n"}') -> 'captured' as n;
reset role;
select count(*) as edges from me.capsule_relation where origin = 'import';
rollback to s;

-- A merge needs somewhere to write, and does not tell of what stands here unseen.
select me.space_create('elsewhere') ->> 'slug' as slug;
select me.access_grant('capsule_outsider', '/capsules', 'write', space => 'elsewhere') is not null as made;
select me.access_grant('capsule_writer', '/capsules', 'write', space => 'elsewhere') is not null as made;
select me.capsule_ingest(content => 'The pump listens to hunter2xyz.', source => 's', anchor => 'a', space => 'elsewhere') -> 'captured' as n;
savepoint t;
set local role capsule_outsider;
select me.capsule_merge('elsewhere');
rollback to t;
set local role capsule_writer;
select me.capsule_merge('elsewhere');
rollback;
