//! Order of what recall found, and its answer (CAP-RET-10…15, CAP-RET-18, CAP-RET-23, CAP-RET-24).

use super::answer::{Answer, Detail, Shown};
use super::fence::{Excluded, Reach, stopped};
use super::probe::{Lane, Probe};
use super::rank::{decayed_micros, fused, relevance, three_digits};
use super::recall::{Query, abstention};
use super::record::{number, rounded};
use super::standing::{Pass, Standing};
use super::words;
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::collections::HashMap;

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
    /// The best, in order: as many as rows can be shown, and with them all that stand equal to the last.
    pub rows: Vec<Ranked>,
    /// How many passed.
    pub matched: usize,
    /// Whether one of them holds a term.
    pub by_text: bool,
    /// Counts by reason.
    pub excluded: Excluded,
    fusion: bool,
    strongest: f64,
}

/// A match, as far as most of them are looked at.
#[derive(Debug, Clone, Copy)]
struct Match {
    seq: i64,
    /// 0 where the text lane did not match.
    score: f64,
    /// Likewise.
    matched: u32,
}

/// The order of the text lane as far as words decide it.
fn by_words(a: &Match, b: &Match) -> Ordering {
    b.matched.cmp(&a.matched).then_with(|| a.score.total_cmp(&b.score))
}

/// Fences what the lanes found. `cosines` are those of everything in reach that has a vector. `pause` is called
/// now and then.
pub fn fence(
    query: &Query,
    now: i64,
    standing: &Standing,
    reach: &Reach,
    lane: &Lane,
    cosines: &HashMap<i64, f64>,
    pause: fn(),
) -> Ranking {
    let near = nearest(query, standing, reach, cosines);
    let by_text = query.lane != words::Lane::Vector;
    let all = query.embedding.is_some() || query.is_blended();
    let mut best = Best::of(if all { usize::MAX } else { query.rows_at_most() });
    let mut excluded = Excluded::default();
    if by_text {
        let is_marked = standing.is_marked_for(now) && reach.is_of_places() && query.window.is_none();
        lane.each(pause, |seq, hit| {
            let mark = standing.mark(seq, is_marked);
            let length = match mark.pass() {
                Pass::Free if reach.admits_place(mark.place()) => mark.length,
                Pass::Stopped(reason) if reach.admits_place(mark.place()) => return excluded.note(reason),
                Pass::Free | Pass::Stopped(_) => return,
                Pass::Unknown => {
                    let Some(frame) = standing.frame(seq).filter(|frame| reach.admits(seq, frame)) else {
                        return;
                    };
                    if let Some(reason) = stopped(frame, || standing.event(seq), query, now) {
                        return excluded.note(reason);
                    }
                    frame.length
                }
            };
            best.put(Match { seq, score: hit.score(length), matched: hit.matched });
        });
    }
    let by_words_too = best.matched;
    for seq in near.keys().copied().filter(|seq| !by_text || !lane.finds(*seq)) {
        let Some(frame) = standing.frame(seq).filter(|frame| reach.admits(seq, frame)) else { continue };
        match stopped(frame, || standing.event(seq), query, now) {
            Some(reason) => excluded.note(reason),
            None => best.put(Match { seq, score: 0.0, matched: 0 }),
        }
    }
    best.cut();
    let Best { wanted, matched, strongest, kept, .. } = best;
    let weight =
        |seq: i64| standing.decay(seq).map_or(0.0, |decay| decayed_micros(decay.confidence, decay.from, now));
    let ranked = |one: Match| {
        let frame = standing.frame(one.seq)?;
        Some(Ranked {
            seq: one.seq,
            weight: weight(one.seq),
            matched: one.matched,
            score: (one.matched > 0).then_some(one.score),
            cosine: near.get(&one.seq).copied(),
            confidence: frame.confidence,
            valid_from: frame.valid_from,
            usage: (None, 0),
            fused: 0.0,
        })
    };
    let mut ranking = Ranking {
        rows: heaviest(kept, wanted, weight).into_iter().filter_map(ranked).collect(),
        matched,
        by_text: by_words_too > 0,
        excluded,
        fusion: query.embedding.is_some(),
        strongest,
    };
    ranking.order_first(wanted);
    ranking
}

/// The best of all matches by their words: as many as are wanted, and with them all that stand equal to the last. Only of
/// these more is to be known.
#[derive(Debug)]
struct Best {
    wanted: usize,
    /// How many matches there were.
    matched: usize,
    /// The strongest score of them.
    strongest: f64,
    kept: Vec<Match>,
    /// As many as may be kept until the worse ones are left out.
    room: usize,
    /// So many are better than what is worse than this one, or as good.
    last: Option<Match>,
}

impl Best {
    fn of(wanted: usize) -> Self {
        let room = wanted.saturating_mul(4).max(256);
        Self { wanted, matched: 0, strongest: 0.0, kept: Vec::new(), room, last: None }
    }

    fn put(&mut self, one: Match) {
        self.matched += 1;
        self.strongest = self.strongest.min(one.score);
        if self.last.is_some_and(|last| by_words(&one, &last) == Ordering::Greater) {
            return;
        }
        self.kept.push(one);
        if self.kept.len() >= self.room {
            self.cut();
            // Those that stand equal stay, however many they are.
            self.room = self.room.max(self.kept.len().saturating_mul(2));
        }
    }

    fn cut(&mut self) {
        if self.wanted == 0 {
            return self.kept.clear();
        }
        if self.wanted < self.kept.len() {
            let last = *self.kept.select_nth_unstable_by(self.wanted - 1, by_words).1;
            self.kept.retain(|one| by_words(one, &last) != Ordering::Greater);
            self.last = Some(last);
        }
    }
}

