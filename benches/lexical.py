#!/usr/bin/env python3
"""How fast the lexical index is, next to GIN with ts_rank_cd over the same words in the same server.

    python3 benches/lexical.py [MEMORIES]       100000 unless said

It needs a release build and a server that PGHOST, PGUSER … name, and works in the database PGDATABASE, where it creates the
extension and, once, its data: texts over a vocabulary whose words are as unevenly common as those of a language, in a space
of ours and in a plain table with their lexemes under GIN and their trees under GiST. The index is made by
me.lexical_maintain(), whose rate is told. Every number is a median over queries, alternating between ours and plain, after
a first round that warms up. Filters: the better of two plain queries, one that begins with GIN and one with the tree.
"""
import itertools
import random
import statistics
import sys
import time

from search import Session, word

MEMORIES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ROUNDS = 30
SPACE = f"words{MEMORIES}"
PLAIN = f"bench_{SPACE}"


def prepare(session):
    session.run("create extension if not exists memory_engine cascade")
    if session.run(f"select count(*) from pg_class where relname = '{PLAIN}'")[0] != "0":
        return
    session.run(f"select me.space_create('{SPACE}')")
    chance = random.Random(3)
    # A word of rank r stands with a probability in proportion to 1/(r + 2).
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(20_000)))
    words = [word(rank) for rank in range(20_000)]
    begun = time.time()
    for at in range(0, MEMORIES, 1000):
        items = []
        for number in range(at, at + 1000):
            text = " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(10, 60)))
            # One in ten, in a hundred, in a thousand.
            tree = f"share.t{number % 10}.h{number % 100}.m{number % 1000}"
            items.append(f'{{"content":"{text}","tree":"{tree}"}}')
        session.run(f"select 1 from me.memory_batch_create('[{','.join(items)}]', space => '{SPACE}') offset 1")
    print(f"{MEMORIES} memories in {time.time() - begun:.0f} s")
    session.run(f"""create table {PLAIN} as select m.id, m.tree, m.content, to_tsvector('english', m.content) as lexemes
      from me.memory as m where m.space = '{SPACE}'""")
    session.run(f"alter table {PLAIN} add primary key (id)")
    session.run(f"create index on {PLAIN} using gin (lexemes)")
    session.run(f"create index on {PLAIN} using gist (tree)")
    session.run("vacuum analyze")


def maintain(session):
    begun, indexed = time.time(), 0
    while True:
        turn = session.run(f"select t->>'indexed', t->>'complete' from me.lexical_maintain(space => '{SPACE}') as t")[0]
        indexed += int(turn.split("|")[0])
        if turn.endswith("true"):
            break
    took = time.time() - begun
    if indexed:
        print(f"maintenance: {indexed} memories in {took:.1f} s, {indexed / took:.0f} a second, merging included")
    session.run("vacuum analyze me.lexical_page")
    session.run("vacuum analyze me.lexical_tail")
    sizes = session.run(f"""select s->>'segments', s->>'bytes',
        (select sum(octet_length(content)) from me.memory where space = '{SPACE}'), pg_total_relation_size('me.lexical_page')
      from me.lexical_status(space => '{SPACE}') as s""")[0].split("|")
    segments, rows, content, files = map(int, sizes)
    gin = int(session.run(f"select pg_relation_size(indexrelid) from pg_stat_user_indexes where relname = '{PLAIN}' and indexrelname like '%lexemes%'")[0])
    print(f"{segments} segments; index {rows} bytes of pages ({rows / content:.2f} of the content's {content}), "
          f"{files} on disk with its b-trees; GIN {gin} ({gin / content:.2f})", flush=True)


def medians(session, statements):
    """The median of each column of statements, run by turns."""
    took = [[] for _ in statements[0]]
    for round_ in range(2):
        for row in statements:
            for column, statement in enumerate(row):
                one = session.milliseconds(statement)[0]
                if round_:
                    took[column].append(one)
    return [statistics.median(column) for column in took]


def report(name, ours, plain, bound):
    print(f"{name:42} ours {ours:8.2f} ms  plain {plain:8.2f} ms  ratio {ours / plain:5.2f}  (wanted: {bound})", flush=True)


def main():
    session = Session()
    prepare(session)
    maintain(session)
    session.run(f"set me.space = '{SPACE}'")
    session.run("prepare nothing as select id, score from me.search(fulltext => 'xyzzy')")
    session.run("prepare ours(text) as select id, score from me.search(fulltext => $1)")
    session.run("prepare ours_below(text, text) as select id, score from me.search(fulltext => $1, tree => $2)")
    rank = "ts_rank_cd(lexemes, $1)"
    session.run(f"prepare plain(tsquery) as select id, {rank} as s from {PLAIN} where lexemes @@ $1 order by s desc, id limit 10")
    session.run(f"""prepare gin_first(tsquery, ltree) as with f as materialized (select id, tree, lexemes from {PLAIN} where lexemes @@ $1)
      select id, {rank} as s from f where tree <@ $2 order by s desc, id limit 10""")
    session.run(f"""prepare tree_first(tsquery, ltree) as with f as materialized (select id, lexemes from {PLAIN} where tree <@ $2)
      select id, {rank} as s from f where lexemes @@ $1 order by s desc, id limit 10""")
    floor = medians(session, [("execute nothing",)] * ROUNDS)[0]
    print(f"a search without a match takes {floor:.2f} ms")
    chance = random.Random(5)
    kinds = [("rare", 3000, 20_000, 1, "<= 0.6"), ("rare", 3000, 20_000, 3, "<= 0.6"), ("mid", 60, 250, 1, "<= 0.06"),
             ("mid", 60, 250, 3, "<= 0.06"), ("common", 0, 12, 1, "<= 0.03"), ("common", 0, 12, 3, "<= 0.03"),
             ("a question: rare, mid and common", 0, 0, 3, "")]
    for name, low, high, count, bound in kinds:
        rows = []
        for _ in range(ROUNDS):
            if high:
                words = [word(rank) for rank in chance.sample(range(low, high), count)]
            else:
                words = [word(chance.randrange(3000, 20_000)), word(chance.randrange(60, 250)), word(chance.randrange(12))]
            rows.append((f"execute ours('{' '.join(words)}')", f"execute plain('{'|'.join(words)}')"))
        ours, plain = medians(session, rows)
        report(f"{name}, {count} word{'s' if count > 1 else ''}", ours, plain, bound)
    for level, share in ((2, "10 %"), (3, "1 %"), (4, "0.1 %")):
        for name, low, high in (("rare", 3000, 20_000), ("mid", 60, 250), ("common", 0, 12)):
            rows = []
            for _ in range(ROUNDS // 2):
                words = [word(rank) for rank in chance.sample(range(low, high), 2)]
                n = chance.randrange(1000)
                tree = ".".join(["share", f"t{n % 10}", f"h{n % 100}", f"m{n}"][:level])
                query = "|".join(words)
                rows.append((f"execute ours_below('{' '.join(words)}', '{tree}')",
                             f"execute gin_first('{query}', '{tree}')", f"execute tree_first('{query}', '{tree}')"))
            ours, gin, first = medians(session, rows)
            report(f"below a tree that leaves {share}, {name}", ours, min(gin, first), "<= 1.2")


if __name__ == "__main__":
    main()
