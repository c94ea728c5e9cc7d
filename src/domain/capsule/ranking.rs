//! Fences and order of what recall found (CAP-RET-11…15, CAP-RET-18, CAP-RET-23, CAP-RET-24).

use super::probe::{Lane, Probe};
use super::rank::{decayed_micros, fused, relevance, three_digits};
use super::recall::{Query, abstention};
use super::record::{armour, id_of, number, rounded};
use super::standing::{Frame, Standing};
use super::words::{self, Tier};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

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

/// The first fence that stops a capsule (CAP-RET-11): quarantine is never hidden by a softer reason.
pub fn stopped(frame: &Frame, event: Option<(i64, i64)>, query: &Query, now: i64) -> Option<&'static str> {
    if frame.tier == Tier::Quarantined {
        return Some("quarantined");
    }
    if frame.falsified {
        return Some("falsified");
    }
    if frame.tier == Tier::Archived {
        return Some("archived");
    }
    if frame.superseded {
        return Some("superseded");
    }
    if frame.staged && !query.include_staged {
        return Some("proposed");
    }
    if frame.valid_from > now {
        return Some("not_yet_valid");
    }
    if frame.valid_to.is_some_and(|to| to < now) {
        return Some("expired");
    }
    match (&query.window, event) {
        (Some(_), None) => Some("undated"),
        (Some(window), Some(event)) if !window.meets(event) => Some("outside_time_window"),
        _ => None,
    }
}

/// Which capsules a call looks at at all; others are not even counted.
pub struct Reach {
    places: Vec<bool>,
    session: Option<Option<u32>>,
    within: Option<HashSet<i64>>,
}

impl Reach {
    /// The capsules behind the fences of a query, at places that the caller may read.
    pub fn new(query: &Query, standing: &Standing, readable: &[bool], within: Option<HashSet<i64>>) -> Self {
        let inside = |(place, readable): (&super::standing::Place, &bool)| {
            *readable && query.fence.admits(&place.project_id)
        };
        Self {
            places: standing.places().iter().zip(readable).map(inside).collect(),
            session: query.session_id.as_ref().map(|session| standing.known_session(session)),
            within,
        }
    }

    /// Whether a capsule is looked at.
    pub fn admits(&self, seq: i64, frame: &Frame) -> bool {
        self.places.get(frame.place as usize).copied().unwrap_or(false)
            && self.session.is_none_or(|wanted| wanted.is_some() && wanted == frame.session)
            && self.within.as_ref().is_none_or(|within| within.contains(&seq))
    }
}

/// A match that passed every fence.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// The capsule.
    pub seq: i64,
    /// Its exact weight now.
    pub weight: f64,
    /// How many terms it holds.
    pub matched: u32,
    /// The text score, if the text lane matched.
    pub score: Option<f64>,
    /// The cosine, if the vector lane matched.
    pub cosine: Option<f64>,
    /// 0 to 1.
    pub confidence: f64,
    valid_from: i64,
    usage: Usage,
    fused: f64,
}

/// When a capsule was recalled last, and how often: the later and the more often, the greater.
pub type Usage = (Option<i64>, i64);

/// What was learned of capsules beside what they say.
#[derive(Debug, Default)]
pub struct Merits {
    /// Scores of the outcomes of earlier recalls, 0 to 1; 0.5 where there is none.
    pub learned: HashMap<i64, f64>,
    /// How many capsules witness it.
    pub witnesses: HashMap<i64, u32>,
}

/// What the fences let through, in order, and what they stopped.
#[derive(Debug)]
pub struct Ranking {
    /// In order, as far as rows can be shown.
    pub rows: Vec<Ranked>,
    /// Counts by reason.
    pub excluded: Excluded,
    ordered: usize,
    fusion: bool,
    strongest: f64,
}

