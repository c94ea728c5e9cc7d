//! Values between rows and the domain.

use crate::domain::access::Level;
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::stamp::Stamp;
use crate::error::{Error, Result};
use crate::store::session::Session;
use crate::store::spi::{Row, arg};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;

/// One clock reading.
pub struct Stamps {
    /// As answers show it.
    pub stamp: Stamp,
    /// As tables hold it.
    pub at: TimestampWithTimeZone,
}

impl Stamps {
    /// Reads the clock.
    pub fn now() -> Self {
        let at = pgrx::datum::clock_timestamp();
        let stamp = stamp_of(at);
        Self { stamp, at }
    }
}

/// A stored instant.
pub fn stamp_of(at: TimestampWithTimeZone) -> Stamp {
    Stamp::from_pg_micros(i64::from(at))
}

/// An instant to be stored.
pub fn instant(stamp: &Stamp) -> Option<Datum> {
    TimestampWithTimeZone::try_from(stamp.pg_micros()).ok().and_then(arg)
}

/// A stamp that was stored as it was written.
pub fn written(row: &Row, column: i32) -> Result<Option<Stamp>> {
    row.get::<String>(column)
        .map(|text| Stamp::parse(&text).ok_or_else(|| Error::Internal(format!("stored timestamp {text:?}"))))
        .transpose()
}

/// The trees the caller may read, as `scope.sql` wants them; null means everywhere.
pub fn readable_roots(session: &Session) -> Option<Datum> {
    let roots = session.rights().roots(Level::Read)?;
    arg(roots.iter().map(|tree| tree.as_dotted().to_owned()).collect::<Vec<_>>())
}

/// The first parameters of a statement that uses `scope.sql`: space, trees, project, prefix.
pub fn scope_args<const OWN: usize>(
    session: &Session,
    fence: &Fence,
    own: [Option<Datum>; OWN],
) -> Vec<Option<Datum>> {
    let mut args = vec![
        arg(session.space()),
        readable_roots(session),
        fence.project_id.as_deref().and_then(arg),
        fence.prefix.as_deref().and_then(arg),
    ];
    args.extend(own);
    args
}
