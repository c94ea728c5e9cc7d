#!/usr/bin/env python3
"""How fast searches are, as ratios to the plain query that does the same work in the same server.

    python3 benches/search.py [MEMORIES]       100000 unless said

It needs a release build and a server that PGHOST, PGUSER … name, and works in the database PGDATABASE, where it creates the
extension and, once, its data: texts over a vocabulary whose words are as unevenly common as those of a language, vectors
of 384 numbers in clusters, and a plain table beside them with the same lexemes, vectors and trees, indexed by GIN, HNSW
and GiST. Every number is a median over queries, alternating between ours and plain, after a first round that warms up.
"""
import random
import statistics
import subprocess
import sys
import time

MEMORIES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ROUNDS = 40


class Session:
    """A psql that stays connected and says how long each statement took in the server."""

    def __init__(self):
        self.psql = subprocess.Popen(
            ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.run("set client_min_messages = warning")
        self.run("load 'vector'")

    def run(self, statement):
        self.psql.stdin.write(f"{statement};\n\\echo -- done\n")
        self.psql.stdin.flush()
        lines = []
        while (line := self.psql.stdout.readline()) != "-- done\n":
            if not line:
                sys.exit("psql has ended")
            lines.append(line.rstrip("\n"))
        return lines

    def milliseconds(self, statement):
        """Of a statement that is prepared already: the whole way there and back, answer included."""
        begun = time.perf_counter()
        rows = self.run(statement)
        return (time.perf_counter() - begun) * 1000, len(rows)


def word(rank):
    """The word of a rank: letters, so that stemming leaves it alone."""
    letters = ""
    rank += 17
    while rank:
        letters += "bdfgkmnprt"[rank % 10] + "aou"[rank % 3]
        rank //= 10
    return letters + "k"


def prepare(session):
    session.run("create extension if not exists memory_engine cascade")
    known = session.run("select count(*) from pg_class where relname = 'bench_plain'")[0]
    if known != "0" and session.run("select count(*) from bench_plain")[0] == str(MEMORIES):
        return
    if known != "0":
        session.run("drop table bench_plain")
        session.run("select me.space_drop('bench')")
        session.run("select me.embedding_model_drop('bench')")
    session.run("select me.space_create('bench')")
    session.run("select me.embedding_model_add('bench', 'manual', 384)")
    session.run("select me.embedding_model_use('bench', space => 'bench')")
    chance = random.Random(3)
    # A word of rank r stands with a probability in proportion to 1/(r + 2).
    weights = [1 / (rank + 2) for rank in range(20_000)]
    words = [word(rank) for rank in range(20_000)]
    begun = time.time()
    for at in range(0, MEMORIES, 1000):
        items = []
        for number in range(at, at + 1000):
            text = " ".join(chance.choices(words, weights, k=chance.randint(10, 60)))
            # One in ten, in a hundred, in a thousand.
            tree = f"share.t{number % 10}.h{number % 100}.m{number % 1000}"
            items.append(f'{{"content":"{text}","tree":"{tree}","meta":{{"n":{number}}}}}')
        session.run(f"select 1 from me.memory_batch_create('[{','.join(items)}]', space => 'bench') limit 0")
    print(f"{MEMORIES} memories in {time.time() - begun:.0f} s")
    begun = time.time()
    table = session.run("select relation from me.embedding_model where name = 'bench'")[0]
    session.run("""create function pg_temp.near(seed int) returns real[] language sql volatile as $$
      select array_agg((hashint4(seed % 500 * 1000 + i) / 2147483648.0 + (random() - 0.5) * 1.2)::real order by i) from generate_series(1, 384) as i $$""")
    session.run(f"""do $$ begin execute (select string_agg(format('drop index me.%I', indexname), ';')
      from pg_indexes where tablename = '{table}' and indexdef like '%hnsw%'); end $$""")
    session.run(f"insert into me.{table} select 'bench', id, 0, 1, pg_temp.near((meta->>'n')::int) from me.memory where space = 'bench'")
    session.run(f"insert into me.embedded select 'bench', memory_id, 'bench', 1 from me.{table}")
    session.run("set maintenance_work_mem = '1GB'")
    session.run(f"create index on me.{table} using hnsw (vector halfvec_cosine_ops)")
    session.run(f"""create table bench_plain as select m.id, m.tree, m.content, to_tsvector('english', m.content) as lexemes, v.vector
      from me.memory as m join me.{table} as v on v.memory_id = m.id where m.space = 'bench'""")
    session.run("alter table bench_plain add primary key (id)")
    session.run("create index on bench_plain using gin (lexemes)")
    session.run("create index on bench_plain using gist (tree)")
    session.run("create index on bench_plain using hnsw (vector halfvec_cosine_ops)")
    session.run("vacuum analyze")
    print(f"vectors and plain table in {time.time() - begun:.0f} s")


def compare(session, name, bound, pairs):
    """`pairs`: (ours, plain) statements."""
    ours, plain = [], []
    for round_ in range(2):
        for mine, theirs in pairs:
            took = (session.milliseconds(mine)[0], session.milliseconds(theirs)[0])
            if round_:
                ours.append(took[0])
                plain.append(took[1])
    mine, theirs = statistics.median(ours), statistics.median(plain)
    print(f"{name:34} ours {mine:8.2f} ms  plain {theirs:8.2f} ms  ratio {mine / theirs:5.2f}  (wanted: {bound})", flush=True)
    return mine


def main():
    session = Session()
    prepare(session)
    session.run("set me.space = 'bench'")
    session.run("set hnsw.ef_search = 80")
    session.run("set hnsw.iterative_scan = strict_order")
    chance = random.Random(5)
    vectors = [session.run(f"select vector::real[] from bench_plain offset {chance.randrange(MEMORIES)} limit 1")[0] for _ in range(ROUNDS)]
    session.run("prepare sem(real[]) as select id, score from me.search(embedding => $1)")
    session.run("prepare sem_plain(real[]) as select id, 1 - (vector <=> $1::halfvec) from bench_plain order by vector <=> $1::halfvec limit 10")
    semantic = compare(session, "semantic", "<= 1.6", [(f"execute sem('{v}')", f"execute sem_plain('{v}')") for v in vectors])
    for level, share in (("t", 10), ("h", 100), ("m", 1000)):
        session.run(f"prepare sem_{level}(real[], text) as select id, score from me.search(embedding => $1, tree => $2)")
        pairs = []
        for v in vectors:
            n = chance.randrange(1000)
            tree = ".".join(["share", f"t{n % 10}", f"h{n % 100}", f"m{n}"][: {"t": 2, "h": 3, "m": 4}[level]])
            pairs.append((f"execute sem_{level}('{v}', '{tree}')", f"execute sem_plain('{v}')"))
        compare(session, f"semantic, one in {share}", "<= 3 of unfiltered", pairs)
        hits = wanted = 0
        for mine, _ in pairs[:20]:
            v, tree = mine.split("(", 1)[1].rstrip(")").rsplit(", ", 1)
            found = {row.split("|")[0] for row in session.run(mine)}
            session.run("set enable_indexscan = off")
            exact = session.run(f"select id from bench_plain where tree <@ {tree}::ltree order by vector <=> {v}::halfvec limit 10")
            session.run("reset enable_indexscan")
            hits += len(found & set(exact))
            wanted += len(exact)
        print(f"{'':34} recall@10 {hits / wanted:.3f}")
    session.run("prepare txt(text) as select id, score from me.search(fulltext => $1)")
    session.run("prepare txt_plain(tsquery) as select id, ts_rank_cd(lexemes, $1) as s from bench_plain where lexemes @@ $1 order by s desc, id limit 10")
    fulltext = 0
    for name, low, high, bound in (("selective words", 2000, 20_000, "<= 1.0"), ("ordinary words", 100, 2000, "<= 1.1"), ("common words", 0, 20, "another index")):
        pairs = []
        for _ in range(ROUNDS):
            words = [word(chance.randrange(low, high)) for _ in range(3)]
            pairs.append((f"execute txt('{' '.join(words)}')", f"execute txt_plain('{'|'.join(words)}')"))
        took = compare(session, f"full text, {name}", bound, pairs)
        fulltext = took if name == "ordinary words" else fulltext
    session.run("prepare hyb(text, real[]) as select id, score from me.search(fulltext => $1, embedding => $2)")
    queries = [(" ".join(word(chance.randrange(100, 2000)) for _ in range(3)), v) for v in vectors]
    took = []
    for _ in range(2):
        took = [session.milliseconds(f"execute hyb('{text}', '{v}')")[0] for text, v in queries]
    hybrid = statistics.median(took)
    print(f"{'hybrid':34} ours {hybrid:8.2f} ms  arms  {semantic + fulltext:8.2f} ms  ratio {hybrid / (semantic + fulltext):5.2f}  (wanted: <= 1.4)")
    session.run("prepare lst(text) as select id from me.search(tree => $1)")
    session.run("prepare lst_plain(ltree) as select id, tree, content from bench_plain where tree <@ $1 order by id desc limit 10")
    pairs = []
    for _ in range(ROUNDS):
        n = chance.randrange(100)
        pairs.append((f"execute lst('share.t{n % 10}.h{n}')", f"execute lst_plain('share.t{n % 10}.h{n}')"))
    compare(session, "listing below a tree, one in 100", "<= 1.5", pairs)


if __name__ == "__main__":
    main()
