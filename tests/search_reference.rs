//! Search against a reference that knows nothing of indexes: BM25 from its formula over the server's own lexemes,
//! exact cosine over the stored vectors, reciprocal ranks. Random queries, filters and grants.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Database, new_role};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;

const MEMORIES: usize = 20_000;
const QUERIES: usize = 500;
const DIMENSIONS: usize = 24;

/// A small generator of our own: the same data at every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Small numbers often, large ones seldom.
    fn skewed(&mut self, bound: usize) -> usize {
        ((bound as f64).powf(self.unit()) - 1.0) as usize
    }
}

/// A made-up word that no stemmer shortens into another.
fn word(n: usize) -> String {
    const SYLLABLES: [&str; 10] = ["ba", "ko", "du", "fi", "ga", "zu", "mo", "pa", "ra", "tu"];
    let mut n = n + 10;
    let mut word = String::new();
    while n > 0 {
        word.push_str(SYLLABLES[n % 10]);
        n /= 10;
    }
    word + "x"
}

struct Memory {
    id: String,
    content: String,
    /// With a dot at the end, so that a subtree is a prefix.
    tree: String,
    k: usize,
    r: usize,
    /// Day of the year 2024, for a point.
    day: Option<usize>,
    /// In words.
    length: f64,
    /// Of length 1.
    vector: Vec<f64>,
}

fn generate(random: &mut Random) -> Vec<Memory> {
    (0..MEMORIES)
        .map(|n| {
            let words = 4 + random.below(40);
            Memory {
                id: format!("0190a1b2-0000-7000-8000-{n:012x}"),
                content: (0..words).map(|_| word(random.skewed(3000))).collect::<Vec<_>>().join(" "),
                tree: format!("share.a{}.b{}.c{}.", random.below(10), random.below(10), random.below(10)),
                k: random.below(10),
                r: random.below(1000),
                day: (random.below(2) == 0).then(|| 1 + random.below(28)),
                length: 0.0,
                vector: Vec::new(),
            }
        })
        .collect()
}

fn vector(random: &mut Random, n: usize) -> Vec<f64> {
    let mut center = Random(n as u64 % 40);
    (0..DIMENSIONS).map(|_| center.unit() - 0.5 + (random.unit() - 0.5) * 0.8).collect()
}

