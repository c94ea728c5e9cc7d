#!/usr/bin/env python3
"""The whole benchmark, at several sizes: `make bench-full`, or scripts/bench full [MEMORIES…].

    python3 benches/full.py [--seconds S] [--texts FILE] [--out FOLDER] [MEMORIES…]     10000 100000 1000000 unless said

It needs a release build and a server that PGHOST, PGUSER … name, as a superuser, with fsync off, and makes a database for
each size there. Contents are two to five sentences of FILE, text or JSON, or of Python's own help and docstrings; vectors have 384 numbers
and lie in clusters. Each line of the table is one run of pgbench with prepared statements, in which our statements and the
plain ones alternate by chance: with one client, in three rounds, then with eight. A ratio is that of the medians; in brackets
the lowest and highest of a round. FOLDER, target/bench unless said, gets full.json, and performance.svg where matplotlib is.
"""
import argparse
import ast
import collections
import itertools
import json
import os
import pydoc_data.topics
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings

from session import Session, sentences

ROUNDS = 3
VARIANTS = 20
SPACE = "bench"
CLUSTER = 200
# How much a filter leaves, and the labels that leave it.
SHARES = {"10 %": ("t", 10), "1 %": ("h", 100), "0.1 %": ("m", 1000)}
COLUMNS = "id, content, meta, tree, name, temporal, version, version_hash, created_at, created_by, updated_at"


def tree(number, label="m"):
    """The tree of a memory, or the part of it down to a label."""
    labels = [f"t{number % 10}", f"h{number % 100}", f"m{number % 1000}"]
    return ".".join(["share", *labels[: "thm".index(label) + 1]])


def texts(path):
    """The sentences of a file, or of the help and the docstrings that come with Python."""
    if path:
        return sentences(path)
    found = list(pydoc_data.topics.topics.values())
    library = sysconfig.get_path("stdlib")
    for folder, folders, files in os.walk(library):
        folders[:] = sorted(name for name in folders if name not in ("site-packages", "test", "tests", "idlelib", "__pycache__"))
        for name in sorted(name for name in files if name.endswith(".py")):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file, warnings.catch_warnings(action="ignore"):
                    tree_ = ast.parse(file.read())
            except (SyntaxError, UnicodeDecodeError):
                continue
            documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            found += filter(None, (ast.get_docstring(node) for node in ast.walk(tree_) if isinstance(node, documented)))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n\n".join(found))
        file.flush()
        return sentences(file.name)


