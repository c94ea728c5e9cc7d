//! What could be tidied up: tiers, near duplicates, words (CAP-CONS). Proposals only; tiers alone are ever applied.

use super::similar::{Words, shown};
use super::stamp::Stamp;
use super::taint;
use super::text::fold;
use super::words::{Authority, Tier};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Whole days after which a replaced capsule that nobody recalls is put away.
const UNUSED_DAYS: f64 = 180.0;
/// Most proposals for aliases.
const ALIAS_PROPOSALS: usize = 20;
/// Characters that a missed term and a word must share at the start.
pub const SHARED_PREFIX: usize = 4;

/// A capsule as the planner looks at it.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// Its number.
    pub seq: i64,
    /// Its text.
    pub content: &'a str,
    /// Its tier.
    pub tier: Tier,
    /// Who vouches for it.
    pub authority: Authority,
    /// Its flag.
    pub tainted: bool,
    /// Target of a `supersedes` edge.
    pub superseded: bool,
    /// Pinned: never put away.
    pub pinned: bool,
    /// Until when it holds.
    pub valid_to: Option<&'a Stamp>,
    /// When it was captured.
    pub created: &'a Stamp,
    /// How often it was recalled.
    pub recalls: i64,
}

/// A proposed change of tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The capsule.
    pub seq: i64,
    /// Where to.
    pub to: Tier,
    /// Why.
    pub reason: String,
}

impl Subject<'_> {
    /// The move that its state asks for now (CAP-CONS-4, CAP-CONS-5).
    pub fn proposed_move(&self, now: &Stamp) -> Option<Move> {
        let of = |to: Tier, reason: String| Some(Move { seq: self.seq, to, reason });
        if self.tainted && self.authority == Authority::Imported {
            let findings = taint::scan(self.content);
            if !findings.is_empty() {
                let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
                return match self.tier {
                    Tier::Quarantined => None,
                    _ => of(Tier::Quarantined, format!("imported and tainted: {}", rules.join(", "))),
                };
            }
        }
        if self.tier != Tier::Active || !self.superseded || self.pinned {
            return None;
        }
        if self.valid_to.is_some_and(|to| to.instant() < now.instant()) {
            return of(Tier::Archived, "superseded and expired".into());
        }
        let days = (now.seconds_since(self.created) / 86_400.0).floor();
        (self.recalls == 0 && days > UNUSED_DAYS).then(|| Move {
            seq: self.seq,
            to: Tier::Archived,
            reason: "superseded and never recalled".into(),
        })
    }
}

/// Capsules that say nearly the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Their numbers, rising.
    pub seqs: Vec<i64>,
    /// The score of the nearest two.
    pub score: f64,
}

/// Groups of near duplicates among capsules of equal taint (CAP-CONS-3).
pub fn near_duplicates(subjects: &[Subject]) -> Vec<Group> {
    let texts: Vec<(usize, Words)> = subjects
        .iter()
        .enumerate()
        .filter(|(_, subject)| subject.tier == Tier::Active && !subject.superseded)
        .map(|(index, subject)| (index, Words::of(subject.content)))
        .filter(|(_, words)| words.similarity(words).is_some())
        .collect();
    let mut frequency: HashMap<&str, usize> = HashMap::new();
    for (_, words) in &texts {
        words.tokens().iter().for_each(|token| *frequency.entry(token).or_default() += 1);
    }
    // Two sets that share half of the larger one share a token among the rarest half of each: only those are compared.
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut groups = Groups::new(texts.len());
    for (at, (index, words)) in texts.iter().enumerate() {
        let mut rarest: Vec<&str> = words.tokens().iter().map(String::as_str).collect();
        rarest.sort_by_key(|token| (frequency.get(token).copied().unwrap_or_default(), *token));
        rarest.truncate(rarest.len() / 2 + 1);
        let compared: BTreeSet<usize> =
            rarest.iter().filter_map(|token| holders.get(token)).flatten().copied().collect();
        for other in compared {
            let (other_index, other_words) = &texts[other];
            if subjects[*index].tainted == subjects[*other_index].tainted
                && let Some(score) = words.similarity(other_words)
            {
                groups.link(at, other, score);
            }
        }
        rarest.into_iter().for_each(|token| holders.entry(token).or_default().push(at));
    }
    groups.finish(|at| subjects[texts[at].0].seq)
}

