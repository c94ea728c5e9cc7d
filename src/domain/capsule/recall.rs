//! Recall: it answers grounded, missing evidence or abstain, and nothing else (CAP-RET).

use super::fault::{Fault, Result};
use super::project::Fence;
use super::rank::{Corpus, decayed, fused, relevance, three_digits};
use super::record::{number, rounded};
use super::shape::Shape;
use super::stamp::Stamp;
use super::text::{fold, has_alphanumeric, index_tokens, is_blank};
use super::words::{Lane, Tier};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The budget when none is given.
pub const TOKEN_BUDGET_DEFAULT: u64 = 1500;
const VECTOR_K_DEFAULT: u64 = 10;

/// A bounded or half-bounded time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    from: Option<Stamp>,
    to: Option<Stamp>,
}

impl Window {
    fn take(shape: &mut Shape) -> Result<Option<Self>> {
        let Some(fields) = shape.object("time_window")? else { return Ok(None) };
        let mut window = Shape::at("time_window.".into(), fields, &["from", "to"])?;
        let mut bound = |key: &'static str| -> Result<Option<Stamp>> {
            let Some(text) = window.text(key)? else { return Ok(None) };
            let refused = || {
                Fault::value(
                    "time_window",
                    format!("time_window.{key} is no RFC 3339 timestamp with an offset"),
                )
            };
            Stamp::parse(&text).map(Some).ok_or_else(refused)
        };
        let (from, to) = (bound("from")?, bound("to")?);
        if from.is_none() && to.is_none() {
            return Err(Fault::value("time_window", "time_window needs from, to or both"));
        }
        Ok(Some(Self { from, to }))
    }

    fn meets(&self, event: (i64, i64)) -> bool {
        self.from.as_ref().is_none_or(|from| event.1 >= from.pg_micros())
            && self.to.as_ref().is_none_or(|to| event.0 <= to.pg_micros())
    }
}

/// A checked call.
#[derive(Debug, Clone)]
pub struct Query {
    /// The usable terms, in the caller's order.
    pub terms: Vec<String>,
    /// Which projects.
    pub fence: Fence,
    /// Which session's capsules, if only one's.
    pub session_id: Option<String>,
    /// When the fact must have been.
    pub window: Option<Window>,
    /// Most rows.
    pub limit: Option<u64>,
    /// Most tokens.
    pub token_budget: u64,
    /// The caller's own vector.
    pub embedding: Option<Vec<f32>>,
    /// How many the vector lane adds.
    pub vector_k: usize,
    /// Which lanes are used.
    pub lane: Lane,
    /// Whether proposals count.
    pub include_staged: bool,
}

/// Reads a call.
pub fn parse(fields: Map<String, Value>) -> Result<Query> {
    let mut shape = Shape::new(
        fields,
        &[
            "terms",
            "project_id",
            "project_prefix",
            "limit",
            "token_budget",
            "query_embedding",
            "vector_k",
            "time_window",
            "session_id",
            "lane",
            "include_staged",
        ],
    )?;
    let terms = shape.texts("terms")?.ok_or_else(|| shape.missing("terms"))?;
    let (project_id, prefix) = (shape.text("project_id")?, shape.text("project_prefix")?);
    let limit = shape.count("limit")?;
    let token_budget = shape.count("token_budget")?.unwrap_or(TOKEN_BUDGET_DEFAULT);
    let embedding = shape.floats("query_embedding")?;
    let vector_k = shape.count("vector_k")?.unwrap_or(VECTOR_K_DEFAULT);
    let session_id = shape.text("session_id")?;
    let lane = shape.word("lane", Lane::WORDS, Lane::from_word)?.unwrap_or(Lane::Auto);
    let include_staged = shape.boolean("include_staged")?.unwrap_or(false);
    let window = Window::take(&mut shape)?;
    let terms = usable(terms);
    if terms.is_empty() {
        return Err(Fault::value("terms", "terms holds no term with a letter or digit"));
    }
    if session_id.as_deref().is_some_and(is_blank) {
        return Err(Fault::value("session_id", "session_id is blank"));
    }
    if let Some(vector) = &embedding {
        check_vector("query_embedding", vector)?;
    } else if matches!(lane, Lane::Vector | Lane::Fused) {
        return Err(Fault::value("lane", format!("lane {} needs query_embedding", lane.word())));
    }
    Ok(Query {
        terms,
        fence: Fence::new(project_id, prefix)?,
        session_id,
        window,
        limit,
        token_budget,
        embedding: embedding.filter(|_| lane != Lane::Term),
        vector_k: usize::try_from(vector_k).unwrap_or(usize::MAX),
        lane,
        include_staged,
    })
}

