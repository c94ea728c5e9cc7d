#!/usr/bin/env python3
"""How fast searches are, as ratios to the plain query that does the same work in the same server.

    python3 benches/search.py [MEMORIES [TEXTS]]       100000 unless said

It needs a release build and a server that PGHOST, PGUSER … name, as a superuser, and works in the database PGDATABASE, where it
creates the extension and, once, its data in a space of ours and in a plain table with the same texts, lexemes, trees and
vectors, indexed by GIN, GiST and HNSW. Vectors have 384 numbers and lie in clusters of some two hundred. Texts are made of a
vocabulary whose words are as unevenly common as those of a language; or they are two to five sentences of TEXTS, a file of text
or JSON (its strings).

Every number is a median over queries that run by turns, ours and plain, after a round that warms up; in brackets the lowest
and highest ratio of a round. Time is that of the server's process, on Linux; where it cannot be read, that of the clock.
"""
import itertools
import json
import random
import statistics
import sys
import time

from session import Session, sentences, word

MEMORIES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
QUERIES = 40
ROUNDS = 5
SPACE = f"search{MEMORIES}"
PLAIN = f"bench_{SPACE}"
# How many of the memories a filter leaves, and the labels that leave them: one in ten, in a hundred, in a thousand.
SHARES = {"10 %": ("t", 10), "1 %": ("h", 100), "0.1 %": ("m", 1000)}


def contents(chance):
    """Texts, one after the other."""
    if len(sys.argv) > 2:
        known = sentences(sys.argv[2])
        while True:
            yield " ".join(chance.sample(known, chance.randint(2, 5)))
    # A word of rank r stands with a probability in proportion to 1/(r + 2).
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(20_000)))
    words = [word(rank) for rank in range(20_000)]
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(10, 60)))


def tree(number, label="m"):
    """The tree of a memory, or the part of it down to a label."""
    return f"share.t{number % 10}.h{number % 100}.m{number % 1000}".split(f".{label}")[0] + f".{label}{number % dict(SHARES.values())[label]}"


