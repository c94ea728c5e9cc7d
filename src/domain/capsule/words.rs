//! The closed sets of words (CAP-MODEL-1, CAP-MODEL-16).

/// Declares a closed set: an enum, its words, and how to get from one to the other.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// Every word, in the declared order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// Every value, in the declared order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire and in tables.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words!(
    /// Where knowledge comes from, strongest trust first (CAP-MODEL-9).
    Authority {
        /// Seen by a tool.
        Observed = "observed-fact",
        /// Said by the user.
        Stated = "user-stated",
        /// Concluded by an agent.
        Inferred = "agent-inferred",
        /// Brought in from outside.
        Imported = "externally-imported",
    }
);
words!(
    /// What a capsule is about.
    Kind {
        /// A statement.
        Fact = "fact",
        /// How something is done.
        Procedure = "procedure",
        /// What was settled.
        Decision = "decision",
        /// Something to do.
        Task = "task",
        /// A body of tasks.
        Epic = "epic",
        /// An idea.
        Brainstorm = "brainstorm",
        /// A text to read.
        Doc = "doc",
        /// What must hold.
        Constraint = "constraint",
        /// What can be done.
        Capability = "capability",
        /// How something fails.
        FailurePattern = "failure_pattern",
    }
);
words!(
    /// How far a label reaches.
    Scope {
        /// Its project.
        Project = "project",
        /// Everywhere.
        Global = "global",
        /// Its session.
        Session = "session",
    }
);
words!(
    /// How well a statement is supported.
    EvidenceState {
        /// Seen.
        Observed = "observed",
        /// Concluded.
        Inferred = "inferred",
        /// Not checked.
        Unverified = "unverified",
    }
);
words!(
    /// How ready a capsule is for recall.
    Tier {
        /// Recalled.
        Active = "active",
        /// Put away.
        Archived = "archived",
        /// Kept from recall.
        Quarantined = "quarantined",
    }
);
words!(
    /// What is left of a forgotten capsule.
    Mode {
        /// Nothing of it.
        Purged = "purged",
        /// Its source and anchor.
        Redacted = "redacted",
    }
);
words!(
    /// What an edge says: `from` does it to `to` (CAP-REL-1, CAP-REL-10).
    Relation {
        /// Replaces it.
        Supersedes = "supersedes",
        /// Was made from it.
        DerivedFrom = "derived_from",
        /// Shows that it is done.
        Witnesses = "witnesses",
        /// Must come before it.
        Blocks = "blocks",
        /// Shows that it is false.
        Falsifies = "falsifies",
        /// Would replace it.
        Proposes = "proposes",
        /// Belongs to it.
        PartOf = "part_of",
        /// Is planned from it.
        GroundedIn = "grounded_in",
        /// Speaks of it.
        About = "about",
    }
);
words!(
    /// Where a text to be classified comes from (CAP-CLS-4).
    Origin {
        /// Cut out of a text.
        Extracted = "extracted-candidate",
        /// Said by the owner.
        Owner = "owner-stated",
        /// Seen by a tool.
        Tool = "tool-observation",
        /// Brought in from outside.
        External = "external-import",
        /// Noted in a session.
        Session = "session-note",
    }
);
words!(
    /// What was decided about a proposal (CAP-REV-1).
    Verdict {
        /// Not decided yet.
        Proposed = "proposed",
        /// Taken.
        Ratified = "ratified",
        /// Refused.
        Rejected = "rejected",
    }
);
words!(
    /// A picture (CAP-VIS-2…4).
    View {
        /// What is ready and what waits.
        Dag = "dag",
        /// Every edge.
        Relations = "relations",
        /// What stands in which tier.
        Tiers = "tiers",
    }
);
words!(
    /// What is imported (CAP-IMP-1).
    ImportSource {
        /// The user's own instructions.
        User = "user-claude-md",
        /// The project's instructions.
        Project = "project-claude-md",
        /// The project's instructions for agents.
        Agents = "project-agents-md",
        /// A folder of notes.
        Folder = "memory-dir",
    }
);
words!(
    /// Which lanes recall uses (CAP-RET-30).
    Lane {
        /// Words, and vectors when one is given.
        Auto = "auto",
        /// Words alone.
        Term = "term",
        /// The vector alone.
        Vector = "vector",
        /// Both.
        Fused = "fused",
    }
);

impl Origin {
    /// The authority and default scope of what comes from here, and whether it is tainted at birth.
    pub fn verdict(self) -> (Authority, Scope, bool) {
        match self {
            Self::Extracted => (Authority::Inferred, Scope::Project, false),
            Self::Owner => (Authority::Stated, Scope::Project, false),
            Self::Tool => (Authority::Observed, Scope::Project, false),
            Self::External => (Authority::Imported, Scope::Global, true),
            Self::Session => (Authority::Inferred, Scope::Session, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_values_agree() {
        for (word, value) in Relation::WORDS.iter().zip(Relation::ALL) {
            assert_eq!(value.word(), *word);
            assert_eq!(Relation::from_word(word), Some(*value));
        }
        assert_eq!(Kind::from_word("Fact"), None);
        assert_eq!(Kind::ALL.len(), 10);
    }

    #[test]
    fn the_origin_decides_authority_scope_and_taint() {
        assert_eq!(Origin::Owner.verdict(), (Authority::Stated, Scope::Project, false));
        assert_eq!(Origin::Extracted.verdict(), (Authority::Inferred, Scope::Project, false));
        assert_eq!(Origin::External.verdict(), (Authority::Imported, Scope::Global, true));
    }
}