/// The terms that can match, each once (CAP-RET-2).
pub fn usable(terms: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    terms
        .into_iter()
        .map(|term| term.trim().to_owned())
        .filter(|term| has_alphanumeric(term) && seen.insert(term.clone()))
        .collect()
}

/// Refuses a vector that points nowhere (CAP-VEC-4, CAP-RET-25).
pub fn check_vector(argument: &'static str, vector: &[f32]) -> Result<()> {
    if vector.is_empty() {
        return Err(Fault::value(argument, format!("{argument} is empty")));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(Fault::value(argument, format!("{argument} holds a number that is not finite")));
    }
    if vector.iter().all(|value| *value == 0.0) {
        return Err(Fault::value(argument, format!("{argument} is all zeros")));
    }
    Ok(())
}

/// The cosine of two vectors of one dimension.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let norm = |vector: &[f32]| vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let product = norm(a) * norm(b);
    if product > 0.0 { dot / product } else { 0.0 }
}

/// What the text lane looks for: each term, and what was taught for it.
#[derive(Debug, Clone)]
pub struct Probe {
    terms: Vec<TermProbe>,
    /// How many aliases are searched.
    pub aliases: usize,
}

#[derive(Debug, Clone)]
struct TermProbe {
    term: String,
    direct: Vec<String>,
    aliases: Vec<Vec<String>>,
}

impl Probe {
    /// Prepares the terms. `taught` gives the aliases of a folded term.
    pub fn new(terms: &[String], taught: &HashMap<String, Vec<String>>) -> Self {
        let mut aliases = 0;
        let terms = terms
            .iter()
            .map(|term| {
                let folded = fold(term);
                let known = taught.get(&folded).map(Vec::as_slice).unwrap_or_default();
                let searched: Vec<Vec<String>> = known
                    .iter()
                    .filter(|alias| **alias != folded)
                    .map(|alias| index_tokens(alias))
                    .filter(|tokens| !tokens.is_empty())
                    .collect();
                aliases += searched.len();
                TermProbe { term: term.clone(), direct: index_tokens(term), aliases: searched }
            })
            .collect();
        Self { terms, aliases }
    }

    /// Every token the postings of which are needed.
    pub fn tokens(&self) -> Vec<String> {
        let all: BTreeSet<&String> = self.phrases().flatten().collect();
        all.into_iter().cloned().collect()
    }

    fn phrases(&self) -> impl Iterator<Item = &Vec<String>> {
        self.terms.iter().flat_map(|term| std::iter::once(&term.direct).chain(&term.aliases))
    }

    /// Which terms each capsule matches, by its number.
    pub fn matches(&self, postings: &HashMap<String, Posting>) -> BTreeMap<i64, Vec<Option<Hit>>> {
        let mut found: BTreeMap<i64, Vec<Option<Hit>>> = BTreeMap::new();
        for (index, term) in self.terms.iter().enumerate() {
            let mut note = |tokens: &Vec<String>, hit: Hit| {
                for seq in all_of(tokens, postings) {
                    let hits = found.entry(seq).or_insert_with(|| vec![None; self.terms.len()]);
                    hits[index].get_or_insert(hit);
                }
            };
            note(&term.direct, Hit::Direct);
            term.aliases.iter().for_each(|alias| note(alias, Hit::Alias));
        }
        found
    }

    /// The text score of a capsule of this length: every searched token counts, each time it is searched.
    pub fn score(&self, postings: &HashMap<String, Posting>, corpus: Corpus, seq: i64, length: i64) -> f64 {
        self.phrases()
            .flatten()
            .filter_map(|token| {
                let posting = postings.get(token)?;
                let count = posting.count(seq)?;
                Some(corpus.weight(corpus.idf(posting.seqs.len() as i64), count, length))
            })
            .sum()
    }

    /// The matched terms as rows show them: in the caller's order, `alias:` before one that only an alias matched.
    pub fn shown(&self, hits: &[Option<Hit>]) -> Vec<String> {
        self.terms
            .iter()
            .zip(hits)
            .filter_map(|(term, hit)| match hit {
                Some(Hit::Direct) => Some(term.term.clone()),
                Some(Hit::Alias) => Some(format!("alias:{}", term.term)),
                None => None,
            })
            .collect()
    }
}