def fill(session, memories, known):
    """Memories with their vectors and history, and a plain table with the same rows and indexes, its text index among them."""
    say = lambda what, begun: print(f"  {what}: {time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    session.run("create extension memory_engine cascade")
    session.run(f"select me.space_create('{SPACE}')")
    chance = random.Random(3)
    begun = time.time()
    for at in range(0, memories, 1000):
        items = [{
            "id": f"0190a1b2-0000-7000-8000-{n:012}", "name": f"n{n}", "tree": tree(n),
            "content": " ".join(chance.sample(known, chance.randint(2, 5))),
            "meta": {"n": n, "t": n % 10, "h": n % 100, "m": n % 1000},
        } for n in range(at, at + 1000)]
        items = json.dumps(items).replace("'", "''")
        session.run(f"select 1 from me.memory_batch_create('{items}', space => '{SPACE}') offset 1")
    say("memories", begun)
    begun = time.time()
    session.run(f"select me.embedding_model_add('{SPACE}', 'manual', 384)")
    table = session.run(f"select relation from me.embedding_model where name = '{SPACE}'")[0]
    indexes = session.run(f"select indexdef from pg_indexes where schemaname = 'me' and tablename = '{table}' and indexdef !~ 'UNIQUE'")
    session.run(f"""do $$ begin execute (select string_agg(format('drop index me.%I', indexname), ';')
      from pg_indexes where schemaname = 'me' and tablename = '{table}' and indexdef !~ 'UNIQUE'); end $$""")
    # A vector is a centre and one of a thousand clouds around it.
    session.run("select setseed(0.5)")
    session.run("""create function noise(size real) returns halfvec(384) language sql volatile as $$
      select array_agg(((random() - 0.5) * 2 * size)::real)::halfvec(384) from generate_series(1, 384) $$""")
    clusters = max(memories // CLUSTER, 5)
    session.run(f"create table centre as select n, noise(1) as v from generate_series(0, {clusters - 1}) as n")
    session.run("create table cloud as select n, noise(0.6) as v from generate_series(0, 999) as n")
    session.run("alter table centre add primary key (n)")
    session.run("alter table cloud add primary key (n)")
    session.run(f"""insert into me.{table} (space, memory_id, window_no, content_version, vector)
      select m.space, m.id, 0, m.content_version, c.v + d.v from me.memory as m
      join centre as c on c.n = abs(hashint4((m.meta->>'n')::int + 7)) % {clusters}
      join cloud as d on d.n = abs(hashint4((m.meta->>'n')::int * 31 + 1)) % 1000 order by m.id""")
    session.run(f"insert into me.embedded (space, memory_id, model, content_version) select space, memory_id, '{SPACE}', content_version from me.{table}")
    session.run("analyze")
    session.run(f"select me.embedding_model_use('{SPACE}', space => '{SPACE}')")
    session.run(f"delete from me.embedding_queue where space = '{SPACE}'")
    session.run("set maintenance_work_mem = '3GB'")
    for index in indexes:
        session.run(index)
    say("vectors and their indexes", begun)
    begun = time.time()
    while session.run(f"select t->>'complete' from me.lexical_maintain(space => '{SPACE}') as t")[0] != "true":
        pass
    say("lexical index", begun)
    begun = time.time()
    session.run("create schema plain")
    session.run("""create table plain.memory (like me.memory including defaults including constraints,
      lexemes tsvector generated always as (to_tsvector('pg_catalog.english', content)) stored)""")
    session.run("insert into plain.memory select * from me.memory")
    for statement in (
        "alter table plain.memory add primary key (space, id)", "create unique index on plain.memory (space, tree, name)",
        "create index on plain.memory using gist (tree)", "create index on plain.memory using gin (meta jsonb_path_ops)",
        "create index on plain.memory using gist (temporal) where temporal is not null",
        "create index on plain.memory using gin (lexemes) with (fastupdate = on, gin_pending_list_limit = 512)",
    ):
        session.run(statement)
    for column, value in {"space": f"'{SPACE}'", "id": "gen_random_uuid()", "version": "1", "content_version": "1",
                          "version_hash": "gen_random_uuid()", "created_at": "now()", "created_by": "'postgres'"}.items():
        session.run(f"alter table plain.memory alter {column} set default {value}")
    session.run("grant usage on schema plain, me to public")
    session.run(f"grant select on plain.memory, me.{table} to public")
    session.run(f"create table query as select g.n, c.v + noise(0.6) as v from generate_series(0, {VARIANTS - 1}) as g (n) join centre as c on c.n = g.n % {clusters}")
    for label, _ in SHARES.values():
        role = f"bench_{label}"
        session.run(f"do $$ begin if to_regrole('{role}') is null then create role {role} login; end if; end $$")
        session.run(f"select me.space_member_add('{role}', space => '{SPACE}')")
        session.run(f"select me.access_grant('{role}', '{tree(713, label)}', 'read', space => '{SPACE}')")
    session.run("vacuum analyze")
    session.run("checkpoint")
    say("plain table", begun)
    return table


class Runs:
    """Scripts that alternate in one pgbench."""

    def __init__(self, database, seconds):
        self.database, self.seconds = database, seconds

    def once(self, columns, clients, role=None):
        """`columns`: for each the variants of its script. The latencies of each column in milliseconds, some of each."""
        seconds = self.seconds
        while True:
            took = self.for_seconds(seconds, columns, clients, role)
            if min(map(len, took)) >= 3:
                return took
            seconds *= 4

    def for_seconds(self, seconds, columns, clients, role):
        with tempfile.TemporaryDirectory(prefix="memory_engine-bench-") as folder:
            command = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, 2)), "-T", str(seconds),
                       "--log", "--log-prefix=log", self.database]
            owner = []
            for column, variants in enumerate(columns):
                share = max(1, VARIANTS // len(variants))
                for variant, text in enumerate(variants):
                    name = os.path.join(folder, f"{column}_{variant}.sql")
                    with open(name, "w", encoding="utf-8") as file:
                        file.write(text + "\n")
                    command += ["-f", f"{name}@{share}"]
                    owner.append(column)
            environment = {**os.environ, **({"PGUSER": role} if role else {}), "PGOPTIONS": f"-c me.space={SPACE} -c jit=off"}
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode or "aborted" in done.stdout:
                sys.exit(done.stderr[-2000:] + done.stdout[-500:])
            took = [[] for _ in columns]
            for name in os.listdir(folder):
                if name.startswith("log."):
                    ended = {}
                    with open(os.path.join(folder, name), encoding="ascii") as file:
                        for line in file:
                            # From one end to the next: the latency that pgbench tells is 0 where an answer was there before it looked.
                            client, _, _, script, second, microsecond = line.split()[:6]
                            end = int(second) * 1_000_000 + int(microsecond)
                            if client in ended:
                                took[owner[int(script)]].append((end - ended[client]) / 1000)
                            ended[client] = end
            return took


def at(sorted_, share):
    return sorted_[min(len(sorted_) - 1, int(len(sorted_) * share))]


def row(runs, results, what, goal, columns, kind="time", role=None, clients=(1, 8)):
    """Measures a line and notes it. The first column is ours; of two plain ones the better counts (`best`), or both together (`sum`)."""
    def judged(took):
        medians = [statistics.median(column) for column in took]
        plain = {"sum": sum}.get(kind, min)(medians[1:])
        return (plain / medians[0] if kind == "rate" else medians[0] / plain), plain, medians[0]

    line = {"what": what, "goal": goal, "kind": kind}
    for many in clients:
        rounds = [runs.once(columns, many, role) for _ in range(ROUNDS if many == 1 else 1)]
        ratios = [judged(took)[0] for took in rounds]
        pooled = [sorted(itertools.chain.from_iterable(took[column] for took in rounds)) for column in range(len(columns))]
        ratio, plain, ours = judged(pooled)
        best = min(range(1, len(pooled)), key=lambda column: statistics.median(pooled[column]))
        line[str(many)] = {
            "ratio": ratio, "low": min(ratios), "high": max(ratios), "plain": plain, "ours": ours,
            "ours_percentiles": [at(pooled[0], share) for share in (0.5, 0.95, 0.99)],
            "plain_percentiles": [at(pooled[best], share) for share in (0.5, 0.95, 0.99)]}
    results.append(line)
    show(line)


def show(line):
    one, eight = line.get("1"), line.get("8")
    percentiles = lambda side: " / ".join(f"{value:.2f}" for value in side)
    cells = [line["what"], line["goal"]]
    if one:
        spread = f" ({one['low']:.2f}–{one['high']:.2f})" if "low" in one else ""
        cells += [f"{one['plain']:.3f}", f"{one['ours']:.3f}", f"{one['ratio']:.2f}{spread}",
                  percentiles(one["ours_percentiles"]) if "ours_percentiles" in one else ""]
    if eight:
        cells += [f"{eight['ratio']:.2f}", percentiles(eight["ours_percentiles"]), percentiles(eight["plain_percentiles"])]
    print("| " + " | ".join(cells) + " |", flush=True)


def vocabulary(session):
    """Words by how many memories hold them."""
    found = session.run("select word, ndoc from ts_stat('select lexemes from plain.memory where hashtext(id::text) % 50 = 0') where word ~ '^[a-z]{4,}$'") \
        if int(session.run("select count(*) from plain.memory")[0]) > 200_000 else \
        session.run("select word, ndoc from ts_stat('select lexemes from plain.memory') where word ~ '^[a-z]{4,}$'")
    counts = {word: int(count) for word, count in (line.split("|") for line in found)}
    sample = int(session.run("select count(*) from plain.memory")[0])
    if sample > 200_000:
        sample = int(session.run("select count(*) from plain.memory where hashtext(id::text) % 50 = 0")[0])
    # What a word stems to must be a word that stems to itself.
    kinds = {"rare": (0, 0.001), "mid": (0.01, 0.05), "common": (0.2, 1)}
    words = {kind: sorted(word for word, count in counts.items() if low < count / sample <= high) for kind, (low, high) in kinds.items()}
    if len(words["common"]) < 3:
        words["common"] = sorted(counts, key=lambda word: (-counts[word], word))[:6]
    for kind, of in words.items():
        stable = session.run("select w from unnest(array[" + ",".join(f"'{word}'" for word in of[:2000]) + "]::text[]) as w where to_tsvector('english', w)::text = format('''%s'':1', w)")
        words[kind] = stable or of
    return words


def searches(runs, results, session, table, memories):
    chance = random.Random(5)
    vectors = session.run("select v from query order by n")
    # A float is written shorter here than the server does it; both sides get the same.
    vectors = ["'{" + ",".join(f"{float(x):.4f}" for x in v.strip("[]").split(",")) + "}'::real[]" for v in vectors]
    def near(v):
        return (f"select p.id, p.tree, p.content, v.distance from (select memory_id, vector <=> {v}::halfvec as distance from me.{table} "
                f"order by vector <=> {v}::halfvec limit 10) as v join plain.memory as p on p.space = '{SPACE}' and p.id = v.memory_id order by v.distance;")
    session.run("load 'vector'")
    for name, value in (("hnsw.ef_search", "80"), ("hnsw.iterative_scan", "strict_order")):
        session.run(f"alter database {runs.database} set {name} = {value}")
    raw = [near(v) for v in vectors]
    row(runs, results, "semantic top 10", "≤ 1.25", [[f"select id, score from me.search(embedding => {v});" for v in vectors], raw])
    for share, (label, size) in SHARES.items():
        if memories // size < 10:
            continue
        numbers = [chance.randrange(1000) for _ in vectors]
        ours = [f"select id, score from me.search(embedding => {v}, tree => '{tree(n, label)}');" for v, n in zip(vectors, numbers)]
        row(runs, results, f"– below a tree that leaves {share}", "≤ 3", [ours, raw])
        row(runs, results, f"– as a reader of {share}", "≤ 3",
            [[f"select id, score from me.search(embedding => {v});" for v in vectors], raw], role=f"bench_{label}")
    words = vocabulary(session)
    print(f"  words: {({kind: len(of) for kind, of in words.items()})}", file=sys.stderr, flush=True)
    rank = lambda terms: f"to_tsquery('english', '{'|'.join(terms)}')"
    def gin(terms, condition="true"):
        inner = f"select id, tree, lexemes from plain.memory where space = '{SPACE}' and lexemes @@ {rank(terms)}"
        if condition != "true":
            inner = f"with f as materialized ({inner}) select id, ts_rank_cd(lexemes, {rank(terms)}) as s from f where {condition}"
        else:
            inner = f"select id, ts_rank_cd(lexemes, {rank(terms)}) as s from ({inner}) as f"
        return inner + " order by s desc, id limit 10;"
    def first(terms, condition):
        return (f"with f as materialized (select id, lexemes from plain.memory where {condition}) "
                f"select id, ts_rank_cd(lexemes, {rank(terms)}) as s from f where lexemes @@ {rank(terms)} order by s desc, id limit 10;")
    drawn = lambda kind, count: [[chance.choice(words[kind]) for _ in range(count)] for _ in range(VARIANTS)]
    for kind, goal in (("rare", "≤ 0.6"), ("mid", "≤ 0.06"), ("common", "≤ 0.03")):
        for count in (1, 3):
            terms = drawn(kind, count)
            row(runs, results, f"full text top 10, {count} {kind} word{'s' * (count > 1)}", goal,
                [[f"select id, score from me.search(fulltext => '{' '.join(t)}');" for t in terms], [gin(t) for t in terms]])
    for share, (label, size) in SHARES.items():
        if memories // size < 10:
            continue
        for kind in ("rare", "mid", "common"):
            terms = drawn(kind, 2)
            where = tree(713, label)
            condition = f"tree <@ '{where}'"
            row(runs, results, f"– two {kind} words, as a reader of {share}", "≤ 1.2",
                [[f"select id, score from me.search(fulltext => '{' '.join(t)}');" for t in terms],
                 [gin(t, condition) for t in terms], [first(t, condition) for t in terms]], kind="best", role=f"bench_{label}", clients=(1,))
    pairs = list(zip(drawn("mid", 3), vectors))
    row(runs, results, "hybrid, next to both arms, thirty rows each", "≤ 1.10",
        [[f"select id, score from me.search(fulltext => '{' '.join(t)}', embedding => {v});" for t, v in pairs],
         [f"select id, score from me.search(fulltext => '{' '.join(t)}', \"limit\" => 30);" for t, _ in pairs],
         [f"select id, score from me.search(embedding => {v}, \"limit\" => 30);" for _, v in pairs]], kind="sum")


def keys(runs, results, memories):
    draw = f"\\set n random(0, {memories - 1})\n"
    of_n = "('0190a1b2-0000-7000-8000-' || lpad(:n::text, 12, '0'))::uuid"
    one = "select 1;"
    row(runs, results, "`SELECT 1`, twice", "", [[one], [one]])
    row(runs, results, "get by id", "≤ 1.15",
        [[f"{draw}select me.memory_get({of_n});"], [f"{draw}select {COLUMNS} from plain.memory where space = '{SPACE}' and id = {of_n};"]])
    path = "'share/t' || :n % 10 || '/h' || :n % 100 || '/m' || :n % 1000 || '/n' || :n"
    place = "('share.t' || :n % 10 || '.h' || :n % 100 || '.m' || :n % 1000)::ltree"
    row(runs, results, "get by path", "≤ 1.15",
        [[f"{draw}select me.memory_get_by_path({path});"],
         [f"{draw}select {COLUMNS} from plain.memory where space = '{SPACE}' and tree = {place} and name = 'n' || :n;"]])


def writes(runs, results, session, memories, known):
    draw = f"\\set n random(0, {memories - 1})\n\\set r random(1, 1000000000)\n"
    of_n = "('0190a1b2-0000-7000-8000-' || lpad(:n::text, 12, '0'))::uuid"
    text = "'" + " ".join(known[7:10]).replace("'", "''").replace(":", "") + " ' || :r"
    meta = """'{"topic": "fox", "tired": false}'"""
    create = [f"{draw}select me.memory_create(tree => 'share/new', name => 'w' || :r, content => {text}, meta => {meta}, on_conflict => 'ignore');"]
    insert = [f"{draw}insert into plain.memory (tree, name, content, meta) values ('share.new', 'w' || :r, {text}, {meta}) on conflict do nothing;"]
    row(runs, results, "create, fsync off, rate", "≥ 0.70", [create, insert], kind="rate")
    session.run("alter system set fsync = on")
    session.run("select pg_reload_conf()")
    row(runs, results, "create, fsync on, rate", "≥ 0.92", [create, insert], kind="rate")
    session.run("alter system reset fsync")
    session.run("select pg_reload_conf()")
    chance = random.Random(9)
    items = [{"tree": "share/batch", "content": " ".join(chance.sample(known, 3)), "meta": {"n": n, "topic": "fox"}} for n in range(1000)]
    session.run("create table batch (items jsonb)")
    session.run("insert into batch values ('" + json.dumps(items).replace("'", "''") + "')")
    file = os.path.join(tempfile.gettempdir(), f"memory_engine-{runs.database}-{os.getpid()}.copy")
    session.run(f"copy (select 'share.batch', i->>'content', i->'meta' from batch, jsonb_array_elements(items) as i) to '{file}'")
    row(runs, results, "batch of 1,000, rate", "≥ 0.70",
        [["select me.memory_batch_create((select items from batch)) is null;"], [f"copy plain.memory (tree, content, meta) from '{file}';"]],
        kind="rate", clients=(1,))
    update = f"{draw}update plain.memory set META, version = version + 1, updated_at = now(), version_hash = gen_random_uuid() where space = '{SPACE}' and id = {of_n} returning {COLUMNS};"
    patch = f"{draw}select me.memory_update(id => {of_n}, version_hash => (select replace(version_hash::text, '-', '') from me.memory where space = '{SPACE}' and id = {of_n}), META);"
    row(runs, results, "patch of meta", "≤ 1.5",
        [[patch.replace("META", "meta => jsonb_build_object('n', :n::int, 'r', :r::int)")], [update.replace("META", "meta = jsonb_build_object('n', :n::int, 'r', :r::int)")]], clients=(1,))
    row(runs, results, "patch of content", "≤ 1.5",
        [[patch.replace("META", f"content => {text}")], [update.replace("META", f"content = {text}, content_version = content_version + 1")]], clients=(1,))
    os.unlink(file)


def moves(results, session, known):
    """Ten thousand memories there and back, as processor time."""
    chance = random.Random(11)
    for at_ in range(0, 10_000, 1000):
        items = [{"tree": f"share/src/p{n % 20}", "name": f"x{n}", "content": " ".join(chance.sample(known, 3)), "meta": {"n": n}} for n in range(at_, at_ + 1000)]
        session.run("select 1 from me.memory_batch_create('" + json.dumps(items).replace("'", "''") + f"', space => '{SPACE}') offset 1")
    session.run("create table plain.moved (like me.memory including all)")
    session.run(f"insert into plain.moved select * from me.memory where space = '{SPACE}' and tree <@ 'share.src'")
    session.run("vacuum analyze me.memory")
    session.run("vacuum analyze plain.moved")
    ours, plain = [], []
    for round_ in range(6):
        here, there = ("src", "dst") if round_ % 2 == 0 else ("dst", "src")
        plain.append(session.cost(f"""update plain.moved set tree = ('share.{there}' || substr(tree::text, 10))::ltree, version = version + 1, updated_at = now()
          where space = '{SPACE}' and tree <@ 'share.{here}'"""))
        ours.append(session.cost(f"select me.memory_mv('share/{here}', 'share/{there}', false, space => '{SPACE}')"))
    ratios = [a / b for a, b in zip(ours, plain)]
    line = {"what": "move of 10,000, processor time", "goal": "≤ 1.4", "kind": "time", "1": {
        "ratio": statistics.median(ours) / statistics.median(plain), "low": min(ratios), "high": max(ratios),
        "plain": statistics.median(plain), "ours": statistics.median(ours)}}
    results.append(line)
    show(line)


def size(results, session, table):
    disk, content = map(int, session.run(f"""select
      (select sum(pg_total_relation_size(c.oid)) from pg_class as c where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'm')),
      (select sum(octet_length(content)) from me.memory) + (select sum(pg_column_size(vector)) from me.{table})""")[0].split("|"))
    count = int(session.run("select count(*) from me.memory")[0])
    parts = session.run("""select c.relname, pg_total_relation_size(c.oid) from pg_class as c
      where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'm') order by 2 desc limit 6""")
    line = {"what": "bytes a memory", "goal": "≤ 2.2", "kind": "bytes", "parts": parts,
            "1": {"ratio": disk / content, "plain": content / count, "ours": disk / count}}
    results.append(line)
    show(line)
    print("  bytes a memory: " + ", ".join(f"{name} {int(n) / count:.0f}" for name, n in (part.split("|") for part in parts)), file=sys.stderr, flush=True)


def summary(everything):
    """One table: ratios by size, what a middle size looks like in detail, and how ours and the plain ones grow."""
    sizes = sorted(everything, key=int)
    lines = {of: {line["what"]: line for line in everything[of]} for of in sizes}
    middle = "100000" if "100000" in sizes else sizes[-1]
    names = [of[:-6] + " million" if int(of) >= 1_000_000 else f"{int(of):,}" for of in sizes]
    print(f"\n| what | goal | {' | '.join(names)} | 8 clients | ours, ms | ours, 8 clients | growth | plain |")
    print(f"|---|---|{'---:|' * len(sizes)}---:|---|---|---:|---:|")
    percentiles = lambda side: " / ".join(f"{value:.2f}" for value in side["ours_percentiles"]) if "ours_percentiles" in side else ""
    for what in dict.fromkeys(line["what"] for of in reversed(sizes) for line in everything[of]):
        cells = []
        for of in sizes:
            one = lines[of].get(what, {}).get("1")
            spread = f" ({one['low']:.2f}–{one['high']:.2f})" if one and "low" in one and of == middle else ""
            cells.append(f"{one['ratio']:.2f}{spread}" if one else "")
        line = lines[middle].get(what, {})
        eight = line.get("8")
        cells += [f"{eight['ratio']:.2f}" if eight else "", percentiles(line.get("1", {})), percentiles(eight or {})]
        first, last = lines[sizes[0]].get(what), lines[sizes[-1]].get(what)
        if first and last and len(sizes) > 1:
            cells += [f"{last['1'][side] / first['1'][side]:.2f}" for side in ("ours", "plain")]
        else:
            cells += ["", ""]
        goal = next(line["goal"] for of in sizes for line in everything[of] if line["what"] == what)
        print(f"| {what} | {goal} | {' | '.join(cells)} |")


SHOWN = ["get by id", "create, fsync off, rate", "semantic top 10", "– below a tree that leaves 1 %", "full text top 10, 1 rare word",
         "full text top 10, 3 mid words", "full text top 10, 3 common words", "hybrid, next to both arms, thirty rows each"]


def plot(everything, path):
    try:
        import matplotlib
    except ImportError:
        return print("no matplotlib, no plot", file=sys.stderr)
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "memory_engine", "font.size": 9})
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9, 5.5))
    sizes = sorted(everything, key=int)
    for what in SHOWN:
        points = [(int(of), line["1"]) for of in sizes for line in everything[of] if line["what"] == what]
        if points:
            drawn, = axes.plot([n for n, _ in points], [p["ours"] for _, p in points], marker="o", label=what.replace("– ", "semantic, "))
            axes.plot([n for n, _ in points], [p["plain"] for _, p in points], color=drawn.get_color(), linestyle=":", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="median, ms", title="Latency by size, one client; dotted: the plain reference")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4, help="length of a run of pgbench")
    parser.add_argument("--texts")
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target", "bench"))
    parser.add_argument("--again", metavar="JSON", help="tell what an earlier run measured, and plot it")
    parser.add_argument("memories", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    wanted = parser.parse_args()
    if wanted.again:
        with open(wanted.again, encoding="utf-8") as file:
            everything = json.load(file)
        summary(everything)
        return plot(everything, os.path.join(wanted.out, "performance.svg"))
    known = texts(wanted.texts)
    print(f"{len(known)} sentences", file=sys.stderr)
    os.makedirs(wanted.out, exist_ok=True)
    everything = collections.OrderedDict()
    server = Session().run("show server_version")[0]
    for memories in wanted.memories:
        database = f"bench_{memories}"
        subprocess.run(["createdb", database], check=True)
        os.environ["PGDATABASE"] = database
        session = Session()
        print(f"\n{memories:,} memories, PostgreSQL {server}, {wanted.seconds} s a run, {ROUNDS} runs with one client, one with eight; milliseconds\n", flush=True)
        table = fill(session, memories, known)
        print("| what | goal | plain | ours | ratio, 1 client | ours p50 / p95 / p99 | ratio, 8 clients | ours p50 / p95 / p99 | plain p50 / p95 / p99 |")
        print("|---|---|---:|---:|---:|---|---:|---|---|", flush=True)
        results, runs = [], Runs(database, wanted.seconds)
        size(results, session, table)
        keys(runs, results, memories)
        searches(runs, results, session, table, memories)
        writes(runs, results, session, memories, known)
        moves(results, session, known)
        everything[str(memories)] = results
        with open(os.path.join(wanted.out, "full.json"), "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=1, ensure_ascii=False)
        session.psql.stdin.close()
        session.psql.wait()
        os.environ["PGDATABASE"] = "postgres"
        subprocess.run(["dropdb", "--force", database], check=True)
    summary(everything)
    plot(everything, os.path.join(wanted.out, "performance.svg"))


if __name__ == "__main__":
    main()
