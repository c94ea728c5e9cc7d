#!/usr/bin/env python3
"""How good full text search is on the Cranfield collection, beside the package bm25s on the same lexemes.

    python3 benches/cranfield.py cranfield.json             words
    python3 benches/cranfield.py cranfield.json meaning     meaning and both, by each model that comes along

The file holds {"docs": [{"id", "text"}], "queries": [{"id", "text"}], "qrels": [{"query", "doc", "grade"}]}, grades from
1 (best) to 4. It needs bm25s (pip install bm25s; not for meaning) and a server that PGHOST, PGUSER … name, in whose database PGDATABASE
the extension is created; it works in a space of its own there.
"""
import itertools
import json
import math
import subprocess
import sys

SPACE = "cranfield"


def sql(text, rows=False):
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()] if rows else None


def literal(value):
    return "$json$" + json.dumps(value, ensure_ascii=False) + "$json$"


def load(docs):
    sql(f"select me.space_drop('{SPACE}') where exists (select from me.space where slug = '{SPACE}');"
        f"select me.space_create('{SPACE}');")
    memories = [{"content": doc["text"], "tree": "share", "name": f"d{doc['id']}"} for doc in docs if doc["text"].strip()]
    for at in range(0, len(memories), 500):
        sql(f"select me.memory_batch_create({literal(memories[at:at + 500])}::jsonb, space => '{SPACE}');")


def lexemes(texts):
    """Lexemes with repetition, as the server's english configuration makes them."""
    return sql(
        f"""select json_agg(t.lexemes order by t.n)
            from (select e.n, coalesce((select jsonb_agg(l.lexeme) from unnest(to_tsvector('english', e.text)) as l,
                    generate_series(1, cardinality(l.positions))), '[]') as lexemes
                  from jsonb_array_elements_text({literal(texts)}::jsonb) with ordinality as e (text, n)) as t""",
        rows=True)[0]


def ours(queries):
    return sql(
        f"""select json_agg((select coalesce(jsonb_agg(s.name order by s.score desc, s.id), '[]')
              from me.search(fulltext => e.text, space => '{SPACE}', "limit" => 10) as s) order by e.n)
            from jsonb_array_elements_text({literal(queries)}::jsonb) with ordinality as e (text, n)""",
        rows=True)[0]


def theirs(docs, queries):
    import bm25s

    vocabulary = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in words] for words in lexemes([d["text"] for d in docs])]
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index((ids, vocabulary), show_progress=False)
    answers = []
    for words in lexemes(queries):
        known = [word for word in words if word in vocabulary]
        found, _ = model.retrieve([known], k=10, show_progress=False)
        answers.append([f"d{docs[at]['id']}" for at in found[0]])
    return answers


def by(queries, arms):
    return sql(
        f"""select json_agg((select coalesce(jsonb_agg(s.name order by s.score desc, s.id), '[]')
              from me.search({arms}, space => '{SPACE}', candidate_limit => 100, "limit" => 10) as s) order by e.n)
            from jsonb_array_elements_text({literal(queries)}::jsonb) with ordinality as e (text, n)""",
        rows=True)[0]


def meaning(queries):
    """By meaning, and by both, with each model that comes along."""
    for model, dimensions in (("wordllama-256", 256), ("all-MiniLM-L6-v2", 384)):
        sql(f"""select me.embedding_model_add('{model}', 'local', {dimensions}, '{{"path": "{model}"}}')
                where not exists (select from me.embedding_model where name = '{model}');
                select me.embedding_model_use('{model}', space => '{SPACE}');""")
        done = f"""select to_json(coalesce(s->>'model' = '{model}' and s->>'pending' = '0', false))
            from me.embedding_status(space => '{SPACE}') as s"""
        while not sql(done, rows=True)[0]:
            sql(f"select me.embed_pending(space => '{SPACE}')")
        yield f"{model}, meaning", by(queries, "semantic => e.text")
        yield f"{model}, rrf", by(queries, "semantic => e.text, fulltext => e.text")
        yield f"{model}, blend", by(queries, "semantic => e.text, fulltext => e.text, fusion => 'blend'")


def measure(answers, queries, qrels):
    """Mean nDCG@10, with gains 5 - grade, and mean recall@10 over the queries that have judgements."""
    ndcg, recall, count = 0.0, 0.0, 0
    for query, answer in zip(queries, answers):
        gains = {f"d{r['doc']}": 5 - r["grade"] for r in qrels if r["query"] == query["id"] and r["grade"] > 0}
        if not gains:
            continue
        count += 1
        discounted = sum(gains.get(doc, 0) / math.log2(rank + 2) for rank, doc in enumerate(answer))
        ideal = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(sorted(gains.values(), reverse=True)[:10]))
        ndcg += discounted / ideal
        recall += sum(doc in gains for doc in answer) / len(gains)
    return ndcg / count, recall / count


def main():
    data = json.load(open(sys.argv[1], encoding="utf-8"))
    docs = [doc for doc in data["docs"] if doc["text"].strip()]
    queries = [query["text"] for query in data["queries"]]
    load(docs)
    if sys.argv[2:] == ["meaning"]:
        found = itertools.chain([("words", ours(queries))], meaning(queries))
    else:
        found = (("memory_engine", ours(queries)), ("bm25s", theirs(docs, queries)))
    for name, answers in found:
        ndcg, recall = measure(answers, data["queries"], data["qrels"])
        print(f"{name:26} nDCG@10 {ndcg:.4f}  recall@10 {recall:.4f}", flush=True)


if __name__ == "__main__":
    main()
