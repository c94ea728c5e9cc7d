//! The one error of the extension, and the one table that gives each kind its SQLSTATE, DETAIL and HINT (design §3).

use crate::domain::capsule::fault::Fault;
use crate::domain::invalid::Invalid;
use crate::domain::release::{self, LIBRARY};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value};
use std::fmt;

/// Why a call failed. Nothing is written when a call fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// An argument breaks a rule or a limit.
    Invalid(Box<Invalid>),
    /// No such thing, or not readable by the caller: the same answer (ERR-4).
    NotFound {
        /// What was looked for, for instance `memory`.
        what: &'static str,
        /// How the caller named it.
        key: String,
    },
    /// The key of a memory is taken (CONF-1).
    KeyTaken(Taken),
    /// The version hash the caller holds is stale (UPD-4).
    Stale {
        /// The version stored now.
        version: i64,
        /// The hash stored now.
        version_hash: String,
    },
    /// Readable but not writable there, not a member, or the space is locked.
    Forbidden(Forbidden),
    /// A capsule call was refused (spec/capsules, CAP-ENV-3).
    Capsule(Fault),
    /// A function for plain memories was used where capsules stand (design §7).
    FrozenCapsule,
    /// The space would be left without an admin (PRIN-7).
    LastAdmin {
        /// The space's slug.
        space: String,
    },
    /// A search by meaning, or an embedding, without a model.
    EmbeddingNotConfigured,
    /// The provider's answer, without secrets.
    EmbeddingFailed {
        /// What the provider said.
        reason: String,
    },
    /// A call that writes, where nothing may be written.
    ReadOnly {
        /// Whether the server follows another one; otherwise it is the transaction that may only read.
        standby: bool,
    },
    /// The extension in this database is of another version than the library: it has to be updated first.
    OtherVersion {
        /// The version of the extension in this database.
        installed: String,
    },
    /// Two versions of the extension do not fit, or data breaks an invariant: our fault, never the caller's.
    Internal(String),
}

/// Which key of a memory is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// A memory with this id exists.
    Id(String),
    /// A memory of this tree and name exists: its display path.
    Path(String),
    /// A space, principal, key or model of this name exists.
    Name {
        /// The kind of thing, for instance `space`.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// What exactly is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forbidden {
    /// The caller lacks a level at a tree (shown as the caller would write it).
    Tree {
        /// `read`, `write` or `owner`.
        level: &'static str,
        /// Display form.
        tree: String,
    },
    /// Not admitted to the space; an unknown space answers the same (PRIN-22).
    Space(String),
    /// Another space than the locked one was asked for.
    Locked(String),
    /// An API key is wrong, expired or revoked: the same answer.
    Key,
    /// The role was dropped and made anew (design §4).
    Rebind(String),
    /// Something only admins of the space may do (PRIN-17).
    Admin {
        /// What was attempted.
        action: &'static str,
        /// The names of the admins.
        admins: Vec<String>,
    },
    /// Something only some callers may do.
    Only {
        /// What was attempted.
        action: &'static str,
        /// Who may.
        who: &'static str,
    },
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Broken(reason) => Self::Internal(reason),
            fault => Self::Capsule(fault),
        }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(Box::new(invalid))
    }
}