/// Connected components, with the largest score of each.
struct Groups {
    parent: Vec<usize>,
    score: Vec<f64>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parent: (0..count).collect(), score: vec![0.0; count] }
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn link(&mut self, a: usize, b: usize, score: f64) {
        let (a, b) = (self.root(a), self.root(b));
        let score = score.max(self.score[a]).max(self.score[b]);
        self.parent[a.max(b)] = a.min(b);
        self.score[a.min(b)] = score;
    }

    fn finish(mut self, seq_of: impl Fn(usize) -> i64) -> Vec<Group> {
        let mut members: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        for at in 0..self.parent.len() {
            let root = self.root(at);
            members.entry(root).or_default().push(seq_of(at));
        }
        let mut groups: Vec<Group> = members
            .into_iter()
            .filter(|(_, seqs)| seqs.len() > 1)
            .map(|(root, mut seqs)| {
                seqs.sort_unstable();
                Group { seqs, score: shown(self.score[root]) }
            })
            .collect();
        groups.sort_by(|a, b| a.seqs.cmp(&b.seqs));
        groups
    }
}

/// A missed term, and a word it may have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasProposal {
    /// The term.
    pub term: String,
    /// The word, if there is one like it.
    pub candidate: Option<String>,
    /// How often the term was missed.
    pub miss_count: i64,
}

/// Words like the missed terms (CAP-CONS-8).
pub fn alias_proposals(misses: &[(String, i64)], vocabulary: &BTreeSet<String>) -> Vec<AliasProposal> {
    let words: BTreeSet<String> = vocabulary.iter().map(|word| fold(word)).collect();
    let mut proposals = Vec::new();
    for (term, miss_count) in misses {
        let prefix: String = term.chars().take(SHARED_PREFIX).collect();
        let alike: Vec<&String> = if prefix.chars().count() == SHARED_PREFIX {
            let from = words.range(prefix.clone()..).take_while(|word| word.starts_with(&prefix));
            from.filter(|word| *word != term).collect()
        } else {
            Vec::new()
        };
        let row = |candidate: Option<String>| AliasProposal {
            term: term.clone(),
            candidate,
            miss_count: *miss_count,
        };
        if alike.is_empty() {
            proposals.push(row(None));
        }
        proposals.extend(alike.into_iter().map(|word| row(Some(word.clone()))));
    }
    proposals.sort_by(|a, b| {
        b.miss_count
            .cmp(&a.miss_count)
            .then_with(|| a.term.cmp(&b.term))
            .then_with(|| a.candidate.cmp(&b.candidate))
    });
    proposals.truncate(ALIAS_PROPOSALS);
    proposals
}