/// How a term matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// By itself.
    Direct,
    /// By an alias.
    Alias,
}

/// The capsules that hold a token, and how often.
#[derive(Debug, Clone, Default)]
pub struct Posting {
    /// Numbers, rising.
    pub seqs: Vec<i64>,
    /// Beside each, how often.
    pub counts: Vec<i32>,
}

impl Posting {
    fn count(&self, seq: i64) -> Option<i64> {
        self.seqs.binary_search(&seq).ok().and_then(|at| self.counts.get(at)).map(|count| i64::from(*count))
    }
}

/// The capsules that hold every one of the tokens.
fn all_of(tokens: &[String], postings: &HashMap<String, Posting>) -> Vec<i64> {
    let mut lists: Vec<&Posting> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match postings.get(token) {
            Some(posting) => lists.push(posting),
            None => return Vec::new(),
        }
    }
    lists.sort_by_key(|posting| posting.seqs.len());
    match lists.split_first() {
        Some((first, others)) => first
            .seqs
            .iter()
            .filter(|seq| others.iter().all(|other| other.seqs.binary_search(seq).is_ok()))
            .copied()
            .collect(),
        None => Vec::new(),
    }
}

/// A capsule that some lane found, as far as fences and order need it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its number.
    pub seq: i64,
    /// Its tier.
    pub tier: Tier,
    /// Target of a `falsifies` edge.
    pub falsified: bool,
    /// Target of a `supersedes` edge.
    pub superseded: bool,
    /// Reviewed, and not ratified.
    pub staged: bool,
    /// From when it holds.
    pub valid_from: Stamp,
    /// Until when.
    pub valid_to: Option<Stamp>,
    /// 0 to 1.
    pub confidence: f64,
    /// The newest pin event says so.
    pub pinned: bool,
    /// When the fact was.
    pub event: Option<(i64, i64)>,
    /// How often it was recalled.
    pub recalls: i64,
    /// When last.
    pub last_recalled: Option<i64>,
    /// Its length in tokens.
    pub length: i64,
}

/// Reasons of exclusion, in the order they are told.
const REASONS: [&str; 10] = [
    "quarantined",
    "falsified",
    "archived",
    "superseded",
    "proposed",
    "expired",
    "not_yet_valid",
    "undated",
    "outside_time_window",
    "tombstoned",
];

/// How many matches each fence stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excluded(BTreeMap<&'static str, u64>);

impl Excluded {
    /// Counts one more.
    pub fn note(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// As answers show it; reasons without a match are absent.
    pub fn to_json(&self) -> Value {
        self.told().map(|(reason, count)| (reason.to_owned(), json!(count))).collect::<Map<_, _>>().into()
    }

    fn told(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.iter().filter_map(|reason| self.0.get(reason).map(|count| (*reason, *count)))
    }

    fn sentence(&self) -> String {
        self.told().map(|(reason, count)| format!("{count} {reason}")).collect::<Vec<_>>().join(", ")
    }
}

impl Candidate {
    /// The first fence that stops it (CAP-RET-11): quarantine is never hidden by a softer reason.
    pub fn stopped(&self, query: &Query, now: &Stamp) -> Option<&'static str> {
        if self.tier == Tier::Quarantined {
            return Some("quarantined");
        }
        if self.falsified {
            return Some("falsified");
        }
        if self.tier == Tier::Archived {
            return Some("archived");
        }
        if self.superseded {
            return Some("superseded");
        }
        if self.staged && !query.include_staged {
            return Some("proposed");
        }
        if self.valid_from.instant() > now.instant() {
            return Some("not_yet_valid");
        }
        if self.valid_to.as_ref().is_some_and(|to| to.instant() < now.instant()) {
            return Some("expired");
        }
        match (&query.window, self.event) {
            (Some(_), None) => Some("undated"),
            (Some(window), Some(event)) if !window.meets(event) => Some("outside_time_window"),
            _ => None,
        }
    }

    /// Whether it is inside the window, if there is one.
    pub fn in_window(&self, query: &Query) -> bool {
        query.window.as_ref().is_none_or(|window| self.event.is_some_and(|event| window.meets(event)))
    }
}

/// A match that passed every fence, in its place.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// The capsule.
    pub candidate: Candidate,
    /// Its exact weight now.
    pub weight: f64,
    /// The matched terms as they are shown.
    pub matched_terms: Vec<String>,
    /// The text score, if the text lane matched.
    pub score: Option<f64>,
    /// The cosine, if the vector lane matched.
    pub cosine: Option<f64>,
    matched: usize,
}

