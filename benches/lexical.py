#!/usr/bin/env python3
"""How fast the lexical index is, next to GIN with ts_rank_cd over the same words in the same server.

    python3 benches/lexical.py [MEMORIES [PART…]]   100000 unless said; parts: terms, tree, grant, meta, temporal, or all of these;
                                                    alone: nothing but ours, to compare sizes with each other

It needs a release build and a server that PGHOST, PGUSER … name, and works in the database PGDATABASE, where it creates the
extension and, once, its data: texts over a vocabulary whose words are as unevenly common as those of a language, in a space
of ours and in a plain table with their lexemes under GIN and their trees under GiST. The index is made by
me.lexical_maintain(), whose rate is told. Every number is a median over queries, alternating between ours and plain, after
a first round that warms up: of the time that the backend was on a processor (from /proc, where the server is on this
machine), which other work on the machine hardly changes, and of the way there and back. Filters and grants: the better of
two plain queries, one that begins with GIN and one with the filter.
"""
import itertools
import random
import statistics
import sys
import time

from session import Session, word

MEMORIES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
PARTS = sys.argv[2:] or ["terms", "tree", "grant", "meta", "temporal"]
ALONE = PARTS == ["alone"]
ROUNDS = 30
SPACE = f"words{MEMORIES}"
PLAIN = f"bench_{SPACE}"


# Roles that may read so much, and where.
READERS = {"10 %": "share.t3", "1 %": "share.t3.h43", "0.1 %": "share.t3.h43.m743"}


def reader(share):
    return f"bench_{SPACE}_" + share.replace(" %", "").replace(".", "")


def moment(minutes):
    return time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(1_577_836_800 + minutes * 60))