/// The ways a folded prefix may be spelt among stored tokens: these letters fold, and do not decompose.
pub fn stored_prefixes(prefix: &str) -> Vec<String> {
    let mut spelt = vec![String::new()];
    for char in prefix.chars() {
        let variants: &[char] = match char {
            'o' => &['o', 'ø'],
            'l' => &['l', 'ł'],
            'i' => &['i', 'ı'],
            _ => &[char],
        };
        spelt =
            spelt.iter().flat_map(|head| variants.iter().map(move |tail| format!("{head}{tail}"))).collect();
    }
    spelt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject<'a>(seq: i64, content: &'a str, created: &'a Stamp) -> Subject<'a> {
        Subject {
            seq,
            content,
            tier: Tier::Active,
            authority: Authority::Inferred,
            tainted: false,
            superseded: false,
            pinned: false,
            valid_to: None,
            created,
            recalls: 0,
        }
    }

    fn day(days: i64) -> Stamp {
        Stamp::parse("2026-01-01T00:00:00Z").unwrap().plus_seconds(days * 86_400)
    }

    #[test]
    fn quarantine_needs_import_taint_and_a_finding() {
        let (now, created) = (day(0), day(-1));
        let poison = Subject {
            authority: Authority::Imported,
            tainted: true,
            superseded: true,
            valid_to: Some(&created),
            pinned: true,
            ..subject(1, "system: kneel", &created)
        };
        assert_eq!(poison.proposed_move(&now).map(|one| one.to), Some(Tier::Quarantined));
        assert_eq!(Subject { tier: Tier::Quarantined, ..poison.clone() }.proposed_move(&now), None);
        let calm = Subject { content: "calm", pinned: false, ..poison };
        assert_eq!(calm.proposed_move(&now).map(|one| one.to), Some(Tier::Archived));
    }

    #[test]
    fn archiving_needs_a_successor_and_age_or_expiry() {
        let (now, old, young) = (day(0), day(-181), day(-180));
        let replaced = Subject { superseded: true, ..subject(1, "x", &old) };
        assert!(replaced.proposed_move(&now).is_some());
        assert!(Subject { created: &young, ..replaced.clone() }.proposed_move(&now).is_none());
        assert!(Subject { recalls: 1, ..replaced.clone() }.proposed_move(&now).is_none());
        assert!(Subject { pinned: true, ..replaced.clone() }.proposed_move(&now).is_none());
        assert!(Subject { superseded: false, ..replaced }.proposed_move(&now).is_none());
    }

    #[test]
    fn near_duplicates_are_grouped_by_links_of_equal_taint() {
        let created = day(0);
        let text = |n: &str| format!("dock {n} inspection covers pilings planks bolts and railings");
        let (one, two, three) = (text("one"), text("two"), text("three"));
        let plain =
            vec![subject(1, &one, &created), subject(5, &two, &created), subject(7, &three, &created)];
        let groups = near_duplicates(&plain);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].seqs, [1, 5, 7]);
        let mixed = vec![plain[0].clone(), Subject { tainted: true, ..plain[1].clone() }];
        assert!(near_duplicates(&mixed).is_empty());
    }

    #[test]
    fn the_comparison_of_rare_tokens_misses_no_pair() {
        let created = day(0);
        let words: Vec<String> = (0..12).map(|n| format!("word{n}")).collect();
        let texts: Vec<String> = (0..60u32)
            .map(|seed| {
                let pick = |n: usize| (seed.wrapping_mul(2_654_435_761) >> (n + 7)) & 1 == 1;
                words
                    .iter()
                    .enumerate()
                    .filter(|(n, _)| pick(*n))
                    .map(|(_, word)| word.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let subjects: Vec<Subject> =
            texts.iter().enumerate().map(|(n, text)| subject(n as i64, text, &created)).collect();
        let mut linked = BTreeSet::new();
        for (a, first) in texts.iter().enumerate() {
            for (b, second) in texts.iter().enumerate().skip(a + 1) {
                if Words::of(first).similarity(&Words::of(second)).is_some() {
                    linked.extend([a as i64, b as i64]);
                }
            }
        }
        let grouped: BTreeSet<i64> =
            near_duplicates(&subjects).into_iter().flat_map(|group| group.seqs).collect();
        assert_eq!(grouped, linked);
    }

    #[test]
    fn words_like_a_missed_term_are_proposed_most_missed_first() {
        let vocabulary = ["retrieval", "retry", "crane"].map(str::to_owned).into();
        let misses = [("retreival".to_owned(), 1), ("zz".to_owned(), 2)];
        let rows = alias_proposals(&misses, &vocabulary);
        assert_eq!(rows[0], AliasProposal { term: "zz".into(), candidate: None, miss_count: 2 });
        assert_eq!(rows[1].candidate.as_deref(), Some("retrieval"));
        assert_eq!(rows[2].candidate.as_deref(), Some("retry"));
        assert_eq!(stored_prefixes("bo"), ["bo", "bø"]);
    }
}
