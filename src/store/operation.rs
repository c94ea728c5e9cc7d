//! One call that writes: what its events have in common (EVT-4…6).

use super::session::Session;
use super::spi::arg;
use super::uuid_v7;
use pgrx::pg_sys::Datum;

/// The id and cause shared by all events of a call.
pub struct Operation {
    id: pgrx::Uuid,
    cause: &'static str,
}

/// How many parameters every writing statement begins with.
const SHARED: usize = 7;

impl Operation {
    /// A new call with this cause.
    pub fn new(cause: &'static str) -> Self {
        crate::worker::note_change();
        super::lexical::upkeep::note_written(1);
        Self { id: uuid_v7::next(), cause }
    }

    /// What its events share.
    pub fn id(&self) -> &[u8; 16] {
        self.id.as_bytes()
    }

    /// The call, as its events name it.
    pub fn cause(&self) -> &'static str {
        self.cause
    }

    /// The parameters of a writing statement: the seven shared ones (see `event.sql`), then `own`.
    pub fn args<const OWN: usize>(&self, session: &Session, own: [Option<Datum>; OWN]) -> Vec<Option<Datum>> {
        let mut args = Vec::with_capacity(SHARED + OWN);
        args.extend([
            arg(session.space()),
            arg(self.id),
            arg(self.cause),
            session.actor_id(),
            arg(session.actor_name()),
            session.api_key_id(),
            session.api_key_name(),
        ]);
        args.extend(own);
        args
    }
}
