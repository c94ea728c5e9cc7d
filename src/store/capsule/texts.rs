//! The texts of many capsules, for comparing them with one.

use crate::error::Result;
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, Tables, need};
use crate::store::owner::looking_up;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    TEXTS,
    ["select c.seq, c.tree::text, m.content
      from me.capsule as c join me.memory as m on m.space = c.space and m.id = c.memory_id
      where c.space = $1 and c.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);
static FRAME: Keyed = Keyed {
    table: c"capsule",
    index: c"capsule_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"memory_id", Kind::Uuid),
        (c"tree", Kind::Other),
    ],
};
static CONTENT: Keyed = Keyed {
    table: c"memory",
    index: c"memory_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"id", Kind::Uuid), (c"content", Kind::Text)],
};

/// Shows number, tree and content of some capsules, but of those that are forgotten or not there, in any order. Whether the
/// caller may read them is for `each` to judge.
pub fn each(
    session: &Session,
    seqs: &[i64],
    mut each: impl FnMut(i64, &str, &str) -> Result<()>,
) -> Result<()> {
    if seqs.is_empty() {
        return Ok(());
    }
    let by_key = session.db().under_snapshot(|snapshot| {
        let Some(tables) = Tables::here() else { return Ok(false) };
        let (Some(frames), Some(contents)) = (tables.open(&FRAME), tables.open(&CONTENT)) else {
            return Ok(false);
        };
        let space = Key::Text(session.space());
        for seq in seqs {
            let mut frame = None;
            let readable = frames.rows(snapshot, &[space, Key::Int8(*seq)], |found| {
                frame = found.uuid(2).zip(Some(need(found.output(3))?.to_owned()));
                Ok(false)
            })?;
            if !readable {
                return Ok(false);
            }
            let Some((id, tree)) = frame else { continue };
            let readable = contents.rows(snapshot, &[space, Key::Uuid(&id)], |found| {
                each(*seq, &tree, need(found.text(2))?)?;
                Ok(false)
            })?;
            if !readable {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    if !by_key {
        let args = [arg(session.space()), arg(seqs.to_vec())];
        for row in looking_up(|| session.db().run(&TEXTS, &args))? {
            each(row.need(1)?, &row.need::<String>(2)?, &row.need::<String>(3)?)?;
        }
    }
    Ok(())
}