fn list(vector: &[f64]) -> String {
    let numbers: Vec<String> = vector.iter().map(f64::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}

fn store(client: &mut Client, memories: &mut [Memory], random: &mut Random) {
    for chunk in memories.chunks(1000) {
        let batch: Vec<Value> = chunk
            .iter()
            .map(|m| {
                let start = m.day.map(|day| format!("2024-03-{day:02}T00:00:00Z"));
                json!({
                    "id": m.id, "content": m.content, "tree": m.tree.trim_end_matches('.'), "meta": {"k": m.k, "r": m.r},
                    "temporal": start.map(|start| json!({"start": start}))
                })
            })
            .collect();
        let batch = Value::from(batch).to_string();
        client.query("select me.memory_batch_create($1::text::jsonb)", &[&batch]).unwrap();
    }
    client.batch_execute(&format!("select me.embedding_model_add('m', 'manual', {DIMENSIONS})")).unwrap();
    client.batch_execute("select me.embedding_model_use('m')").unwrap();
    // Straight into the tables, and the index made of all of them: one after the other would take most of the time of this
    // test.
    let table: String = client.query_one("select relation from me.embedding_model", &[]).unwrap().get(0);
    let hnsw = format!(
        "select schemaname || '.' || indexname, indexdef from pg_indexes
         where schemaname = 'me' and tablename = '{table}' and indexdef like '%hnsw%'"
    );
    let hnsw = client.query_one(&hnsw, &[]).unwrap();
    client.batch_execute(&format!("drop index {}", hnsw.get::<_, String>(0))).unwrap();
    let mut copy = client.copy_in(&format!("copy me.\"{table}\" from stdin")).unwrap();
    for (n, memory) in memories.iter().enumerate() {
        let numbers: Vec<String> = vector(random, n).iter().map(f64::to_string).collect();
        writeln!(copy, "default\t{}\t0\t1\t[{}]", memory.id, numbers.join(",")).unwrap();
    }
    copy.finish().unwrap();
    client
        .batch_execute(&format!(
            "insert into me.embedded select space, memory_id, 'm', 1 from me.\"{table}\";
             delete from me.embedding_queue;
             set maintenance_work_mem = '128MB';
             {}",
            hnsw.get::<_, String>(1)
        ))
        .unwrap();
    client.batch_execute("vacuum analyze").unwrap();
}

/// Which memories hold a lexeme, and how often.
type Postings = HashMap<String, Vec<(usize, f64)>>;

/// What the server itself says the lexemes are, and the vectors as they are stored.
fn learn(client: &mut Client, memories: &mut [Memory]) -> Postings {
    let place: HashMap<String, usize> =
        memories.iter().enumerate().map(|(n, memory)| (memory.id.clone(), n)).collect();
    let rows = client
        .query(
            "select l.lexeme, array_agg(m.id::text), array_agg(cardinality(l.positions))
             from me.memory as m, unnest(to_tsvector('english', m.content)) as l group by l.lexeme",
            &[],
        )
        .unwrap();
    let mut postings = Postings::new();
    for row in rows {
        let (ids, counts): (Vec<String>, Vec<i32>) = (row.get(1), row.get(2));
        let list: Vec<(usize, f64)> =
            ids.iter().zip(counts).map(|(id, count)| (place[id], f64::from(count))).collect();
        for (n, count) in &list {
            memories[*n].length += count;
        }
        postings.insert(row.get(0), list);
    }
    let table: String = client.query_one("select relation from me.embedding_model", &[]).unwrap().get(0);
    let rows =
        client.query(&format!("select memory_id::text, vector::real[] from me.\"{table}\""), &[]).unwrap();
    for row in rows {
        let numbers: Vec<f32> = row.get(1);
        memories[place[&row.get::<_, String>(0)]].vector = unit(numbers.into_iter().map(f64::from));
    }
    postings
}

fn unit(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers: Vec<f64> = numbers.collect();
    let length = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    numbers.into_iter().map(|x| x / length).collect()
}

/// One random search, as SQL arguments and as a predicate.
#[derive(Default)]
struct Search {
    fulltext: Option<Vec<String>>,
    embedding: Option<Vec<f64>>,
    tree: Option<String>,
    k: Option<usize>,
    r: Option<usize>,
    k_above: Option<usize>,
    before: Option<usize>,
    grep: Option<String>,
    limit: usize,
}

impl Search {
    fn random(random: &mut Random) -> Self {
        let mut search = Self { limit: [1, 10, 10, 50][random.below(4)], ..Self::default() };
        let mode = random.below(5);
        if mode != 1 {
            search.fulltext = Some((0..1 + random.below(5)).map(|_| word(random.skewed(3000))).collect());
        }
        if mode == 1 || mode == 2 {
            let n = random.below(MEMORIES);
            search.embedding = Some(vector(random, n));
        }
        match random.below(4) {
            0 => search.tree = Some(format!("share.a{}", random.below(10))),
            1 => search.tree = Some(format!("share.a{}.b{}", random.below(10), random.below(10))),
            _ => {}
        }
        match random.below(6) {
            0 => search.k = Some(random.below(10)),
            1 => search.r = Some(random.below(1000)),
            2 => search.k_above = Some(random.below(9)),
            3 => search.before = Some(2 + random.below(25)),
            4 => search.grep = Some(word(random.skewed(300))),
            _ => {}
        }
        search
    }

    fn sql(&self) -> String {
        let mut args = vec![format!("\"limit\" => {}", self.limit), "candidate_limit => 40".into()];
        let mut put = |name: &str, value: Option<String>| {
            args.extend(value.map(|value| format!("{name} => '{value}'")));
        };
        put("fulltext", self.fulltext.as_ref().map(|words| words.join(" ")));
        put("embedding", self.embedding.as_ref().map(|vector| list(vector)));
        put("tree", self.tree.clone());
        put("grep", self.grep.clone());
        let meta = self.k.map(|k| json!({"k": k})).or(self.r.map(|r| json!({"r": r})));
        put("meta", meta.map(|meta| meta.to_string()));
        put("meta_predicate", self.k_above.map(|k| format!("$.k > {k}")));
        put(
            "temporal",
            self.before.map(|day| json!({"before": format!("2024-03-{day:02}T00:00:00Z")}).to_string()),
        );
        args.join(", ")
    }

    /// `readable` and `tree` with a dot at the end.
    fn passes(&self, memory: &Memory, readable: &[String], tree: Option<&str>) -> bool {
        readable.iter().any(|tree| memory.tree.starts_with(tree))
            && tree.is_none_or(|tree| memory.tree.starts_with(tree))
            && self.k.is_none_or(|k| memory.k == k)
            && self.r.is_none_or(|r| memory.r == r)
            && self.k_above.is_none_or(|k| memory.k > k)
            && self.before.is_none_or(|day| memory.day.is_some_and(|own| own < day))
            && self.grep.as_ref().is_none_or(|part| memory.content.contains(part.as_str()))
    }
}

type Ranked = Vec<(f64, usize)>;

fn best(mut rows: Ranked, limit: usize) -> Ranked {
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    rows.truncate(limit);
    rows
}

struct Reference {
    memories: Vec<Memory>,
    postings: Postings,
    average: f64,
}

impl Reference {
    fn new(memories: Vec<Memory>, postings: Postings) -> Self {
        let average = memories.iter().map(|memory| memory.length).sum::<f64>() / memories.len() as f64;
        Self { memories, postings, average }
    }

    /// Which memories pass, by their places.
    fn passing(&self, search: &Search, readable: &[String]) -> Vec<bool> {
        let tree = search.tree.as_ref().map(|tree| format!("{tree}."));
        self.memories.iter().map(|memory| search.passes(memory, readable, tree.as_deref())).collect()
    }

    fn fulltext(&self, terms: &HashMap<String, f64>, passing: &[bool], limit: usize) -> Ranked {
        let count = self.memories.len() as f64;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for (term, times) in terms {
            let Some(list) = self.postings.get(term) else { continue };
            let df = list.len() as f64;
            let idf = (1.0 + (count - df + 0.5) / (df + 0.5)).ln();
            for (n, tf) in list.iter().filter(|(n, _)| passing[*n]) {
                let length = self.memories[*n].length / self.average;
                *scores.entry(*n).or_default() +=
                    times * idf * tf * 2.2 / (tf + 1.2 * (1.0 - 0.75 + 0.75 * length));
            }
        }
        best(scores.into_iter().map(|(n, score)| (score, n)).collect(), limit)
    }

    fn semantic(&self, query: &[f64], passing: &[bool], limit: usize) -> Ranked {
        // As the server reads them.
        let query = unit(query.iter().map(|x| f64::from(*x as f32)));
        let rows = self.memories.iter().enumerate().filter(|(n, _)| passing[*n]);
        let rows = rows.map(|(n, memory)| {
            let dot: f64 = memory.vector.iter().zip(&query).map(|(a, b)| a * b).sum();
            (dot, n)
        });
        best(rows.collect(), limit)
    }

    fn fused(arms: [&Ranked; 2], limit: usize) -> Ranked {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for arm in arms {
            for (rank, (_, n)) in arm.iter().enumerate() {
                *scores.entry(*n).or_default() += 1.0 / (61.0 + rank as f64);
            }
        }
        best(scores.into_iter().map(|(n, score)| (score, n)).collect(), limit)
    }
}

/// Scores alike at every place, and the same rows but among equals.
fn compare(found: &[(f64, String)], expected: &Ranked, reference: &Reference, tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (place, ((score, id), (wanted, n))) in found.iter().zip(expected).enumerate() {
        assert!((score - wanted).abs() <= tolerance, "{what}: place {place}: {score} instead of {wanted}");
        let near = |other: Option<&(f64, usize)>| {
            other.is_some_and(|(other, _)| (other - wanted).abs() <= tolerance)
        };
        let tied = near(expected.get(place + 1))
            || (place > 0 && near(expected.get(place - 1)))
            || place + 1 == expected.len();
        let same = *id == reference.memories[*n].id;
        assert!(same || tied, "{what}: place {place}: {id}");
    }
}

fn found(client: &mut Client, arguments: &str) -> Vec<(f64, String)> {
    let answer: String =
        client.query_one(&format!("select me.memory_search({arguments})::text"), &[]).unwrap().get(0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let rows = answer["results"].as_array().unwrap().iter();
    rows.map(|row| (row["score"].as_f64().unwrap(), row["id"].as_str().unwrap().to_owned())).collect()
}

/// How many of the ten nearest are found, of those that some filter or grant leaves.
fn recall(
    client: &mut Client,
    readable: &[String],
    reference: &Reference,
    random: &mut Random,
    narrow: impl Fn(&mut Random, &mut Search),
) -> f64 {
    let (mut met, mut wanted) = (0, 0);
    for _ in 0..40 {
        let n = random.below(MEMORIES);
        let embedding = Some(vector(random, n));
        let mut search = Search { embedding, limit: 10, ..Search::default() };
        narrow(random, &mut search);
        let passing = reference.passing(&search, readable);
        let nearest = reference.semantic(search.embedding.as_ref().unwrap(), &passing, 10);
        let found = found(client, &search.sql());
        assert_eq!(found.len(), nearest.len(), "{}", search.sql());
        wanted += nearest.len();
        met += nearest
            .iter()
            .filter(|(_, n)| found.iter().any(|(_, id)| *id == reference.memories[*n].id))
            .count();
    }
    f64::from(met as u32) / f64::from(wanted as u32)
}

#[test]
fn random_searches_answer_as_the_reference_does() {
    let database = Database::new();
    let mut admin = database.admin();
    let mut random = Random(7);
    let mut memories = generate(&mut random);
    store(&mut admin, &mut memories, &mut random);
    let postings = learn(&mut admin, &mut memories);
    let reference = Reference::new(memories, postings);

    // Everything, a tenth and less, a thousandth, and nothing.
    let mut callers = vec![(admin, vec![String::new()])];
    for trees in [&["share.a1", "share.a2.b2", "share.a3.b3.c3"][..], &["share.a4.b4.c4"], &[]] {
        let role = new_role("reader");
        let admin = &mut callers[0].0;
        admin.batch_execute(&format!("select me.space_member_add('{role}')")).unwrap();
        for tree in trees {
            admin.batch_execute(&format!("select me.access_grant('{role}', '{tree}', 'read')")).unwrap();
        }
        let mut caller = database.connect(&role);
        // So little that a bitmap of rows forgets which of a page they are.
        caller.batch_execute("set work_mem = '64kB'").unwrap();
        callers.push((caller, trees.iter().map(|tree| format!("{tree}.")).collect()));
    }
    let (mut exact, mut by_index, mut met, mut wanted) = (0, 0, 0, 0);
    for n in 0..QUERIES {
        // A fifth of the queries without the lexical index, two fifths while memories wait for it, the others with all.
        if n == QUERIES / 5 || n == QUERIES * 3 / 5 {
            let most = if n == QUERIES / 5 { MEMORIES as i32 - 1500 } else { MEMORIES as i32 };
            callers[0].0.query_one("select me.lexical_maintain($1)", &[&most]).unwrap();
        }
        let search = Search::random(&mut random);
        let who = random.below(callers.len() + 2).min(callers.len() * 2).saturating_sub(2);
        let (client, readable) = &mut callers[who];
        let sql = search.sql();
        let found = found(client, &sql);
        let passing = reference.passing(&search, readable);
        let arm = if search.fulltext.is_some() && search.embedding.is_some() {
            search.limit.max(40)
        } else {
            search.limit
        };
        let words = search.fulltext.as_ref().map(|words| {
            let rows = client.query("select l.lexeme, cardinality(l.positions) from unnest(to_tsvector('english', $1::text)) as l", &[&words.join(" ")]);
            let terms = rows.unwrap().iter().map(|row| (row.get(0), f64::from(row.get::<_, i32>(1)))).collect();
            reference.fulltext(&terms, &passing, arm)
        });
        let meaning = search.embedding.as_ref().map(|vector| reference.semantic(vector, &passing, arm));
        let what = format!("query {n} as caller {who}: {sql}");
        match (words, meaning) {
            (Some(words), None) => compare(&found, &words, &reference, 1e-6, &what),
            (None, Some(meaning)) => {
                let explained: String =
                    client.query_one(&format!("select me.search_explain({sql})::text"), &[]).unwrap().get(0);
                if explained.contains("one by one") {
                    exact += 1;
                    compare(&found, &meaning, &reference, 1e-3, &what);
                } else {
                    by_index += 1;
                    assert_eq!(found.len(), meaning.len(), "{what}");
                    wanted += meaning.len();
                    let known: Vec<&str> = found.iter().map(|(_, id)| id.as_str()).collect();
                    met += meaning
                        .iter()
                        .filter(|(_, n)| known.contains(&reference.memories[*n].id.as_str()))
                        .count();
                }
            }
            (Some(words), Some(meaning)) if passing.iter().filter(|passes| **passes).count() < 2000 => {
                compare(&found, &Reference::fused([&words, &meaning], search.limit), &reference, 1e-3, &what);
            }
            (words, meaning) => assert!(
                found.len()
                    >= words
                        .map_or(0, |rows| rows.len())
                        .max(meaning.map_or(0, |rows| rows.len()))
                        .min(search.limit),
                "{what}"
            ),
        }
    }
    assert!(exact > 50 && by_index > 5, "{exact} searches one by one, {by_index} by index");
    let met_share = f64::from(met as u32) / f64::from(wanted as u32);
    assert!(met_share >= 0.95, "the index met {met_share} of the nearest");
    recall_holds_at_every_selectivity(&mut callers, &reference, &mut random);
}

/// Recall@10 without a filter, and where a tree, metadata, both or a grant leave a half, a tenth, a hundredth and less.
fn recall_holds_at_every_selectivity(
    callers: &mut [(Client, Vec<String>)],
    reference: &Reference,
    random: &mut Random,
) {
    type Narrow = fn(&mut Random, &mut Search);
    let filters: [(&str, f64, Narrow); 7] = [
        ("everything", 0.95, |_, _| {}),
        ("a half, by metadata", 0.95, |_, search| search.k_above = Some(4)),
        ("10 %, by tree", 0.99, |random, search| search.tree = Some(format!("share.a{}", random.below(10)))),
        ("10 %, by metadata", 0.99, |random, search| search.k = Some(random.below(10))),
        ("1 %, by tree", 0.99, |random, search| {
            search.tree = Some(format!("share.a{}.b{}", random.below(10), random.below(10)));
        }),
        ("0.1 %, by metadata", 0.99, |random, search| search.r = Some(random.below(1000))),
        ("0.1 %, by tree and metadata", 0.99, |random, search| {
            search.tree = Some(format!("share.a{}.b{}", random.below(10), random.below(10)));
            search.k = Some(random.below(10));
        }),
    ];
    for (what, least, narrow) in filters {
        let (client, readable) = &mut callers[0];
        let met = recall(client, readable, reference, random, narrow);
        assert!(met >= least, "{what}: {met}");
    }
    for (client, readable) in &mut callers[1..3] {
        let met = recall(client, readable, reference, random, |_, _| {});
        assert!(met >= 0.99, "a reader of {readable:?}: {met}");
    }
}
