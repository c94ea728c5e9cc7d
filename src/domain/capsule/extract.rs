//! Cuts candidates for capsules out of a text, each with the cue it was found by (CAP-EXT).

use super::words::Kind;

/// A piece of the text that looks like something to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// A verbatim slice.
    pub content: String,
    /// What it looks like.
    pub kind: Kind,
    /// Why.
    pub cue: String,
}

const STAMP_BYTES: usize = 32;
const SPEAKER_BYTES: usize = 24;

const TODO_WORDS: &[&str] = &["fixme", "pendencia", "pendência", "pendente", "tarefa", "task", "todo"];
const TODO_LABELS: &[&str] = &["a fazer"];
const EPIC_LABELS: &[&str] = &[
    "campaign",
    "campanha",
    "epic",
    "epico",
    "épico",
    "initiative",
    "iniciativa",
    "marco",
    "milestone",
    "workstream",
];
const IDEA_LABELS: &[&str] = &["brainstorm", "hipotese", "hipótese", "hypothesis", "idea", "ideia"];
const OPEN_QUESTIONS: &[&str] = &[
    "could we",
    "should we",
    "what if",
    "why not",
    "deveriamos",
    "deveríamos",
    "e se",
    "poderiamos",
    "poderíamos",
    "por que nao",
    "por que não",
    "que tal",
];
const DOC_LABELS: &[&str] = &[
    "doc",
    "docs",
    "documentacao",
    "documentation",
    "documentação",
    "guia",
    "guide",
    "manual",
    "readme",
    "reference",
    "referencia",
    "referência",
    "runbook",
];
const PROCEDURE_LABELS: &[&str] =
    &["how-to", "howto", "passo a passo", "passos", "procedimento", "procedure", "steps"];
const HOW_TO_OPENERS: &[&str] = &["how to", "steps to", "como fazer", "passos para"];
const CONSTRAINT_LABELS: &[&str] = &["constraint", "restricao", "restrição"];
const CAPABILITY_LABELS: &[&str] = &["capability", "capacidade"];
const USE_WHEN: &[&str] = &["use when", "use quando"];
const FAILURE_LABELS: &[&str] = &["failure", "falha", "sintoma", "symptom"];
const DECISION_WORDS: &[&str] = &[
    "adopted",
    "adotada",
    "adotado",
    "adotamos",
    "chose",
    "chosen",
    "congelado",
    "congelada",
    "decided",
    "decidida",
    "decidido",
    "decidimos",
    "decidiu",
    "decision",
    "decisao",
    "decisão",
    "escolhemos",
    "escolhida",
    "escolhido",
    "frozen",
    "locked",
    "optamos",
    "opted",
    "ratificado",
    "ratificada",
    "ratified",
    "rejeitado",
    "rejeitada",
    "rejected",
    "settled",
    "superseded",
    "supersedes",
    "travado",
    "travada",
    "vetado",
    "vetada",
    "veto",
    "vetoed",
];
const DECISION_PHRASES: &[&str] =
    &["we will use", "going with", "instead of", "vamos usar", "em vez de", "ao invés de", "ao inves de"];
const PROHIBITIONS: &[(&[&str], &[&str])] =
    &[(&["must"], &["not", "never"]), (&["não", "nao"], &["pode", "podem", "deve", "devem"])];
