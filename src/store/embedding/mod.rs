//! Embedding models: registered, used by spaces, dropped; and the vectors of memories.

pub mod background;
pub mod queue;
pub mod sync;
mod vectors;

pub use sync::after_write;
pub use vectors::{copy_vectors, remove_space_vectors, remove_vectors, set_vector};

use super::caller::Caller;
use super::jsonb::Jsonb;
use super::session::Session;
use super::spi::{self, Row, Table, arg};
use super::{random, spi::Db};
use crate::domain::embedding::{Dimensions, Model, ModelName, ModelOptions, Provider};
use crate::domain::invalid::Invalid;
use crate::error::{Error, Result, Taken};
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, Tables, need};
use crate::store::standing;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

statement!(
    INSERT_MODEL,
    ["insert into me.embedding_model (name, provider, dimensions, options, relation, created_at, created_by)
      values ($1, $2, $3, $4, $5, pg_catalog.transaction_timestamp(), $6)
      on conflict (name) do nothing returning name"],
    [TEXTOID, TEXTOID, INT4OID, JSONBOID, TEXTOID, TEXTOID]
);
statement!(
    LOCK_MODEL,
    ["select m.name, m.provider, m.dimensions, m.options::text, m.relation from me.embedding_model as m
         where m.name = $1 for update"],
    [TEXTOID]
);
statement!(
    MODEL,
    ["select m.name, m.provider, m.dimensions, m.options::text, m.relation from me.embedding_model as m
         where m.name = $1"],
    [TEXTOID]
);
statement!(
    CURRENT,
    ["select m.name, m.provider, m.dimensions, m.options::text, m.relation
      from me.embedding_use as u join me.embedding_model as m on m.name = u.model
      where u.space = $1 and u.state = 'current'"],
    [TEXTOID]
);
statement!(USES, ["select u.state, u.model from me.embedding_use as u where u.space = $1"], [TEXTOID]);
statement!(
    START_USE,
    ["insert into me.embedding_use (space, model, state, since)
      values ($1, $2, $3, pg_catalog.transaction_timestamp())"],
    [TEXTOID, TEXTOID, TEXTOID]
);
statement!(END_USE, ["delete from me.embedding_use where space = $1 and model = $2"], [TEXTOID, TEXTOID]);
statement!(
    PROMOTE,
    ["update me.embedding_use set state = 'current', since = pg_catalog.transaction_timestamp()
      where space = $1 and model = $2"],
    [TEXTOID, TEXTOID]
);
statement!(CANCEL, [include_str!("cancel.sql")], [TEXTOID, TEXTOID]);
statement!(BACKFILL, [include_str!("backfill.sql")], [TEXTOID, TEXTOID]);
statement!(
    IS_PENDING,
    [
        "select 1 from me.embedding_queue as q where q.space = $1 and q.model = $2 and q.outcome is null limit 1"
    ],
    [TEXTOID, TEXTOID]
);
statement!(LIST, [include_str!("model_list.sql")], []);
statement!(
    USED_BY,
    ["select u.space from me.embedding_use as u where u.model = $1 order by 1 limit 1"],
    [TEXTOID]
);
statement!(DROP_MODEL, ["delete from me.embedding_model where name = $1"], [TEXTOID]);
statement!(DROP_MODEL_EMBEDDED, ["delete from me.embedded where model = $1"], [TEXTOID]);
statement!(DROP_MODEL_QUEUE, ["delete from me.embedding_queue where model = $1"], [TEXTOID]);
statement!(SPACE_FOR_UPDATE, ["select 1 from me.space as s where s.slug = $1 for update"], [TEXTOID]);
statement!(
    HAS,
    ["select exists (
        select from me.embedding_use as u
        join me.embedded as e on e.space = u.space and e.memory_id = $2 and e.model = u.model
        where u.space = $1 and u.state = 'current' and e.content_version = $3)"],
    [TEXTOID, UUIDOID, INT8OID]
);

/// Whether the model a space searches with has vectors of this content: not inlined into the record's SQL function,
/// because the planner inlines nothing that holds a subquery.
#[pg_extern(stable, parallel_restricted, name = "_has_embedding")]
pub(crate) fn has_embedding(
    space: &str,
    id: pgrx::Uuid,
    content_version: i64,
) -> std::result::Result<bool, ErrorReport> {
    let has = spi::connected(true, |db| {
        let row = db.row(&HAS, &[arg(space), arg(id), arg(content_version)])?;
        Ok(row.and_then(|row| row.get(1)).unwrap_or(false))
    });
    Ok(has?)
}

/// A registered model and the table of its vectors.
pub struct Registered {
    /// The model.
    pub model: Model,
    /// The table of its vectors: `(space, memory_id, window_no, content_version, vector)`.
    pub table: Table,
}

fn registered(row: &Row) -> Result<Registered> {
    let text = |column| row.need::<String>(column);
    registered_as(&text(1)?, &text(2)?, row.need(3)?, &text(4)?, row.need(5)?)
}

fn registered_as(
    name: &str,
    provider: &str,
    dimensions: i32,
    options: &str,
    relation: String,
) -> Result<Registered> {
    let broken = |invalid: Invalid| Error::Internal(format!("stored model: {invalid}"));
    let provider = Provider::parse("provider", provider).map_err(broken)?;
    Ok(Registered {
        model: Model {
            name: ModelName::parse("name", name).map_err(broken)?,
            provider,
            dimensions: Dimensions::parse("dimensions", dimensions).map_err(broken)?,
            options: ModelOptions::parse("options", provider, options).map_err(broken)?,
        },
        table: Table::registered(relation),
    })
}

static BY_NAME: Keyed = Keyed {
    table: c"embedding_model",
    index: c"embedding_model_pkey",
    keys: &[0],
    columns: &[
        (c"name", Kind::Text),
        (c"provider", Kind::Text),
        (c"dimensions", Kind::Int4),
        (c"options", Kind::Jsonb),
        (c"relation", Kind::Text),
    ],
};

/// The model a space searches with.
pub fn current(session: &Session) -> Result<Option<Registered>> {
    if let Some(tables) = Tables::here()
        && let Some(current) =
            session.db().under_snapshot(|snapshot| current_by_key(session.space(), tables, snapshot))?
    {
        return Ok(current);
    }
    session.db().row(&CURRENT, &[arg(session.space())])?.map(|row| registered(&row)).transpose()
}

/// The same, read by keys; the outer `None` where it cannot be.
fn current_by_key(
    space: &str,
    tables: Tables,
    snapshot: pg_sys::Snapshot,
) -> Result<Option<Option<Registered>>> {
    let Some(name) = standing::current_model(space, tables, snapshot)? else { return Ok(None) };
    let Some(name) = name else { return Ok(Some(None)) };
    let mut model = None;
    let readable = tables.rows(&BY_NAME, snapshot, &[Key::Text(&name)], |row| {
        let options = need(row.jsonb_copy(3))?.text();
        let (provider, relation) = (need(row.text(1))?, need(row.text(4))?.to_owned());
        model = Some(registered_as(&name, provider, need(row.int4(2))?, &options, relation)?);
        Ok(false)
    })?;
    Ok(readable.then_some(model))
}

/// The model of a name.
pub fn find(db: &Db, name: &str) -> Result<Option<Registered>> {
    db.row(&MODEL, &[arg(name)])?.map(|row| registered(&row)).transpose()
}

fn no_model(name: &str) -> Error {
    Error::NotFound { what: "model", key: format!("\"{name}\"") }
}

/// Registers a model and makes the table of its vectors, with the index that search uses.
pub fn add(caller: &Caller, model: &Model, options: Jsonb) -> Result<()> {
    let table = Table::registered(model.name.relation(random::bytes()));
    let row = caller.db().row(
        &INSERT_MODEL,
        &[
            arg(model.name.as_str()),
            arg(model.provider.word()),
            arg(model.dimensions.get() as i32),
            Some(options.datum()),
            arg(table.name()),
            arg(caller.actor_name()),
        ],
    )?;
    if row.is_none() {
        return Err(Error::KeyTaken(Taken::Name { what: "model", name: model.name.as_str().to_owned() }));
    }
    vectors::make_table(caller.db(), &table, model.dimensions)
}

/// What became of a request to use a model.
pub struct Use {
    /// `current`, or `next` while it is being filled.
    pub state: &'static str,
    /// How many entries the queue got.
    pub queued: usize,
}

/// Makes a space use a model: at once when it uses none, otherwise as soon as the model has all vectors.
pub fn use_model(session: &Session, name: &str) -> Result<Use> {
    // A writer that knows nothing of the model must not commit behind the back of the backfill.
    session.hold_off_writers();
    let db = session.db();
    let space = arg(session.space());
    db.run(&SPACE_FOR_UPDATE, &[space])?;
    let model = db.row(&LOCK_MODEL, &[arg(name)])?.ok_or_else(|| no_model(name))?;
    let model = registered(&model)?.model.name;
    let (current, next) = uses(session)?;
    if let Some(next) = next.filter(|next| *next != model.as_str()) {
        stop_using(session, &next)?;
    }
    match current {
        Some(current) if current == model.as_str() => Ok(Use { state: "current", queued: 0 }),
        Some(_) => {
            if uses(session)?.1.is_none() {
                db.run(&START_USE, &[space, arg(model.as_str()), arg("next")])?;
            }
            let queued = backfill(session, model.as_str())?;
            let switched = switch_when_complete(session, model.as_str())?;
            Ok(Use { state: if switched { "current" } else { "next" }, queued })
        }
        None => {
            db.run(&START_USE, &[space, arg(model.as_str()), arg("current")])?;
            Ok(Use { state: "current", queued: backfill(session, model.as_str())? })
        }
    }
}

/// The names of the current and the next model.
fn uses(session: &Session) -> Result<(Option<String>, Option<String>)> {
    let (mut current, mut next) = (None, None);
    for row in session.db().run(&USES, &[arg(session.space())])? {
        let state: String = row.need(1)?;
        let model: String = row.need(2)?;
        if state == "current" { current = Some(model) } else { next = Some(model) }
    }
    Ok((current, next))
}

fn stop_using(session: &Session, model: &str) -> Result<()> {
    let args = [arg(session.space()), arg(model)];
    session.db().run(&CANCEL, &args)?;
    session.db().run(&END_USE, &args)?;
    Ok(())
}

/// Queues what the model has no vectors of; how much that is.
fn backfill(session: &Session, model: &str) -> Result<usize> {
    Ok(session.db().run(&BACKFILL, &[arg(session.space()), arg(model)])?.count())
}

/// Lets the next model take over when nothing waits for it any more; whether it did.
///
/// What a writer with an old snapshot committed without knowing of the model is queued first.
pub fn switch_when_complete(session: &Session, model: &str) -> Result<bool> {
    let db = session.db();
    let args = [arg(session.space()), arg(model)];
    if uses(session)?.1.as_deref() != Some(model) || db.row(&IS_PENDING, &args)?.is_some() {
        return Ok(false);
    }
    // One switch at a time; and whoever waited for another looks at what that one left.
    db.run(&SPACE_FOR_UPDATE, &[arg(session.space())])?;
    let (current, next) = uses(session)?;
    if next.as_deref() != Some(model) || backfill(session, model)? > 0 {
        return Ok(false);
    }
    if let Some(current) = current {
        stop_using(session, &current)?;
    }
    db.run(&PROMOTE, &args)?;
    Ok(true)
}

/// Forgets a model that no space uses, with its vectors.
pub fn drop(caller: &Caller, name: &str) -> Result<()> {
    let db = caller.db();
    let row = db.row(&LOCK_MODEL, &[arg(name)])?.ok_or_else(|| no_model(name))?;
    if let Some(space) = db.row(&USED_BY, &[arg(name)])? {
        let space: String = space.need(1)?;
        return Err(Invalid::new(
            "name",
            "EMB-25",
            format!("argument \"name\" is the model of space \"{space}\""),
            "Let the space use another model first, and wait until it has switched.",
        )
        .into());
    }
    let table = registered(&row)?.table;
    for statement in [&DROP_MODEL_EMBEDDED, &DROP_MODEL_QUEUE, &DROP_MODEL] {
        db.run(statement, &[arg(name)])?;
    }
    vectors::drop_table(db, &table)
}

/// All models, by name, with the spaces that use them.
pub fn list(caller: &Caller) -> Result<Jsonb> {
    caller
        .db()
        .row(&LIST, &[])?
        .and_then(|row| row.copied(1))
        .map(Jsonb::from_raw)
        .ok_or_else(|| Error::Internal("the list of models is missing".into()))
}
