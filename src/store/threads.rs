//! Threads: which memories stand beside which, by `$thread`, `$prev` and `$next` of their metadata (META-5, META-6).

use super::also::Also;
use super::filter::Filter;
use super::session::Session;
use super::spi::{Row, arg};
use crate::domain::search::thread::{Links, Member};
use crate::error::Result;
use crate::{filtered, statement};

statement!(
    /// The rows that belong to a thread.
    MEMBERS,
    ["select m.id, m.tree::text, m.name, m.meta->>'$thread', m.meta->>'$prev', m.meta->>'$next'
      from unnest($2::uuid[]) as w (id)
      join me.memory as m on m.space = $1 and m.id = w.id
      where pg_catalog.jsonb_typeof(m.meta->'$thread') = 'string'"],
    [TEXTOID, UUIDARRAYOID]
);
filtered!(
    /// The rows at the paths that are linked to, and those that link to a path, each by an index.
    BESIDE,
    [
        "select m.id, m.tree::text, m.name, m.meta->>'$thread', m.meta->>'$prev', m.meta->>'$next'
         from unnest($18::text[], $19::text[]) as w (tree, name)
         join me.memory as m on m.space = $1 and m.tree operator({ltree}.=) w.tree::{ltree}.ltree and m.name = w.name
         where ($21 is null or case when {in_scope} then m.content ~* $21 end) and ($22 is null or m.id <> all ($22)) and ",
        include_str!("filter.sql"),
        " union all
         select m.id, m.tree::text, m.name, m.meta->>'$thread', m.meta->>'$prev', m.meta->>'$next'
         from unnest($20::text[]) as w (link)
         join me.memory as m on m.space = $1 and m.meta @> w.link::jsonb
         where ($21 is null or case when {in_scope} then m.content ~* $21 end) and ($22 is null or m.id <> all ($22)) and ",
        include_str!("filter.sql")
    ],
    [TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTOID, UUIDARRAYOID]
);

/// The members of threads among the rows, and their neighbours that pass the filter. Nothing is read for rows that
/// belong to no thread.
pub fn around(session: &Session, filter: &Filter, also: &Also, ids: &[[u8; 16]]) -> Result<Vec<Member>> {
    let ids: Vec<pgrx::Uuid> = ids.iter().map(|id| pgrx::Uuid::from_bytes(*id)).collect();
    let mut members = session
        .db()
        .run(&MEMBERS, &[arg(session.space()), arg(ids)])?
        .into_iter()
        .map(|row| member(&row))
        .collect::<Result<Vec<_>>>()?;
    let Some(Links { trees, names, objects }) = Links::of(&members) else {
        return Ok(members);
    };
    let own = [arg(trees), arg(names), arg(objects), also.pattern(), also.hidden()];
    for row in filter.run(session.db(), &BESIDE, own, 0)? {
        let member = member(&row)?;
        if members.iter().all(|known| known.id != member.id) {
            members.push(member);
        }
    }
    Ok(members)
}

fn member(row: &Row) -> Result<Member> {
    Ok(Member {
        id: *row.need::<pgrx::Uuid>(1)?.as_bytes(),
        tree: row.need(2)?,
        name: row.get(3),
        thread: row.get(4),
        prev: row.get(5),
        next: row.get(6),
    })
}