/// Fences what the lanes found. `cosines` are those of everything in reach that has a vector.
pub fn fence(
    query: &Query,
    now: i64,
    standing: &Standing,
    reach: &Reach,
    lane: &Lane,
    cosines: &HashMap<i64, f64>,
) -> Ranking {
    let near = nearest(query, standing, reach, cosines);
    let text = if query.lane == words::Lane::Vector { &[][..] } else { lane.found() };
    let by_vector_alone = near.keys().copied().filter(|seq| text.is_empty() || lane.hit(*seq).is_none());
    let mut excluded = Excluded::default();
    let mut rows: Vec<Ranked> = Vec::new();
    for seq in text.iter().copied().chain(by_vector_alone) {
        let Some(frame) = standing.frame(seq).filter(|frame| reach.admits(seq, frame)) else { continue };
        if let Some(reason) = stopped(frame, standing.event(seq), query, now) {
            excluded.note(reason);
            continue;
        }
        let hit = if text.is_empty() { None } else { lane.hit(seq) };
        rows.push(Ranked {
            seq,
            weight: decayed_micros(frame.confidence, frame.valid_from, now, frame.pinned),
            matched: hit.map_or(0, |(matched, _)| matched),
            score: hit.map(|(_, score)| score),
            cosine: near.get(&seq).copied(),
            confidence: frame.confidence,
            valid_from: frame.valid_from,
            usage: (None, 0),
            fused: 0.0,
        });
    }
    let strongest = rows.iter().filter_map(|row| row.score).fold(0.0, f64::min);
    let mut ranking = Ranking { rows, excluded, ordered: 0, fusion: query.embedding.is_some(), strongest };
    let all = ranking.fusion || query.is_blended();
    ranking.order_first(if all { usize::MAX } else { query.rows_at_most() });
    ranking
}

/// The capsules nearest to the query's vector (CAP-RET-23). The window counts before the best are taken; who stands
/// outside of it stays, to be counted as such.
fn nearest(
    query: &Query,
    standing: &Standing,
    reach: &Reach,
    cosines: &HashMap<i64, f64>,
) -> HashMap<i64, f64> {
    let mut near: Vec<(i64, f64)> = cosines
        .iter()
        .map(|(seq, cosine)| (*seq, *cosine))
        .filter(|(seq, cosine)| {
            *cosine > 0.0 && standing.frame(*seq).is_some_and(|frame| reach.admits(*seq, frame))
        })
        .collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let in_window = |seq: i64| {
        let window = query.window.as_ref();
        window.is_none_or(|window| standing.event(seq).is_some_and(|event| window.meets(event)))
    };
    let (inside, outside): (Vec<_>, Vec<_>) = near.into_iter().partition(|(seq, _)| in_window(*seq));
    inside.into_iter().take(query.vector_k).chain(outside).collect()
}

/// The order of the text lane, but for what usage and number settle (CAP-RET-14).
fn by_text(a: &Ranked, b: &Ranked) -> Ordering {
    b.matched
        .cmp(&a.matched)
        .then_with(|| a.score.unwrap_or(0.0).total_cmp(&b.score.unwrap_or(0.0)))
        .then_with(|| b.weight.total_cmp(&a.weight))
        .then_with(|| b.valid_from.cmp(&a.valid_from))
}

fn by_text_and_usage(a: &Ranked, b: &Ranked) -> Ordering {
    by_text(a, b).then_with(|| b.usage.cmp(&a.usage)).then_with(|| a.seq.cmp(&b.seq))
}

impl Ranking {
    /// Brings the first `wanted` rows to the front in order, and with them all that stand equal to the last.
    fn order_first(&mut self, wanted: usize) {
        let mut end = self.rows.len();
        if wanted == 0 {
            return;
        }
        if wanted < end {
            let (before, last, _) = self.rows.select_nth_unstable_by(wanted - 1, by_text);
            let (last, first_behind) = (last.clone(), before.len() + 1);
            let mut equal = first_behind;
            for at in first_behind..end {
                if by_text(&self.rows[at], &last) == Ordering::Equal {
                    self.rows.swap(at, equal);
                    equal += 1;
                }
            }
            end = equal;
        }
        self.rows[..end].sort_by(by_text_and_usage);
        self.ordered = end;
    }