/// What the fences let through, in order, and what they stopped.
#[derive(Debug)]
pub struct Ranking {
    /// In order.
    pub rows: Vec<Ranked>,
    /// Counts by reason.
    pub excluded: Excluded,
    fusion: bool,
    strongest: f64,
}

/// What the lanes found.
pub struct Found<'a> {
    /// The prepared terms.
    pub probe: &'a Probe,
    /// Their postings.
    pub postings: &'a HashMap<String, Posting>,
    /// The size of the store.
    pub corpus: Corpus,
    /// Text matches by capsule.
    pub matches: &'a BTreeMap<i64, Vec<Option<Hit>>>,
    /// Cosines of everything in scope that has a vector, above zero.
    pub cosines: HashMap<i64, f64>,
}

/// Fences and orders what the lanes found (CAP-RET-11…15, CAP-RET-23, CAP-RET-24).
pub fn rank(query: &Query, now: &Stamp, found: &Found, candidates: Vec<Candidate>) -> Ranking {
    let mut near: Vec<(&Candidate, f64)> = candidates
        .iter()
        .filter_map(|candidate| Some((candidate, *found.cosines.get(&candidate.seq)?)))
        .filter(|(_, cosine)| *cosine > 0.0)
        .collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.seq.cmp(&b.0.seq)));
    // The window counts before the k best are taken; who stands outside of it is counted as such below.
    let (inside, outside): (Vec<_>, Vec<_>) =
        near.into_iter().partition(|(candidate, _)| candidate.in_window(query));
    let near: HashMap<i64, f64> = inside
        .into_iter()
        .take(query.vector_k)
        .chain(outside)
        .map(|(candidate, cosine)| (candidate.seq, cosine))
        .collect();

    let mut excluded = Excluded::default();
    let mut rows: Vec<Ranked> = Vec::new();
    for candidate in candidates {
        let hits = found.matches.get(&candidate.seq).filter(|_| query.lane != Lane::Vector);
        let cosine = near.get(&candidate.seq).copied();
        if hits.is_none() && cosine.is_none() {
            continue;
        }
        if let Some(reason) = candidate.stopped(query, now) {
            excluded.note(reason);
            continue;
        }
        let score =
            hits.map(|_| found.probe.score(found.postings, found.corpus, candidate.seq, candidate.length));
        rows.push(Ranked {
            weight: decayed(candidate.confidence, &candidate.valid_from, now, candidate.pinned),
            matched: hits.map_or(0, |hits| hits.iter().flatten().count()),
            matched_terms: hits.map_or_else(Vec::new, |hits| found.probe.shown(hits)),
            score,
            cosine,
            candidate,
        });
    }
    let strongest = rows.iter().filter_map(|row| row.score).fold(0.0, f64::min);
    let fusion = query.embedding.is_some();
    if fusion {
        fuse(&mut rows)
    } else {
        rows.sort_by(by_text)
    }
    Ranking { rows, excluded, fusion, strongest }
}

/// The order of the text lane (CAP-RET-14).
fn by_text(a: &Ranked, b: &Ranked) -> Ordering {
    b.matched
        .cmp(&a.matched)
        .then_with(|| a.score.unwrap_or(0.0).total_cmp(&b.score.unwrap_or(0.0)))
        .then_with(|| b.weight.total_cmp(&a.weight))
        .then_with(|| b.candidate.valid_from.instant().cmp(&a.candidate.valid_from.instant()))
        .then_with(|| b.candidate.last_recalled.cmp(&a.candidate.last_recalled))
        .then_with(|| b.candidate.recalls.cmp(&a.candidate.recalls))
        .then_with(|| a.candidate.seq.cmp(&b.candidate.seq))
}

/// The fused order of both lanes (CAP-RET-24).
fn fuse(rows: &mut [Ranked]) {
    let mut scores: HashMap<i64, f64> = HashMap::new();
    rows.sort_by(by_text);
    for (index, row) in rows.iter().filter(|row| row.score.is_some()).enumerate() {
        *scores.entry(row.candidate.seq).or_default() += fused(index + 1);
    }
    rows.sort_by(|a, b| {
        let cosine = |row: &Ranked| row.cosine.unwrap_or(f64::NEG_INFINITY);
        cosine(b).total_cmp(&cosine(a)).then(a.candidate.seq.cmp(&b.candidate.seq))
    });
    for (index, row) in rows.iter().filter(|row| row.cosine.is_some()).enumerate() {
        *scores.entry(row.candidate.seq).or_default() += fused(index + 1);
    }
    let score = |row: &Ranked| scores.get(&row.candidate.seq).copied().unwrap_or(0.0);
    rows.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.candidate.seq.cmp(&b.candidate.seq)));
}

