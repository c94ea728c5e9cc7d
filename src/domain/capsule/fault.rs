//! How a capsule call fails (CAP-ENV-3…9).

/// Why a call was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The arguments have the wrong form: reported in band, as a tool's own answer (CAP-ENV-7).
    Shape {
        /// The key at fault.
        argument: String,
        /// The rule that is broken.
        rule: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A value is well formed and wrong (-32602).
    Value {
        /// The key at fault.
        argument: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// The arguments name state that is not there (-32002).
    Missing {
        /// `unknown_capsule`, `tombstoned_capsule`, `unknown_session`, `finished_session` or `unknown_receipt`.
        kind: &'static str,
        /// The id as it was sent.
        id: String,
    },
    /// What is stored breaks an invariant (-32603).
    Broken(String),
}

/// A result of a capsule rule.
pub type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// A wrong form.
    pub fn shape(argument: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Shape { argument: argument.into(), rule: "CAP-ENV-7", message: message.into() }
    }

    /// A required key that is missing or null.
    pub fn missing(argument: impl Into<String>) -> Self {
        let argument = argument.into();
        let message = format!("argument \"{argument}\" is required");
        Self::Shape { argument, rule: "CALL-2", message }
    }

    /// A wrong value.
    pub fn value(argument: &'static str, message: impl Into<String>) -> Self {
        Self::Value { argument, message: message.into() }
    }

    /// A capsule that is not there, or not for this caller: the same answer.
    pub fn unknown_capsule(id: &str) -> Self {
        Self::Missing { kind: "unknown_capsule", id: id.to_owned() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shape { message, .. } | Self::Value { message, .. } | Self::Broken(message) => {
                f.write_str(message)
            }
            Self::Missing { kind, id } => {
                let said = match *kind {
                    "tombstoned_capsule" => "is forgotten",
                    "finished_session" => "is finished",
                    "unknown_session" => "is not a session",
                    "unknown_receipt" => "is not a receipt",
                    _ => "is not a capsule",
                };
                write!(f, "{} {said}", super::super::invalid::excerpt(id))
            }
        }
    }
}