/// Leaves out those of the best by their words that are too light, where more stand equal than are wanted: what else has to be
/// known of a capsule lies further away.
fn heaviest(kept: Vec<Match>, wanted: usize, weight: impl Fn(i64) -> f64) -> Vec<Match> {
    if wanted >= kept.len() || wanted == 0 {
        return kept;
    }
    let mut weighed: Vec<(Match, f64)> = kept.into_iter().map(|one| (one, weight(one.seq))).collect();
    let order = |a: &(Match, f64), b: &(Match, f64)| by_words(&a.0, &b.0).then_with(|| b.1.total_cmp(&a.1));
    let last = *weighed.select_nth_unstable_by(wanted - 1, order).1;
    weighed.retain(|one| order(one, &last) != Ordering::Greater);
    weighed.into_iter().map(|(one, _)| one).collect()
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
    /// Leaves the first `wanted` rows, in order, and with them all that stand equal to the last.
    fn order_first(&mut self, wanted: usize) {
        if (1..self.rows.len()).contains(&wanted) {
            let last = self.rows.select_nth_unstable_by(wanted - 1, by_text).1.clone();
            self.rows.retain(|row| by_text(row, &last) != Ordering::Greater);
        }
        self.rows.sort_by(by_text_and_usage);
    }

    /// The rows whose order only their usage settles.
    pub fn tied(&self) -> Vec<i64> {
        let equal = |a: Option<&Ranked>, b: Option<&Ranked>| {
            a.zip(b).is_some_and(|(a, b)| by_text(a, b) == Ordering::Equal)
        };
        let rows = &self.rows;
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
        for row in &mut self.rows {
            row.usage = usage.get(&row.seq).copied().unwrap_or_default();
        }
        self.rows.sort_by(by_text_and_usage);
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
        let before = self.rows.len();
        self.rows.retain(|row| is_there(row.seq));
        self.matched -= before - self.rows.len();
    }

    /// A row as it is shown (CAP-RET-18); `rank` counts from 1.
    pub fn row<'a>(
        &self,
        ranked: &Ranked,
        rank: usize,
        matched_terms: Vec<String>,
        detail: &'a Detail,
    ) -> Shown<'a> {
        let mut row = detail.shown(ranked.seq);
        row.confidence = Some(number(ranked.confidence));
        row.decayed_weight = Some(rounded(ranked.weight, 2));
        row.matched_terms = Some(matched_terms);
        row.relevance = ranked.score.map(|score| relevance(score, self.strongest));
        row.bm25 = ranked.score.map(|score| number(three_digits(score)));
        row.vector_similarity = ranked.cosine.map(|cosine| rounded(cosine, 4));
        row.fusion_rank = self.fusion.then_some(rank);
        row
    }

    /// The answer, given the rows that fit and the terms searched.
    pub fn answer(&self, query: &Query, probe: &Probe, rows: Vec<Box<RawValue>>) -> Answer {
        let excluded = (self.excluded.total() > 0).then(|| self.excluded.to_json());
        if self.matched == 0 && excluded.is_none() {
            let reason = Some(abstention(query, probe.aliases));
            return Answer { outcome: "abstain", reason, ..Answer::default() };
        }
        if self.matched == 0 {
            return Answer {
                outcome: "missing_evidence",
                excluded_count: Some(self.excluded.total()),
                excluded,
                reason: Some(format!("every match is excluded: {}", self.excluded.sentence())),
                ..Answer::default()
            };
        }
        let (matched, returned) = (self.matched, rows.len());
        let within_limit = matched.min(query.limit.map_or(usize::MAX, |limit| limit as usize));
        Answer {
            outcome: "grounded",
            results: Some(rows),
            matched: Some(matched),
            returned: Some(returned),
            trimmed: Some(matched - returned),
            trimmed_by_limit: Some(matched - within_limit),
            trimmed_by_budget: Some(within_limit - returned),
            token_budget: Some(query.token_budget),
            excluded,
            ..Answer::default()
        }
    }
}

/// What the outcomes of recalls say of a capsule that none was about (CAP-OUT-1).
pub const LEARNED_AT_FIRST: f64 = 0.5;
const LEARNING_RATE: f64 = 0.1;

/// What is learned of a capsule after another outcome.
pub fn learn(learned: f64, score: f64) -> f64 {
    learned + LEARNING_RATE * (score - learned)
}

#[cfg(test)]
mod tests {
    use super::super::posting::Posting;
    use super::super::rank::Corpus;
    use super::super::recall::parse;
    use super::super::stamp::Stamp;
    use super::super::standing::{Frame, Place};
    use super::super::words::Tier;
    use super::*;
    use crate::domain::path::TreePath;
    use proptest::prelude::*;
    use serde_json::{Value, json};

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
        let lane = probe.lane(&postings, Corpus { documents: 40, tokens: 80 });
        let reach = Reach::new(query, standing, &[true], None);
        let unmarked = fence(query, now(), standing, &reach, &lane, cosines, || ());
        let mut standing = standing.clone();
        standing.mark_all(None, now());
        let marked = fence(query, now(), &standing, &reach, &lane, cosines, || ());
        assert_eq!(format!("{marked:?}"), format!("{unmarked:?}"));
        marked
    }

    fn order(ranking: &Ranking) -> Vec<i64> {
        ranking.rows.iter().map(|row| row.seq).collect()
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
            prop_assert_eq!(whole.rows.len(), whole.matched);
            prop_assert_eq!(whole.matched, part.matched);
            let shown = limit.min(whole.rows.len());
            prop_assert_eq!(&order(&whole)[..shown], &order(&part)[..shown]);
        }
    }
}