/// What a row shows beside its rank.
#[derive(Debug, Clone)]
pub struct Detail {
    /// First line of the content.
    pub headline: String,
    /// Whether it may be giving orders.
    pub instruction_taint: bool,
    /// Who vouches for it.
    pub authority: String,
    /// Source, anchor, hash.
    pub provenance: Value,
    /// Whether the anchored file is there.
    pub anchor_live: Value,
    /// Whether it changed since.
    pub anchor_drift: &'static str,
    /// The epistemic sidecar.
    pub evidence_state: Option<String>,
    /// Likewise.
    pub proof_hint: Option<String>,
    /// Likewise.
    pub stale_if: Option<String>,
}

impl Ranking {
    /// A row as it is shown (CAP-RET-18); `rank` counts from 1.
    pub fn row(&self, ranked: &Ranked, rank: usize, detail: Detail) -> Value {
        let candidate = &ranked.candidate;
        let mut row = super::record::armour();
        let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
        put("id", super::record::id_of(candidate.seq).into());
        put("headline", detail.headline.into());
        put("instruction_taint", detail.instruction_taint.into());
        put("authority_class", detail.authority.into());
        put("confidence", number(candidate.confidence));
        put("decayed_weight", rounded(ranked.weight, 2));
        put("provenance", detail.provenance);
        put("anchor_live", detail.anchor_live);
        put("anchor_drift", detail.anchor_drift.into());
        for (key, value) in [
            ("evidence_state", detail.evidence_state),
            ("proof_hint", detail.proof_hint),
            ("stale_if", detail.stale_if),
        ] {
            if let Some(value) = value {
                put(key, value.into());
            }
        }
        put("freshness", super::record::freshness(&candidate.valid_from, candidate.valid_to.as_ref()));
        put("matched_terms", ranked.matched_terms.clone().into());
        if let Some(score) = ranked.score {
            put("relevance", relevance(score, self.strongest));
            put("bm25", number(three_digits(score)));
        }
        if let Some(cosine) = ranked.cosine {
            put("vector_similarity", rounded(cosine, 4));
        }
        if self.fusion {
            put("fusion_rank", rank.into());
        }
        row.into()
    }

    /// The answer, given the rows that fit and the terms searched.
    pub fn answer(&self, query: &Query, aliases: usize, rows: Vec<Value>) -> Value {
        if self.rows.is_empty() && self.excluded.total() == 0 {
            return json!({"outcome": "abstain", "reason": abstention(query, aliases)});
        }
        if self.rows.is_empty() {
            return json!({
                "outcome": "missing_evidence",
                "excluded_count": self.excluded.total(),
                "excluded": self.excluded.to_json(),
                "reason": format!("every match is excluded: {}", self.excluded.sentence()),
            });
        }
        let (matched, returned) = (self.rows.len(), rows.len());
        let within_limit = matched.min(query.limit.map_or(usize::MAX, |limit| limit as usize));
        let mut answer = json!({
            "outcome": "grounded",
            "results": rows,
            "matched": matched,
            "returned": returned,
            "trimmed": matched - returned,
            "trimmed_by_limit": matched - within_limit,
            "trimmed_by_budget": within_limit - returned,
            "token_budget": query.token_budget,
        });
        if self.excluded.total() > 0 {
            answer["excluded"] = self.excluded.to_json();
        }
        answer
    }
}

fn abstention(query: &Query, aliases: usize) -> String {
    let mut text =
        format!("nothing matches the {} usable term(s){}", query.terms.len(), query.fence.describe());
    if let Some(session) = &query.session_id {
        text.push_str(&format!(" in session {session:?}"));
    }
    if aliases > 0 {
        text.push_str(&format!(", nor the {aliases} alias(es) taught for them"));
    }
    text
}