/// A result of our own error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The code callers branch on (ERR-1, ERR-3).
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_)
            | Self::FrozenCapsule
            | Self::Capsule(Fault::Shape { .. } | Fault::Value { .. }) => "VALIDATION",
            Self::NotFound { .. } | Self::Capsule(Fault::Missing { .. }) => "NOT_FOUND",
            Self::Capsule(Fault::Broken(_)) => "INTERNAL",
            Self::KeyTaken(_) | Self::Stale { .. } => "CONFLICT",
            Self::Forbidden(_) => "FORBIDDEN",
            Self::LastAdmin { .. } => "LAST_ADMIN",
            Self::EmbeddingNotConfigured => "EMBEDDING_NOT_CONFIGURED",
            Self::EmbeddingFailed { .. } => "EMBEDDING_FAILED",
            Self::ReadOnly { .. } => "READ_ONLY",
            Self::OtherVersion { .. } => "UPDATE_REQUIRED",
            Self::Internal(_) => "INTERNAL",
        }
    }

    fn sqlstate(&self) -> PgSqlErrorCode {
        match self {
            Self::Invalid(_)
            | Self::FrozenCapsule
            | Self::Capsule(Fault::Shape { .. } | Fault::Value { .. }) => {
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE
            }
            Self::NotFound { .. } | Self::Capsule(Fault::Missing { .. }) => {
                PgSqlErrorCode::ERRCODE_NO_DATA_FOUND
            }
            Self::Capsule(Fault::Broken(_)) => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            Self::KeyTaken(_) => PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION,
            Self::Stale { .. }
            | Self::LastAdmin { .. }
            | Self::EmbeddingNotConfigured
            | Self::OtherVersion { .. } => PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Self::ReadOnly { .. } => PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            Self::Forbidden(_) => PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            Self::EmbeddingFailed { .. } => PgSqlErrorCode::ERRCODE_SYSTEM_ERROR,
            Self::Internal(_) => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Invalid(invalid) => invalid.hint.clone(),
            Self::FrozenCapsule => {
                "Capture with me.capsule_ingest(), replace with its argument supersedes, destroy with me.capsule_forget()."
                    .into()
            }
            Self::Capsule(fault) => capsule_hint(fault).into(),
            Self::NotFound { what: "memory", .. } => {
                "Check the id or path; a deleted memory is found through me.memory_history().".into()
            }
            Self::NotFound { what, .. } => format!("Check the spelling, and that you may read the {what}."),
            Self::KeyTaken(Taken::Id(_)) => {
                "Use another id, or on_conflict 'replace' or 'ignore' for an unnamed memory.".into()
            }
            Self::KeyTaken(Taken::Path(_)) => {
                "Use another name, or on_conflict 'replace' or 'ignore' when creating.".into()
            }
            Self::KeyTaken(Taken::Name { .. }) => "Use another name.".into(),
            Self::Stale { .. } => {
                "Read the memory again, merge your change and update with the new version hash.".into()
            }
            Self::Forbidden(Forbidden::Tree { level, .. }) => {
                format!("Ask an admin of the space, or an owner of the tree, for {level} access there.")
            }
            Self::Forbidden(Forbidden::Space(_)) => {
                "Check the spelling, or ask an admin of the space for a grant; me.space_list() names yours.".into()
            }
            Self::Forbidden(Forbidden::Locked(_)) => {
                "Leave the space out, or switch me.space_locked off for this session.".into()
            }
            Self::Forbidden(Forbidden::Key) => {
                "Check that the key was copied whole, and ask who made it whether it still counts.".into()
            }
            Self::Forbidden(Forbidden::Rebind(_)) => {
                "Ask a superuser to call me.principal_rebind() if this is the same person or service.".into()
            }
            Self::Forbidden(Forbidden::Admin { admins, .. }) if admins.is_empty() => {
                "This is for admins of the space; it has none, so ask a superuser.".into()
            }
            Self::Forbidden(Forbidden::Admin { admins, .. }) => {
                format!("This is for admins of the space: {}.", admins.join(", "))
            }
            Self::Forbidden(Forbidden::Only { who, .. }) => format!("This is for {who}."),
            Self::LastAdmin { .. } => "Make somebody else an admin first, or drop the space.".into(),
            Self::EmbeddingNotConfigured => {
                "Add a model with me.embedding_model_add() and choose it with me.embedding_model_use().".into()
            }
            Self::EmbeddingFailed { .. } => {
                "Check the provider's address and key file, then try again.".into()
            }
            Self::ReadOnly { standby: true } => "Connect to the primary; everything that only reads works here.".into(),
            Self::ReadOnly { standby: false } => {
                "Begin the transaction READ WRITE; default_transaction_read_only may be on.".into()
            }
            Self::OtherVersion { installed } if release::is_older(installed, LIBRARY) => {
                "Run ALTER EXTENSION memory_engine UPDATE in this database as a superuser; what is stored can be read meanwhile."
                    .into()
            }
            Self::OtherVersion { .. } => {
                "Connect again for the new library; if it is preloaded, restart the server. If the library is the old one still, install the new one."
                    .into()
            }
            Self::Internal(_) => {
                "If the library was upgraded, run ALTER EXTENSION memory_engine UPDATE; otherwise please report this."
                    .into()
            }
        }
    }

    /// The DETAIL: one JSON object that starts with the code.
    pub fn detail(&self) -> String {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        match self {
            Self::Invalid(invalid) => {
                put("argument", invalid.argument.clone().into());
                put("rule", invalid.rule.into());
            }
            Self::NotFound { what, .. } => {
                put("what", (*what).into());
            }
            Self::FrozenCapsule => {
                put("argument", "tree".into());
                put("rule", "CAP-MODEL-1".into());
            }
            Self::Capsule(Fault::Shape { argument, rule, .. }) => {
                put("argument", argument.clone().into());
                put("rule", (*rule).into());
                put("channel", "tool".into());
            }
            Self::Capsule(Fault::Value { argument, .. }) => {
                put("argument", (*argument).into());
                put("rpc", (-32602).into());
            }
            Self::Capsule(Fault::Missing { kind, id }) => {
                put("kind", (*kind).into());
                put("id", id.clone().into());
                put("rpc", (-32002).into());
            }
            Self::KeyTaken(Taken::Id(id)) => {
                put("reason", "id".into());
                put("id", id.clone().into());
            }
            Self::KeyTaken(Taken::Path(path)) => {
                put("reason", "path".into());
                put("path", path.clone().into());
            }
            Self::KeyTaken(Taken::Name { what, name }) => {
                put("reason", "name".into());
                put("what", (*what).into());
                put("name", name.clone().into());
            }
            Self::Stale { version, version_hash } => {
                put("reason", "version".into());
                put("version", (*version).into());
                put("versionHash", version_hash.clone().into());
            }
            Self::Forbidden(Forbidden::Tree { level, tree }) => {
                put("level", (*level).into());
                put("tree", tree.clone().into());
            }
            Self::Forbidden(Forbidden::Space(space) | Forbidden::Locked(space))
            | Self::LastAdmin { space } => {
                put("space", space.clone().into());
            }
            Self::Forbidden(Forbidden::Rebind(role)) => {
                put("principal", role.clone().into());
            }
            Self::Forbidden(Forbidden::Admin { action, admins }) => {
                put("action", (*action).into());
                put("admins", admins.clone().into());
            }
            Self::Forbidden(Forbidden::Only { action, .. }) => {
                put("action", (*action).into());
            }
            Self::OtherVersion { installed } => {
                put("installed", installed.clone().into());
                put("library", LIBRARY.into());
            }
            Self::Forbidden(Forbidden::Key)
            | Self::EmbeddingNotConfigured
            | Self::EmbeddingFailed { .. }
            | Self::ReadOnly { .. }
            | Self::Capsule(Fault::Broken(_))
            | Self::Internal(_) => {}
        }
        let code = format!("{{\"code\":\"{}\"", self.code());
        match fields.is_empty() {
            true => code + "}",
            false => code + "," + &Value::Object(fields).to_string()[1..],
        }
    }
}