    /// The rows whose order only their usage settles.
    pub fn tied(&self) -> Vec<i64> {
        let rows = &self.rows[..self.ordered];
        let equal = |a: Option<&Ranked>, b: Option<&Ranked>| {
            a.zip(b).is_some_and(|(a, b)| by_text(a, b) == Ordering::Equal)
        };
        (0..rows.len())
            .filter(|at| {
                let before = at.checked_sub(1).and_then(|before| rows.get(before));
                equal(before, rows.get(*at)) || equal(rows.get(*at), rows.get(at + 1))
            })
            .map(|at| rows[at].seq)
            .collect()
    }

    /// Puts tied rows in order.
    pub fn settle(&mut self, usage: &HashMap<i64, Usage>) {
        let rows = &mut self.rows[..self.ordered];
        for row in rows.iter_mut() {
            row.usage = usage.get(&row.seq).copied().unwrap_or_default();
        }
        rows.sort_by(by_text_and_usage);
    }

    /// Takes both lanes and what was learned into the order, where the query asks for them (CAP-RET-24, CAP-RET-31).
    pub fn blend(&mut self, query: &Query, merits: &Merits) {
        if self.fusion {
            self.fuse();
        }
        if !query.is_blended() {
            return;
        }
        let best = self.rows.first().map_or(0.0, |row| row.fused);
        let worth = |row: &Ranked| -> f64 {
            let found = if best > 0.0 {
                row.fused / best
            } else {
                let relevant =
                    if self.strongest < 0.0 { row.score.unwrap_or(0.0) / self.strongest } else { 1.0 };
                (f64::from(row.matched) / query.terms.len().max(1) as f64 + relevant) / 2.0
            };
            let learned = merits.learned.get(&row.seq).copied().unwrap_or(LEARNED_AT_FIRST);
            let witnesses = merits.witnesses.get(&row.seq).copied().unwrap_or(0);
            found
                + query.weight_blend * (learned - LEARNED_AT_FIRST) * 2.0
                + query.corroboration_blend * (1.0 - 0.5f64.powf(f64::from(witnesses)))
        };
        let mut order: Vec<(f64, usize)> =
            self.rows.iter().enumerate().map(|(at, row)| (worth(row), at)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let rows = order.into_iter().map(|(_, at)| self.rows[at].clone()).collect();
        self.rows = rows;
    }

    /// The fused order of both lanes (CAP-RET-24).
    fn fuse(&mut self) {
        let rows = &mut self.rows;
        for (index, row) in rows.iter_mut().filter(|row| row.score.is_some()).enumerate() {
            row.fused += fused(index + 1);
        }
        let mut by_vector: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].cosine.is_some()).collect();
        by_vector.sort_by(|a, b| {
            let cosine = |at: usize| rows[at].cosine.unwrap_or(f64::NEG_INFINITY);
            cosine(*b).total_cmp(&cosine(*a)).then(rows[*a].seq.cmp(&rows[*b].seq))
        });
        for (index, at) in by_vector.into_iter().enumerate() {
            rows[at].fused += fused(index + 1);
        }
        rows.sort_by(|a, b| b.fused.total_cmp(&a.fused).then(a.seq.cmp(&b.seq)));
    }

    /// Takes out what was forgotten since.
    pub fn drop_missing(&mut self, is_there: impl Fn(i64) -> bool) {
        self.rows.retain(|row| is_there(row.seq));
    }

    /// A row as it is shown (CAP-RET-18); `rank` counts from 1.
    pub fn row(&self, ranked: &Ranked, rank: usize, matched_terms: Vec<String>, detail: Detail) -> Value {
        let mut row = detail.open(ranked.seq);
        let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
        put("confidence", number(ranked.confidence));
        put("decayed_weight", rounded(ranked.weight, 2));
        put("matched_terms", matched_terms.into());
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
    pub fn answer(&self, query: &Query, probe: &Probe, rows: Vec<Value>) -> Value {
        if self.rows.is_empty() && self.excluded.total() == 0 {
            return json!({"outcome": "abstain", "reason": abstention(query, probe.aliases)});
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

/// What the outcomes of recalls say of a capsule that none was about (CAP-OUT-1).
pub const LEARNED_AT_FIRST: f64 = 0.5;
const LEARNING_RATE: f64 = 0.1;

/// What is learned of a capsule after another outcome.
pub fn learn(learned: f64, score: f64) -> f64 {
    learned + LEARNING_RATE * (score - learned)
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
    /// From when until when it holds.
    pub freshness: Value,
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

impl Detail {
    /// What every row shows of a capsule, whatever found it.
    pub fn open(self, seq: i64) -> Map<String, Value> {
        let mut row = armour();
        let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
        put("id", id_of(seq).into());
        put("headline", self.headline.into());
        put("instruction_taint", self.instruction_taint.into());
        put("authority_class", self.authority.into());
        put("provenance", self.provenance);
        put("anchor_live", self.anchor_live);
        put("anchor_drift", self.anchor_drift.into());
        for (key, value) in [
            ("evidence_state", self.evidence_state),
            ("proof_hint", self.proof_hint),
            ("stale_if", self.stale_if),
        ] {
            if let Some(value) = value {
                put(key, value.into());
            }
        }
        put("freshness", self.freshness);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::Posting;
    use super::super::rank::Corpus;
    use super::super::recall::parse;
    use super::super::stamp::Stamp;
    use super::super::standing::Place;
    use super::*;
    use crate::domain::path::TreePath;
    use proptest::prelude::*;

    fn query(value: Value) -> Query {
        match value {
            Value::Object(fields) => parse(fields).unwrap(),
            _ => panic!("no object"),
        }
    }

    fn micros(text: &str) -> i64 {
        Stamp::parse(text).unwrap().pg_micros()
    }

    fn now() -> i64 {
        micros("2026-01-01T00:00:00Z")
    }

    fn frame() -> Frame {
        Frame {
            tier: Tier::Active,
            superseded: false,
            falsified: false,
            staged: false,
            pinned: false,
            place: 0,
            session: None,
            length: 2,
            confidence: 0.6,
            valid_from: micros("2020-01-01T00:00:00Z"),
            valid_to: None,
        }
    }

    fn standing(frames: impl IntoIterator<Item = Frame>) -> Standing {
        let mut standing = Standing::default();
        standing.place(Place { tree: TreePath::root(), project_id: "demo".into() });
        for (seq, frame) in (1..).zip(frames) {
            standing.put(seq, Some(frame));
        }
        standing
    }

    fn ranking(query: &Query, standing: &Standing, counts: &[i32], cosines: &HashMap<i64, f64>) -> Ranking {
        let probe = Probe::new(&query.terms, &HashMap::new());
        let found = (1..).zip(counts).filter(|(_, count)| **count > 0);
        let (seqs, counts) = found.map(|(seq, count)| (seq, *count)).unzip();
        let postings = HashMap::from([("quince".to_owned(), Posting { seqs, counts })]);
        let lane = probe.lane(&postings, Corpus { documents: 40, tokens: 80 }, standing);
        let reach = Reach::new(query, standing, &[true], None);
        fence(query, now(), standing, &reach, &lane, cosines)
    }

    fn order(ranking: &Ranking) -> Vec<i64> {
        ranking.rows.iter().map(|row| row.seq).collect()
    }

    #[test]
    fn the_hardest_fence_counts() {
        let of = query(json!({"terms": ["a"], "time_window": {"from": "2021-01-01T00:00:00Z"}}));
        let mut all = frame();
        all.tier = Tier::Quarantined;
        all.falsified = true;
        all.superseded = true;
        all.staged = true;
        all.valid_to = Some(all.valid_from);
        let mut reasons = vec![stopped(&all, None, &of, now())];
        all.tier = Tier::Archived;
        reasons.push(stopped(&all, None, &of, now()));
        all.falsified = false;
        reasons.push(stopped(&all, None, &of, now()));
        all.tier = Tier::Active;
        reasons.push(stopped(&all, None, &of, now()));
        all.superseded = false;
        reasons.push(stopped(&all, None, &of, now()));
        all.staged = false;
        reasons.push(stopped(&all, None, &of, now()));
        all.valid_to = None;
        reasons.push(stopped(&all, None, &of, now()));
        reasons.push(stopped(&all, Some((0, 1)), &of, now()));
        let late = micros("2022-01-01T00:00:00Z");
        reasons.push(stopped(&all, Some((late, late)), &of, now()));
        assert_eq!(
            reasons.iter().map(|reason| reason.unwrap_or("none")).collect::<Vec<_>>(),
            [
                "quarantined",
                "falsified",
                "archived",
                "superseded",
                "proposed",
                "expired",
                "undated",
                "outside_time_window",
                "none"
            ]
        );
    }

    #[test]
    fn both_lanes_are_fused_by_rank() {
        let of = query(json!({"terms": ["quince"], "query_embedding": [1, 0]}));
        let standing = standing([frame(), frame(), frame()]);
        let cosines = HashMap::from([(2, 1.0), (3, 0.8), (1, -0.2)]);
        let mut ranking = ranking(&of, &standing, &[1, 1], &cosines);
        ranking.blend(&of, &Merits::default());
        assert_eq!(order(&ranking), [2, 1, 3]);
    }

    #[test]
    fn usage_settles_what_stands_equal_and_the_number_the_rest() {
        let of = query(json!({"terms": ["quince"], "limit": 1}));
        let standing = standing([frame(), frame(), frame(), frame()]);
        let mut ranking = ranking(&of, &standing, &[1, 1, 1, 2], &HashMap::new());
        assert_eq!(order(&ranking)[0], 4);
        let of = query(json!({"terms": ["quince"], "limit": 2}));
        ranking = super::tests::ranking(&of, &standing, &[1, 1, 1, 2], &HashMap::new());
        assert_eq!(ranking.tied().len(), 3);
        ranking.settle(&HashMap::from([(2, (Some(5), 1)), (3, (Some(5), 2))]));
        assert_eq!(order(&ranking), [4, 3, 2, 1]);
    }

    #[test]
    fn outcomes_and_witnesses_count_when_they_are_asked_for() {
        let standing = standing([frame(), frame(), frame()]);
        let merits =
            Merits { learned: HashMap::from([(2, 0.9), (3, 0.1)]), witnesses: HashMap::from([(3, 3)]) };
        let blended = |extra: Value| {
            let mut fields = json!({"terms": ["quince"]});
            for (key, value) in extra.as_object().unwrap() {
                fields[key] = value.clone();
            }
            let of = query(fields);
            let mut ranking = ranking(&of, &standing, &[1, 1, 1], &HashMap::new());
            ranking.blend(&of, &merits);
            order(&ranking)
        };
        assert_eq!(blended(json!({})), [1, 2, 3]);
        assert_eq!(blended(json!({"weight_blend": 1})), [2, 1, 3]);
        assert_eq!(blended(json!({"corroboration_blend": 1})), [3, 1, 2]);
    }

    #[test]
    fn a_score_moves_a_tenth_of_the_way() {
        assert!((learn(LEARNED_AT_FIRST, 1.0) - 0.55).abs() < 1e-12);
        assert!((learn(0.55, 0.0) - 0.495).abs() < 1e-12);
    }

    #[test]
    fn a_session_that_nobody_knows_has_no_capsules() {
        let of = query(json!({"terms": ["quince"], "session_id": "sess-9"}));
        assert!(ranking(&of, &standing([frame()]), &[1], &HashMap::new()).rows.is_empty());
    }

    proptest! {
        #[test]
        fn the_first_rows_are_those_of_the_whole_order(
            counts in proptest::collection::vec(0i32..4, 1..40),
            confidences in proptest::collection::vec(0u8..3, 40),
            limit in 0usize..12,
        ) {
            let frames = confidences.iter().map(|c| Frame { confidence: f64::from(*c) / 2.0, ..frame() });
            let standing = standing(frames);
            let whole = ranking(&query(json!({"terms": ["quince"], "token_budget": 1_000_000})), &standing, &counts, &HashMap::new());
            let part = ranking(&query(json!({"terms": ["quince"], "limit": limit})), &standing, &counts, &HashMap::new());
            prop_assert_eq!(whole.rows.len(), part.rows.len());
            let shown = limit.min(whole.rows.len());
            prop_assert_eq!(&order(&whole)[..shown], &order(&part)[..shown]);
        }
    }
}