const FAILURES: &[(&[&str], &[&str])] = &[
    (&["fails", "breaks"], &["with", "when"]),
    (&["falha", "falham", "quebra", "quebram"], &["com", "quando"]),
];
const OPENERS: &[&str] = &[
    "abra",
    "add",
    "adicione",
    "always",
    "aplique",
    "apply",
    "atualize",
    "avoid",
    "build",
    "call",
    "check",
    "commit",
    "configure",
    "copy",
    "create",
    "crie",
    "delete",
    "deploy",
    "disable",
    "do",
    "don't",
    "enable",
    "ensure",
    "evite",
    "execute",
    "exija",
    "export",
    "exporte",
    "faca",
    "faça",
    "fetch",
    "garanta",
    "gere",
    "import",
    "importe",
    "inicie",
    "inject",
    "install",
    "instale",
    "jamais",
    "keep",
    "mantenha",
    "move",
    "nao",
    "não",
    "never",
    "nunca",
    "open",
    "pare",
    "pin",
    "prefer",
    "prefira",
    "pull",
    "push",
    "rebase",
    "register",
    "reinicie",
    "remova",
    "remove",
    "restart",
    "rode",
    "run",
    "sempre",
    "serialize",
    "set",
    "start",
    "stop",
    "strip",
    "suba",
    "test",
    "teste",
    "update",
    "use",
    "valide",
    "validate",
    "verifique",
    "verify",
    "wrap",
];
const FRAMES: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "lives at",
    "lives in",
    "uses",
    "requires",
    "depends on",
    "defaults to",
    "runs on",
    "contains",
    "belongs to",
    "means",
    "maps to",
    "points to",
    "equals",
    "=",
    "->",
    "=>",
    "owns",
    "must",
    "é",
    "são",
    "foi",
    "foram",
    "era",
    "eram",
    "fica em",
    "ficam em",
    "usa",
    "usam",
    "tem",
    "têm",
    "requer",
    "requerem",
    "depende de",
    "dependem de",
    "significa",
    "significam",
    "aponta para",
    "apontam para",
    "roda em",
    "rodam em",
    "pertence a",
    "pertencem a",
    "contém",
    "contêm",
    "deve",
    "devem",
];
const PRESCRIPTIVE: &[&str] = &["never", "always", "nunca", "sempre", "jamais"];

/// Every candidate of a text, in order.
pub fn candidates(content: &str) -> Vec<Candidate> {
    segments(content).into_iter().filter_map(|segment| judge(&segment)).collect()
}

/// A piece of one line, without its marks.
struct Segment<'a> {
    text: &'a str,
    open_box: bool,
}

fn segments(content: &str) -> Vec<Segment<'_>> {
    let mut fenced = false;
    let mut segments = Vec::new();
    for line in content.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || is_code(line) {
            continue;
        }
        segments.extend(pieces(line).into_iter().map(peel));
    }
    segments
}

/// Indented by a tab or four spaces, and no list, quote, heading or number.
fn is_code(line: &str) -> bool {
    if !(line.starts_with('\t') || line.starts_with("    ")) {
        return false;
    }
    let text = line.trim_start();
    let mark = text.starts_with(|char: char| "-*+>#".contains(char) || char.is_ascii_digit());
    !(mark || text.starts_with("[ ]") || text.starts_with("[x]"))
}

/// The sentences of a line.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, char) in line.char_indices() {
        let after = at + char.len_utf8();
        let splits = match char {
            ';' => line[after..].starts_with(' '),
            '.' | '!' | '?' => ends_sentence(&line[start..at], &line[after..]),
            _ => false,
        };
        if splits {
            pieces.push(&line[start..after]);
            start = after;
        }
    }
    pieces.push(&line[start..]);
    pieces
        .into_iter()
        .map(|piece| piece.trim())
        .map(|piece| piece.strip_suffix(';').map_or(piece, str::trim_end))
        .filter(|piece| !piece.is_empty())
        .collect()
}

fn ends_sentence(before: &str, rest: &str) -> bool {
    let next_is_upper = rest.strip_prefix(' ').is_some_and(|next| next.starts_with(char::is_uppercase));
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    next_is_upper && word.chars().nth(1).is_some() && !word.contains('.')
}