def prepare(session):
    session.run("create extension if not exists memory_engine cascade")
    if session.run(f"select count(*) from pg_class where relname = '{PLAIN}'")[0] != "0":
        return
    session.run(f"select me.space_create('{SPACE}')")
    session.run(f"select me.embedding_model_add('{SPACE}', 'manual', 384)")
    chance = random.Random(3)
    texts = contents(chance)
    begun = time.time()
    for at in range(0, MEMORIES, 1000):
        items = [
            {"content": next(texts), "tree": tree(n), "meta": {"n": n, "t": n % 10, "h": n % 100, "m": n % 1000}}
            for n in range(at, at + 1000)]
        items = json.dumps(items).replace("'", "''")
        session.run(f"select 1 from me.memory_batch_create('{items}', space => '{SPACE}') offset 1")
    print(f"{MEMORIES} memories in {time.time() - begun:.0f} s", flush=True)
    begun = time.time()
    table = session.run(f"select relation from me.embedding_model where name = '{SPACE}'")[0]
    session.run(f"""do $$ begin execute (select string_agg(format('drop index me.%I', indexname), ';')
      from pg_indexes where tablename = '{table}' and indexdef like '%hnsw%'); end $$""")
    session.run("select setseed(0.5)")
    session.run("""create function pg_temp.near(cluster int) returns real[] language sql volatile as $$
      select array_agg((hashint4(cluster * 1000 + i) / 2147483648.0 + (random() - 0.5) * 1.2)::real order by i) from generate_series(1, 384) as i $$""")
    clusters = max(MEMORIES // 200, 5)
    session.run(f"""insert into me.{table} select '{SPACE}', m.id, 0, 1, pg_temp.near(abs(hashint4((m.meta->>'n')::int + 7)) % {clusters})
      from me.memory as m where m.space = '{SPACE}'""")
    session.run(f"insert into me.embedded select '{SPACE}', memory_id, '{SPACE}', 1 from me.{table}")
    session.run("analyze")
    session.run(f"select me.embedding_model_use('{SPACE}', space => '{SPACE}')")
    session.run(f"delete from me.embedding_queue where space = '{SPACE}'")
    session.run("set maintenance_work_mem = '1GB'")
    session.run(f"create index on me.{table} using hnsw (vector halfvec_cosine_ops)")
    session.run(f"""create table {PLAIN} as select m.id, m.tree, m.content, to_tsvector('english', m.content) as lexemes, v.vector
      from me.memory as m join me.{table} as v on v.memory_id = m.id where m.space = '{SPACE}'""")
    session.run(f"alter table {PLAIN} add primary key (id)")
    session.run(f"create index on {PLAIN} using gin (lexemes)")
    session.run(f"create index on {PLAIN} using gist (tree)")
    session.run(f"create index on {PLAIN} using hnsw (vector halfvec_cosine_ops)")
    session.run(f"""create table {PLAIN}_query as select n, pg_temp.near(abs(hashint4(n)) % {clusters}) as vector
      from generate_series(1, {QUERIES}) as n""")
    print(f"vectors and plain table in {time.time() - begun:.0f} s", flush=True)
    for label, size in SHARES.values():
        role = f"{PLAIN}_{label}"
        session.run(f"do $$ begin if to_regrole('{role}') is null then create role {role}; end if; end $$")
        session.run(f"grant select on {PLAIN} to {role}")
        session.run(f"select me.space_member_add('{role}', space => '{SPACE}')")
        session.run(f"select me.access_grant('{role}', '{tree(713, label)}', 'read', space => '{SPACE}')")
    begun = time.time()
    while session.run(f"select t->>'complete' from me.lexical_maintain(space => '{SPACE}') as t")[0] != "true":
        pass
    print(f"lexical index in {time.time() - begun:.0f} s", flush=True)
    session.run("vacuum analyze")


def compare(session, name, goal, rows):
    """`rows`: our statement and the plain one, or ours in place of each of several. Their medians."""
    ours, plain, ratios = [], [], []
    for round_ in range(ROUNDS + 1):
        took = [[session.cost(statement) for statement in row] for row in rows]
        if round_:
            mine, theirs = [row[0] for row in took], [sum(row[1:]) for row in took]
            ours += mine
            plain += theirs
            ratios.append(statistics.median(mine) / statistics.median(theirs))
    mine, theirs = statistics.median(ours), statistics.median(plain)
    print(f"| {name} | {goal} | {theirs:.3f} | {mine:.3f} | {mine / theirs:.2f} ({min(ratios):.2f}–{max(ratios):.2f}) |", flush=True)


def recall(session, name, rows, filters):
    """How many of the ten nearest of those that pass are found: `rows` are our statements and their vectors."""
    hits = wanted = 0
    for (statement, vector), condition in zip(rows, filters):
        found = {row.split("|")[0] for row in session.run(statement)}
        session.run("set enable_indexscan = off")
        exact = session.run(f"select id from {PLAIN} where {condition} order by vector <=> '{vector}'::real[]::halfvec limit 10")
        session.run("reset enable_indexscan")
        hits += len(found & set(exact))
        wanted += len(exact)
    return f"{name} {hits / wanted:.3f}"


def main():
    session = Session()
    prepare(session)
    session.run(f"set me.space = '{SPACE}'")
    session.run("set hnsw.ef_search = 80")
    session.run("set hnsw.iterative_scan = strict_order")
    chance = random.Random(5)
    vectors = session.run(f"select vector from {PLAIN}_query order by n")
    print(f"{MEMORIES} memories, milliseconds of {'the server process' if session.on_cpu else 'the clock'}\n")
    print("| search, top 10 | goal | plain | ours | ratio |\n|---|---|---:|---:|---:|", flush=True)
    session.run(f"""prepare plain_near(real[]) as select id, tree, content, vector <=> $1::halfvec from {PLAIN}
      order by vector <=> $1::halfvec limit 10""")
    near = [f"execute plain_near('{v}')" for v in vectors]

    # By meaning.
    session.run("prepare near(real[]) as select id, score from me.search(embedding => $1)")
    session.run("prepare near_json(real[]) as select me.memory_search(embedding => $1)")
    rows = [(f"execute near('{v}')", n) for v, n in zip(vectors, near)]
    compare(session, "by meaning", "≤ 1.25", rows)
    compare(session, "by meaning, `me.memory_search`", "", [(f"execute near_json('{v}')", n) for v, n in zip(vectors, near)])
    met = [recall(session, "HNSW itself", [(n, v) for v, n in zip(vectors, near)], itertools.repeat("true")),
           recall(session, "by meaning", [(r[0], v) for v, r in zip(vectors, rows)], itertools.repeat("true"))]
    session.run("prepare near_tree(real[], text) as select id, score from me.search(embedding => $1, tree => $2)")
    session.run("prepare near_meta(real[], jsonb) as select id, score from me.search(embedding => $1, meta => $2)")
    for share, (label, size) in SHARES.items():
        numbers = [chance.randrange(1000) for _ in vectors]
        below = [f"tree <@ '{tree(n, label)}'" for n in numbers]
        ours = [f"execute near_tree('{v}', '{tree(n, label)}')" for v, n in zip(vectors, numbers)]
        compare(session, f"below a tree that leaves {share}", "≤ 3", list(zip(ours, near)))
        met.append(recall(session, f"tree, {share}", zip(ours, vectors), below))
        ours = [f"""execute near_meta('{v}', '{{"{label}": {n % size}}}')""" for v, n in zip(vectors, numbers)]
        compare(session, f"with metadata that {share} have", "≤ 3", list(zip(ours, near)))
        met.append(recall(session, f"metadata, {share}", zip(ours, vectors), below))
        session.run(f"set role {PLAIN}_{label}")
        compare(session, f"as a reader of {share}", "≤ 3", rows)
        met.append(recall(session, f"reader, {share}", [(r[0], v) for v, r in zip(vectors, rows)], itertools.repeat(f"tree <@ '{tree(713, label)}'")))
        session.run("reset role")

    # By words, and by both.
    session.run("prepare words(text) as select id, score from me.search(fulltext => $1)")
    session.run("prepare words30(text) as select id, score from me.search(fulltext => $1, \"limit\" => 30)")
    session.run("prepare near30(real[]) as select id, score from me.search(embedding => $1, \"limit\" => 30)")
    session.run("prepare hybrid(text, real[]) as select id, score from me.search(fulltext => $1, embedding => $2)")
    session.run("prepare blended(text, real[]) as select id, score from me.search(fulltext => $1, embedding => $2, fusion => 'blend')")
    texts = session.run(f"""select array_to_string(array(select w from regexp_split_to_table(p.content, '[^[:alpha:]]+') as w where length(w) > 4
      order by hashtext(w) limit 3), ' ') from {PLAIN} as p order by hashtext(p.id::text) limit {QUERIES}""")
    arms = [(f"execute words30('{t}')", f"execute near30('{v}')") for t, v in zip(texts, vectors)]
    ten = [(f"execute words('{t}')", f"execute near('{v}')") for t, v in zip(texts, vectors)]
    both = [f"execute hybrid('{t}', '{v}')" for t, v in zip(texts, vectors)]
    compare(session, "both, next to its arms, thirty rows each", "≤ 1.10", [(b, *a) for b, a in zip(both, arms)])
    compare(session, "both, next to searches by words and by meaning", "≤ 1.4", [(b, *a) for b, a in zip(both, ten)])
    compare(session, "both with `blend`, next to its arms", "≤ 1.4", [(f"execute blended('{t}', '{v}')", *a) for t, v, a in zip(texts, vectors, arms)])

    # Listings.
    session.run("prepare list(text) as select id from me.search(tree => $1)")
    session.run(f"prepare plain_list(ltree) as select id, tree, content from {PLAIN} where tree <@ $1 order by id desc limit 10")
    for share, (label, _) in SHARES.items():
        trees = [tree(chance.randrange(1000), label) for _ in range(QUERIES)]
        compare(session, f"listing below a tree that leaves {share}", "≤ 1.5", [(f"execute list('{t}')", f"execute plain_list('{t}')") for t in trees])
    print("\nrecall@10: " + ", ".join(met))


if __name__ == "__main__":
    main()
