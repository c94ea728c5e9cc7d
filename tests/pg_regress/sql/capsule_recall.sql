-- Recall beside words: neighbours by meaning, receipts and what comes of them, efforts and topics, proposals.
\set VERBOSITY terse
begin;
set local client_min_messages = warning;
create function pg_temp.refused(call text) returns text language plpgsql as $$
declare detail text;
begin
  execute call;
  return 'accepted';
exception when others then
  get stacked diagnostics detail = pg_exception_detail;
  return sqlerrm || ' ' || detail;
end $$;
-- What a recall answers, without what differs from run to run.
create function pg_temp.ids(answer jsonb) returns text language sql as $$
  select concat_ws(' ', answer ->> 'outcome', (select string_agg(r ->> 'id', ' ' order by n)
    from jsonb_array_elements(answer -> 'results') with ordinality as r (r, n)))
$$;
create function pg_temp.beside(answer jsonb) returns text language sql as $$
  select string_agg(r ->> 'id', ' ' order by n)
  from jsonb_array_elements(answer #> '{neighbours,rows}') with ordinality as r (r, n)
$$;
set local me.project = 'demo';
select me.capsule_ingest(items => '[
  {"content": "The night watchman keeps the keys of the vault.", "source": "s", "anchor": "a", "kind": "epic"},
  {"content": "A cat sleeps on the sofa.", "source": "s", "anchor": "a", "kind": "task"},
  {"content": "The dog guards the garden at night.", "source": "s", "anchor": "a"},
  {"content": "Quarterly revenue grew by four percent.", "source": "s", "anchor": "a", "project_id": "other"}]') -> 'captured' as captured;

-- Without a model nothing changes, whoever asks.
select me.capsule_retrieve(terms => '{puppy}', neighbours => 3) - 'reason' as answer;
select me.embedding_model_add('static', 'local', 256, options => '{"path": "wordllama-256"}') is not null as added;
select me.embedding_model_use('static') is not null as used;
select me.embed_pending() -> 'embedded' as embedded;

-- With one, what is near is offered as such: it grounds nothing, and what holds a word is no neighbour.
select me.capsule_retrieve(terms => '{kitten}') ->> 'outcome' as outcome;
select pg_temp.beside(me.capsule_retrieve(terms => '{kitten}', neighbours => 1)) as nearest;
select (me.capsule_retrieve(terms => '{kitten}', neighbours => 1) #> '{neighbours,rows,0}') - '{similarity,freshness,provenance}'::text[] as row;
select me.capsule_retrieve(terms => '{kitten}', neighbours => 0) ? 'neighbours' as has;
select me.capsule_retrieve(terms => '{cat}') ? 'neighbours' as has;
select pg_temp.beside(me.capsule_retrieve(terms => '{cat}', neighbours => 1)) <> 'cap-2' as another;
select pg_temp.beside(me.capsule_retrieve(terms => '{income}', project_id => 'other', neighbours => 3)) as fenced;
select pg_temp.beside(me.capsule_retrieve(terms => '{kitten}', project_prefix => 'nowhere')) as fenced;
select me.capsule_retrieve(terms => '{kitten}', token_budget => 0) ? 'neighbours' as has;
select pg_temp.refused($$ select me.capsule_retrieve(terms => '{a}', neighbours => 21) $$);
-- Neither counts as a recall.
select count(*) as recalled from me.capsule_usage where seq = 3;
savepoint s;
select me.capsule_relate('supersedes', 'cap-1', 'cap-2') -> 'recorded' as recorded;
select coalesce(pg_temp.beside(me.capsule_retrieve(terms => '{kitten}', neighbours => 20)), '') ~ 'cap-2' as replaced_one_is_offered;
rollback to s;

-- A receipt names a recall; its outcome teaches the capsules, and only a recall that wants it listens.
select me.capsule_retrieve(terms => '{the}') as answer \gset
select pg_temp.ids(:'answer'::jsonb), (:'answer'::jsonb ->> 'receipt_id') ~ '^rcpt-[1-9][0-9]+$' as has_receipt;
select me.capsule_retrieve(terms => '{nothinglikeit}') ? 'receipt_id' as has_receipt;
select me.capsule_retrieve(terms => '{cat}') ->> 'receipt_id' as cat \gset
select (me.capsule_outcome('It helped.', 'agent', receipt_id => :'cat', score => 1) #> '{recorded}') - '{at,receipt_id}'::text[] as recorded;
select seq, score, outcomes from me.capsule_score;
select me.capsule_outcome('It helped again.', 'agent', receipt_id => :'cat', score => 1) is not null as recorded;
select seq, round(score::numeric, 4) as score, outcomes from me.capsule_score;
select o ->> 'id' as id, o -> 'score' as score, o ? 'receipt_id' as receipt
from jsonb_array_elements(me.capsule_outcome() -> 'outcomes') as o;
select pg_temp.ids(me.capsule_retrieve(terms => '{the}')) as plain,
  pg_temp.ids(me.capsule_retrieve(terms => '{the}', weight_blend => 1)) as blended;
select me.capsule_relate('witnesses', 'cap-1', 'cap-3') -> 'recorded' as recorded;
select pg_temp.ids(me.capsule_retrieve(terms => '{the}', corroboration_blend => 1)) as corroborated;
select pg_temp.refused(format($$ select me.capsule_outcome('d', 'a', receipt_id => %L) $$, :'cat')) as refused
union all select pg_temp.refused($$ select me.capsule_outcome('d', 'a', score => 1) $$)
union all select pg_temp.refused(format($$ select me.capsule_outcome('d', 'a', receipt_id => %L, score => 1.5) $$, :'cat'))
union all select pg_temp.refused(format($$ select me.capsule_outcome('d', 'a', receipt_id => %L, score => 'NaN') $$, :'cat'))
union all select pg_temp.refused(format($$ select me.capsule_outcome(receipt_id => %L, score => 1) $$, :'cat'))
union all select pg_temp.refused($$ select me.capsule_outcome('d', 'a', receipt_id => 'rcpt-7', score => 1) $$)
union all select pg_temp.refused($$ select me.capsule_outcome('d', 'a', receipt_id => 'x', score => 1) $$)
union all select pg_temp.refused($$ select me.capsule_retrieve(terms => '{a}', weight_blend => 2) $$)
union all select pg_temp.refused($$ select me.capsule_retrieve(terms => '{a}', corroboration_blend => 'NaN') $$);

-- An effort is its parts, a topic is what is about it.
select me.capsule_relate('part_of', 'cap-2', 'cap-1') -> 'recorded' as recorded;
select me.capsule_relate('part_of', 'cap-3', 'cap-2') -> 'recorded' as recorded;
select me.capsule_relate('about', 'cap-1', 'cap-3') -> 'recorded' as recorded;
select pg_temp.ids(me.capsule_retrieve(terms => '{the,revenue}', effort_id => 'cap-2', weight_blend => 1)) as effort,
  pg_temp.ids(me.capsule_retrieve(terms => '{the,revenue}', topic_id => 'cap-3')) as topic,
  pg_temp.ids(me.capsule_retrieve(terms => '{the,revenue}', topic_id => 'cap-3', effort_id => 'cap-2')) as of_both;
select me.capsule_retrieve(terms => '{revenue}', effort_id => 'cap-2', neighbours => 0) as answer;
select pg_temp.refused($$ select me.capsule_retrieve(terms => '{a}', effort_id => 'cap-99') $$) as refused
union all select pg_temp.refused($$ select me.capsule_retrieve(terms => '{a}', topic_id => 'out-1') $$);

-- A proposal is decided on, and the newest verdict counts.
select me.capsule_ingest('Let us paint the lighthouse.', 's', 'a', staged => true) #> '{outcomes,0,review}' as review;
select me.capsule_retrieve(terms => '{lighthouse}', neighbours => 0) ->> 'outcome' as outcome, me.capsule_digest() -> 'staged' as staged;
select me.capsule_review('cap-5', 'ratified', 'agreed') - 'at' as answer;
select me.capsule_retrieve(terms => '{lighthouse}') ->> 'outcome' as outcome;
select me.capsule_review('cap-5', 'rejected', 'too dear') #>> '{review,state}' as state;
select me.capsule_retrieve(terms => '{lighthouse}', neighbours => 0) -> 'excluded' as excluded;
select jsonb_path_query_array(me.capsule_get('cap-5'), '$.review_state.history[*].verdict') as history,
  me.capsule_get('cap-5') #>> '{last_mutation,event}' as event;
select pg_temp.refused($$ select me.capsule_review('cap-1', 'ratified', 'r') $$) as refused
union all select pg_temp.refused($$ select me.capsule_review('cap-99', 'ratified', 'r') $$)
union all select pg_temp.refused($$ select me.capsule_review('cap-5', 'perhaps', 'r') $$)
union all select pg_temp.refused($$ select me.capsule_review('cap-5', 'ratified', ' ') $$)
union all select pg_temp.refused($$ select me.capsule_review('cap-5', 'ratified') $$)
union all select pg_temp.refused($$ select me.capsule_review() $$);

-- The digest tells what is there at all.
select me.capsule_pin('cap-1', true, 'r') -> 'pinned' as pinned;
select me.capsule_digest(headlines => 1) - '{label,framing,newest,most_recalled,handoff,pinned,open_efforts,recent_failures,open_session_ids,dag}'::text[] as digest;
select e ->> 'id' as pinned from jsonb_array_elements(me.capsule_digest() -> 'pinned') as e;
select e ->> 'id' as open_effort from jsonb_array_elements(me.capsule_digest() -> 'open_efforts') as e;
select me.capsule_forget('cap-1', 'purged', 'r') ->> 'outcome' as outcome;
select me.capsule_digest() ? 'pinned' as pinned, me.capsule_digest() ? 'open_efforts' as efforts, me.capsule_digest() -> 'total' as total;
select me.capsule_verify() -> 'ok' as ok;

-- With me.embed_sync a capsule has its vector when the call ends.
select me.embed_pending() -> 'failed' as failed;
set local me.embed_sync = on;
select me.capsule_ingest('The heron nests in March.', 's', 'a') -> 'captured' as captured;
select count(*) as waiting from me.embedding_queue as q where q.outcome is null;

-- What others are grounded in is the mission, and open efforts that are grounded in nothing show where there is one; as far as
-- the caller may read who is grounded in what.
select me.space_create('plans') ->> 'slug' as slug;
set local me.space = 'plans';
select me.capsule_ingest(items => '[
  {"content": "Bring the herons back.", "source": "s", "anchor": "a", "project_id": "aims"},
  {"content": "Build nests.", "source": "s", "anchor": "b", "project_id": "works", "kind": "epic"},
  {"content": "Count the cranes.", "source": "s", "anchor": "c", "project_id": "works", "kind": "epic"}]') -> 'captured' as captured;
create view pg_temp.planned as select key, jsonb_path_query_array(value, '$[*].id') as ids
  from jsonb_each(me.capsule_digest()) where key in ('mission', 'unanchored', 'open_efforts') order by key;
select * from pg_temp.planned;
select me.capsule_relate('grounded_in', 'cap-2', 'cap-1') -> 'recorded' as recorded;
select * from pg_temp.planned;
create role capsule_aims;
create role capsule_works;
select me.access_grant('capsule_aims', '/capsules/aims', 'read') is not null as made;
select me.access_grant('capsule_works', '/capsules/works', 'read') is not null as made;
set local role capsule_aims;
select key, jsonb_path_query_array(value, '$[*].id') as ids
from jsonb_each(me.capsule_digest()) where key in ('mission', 'unanchored', 'open_efforts') order by key;
set local role capsule_works;
select key, jsonb_path_query_array(value, '$[*].id') as ids
from jsonb_each(me.capsule_digest()) where key in ('mission', 'unanchored', 'open_efforts') order by key;
reset role;
select me.capsule_ingest('Bring the storks back.', 's', 'a', project_id => 'aims', supersedes => 'cap-1') #>> '{outcomes,0,id}' as id;
select * from pg_temp.planned;
rollback;
