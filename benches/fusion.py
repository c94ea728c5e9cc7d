#!/usr/bin/env python3
"""How to fuse words and meaning: chooses the constants of `blend` on one half of the queries and reports on the other.

    python3 benches/fusion.py cranfield.json

Three collections: the file (its form is that of benches/cranfield.py) and the two that benches/fusion_sets.py makes. It needs
a server that PGHOST, PGUSER … name, in whose database PGDATABASE the extension is created with the model all-MiniLM-L6-v2; each
collection has a space of its own there, made once.

Choosing: every text's score by words and by meaning comes from me.search; from these, the formula of docs/search-quality.md
is computed for a grid of constants over the queries with an even (number / 4) of the two collections made up. The constants
with the best mean nDCG@10 are told. Reporting: the other queries, through me.search with its own constants, thirty candidates
an arm. Last, it says whether `blend` is anywhere below its better arm.
"""
import json
import sys

from cranfield import literal, measure, sql
from fusion_sets import chat, records

MODEL = "all-MiniLM-L6-v2"
CANDIDATES = 30
# Of its half of the collection, so that none has more than an answer can hold.
PARTS = ("a", "b")


def previous_of(doc):
    """The name of the text before it in its thread."""
    return "d" + doc["meta"]["$prev"].rsplit("/", 1)[1]


def load(name, collection):
    space = f"fusion-{name}"
    if sql(f"select to_json(exists (select from me.space where slug = '{space}'))", rows=True)[0]:
        return space
    sql(f"select me.space_create('{space}')")
    sql(f"""select me.embedding_model_add('{MODEL}', 'local', 384, '{{"path": "{MODEL}"}}')
            where not exists (select from me.embedding_model where name = '{MODEL}')""")
    sql(f"select me.embedding_model_use('{MODEL}', space => '{space}')")
    where = {f"d{doc['id']}": f"share.{PARTS[n % 2]}" for n, doc in enumerate(collection["docs"])}
    memories = []
    for doc in collection["docs"]:
        meta = dict(doc.get("meta", {}))
        if "$prev" in meta:
            previous = previous_of(doc)
            meta["$prev"] = f"/{where[previous].replace('.', '/')}/{previous}"
        name = f"d{doc['id']}"
        memories.append({"content": doc["text"], "tree": where[name], "name": name, "meta": meta})
    for at in range(0, len(memories), 500):
        sql(f"select me.memory_batch_create({literal(memories[at:at + 500])}::jsonb, space => '{space}')")
    while sql(f"select me.embedding_status(space => '{space}')->'pending'", rows=True)[0]:
        sql(f"select me.embed_pending(space => '{space}')")
    sql("vacuum analyze")
    return space


def search(space, arguments, queries):
    """For each query the names found with their scores, best first."""
    return sql(
        f"""select json_agg((select coalesce(jsonb_agg(jsonb_build_array(s.name, s.score) order by s.score desc, s.id), '[]')
              from me.search({arguments}, space => '{space}') as s) order by e.n)
            from jsonb_array_elements_text({literal([query["text"] for query in queries])}::jsonb) with ordinality as e (text, n)""",
        rows=True)[0]


def everything(space, argument, queries):
    """For each query the score of every text that has one."""
    parts = [search(space, f"{argument} => e.text, tree => 'share.{part}', \"limit\" => 1000", queries) for part in PARTS]
    return [dict(map(tuple, first + second)) for first, second in zip(*parts)]


def neighbours(collection):
    beside = {f"d{doc['id']}": set() for doc in collection["docs"]}
    for doc in collection["docs"]:
        if "$prev" in doc.get("meta", {}):
            beside[f"d{doc['id']}"].add(previous_of(doc))
            beside[previous_of(doc)].add(f"d{doc['id']}")
    return beside


def blend(words, meaning, beside, counts, lent):
    """The formula, over what both arms found and its neighbours."""
    best = lambda scores: sorted(scores, key=lambda name: -scores[name])[:CANDIDATES]
    found = best(words), best(meaning)
    rows = set(found[0]) | set(found[1])
    rows |= {other for name in rows for other in beside[name]}
    floor = min((meaning[name] for name in found[1]), default=0)
    most_words = max((words[name] for name in rows if name in words), default=0)
    most_meaning = max((meaning[name] for name in rows if name in meaning), default=0)
    own = {}
    for name in rows:
        by_words = words.get(name, 0) / most_words if most_words else 0
        by_meaning = max(0, meaning[name] - floor) / (most_meaning - floor) if most_meaning > floor and name in meaning else 0
        own[name] = counts * by_words + (1 - counts) * by_meaning if most_words else by_meaning
    scores = {name: own[name] + lent * max((own[other] for other in beside[name] if other in own), default=0) for name in rows}
    return sorted(scores, key=lambda name: -scores[name])[:10]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cranfield = json.load(file)
    cranfield["docs"] = [doc for doc in cranfield["docs"] if doc["text"].strip()]
    collections = {"chat": chat(), "records": records(), "Cranfield": cranfield}
    spaces = {name: load(name.lower(), collection) for name, collection in collections.items()}
    judged = {name: {row["query"] for row in c["qrels"]} for name, c in collections.items()}

    def half(name, even):
        return [q for q in collections[name]["queries"] if q["id"] in judged[name] and (q["id"] // 4 % 2 == 0) == even]

    def quality(name, answers, even):
        return measure(answers, half(name, even), collections[name]["qrels"])

    known = {}
    for name in ("chat", "records"):
        queries = half(name, True)
        arms = everything(spaces[name], "fulltext", queries), everything(spaces[name], "semantic", queries)
        known[name] = list(zip(*arms)), neighbours(collections[name])
    grid = []
    for counts in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        for lent in (0.0, 0.25, 0.5, 0.75):
            ndcg = [quality(name, [blend(*arm, beside, counts, lent) for arm in arms], True)[0] for name, (arms, beside) in known.items()]
            grid.append((sum(ndcg) / len(ndcg), counts, lent))
    grid.sort(reverse=True)
    print("chosen on one half: words, meaning, lent (mean nDCG@10)")
    for ndcg, counts, lent in grid[:5]:
        print(f"    {counts:.1f}  {1 - counts:.1f}  {lent:.2f}  ({ndcg:.4f})")

    print("\nthe other half, nDCG@10 / recall@10\n\n| | words | meaning | `rrf` | `blend` |\n|---|---|---|---|---|")
    below = []
    for name, space in spaces.items():
        queries, row = half(name, False), []
        for arguments in ("fulltext => e.text", "semantic => e.text", "fulltext => e.text, semantic => e.text",
                          "fulltext => e.text, semantic => e.text, fusion => 'blend'"):
            found = search(space, f"{arguments}, candidate_limit => {CANDIDATES}", queries)
            row.append(quality(name, [[name for name, _ in answer] for answer in found], False))
        print(f"| {name} | " + " | ".join(f"{ndcg:.3f} / {recall:.3f}" for ndcg, recall in row) + " |", flush=True)
        if any(row[3][n] < max(row[0][n], row[1][n]) for n in (0, 1)):
            below.append(name)
    print(f"\n`blend` is below its better arm on: {', '.join(below) or 'none of them'}")


if __name__ == "__main__":
    main()