fn capsule_hint(fault: &Fault) -> &'static str {
    match fault {
        Fault::Shape { .. } => {
            "Send each argument under its name and with its type; me.mcp_tools('capsule') lists them."
        }
        Fault::Value { .. } => "Change the value and call again; nothing was written.",
        Fault::Missing { kind: "tombstoned_capsule", .. } => {
            "It was forgotten before; what is left of it stays."
        }
        Fault::Missing { kind: "finished_session", .. } => {
            "Start another session with me.capsule_session_start()."
        }
        Fault::Missing { kind: "unknown_session", .. } => "me.capsule_digest() names the open sessions.",
        Fault::Missing { .. } => "Check the id; me.capsule_list() names the capsules you may read.",
        Fault::Broken(_) => "Please report this.",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => write!(f, "{invalid}"),
            Self::Capsule(fault) => write!(f, "{fault}"),
            Self::FrozenCapsule => {
                write!(f, "what stands below /capsules is a capsule: it is frozen at birth")
            }
            Self::NotFound { what, key } => write!(f, "{what} {key} not found"),
            Self::KeyTaken(Taken::Id(id)) => write!(f, "a memory with id {id} exists already"),
            Self::KeyTaken(Taken::Path(path)) => write!(f, "a memory at {path} exists already"),
            Self::KeyTaken(Taken::Name { what, name }) => write!(f, "{what} \"{name}\" exists already"),
            Self::Stale { version, .. } => {
                write!(f, "version_hash is stale: the memory is at version {version} now")
            }
            Self::Forbidden(Forbidden::Tree { level, tree }) => write!(f, "no {level} access at {tree}"),
            Self::Forbidden(Forbidden::Space(space)) => write!(f, "no access to space \"{space}\""),
            Self::Forbidden(Forbidden::Locked(space)) => {
                write!(f, "this session is locked to space \"{space}\"")
            }
            Self::Forbidden(Forbidden::Key) => write!(f, "the API key is not valid"),
            Self::Forbidden(Forbidden::Rebind(role)) => {
                write!(f, "role \"{role}\" is not the role that was registered under this name")
            }
            Self::Forbidden(Forbidden::Admin { action, .. } | Forbidden::Only { action, .. }) => {
                write!(f, "not allowed to {action}")
            }
            Self::LastAdmin { space } => write!(f, "space \"{space}\" would be left without an admin"),
            Self::EmbeddingNotConfigured => write!(f, "no embedding model is in use in this space"),
            Self::EmbeddingFailed { reason } => write!(f, "the text could not be embedded: {reason}"),
            Self::ReadOnly { standby: true } => write!(f, "this call writes, and this server is a standby"),
            Self::ReadOnly { standby: false } => {
                write!(f, "this call writes, and the transaction is read-only")
            }
            Self::OtherVersion { installed } => {
                write!(
                    f,
                    "memory_engine is version {installed} in this database, and its library is {LIBRARY}"
                )
            }
            Self::Internal(reason) => write!(f, "memory_engine: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for ErrorReport {
    #[track_caller]
    fn from(error: Error) -> Self {
        ErrorReport::new(error.sqlstate(), error.to_string(), "memory_engine")
            .set_detail(error.detail())
            .set_hint(error.hint())
    }
}
