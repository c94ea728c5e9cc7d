//! `me.lexical_maintain` and `me.lexical_status`: the care of the lexical index.

use super::result;
use crate::store::capsule::pack;
use crate::store::jsonb::Jsonb;
use crate::store::lexical::{maintain, status};
use crate::store::session;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

type Answer = std::result::Result<Jsonb, ErrorReport>;

#[pg_extern(volatile, parallel_unsafe)]
fn lexical_maintain(
    limit: default!(Option<i32>, "NULL"),
    rebuild: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let most = limit.filter(|most| *most > 0).map_or(maintain::AT_ONCE, i64::from);
    let rebuild = rebuild == Some(true);
    let (turn, packs) = session::serve(space, |session| {
        let turn = maintain::maintain(session, most, rebuild)?;
        Ok((turn, pack::pack(session, most.min(pack::AT_ONCE), rebuild)?))
    })?;
    Ok(result(
        &json!({
            "indexed": turn.indexed, "removed": turn.removed, "merged": turn.merged,
            "packed": packs.packs, "complete": turn.complete && packs.complete, "busy": turn.busy || packs.busy
        })
        .to_string(),
    )?)
}

#[pg_extern(stable, parallel_restricted)]
fn lexical_status(space: default!(Option<&str>, "NULL")) -> Answer {
    let status = session::read(space, |_| Ok(()), |session, ()| status::status(session))?;
    Ok(result(
        &json!({
            "segments": status.segments, "memories": status.memories, "dead": status.dead,
            "waiting": status.waiting, "bytes": status.bytes
        })
        .to_string(),
    )?)
}