class Measured(Session):
    """A session that also says how long its backend was on a processor, where that can be seen."""

    def __init__(self):
        super().__init__()
        self.ran = f"/proc/{self.run('select pg_backend_pid()')[0]}/schedstat"
        try:
            self.on_processor()
        except OSError:
            self.ran = None

    def on_processor(self):
        with open(self.ran, encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    def both(self, statement):
        """Milliseconds on a processor (those of the whole way where that is not seen), and of the whole way."""
        before = self.on_processor() if self.ran else 0
        wall, _ = self.milliseconds(statement)
        return (self.on_processor() - before if self.ran else wall), wall


def prepare(session):
    session.run("create extension if not exists memory_engine cascade")
    if session.run(f"select count(*) from me.memories where space = '{SPACE}'")[0] == "0":
        fill(session)
    if ALONE or session.run(f"select count(*) from pg_class where relname = '{PLAIN}'")[0] != "0":
        return
    session.run(f"""create table {PLAIN} as select m.id, m.tree, m.meta, m.temporal, m.content,
        to_tsvector('english', m.content) as lexemes from me.memory as m where m.space = '{SPACE}'""")
    session.run(f"alter table {PLAIN} add primary key (id)")
    session.run(f"create index on {PLAIN} using gin (lexemes)")
    session.run(f"create index on {PLAIN} using gist (tree)")
    session.run(f"create index on {PLAIN} using gin (meta jsonb_path_ops)")
    session.run(f"create index on {PLAIN} using gist (temporal)")
    session.run(f"grant select on {PLAIN} to public")
    for share, tree in READERS.items():
        session.run(f"create role {reader(share)}")
        session.run(f"select me.space_member_add('{reader(share)}', space => '{SPACE}')")
        session.run(f"select me.access_grant('{reader(share)}', '{tree}', 'read', space => '{SPACE}')")
    session.run("vacuum analyze")


def fill(session):
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
            meta = f'{{"t":{number % 10},"h":{number % 100},"m":{number % 1000}}}'
            temporal = f'{{"start":"{moment(number)}"}}'
            items.append(f'{{"content":"{text}","tree":"{tree}","meta":{meta},"temporal":{temporal}}}')
        session.run(f"select 1 from me.memory_batch_create('[{','.join(items)}]', space => '{SPACE}') offset 1")
    print(f"{MEMORIES} memories in {time.time() - begun:.0f} s", flush=True)


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
    print(f"{segments} segments; index {rows} bytes of pages ({rows / content:.2f} of the content's {content}), "
          f"{files} on disk with its b-trees ({files / content:.2f})", flush=True)
    if ALONE:
        return
    gin = int(session.run(f"select pg_relation_size(indexrelid) from pg_stat_user_indexes where relname = '{PLAIN}' and indexrelname like '%lexemes%'")[0])
    print(f"GIN {gin} ({gin / content:.2f})", flush=True)


def medians(session, statements):
    """The medians of each column of statements, run by turns: on a processor, and of the whole way."""
    took = [[] for _ in statements[0]]
    for round_ in range(2):
        for row in statements:
            for column, statement in enumerate(row):
                one = session.both(statement)
                if round_:
                    took[column].append(one)
    return [[statistics.median(one) for one in zip(*column)] for column in took]


def report(name, ours, plain, bound):
    """Ours next to plain, each on a processor and of the whole way."""
    print(f"{name:44} ours {ours[0]:7.3f} ms  plain {plain[0]:7.3f} ms  ratio {ours[0] / plain[0]:5.2f}  "
          f"(there and back {ours[1] / plain[1]:5.2f}; wanted {bound})", flush=True)


KINDS = {"rare": (3000, 20_000), "mid": (60, 250), "common": (0, 12)}


def words_of(chance, kind, count):
    if kind == "question":
        return [word(chance.randrange(*KINDS[one])) for one in KINDS]
    return [word(rank) for rank in chance.sample(range(*KINDS[kind]), count)]


def main():
    session = Measured()
    prepare(session)
    maintain(session)
    session.run(f"set me.space = '{SPACE}'")
    session.run("prepare nothing as select id, score from me.search(fulltext => 'xyzzy')")
    session.run("prepare ours(text) as select id, score from me.search(fulltext => $1)")
    session.run("prepare answer(text) as select me.memory_search(fulltext => $1)")
    for name, kind in (("tree", "text"), ("meta", "jsonb"), ("temporal", "jsonb")):
        session.run(f"prepare ours_{name}(text, {kind}) as select id, score from me.search(fulltext => $1, {name} => $2)")
    if ALONE:
        chance = random.Random(5)
        for kind in (*KINDS, "question"):
            for count in (3,) if kind == "question" else (1, 3):
                rows = [(f"execute ours('{' '.join(words_of(chance, kind, count))}')",) for _ in range(ROUNDS)]
                ours = medians(session, rows)[0]
                print(f"{kind}, {count} words: {ours[0]:.3f} ms, {ours[1]:.3f} there and back", flush=True)
        return
    rank = "ts_rank_cd(lexemes, $1)"
    session.run(f"prepare plain(tsquery) as select id, {rank} as s from {PLAIN} where lexemes @@ $1 order by s desc, id limit 10")
    for name, kind, condition in (("tree", "ltree", "tree <@ $2"), ("meta", "jsonb", "meta @> $2"), ("temporal", "tstzrange", "temporal <@ $2")):
        session.run(f"""prepare gin_{name}(tsquery, {kind}) as with f as materialized (select id, {name}, lexemes from {PLAIN} where lexemes @@ $1)
          select id, {rank} as s from f where {condition} order by s desc, id limit 10""")
        session.run(f"""prepare first_{name}(tsquery, {kind}) as with f as materialized (select id, lexemes from {PLAIN} where {condition})
          select id, {rank} as s from f where lexemes @@ $1 order by s desc, id limit 10""")
    floor = medians(session, [("execute nothing",)] * ROUNDS)[0]
    print(f"a search without a match takes {floor[0]:.3f} ms, {floor[1]:.3f} there and back")
    chance = random.Random(5)
    bounds = {"rare": "<= 0.6", "mid": "<= 0.06", "common": "<= 0.03", "question": "-"}
    for form, call in (("rows", "ours"), ("JSON", "answer")) if "terms" in PARTS else ():
        for kind, bound in bounds.items():
            for count in (3,) if kind == "question" else (1, 3):
                rows = []
                for _ in range(ROUNDS):
                    words = words_of(chance, kind, count)
                    rows.append((f"execute {call}('{' '.join(words)}')", f"execute plain('{'|'.join(words)}')"))
                ours, plain = medians(session, rows)
                report(f"{form}: {kind}, {count} word{'s' if count > 1 else ''}", ours, plain, bound)
    for name in [part for part in PARTS if part != "terms"]:
        for level, share in ((2, "10 %"), (3, "1 %"), (4, "0.1 %")):
            if name == "grant":
                session.run(f"set role {reader(share)}")
            for kind in KINDS:
                rows = []
                for _ in range(ROUNDS // 2):
                    words = words_of(chance, kind, 2)
                    n = chance.randrange(1000)
                    key, modulus = [("t", 10), ("h", 100), ("m", 1000)][level - 2]
                    tree = READERS[share] if name == "grant" else ".".join(["share", f"t{n % 10}", f"h{n % 100}", f"m{n}"][:level])
                    begin = chance.randrange(MEMORIES - MEMORIES // modulus)
                    start, end = moment(begin), moment(begin + MEMORIES // modulus)
                    ours, plain = {
                        "tree": (f"'{tree}'",) * 2,
                        "grant": (f"'{tree}'",) * 2,
                        "meta": (f"'{{\"{key}\":{n % modulus}}}'",) * 2,
                        "temporal": (f"'{{\"within\":{{\"start\":\"{start}\",\"end\":\"{end}\"}}}}'", f"'[{start},{end})'"),
                    }[name]
                    query, column = "|".join(words), "tree" if name == "grant" else name
                    own = f"execute ours('{' '.join(words)}')" if name == "grant" else f"execute ours_{name}('{' '.join(words)}', {ours})"
                    rows.append((own, f"execute gin_{column}('{query}', {plain})", f"execute first_{column}('{query}', {plain})"))
                ours, gin, first = medians(session, rows)
                report(f"{name} that leaves {share}, {kind}", ours, min(gin, first), "<= 1.2")
            session.run("reset role")


if __name__ == "__main__":
    main()