/// The distinct folded terms a miss is recorded under (CAP-RET-22).
pub fn missed(terms: &[String]) -> Vec<String> {
    let folded: BTreeSet<String> =
        terms.iter().map(|term| fold(term)).filter(|term| has_alphanumeric(term)).collect();
    folded.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(value: Value) -> Result<Query> {
        match value {
            Value::Object(fields) => parse(fields),
            _ => Err(Fault::shape("", "no object")),
        }
    }

    fn candidate(seq: i64) -> Candidate {
        Candidate {
            seq,
            tier: Tier::Active,
            falsified: false,
            superseded: false,
            staged: false,
            valid_from: Stamp::parse("2020-01-01T00:00:00Z").unwrap(),
            valid_to: None,
            confidence: 0.6,
            pinned: false,
            event: None,
            recalls: 0,
            last_recalled: None,
            length: 2,
        }
    }

    fn now() -> Stamp {
        Stamp::parse("2026-01-01T00:00:00Z").unwrap()
    }

    #[test]
    fn unusable_terms_are_dropped_while_one_is_left() {
        assert_eq!(query(json!({"terms": [" a ", "--", "a"]})).unwrap().terms, ["a"]);
        assert!(matches!(query(json!({"terms": ["!!"]})), Err(Fault::Value { .. })));
        assert!(matches!(query(json!({"terms": "otter"})), Err(Fault::Shape { .. })));
        assert!(matches!(query(json!({})), Err(Fault::Shape { .. })));
    }

    #[test]
    fn vectors_must_point_somewhere() {
        for vector in [json!([]), json!([0, 0]), json!([1e300])] {
            assert!(query(json!({"terms": ["a"], "query_embedding": vector})).is_err(), "{vector}");
        }
        assert!(query(json!({"terms": ["a"], "lane": "fused"})).is_err());
    }

    #[test]
    fn the_hardest_fence_counts() {
        let of = query(json!({"terms": ["a"], "time_window": {"from": "2021-01-01T00:00:00Z"}})).unwrap();
        let mut all = candidate(1);
        all.tier = Tier::Quarantined;
        all.falsified = true;
        all.superseded = true;
        all.valid_to = Some(all.valid_from.clone());
        let mut reasons = vec![all.stopped(&of, &now())];
        all.tier = Tier::Archived;
        reasons.push(all.stopped(&of, &now()));
        all.falsified = false;
        reasons.push(all.stopped(&of, &now()));
        all.tier = Tier::Active;
        reasons.push(all.stopped(&of, &now()));
        all.superseded = false;
        reasons.push(all.stopped(&of, &now()));
        all.valid_to = None;
        reasons.push(all.stopped(&of, &now()));
        assert_eq!(
            reasons.into_iter().flatten().collect::<Vec<_>>(),
            ["quarantined", "falsified", "archived", "superseded", "expired", "undated"]
        );
    }

    #[test]
    fn a_term_needs_all_its_tokens_and_an_alias_counts_for_it() {
        let taught = HashMap::from([("crane".to_owned(), vec!["crane".to_owned(), "hoist".to_owned()])]);
        let probe = Probe::new(&["Crane".into(), "red pump".into()], &taught);
        assert_eq!(probe.aliases, 1);
        let posting = |seqs: &[i64]| Posting { seqs: seqs.to_vec(), counts: vec![1; seqs.len()] };
        let postings = HashMap::from([
            ("hoist".to_owned(), posting(&[1, 2])),
            ("red".to_owned(), posting(&[2, 3])),
            ("pump".to_owned(), posting(&[2])),
        ]);
        let matches = probe.matches(&postings);
        assert_eq!(matches.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(probe.shown(&matches[&2]), ["alias:Crane", "red pump"]);
    }

    #[test]
    fn both_lanes_are_fused_by_rank() {
        let of = query(json!({"terms": ["quince"], "query_embedding": [1, 0]})).unwrap();
        let probe = Probe::new(&of.terms, &HashMap::new());
        let postings =
            HashMap::from([("quince".to_owned(), Posting { seqs: vec![1, 2], counts: vec![1, 1] })]);
        let found = Found {
            probe: &probe,
            postings: &postings,
            corpus: Corpus { documents: 3, tokens: 6 },
            matches: &probe.matches(&postings),
            cosines: HashMap::from([(2, 1.0), (3, 0.8), (1, -0.2)]),
        };
        let ranking = rank(&of, &now(), &found, vec![candidate(1), candidate(2), candidate(3)]);
        assert_eq!(ranking.rows.iter().map(|row| row.candidate.seq).collect::<Vec<_>>(), [2, 1, 3]);
    }

    #[test]
    fn an_abstention_says_what_was_asked() {
        let of = query(json!({"terms": ["walrus", "narwhal"], "project_id": "demo"})).unwrap();
        let text = abstention(&of, 3);
        assert!(text.contains('2') && text.contains("demo") && text.contains('3'), "{text}");
    }
}
