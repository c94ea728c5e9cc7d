//! `me.audit_seal`, `me.audit_verify`, `me.history_prune` and `me.memory_purge`: proof, and what may go.

use super::memory::id_argument;
use super::{required, result};
use crate::domain::access::Level;
use crate::domain::history::Reason;
use crate::domain::path::TreePath;
use crate::error::{Error, Result};
use crate::guc;
use crate::store::audit::{self, Report};
use crate::store::caller::Intent;
use crate::store::erase;
use crate::store::jsonb::Jsonb;
use crate::store::operation::Operation;
use crate::store::session;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Value, json};

type Answer = std::result::Result<Jsonb, ErrorReport>;

fn answer(report: &Report) -> Result<Jsonb> {
    let problems: Vec<Value> = report
        .problems
        .iter()
        .map(|problem| {
            json!({
                "seal": problem.seal,
                "eventId": problem.event,
                "journalRow": problem.journal_row,
                "problem": problem.what,
            })
        })
        .collect();
    let answer = json!({
        "ok": problems.is_empty(),
        "sealed": report.sealed,
        "unsealed": report.unsealed,
        "head": report.head,
        "problems": problems,
    });
    result(&answer.to_string())
}

/// For one who owns the space as a whole. An empty space means what belongs to none.
#[pg_extern(volatile, parallel_unsafe)]
fn audit_seal(space: default!(Option<&str>, "NULL")) -> Answer {
    if space == Some("") {
        let report = session::outside(Intent::Manage, "seal what belongs to no space", audit::seal)?;
        return Ok(answer(&report)?);
    }
    let report = session::write(
        space,
        |_| Ok(()),
        |session, ()| {
            session.require(Level::Owner, &TreePath::root())?;
            audit::seal(session)
        },
    )?;
    Ok(answer(&report)?)
}

/// For one who may read the space as a whole. An empty space means what belongs to none.
#[pg_extern(stable, parallel_restricted)]
fn audit_verify(space: default!(Option<&str>, "NULL")) -> Answer {
    if space == Some("") {
        let report = session::outside(Intent::Read, "verify what belongs to no space", audit::verify)?;
        return Ok(answer(&report)?);
    }
    let report = session::read(
        space,
        |_| Ok(()),
        |session, ()| {
            session.require(Level::Read, &TreePath::root())?;
            audit::verify(session)
        },
    )?;
    Ok(answer(&report)?)
}

/// For one who owns the space as a whole; how much goes is a superuser's setting.
#[pg_extern(volatile, parallel_unsafe)]
fn history_prune(space: default!(Option<&str>, "NULL")) -> Answer {
    let retention = guc::history_retention();
    let pruned = session::write(
        space,
        |_| Ok(()),
        |session, ()| {
            session.require(Level::Owner, &TreePath::root())?;
            retention.map(|retention| audit::prune(session, retention)).transpose()
        },
    )?;
    let answer = match pruned {
        Some((pruned, before)) => json!({"pruned": pruned, "before": before.to_iso_millis()}),
        None => json!({"pruned": 0, "before": null}),
    };
    Ok(result(&answer.to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_purge(
    id: default!(Option<pgrx::Uuid>, "NULL"),
    reason: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let id = required("id", id_argument("id", id)?)?;
    let reason = Reason::parse("reason", required("reason", reason)?).map_err(Error::from)?;
    let events = session::write(
        space,
        |_| Ok(()),
        |session, ()| erase::purge(session, &Operation::new("purge"), id, &reason),
    )?;
    Ok(result(&json!({"purged": true, "events": events}).to_string())?)
}