/// Takes off headings, quotes, bullets, boxes, numbers, stamps and a speaker.
fn peel(piece: &str) -> Segment<'_> {
    let mut text = piece.trim();
    let mut open_box = false;
    let mut stamped = false;
    loop {
        let before = text;
        text = text.trim_start_matches(['#', '>']).trim_start();
        for bullet in ["- ", "* ", "+ "] {
            text = text.strip_prefix(bullet).unwrap_or(text).trim_start();
        }
        if let Some(rest) = text.strip_prefix("[ ]") {
            open_box = true;
            text = rest.trim_start();
        }
        for done in ["[x]", "[X]"] {
            text = text.strip_prefix(done).unwrap_or(text).trim_start();
        }
        text = without_number(text);
        if let Some(rest) = without_stamp(text) {
            text = rest;
            stamped = true;
        }
        if stamped && let Some(rest) = without_speaker(text) {
            text = rest;
            stamped = false;
        }
        if text == before {
            return Segment { text: text.trim_end(), open_box };
        }
    }
}

fn without_number(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return text;
    }
    let rest = &text[digits..];
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).map_or(text, str::trim_start)
}

fn without_stamp(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find(']')?;
    let stamp = &inner[..end];
    let is_stamp = stamp.len() + 2 <= STAMP_BYTES && stamp.contains(|char: char| char.is_ascii_digit());
    is_stamp.then(|| inner[end + 1..].trim_start())
}

fn without_speaker(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once(": ")?;
    let lower = name.to_lowercase();
    let fits = !name.is_empty() && name.len() <= SPEAKER_BYTES && !name.contains(char::is_whitespace);
    (fits && !is_cue(&lower)).then(|| rest.trim_start())
}

fn is_cue(word: &str) -> bool {
    [
        TODO_WORDS,
        TODO_LABELS,
        EPIC_LABELS,
        IDEA_LABELS,
        DOC_LABELS,
        PROCEDURE_LABELS,
        CONSTRAINT_LABELS,
        CAPABILITY_LABELS,
        FAILURE_LABELS,
        DECISION_WORDS,
        OPENERS,
    ]
    .iter()
    .any(|cues| cues.contains(&word))
}

/// A segment as the rules look at it.
struct View<'a> {
    lower: &'a str,
    words: Vec<&'a str>,
}

impl<'a> View<'a> {
    fn of(lower: &'a str) -> Self {
        let words = lower
            .split_whitespace()
            .map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()))
            .filter(|word| !word.is_empty())
            .collect();
        Self { lower, words }
    }

    /// The label of the set that the segment opens with.
    fn label(&self, labels: &[&'static str]) -> Option<&'static str> {
        labels
            .iter()
            .find(|label| {
                self.lower.strip_prefix(**label).is_some_and(|rest| {
                    [":", " :", " - ", " – ", " — "].iter().any(|mark| rest.starts_with(mark))
                })
            })
            .copied()
    }

    /// The phrase of the set that the segment opens with, at a word's end.
    fn opener(&self, phrases: &[&'static str]) -> Option<&'static str> {
        let opens = |phrase: &&&'static str| {
            self.lower
                .strip_prefix(**phrase)
                .is_some_and(|rest| !rest.starts_with(|char: char| char.is_alphanumeric()))
        };
        phrases.iter().find(opens).copied()
    }

    fn first_word(&self, set: &[&'static str]) -> Option<&'static str> {
        let first = self.words.first()?;
        set.iter().find(|word| *word == first).copied()
    }

    fn any_word(&self, set: &[&'static str]) -> Option<&'static str> {
        self.words.iter().find_map(|word| set.iter().find(|cue| *cue == word).copied())
    }

    fn phrase(&self, phrases: &[&'static str]) -> Option<&'static str> {
        phrases.iter().find(|phrase| self.lower.contains(**phrase)).copied()
    }

    fn adjacent(&self, pairs: &[(&[&str], &[&str])]) -> Option<String> {
        self.words.windows(2).find_map(|two| {
            let fits =
                pairs.iter().any(|(first, second)| first.contains(&two[0]) && second.contains(&two[1]));
            fits.then(|| two.join(" "))
        })
    }

    fn brainstorm(&self) -> Option<String> {
        self.label(IDEA_LABELS)
            .map(|label| format!("idea-label:'{label}'"))
            .or_else(|| self.opener(OPEN_QUESTIONS).map(|phrase| format!("open-question:'{phrase}'")))
    }
}

fn judge(segment: &Segment) -> Option<Candidate> {
    let text = segment.text;
    let lower = text.to_lowercase();
    let view = View::of(&lower);
    // A single word says nothing.
    text.split_whitespace().nth(1)?;
    let (kind, cue) = if text.ends_with('?') {
        match (view.brainstorm(), segment.open_box) {
            (Some(cue), _) => (Kind::Brainstorm, cue),
            (None, true) => (Kind::Task, open_box_cue()),
            (None, false) => return None,
        }
    } else {
        first_rule(segment, &view)?
    };
    Some(Candidate { content: text.to_owned(), kind, cue })
}

fn open_box_cue() -> String {
    "todo-checkbox:'[ ]'".to_owned()
}

/// The first rule that fires (CAP-EXT-3).
fn first_rule(segment: &Segment, view: &View) -> Option<(Kind, String)> {
    let named = |kind: Kind, name: &str, cue: Option<&str>| cue.map(|cue| (kind, format!("{name}:'{cue}'")));
    let owned = |kind: Kind, name: &str, cue: Option<String>| named(kind, name, cue.as_deref());
    segment
        .open_box
        .then(|| (Kind::Task, open_box_cue()))
        .or_else(|| named(Kind::Task, "todo-word", view.first_word(TODO_WORDS)))
        .or_else(|| named(Kind::Task, "todo-label", view.label(TODO_LABELS)))
        .or_else(|| named(Kind::Epic, "epic-label", view.label(EPIC_LABELS)))
        .or_else(|| view.brainstorm().map(|cue| (Kind::Brainstorm, cue)))
        .or_else(|| named(Kind::Doc, "doc-label", view.label(DOC_LABELS)))
        .or_else(|| named(Kind::Procedure, "procedure-label", view.label(PROCEDURE_LABELS)))
        .or_else(|| named(Kind::Procedure, "how-to-opener", view.opener(HOW_TO_OPENERS)))
        .or_else(|| named(Kind::Constraint, "constraint-label", view.label(CONSTRAINT_LABELS)))
        .or_else(|| named(Kind::Capability, "capability-label", view.label(CAPABILITY_LABELS)))
        .or_else(|| named(Kind::Capability, "use-when", view.opener(USE_WHEN)))
        .or_else(|| named(Kind::FailurePattern, "failure-label", view.label(FAILURE_LABELS)))
        .or_else(|| named(Kind::Decision, "decision-word", view.any_word(DECISION_WORDS)))
        .or_else(|| named(Kind::Decision, "decision-phrase", view.phrase(DECISION_PHRASES)))
        .or_else(|| owned(Kind::Constraint, "prohibition", view.adjacent(PROHIBITIONS)))
        .or_else(|| owned(Kind::FailurePattern, "failure-frame", view.adjacent(FAILURES)))
        .or_else(|| owned(Kind::Procedure, "step-prefix", step_prefix(view)))
        .or_else(|| named(Kind::Procedure, "imperative-opener", view.first_word(OPENERS)))
        .or_else(|| goal_colon(view))
        .or_else(|| declarative(segment.text, view))
        .or_else(|| named(Kind::Fact, "prescriptive", view.any_word(PRESCRIPTIVE)))
}

fn step_prefix(view: &View) -> Option<String> {
    let rest = view.lower.strip_prefix("step ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| format!("step {}", &rest[..digits]))
}

fn goal_colon(view: &View) -> Option<(Kind, String)> {
    let opener = ["to ", "para "].into_iter().find(|opener| view.lower.starts_with(opener))?;
    view.lower.contains(": ").then(|| (Kind::Procedure, format!("goal-colon:'{opener}…:'")))
}

fn declarative(text: &str, view: &View) -> Option<(Kind, String)> {
    let frame = FRAMES.iter().find(|frame| view.lower.contains(&format!(" {frame} ")))?;
    let entity = text.split_whitespace().find_map(entity)?;
    Some((Kind::Fact, format!("declarative:'{frame}' entity:'{entity}'")))
}

/// What looks like the name of something: a path, a version, an identifier, or a token in backticks.
fn entity(token: &str) -> Option<&str> {
    let bare = token.trim_matches(|char: char| ".,:;!?\"'()[]{}<>*_“”‘’«»".contains(char));
    if let Some(quoted) = bare.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return (!quoted.is_empty()).then_some(quoted);
    }
    let bare = bare.trim_matches('`');
    let named = bare.contains(['/', '\\'])
        || bare.contains("::")
        || bare.contains(|char: char| char.is_numeric())
        || bare.trim_matches('.').contains('.')
        || bare.chars().skip(1).any(char::is_uppercase);
    (bare.chars().nth(1).is_some() && !bare.contains(['(', ')', '{', '}', ';']) && named).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<(String, &'static str, String)> {
        candidates(text).into_iter().map(|one| (one.content, one.kind.word(), one.cue)).collect()
    }

    fn cue(text: &str) -> String {
        candidates(text).into_iter().next().map(|one| one.cue).unwrap_or_default()
    }

    #[test]
    fn each_rule_fires_by_its_cue() {
        for (text, expected) in [
            ("[ ] order tar now", "todo-checkbox:'[ ]'"),
            ("A fazer: pintar a torre", "todo-label:'a fazer'"),
            ("Epic - rebuild the mole", "epic-label:'epic'"),
            ("por que não pintar", "open-question:'por que não'"),
            ("Runbook : restart the pump", "doc-label:'runbook'"),
            ("passo a passo: limpar", "procedure-label:'passo a passo'"),
            ("How to bleed the line", "how-to-opener:'how to'"),
            ("capability: lifts boats", "capability-label:'capability'"),
            ("use when the tide is low", "use-when:'use when'"),
            ("symptom: silt in the pump", "failure-label:'symptom'"),
            ("The plan was vetoed yesterday", "decision-word:'vetoed'"),
            ("vamos usar teca", "decision-phrase:'vamos usar'"),
            ("Boats must not anchor here", "prohibition:'must not'"),
            ("Barcos não devem parar", "prohibition:'não devem'"),
            ("A bomba falha quando chove", "failure-frame:'falha quando'"),
            ("To bleed the line: open the valve", "goal-colon:'to …:'"),
            ("src/main.rs uses two threads", "declarative:'uses' entity:'src/main.rs'"),
            ("the `pump` is old", "declarative:'is' entity:'pump'"),
            ("keepers sempre dormem", "prescriptive:'sempre'"),
        ] {
            assert_eq!(cue(text), expected, "{text}");
        }
    }

    #[test]
    fn marks_stamps_and_speakers_are_peeled() {
        assert_eq!(
            found("> - 1. [2024-01-02 10:00] mira: we chose teak"),
            [("we chose teak".to_owned(), "decision", "decision-word:'chose'".to_owned())]
        );
        assert_eq!(found("[10:00] todo: oil it")[0].0, "todo: oil it");
    }

    #[test]
    fn sentences_are_split_where_one_ends() {
        let texts: Vec<String> = found("The API is open. We chose e.g. Teak; run the pump; never stop")
            .into_iter()
            .map(|one| one.0)
            .collect();
        assert_eq!(texts, ["The API is open.", "We chose e.g. Teak", "run the pump", "never stop"]);
    }

    #[test]
    fn code_and_questions_yield_nothing() {
        assert!(found("```\nthe API is fenced 1\nnever closed").is_empty());
        assert!(found("\tthe API is indented").is_empty());
        assert_eq!(found("    - run the pump").len(), 1);
        assert!(found("Is the API open?").is_empty());
        assert_eq!(found("- [ ] is the API open?")[0].1, "task");
    }

    proptest! {
        #[test]
        fn a_candidate_is_a_slice_of_the_text(text in "[-#>*a-zA-Z0-9 .;:?!\\[\\]`\n]{0,120}") {
            for one in candidates(&text) {
                prop_assert!(text.contains(&one.content));
            }
        }
    }
}
