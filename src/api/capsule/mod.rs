//! `me.capsule_*`: knowledge that carries its origin, and the MCP tools of toolset `capsule`, which are the same calls.

mod functions;
pub mod mcp;
mod released;
mod words;

use super::{required, result};
use crate::domain::capsule::dump::Dump;
use crate::domain::capsule::fault::{Fault, Result as Checked};
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::shape::Shape;
use crate::domain::capsule::words::{Mode, Relation, View};
use crate::domain::capsule::{LABEL, classify, extract, ingest, recall};
use crate::domain::id::Id;
use crate::domain::invalid;
use crate::error::{Error, Result};
use crate::guc;
use crate::store::capsule as store;
use crate::store::capsule::book::Book;
use crate::store::jsonb::Jsonb;
use crate::store::session::{self, Session};
use pgrx::pg_sys::panic::ErrorReport;
use serde_json::{Map, Value, json};

type Answer = std::result::Result<Jsonb, ErrorReport>;
type Fields = Map<String, Value>;

/// Rows of each list of a digest, unless the call says it.
const HEADLINES: u64 = 10;

/// Runs a tool by its MCP name.
fn run(tool: &str, fields: Fields, space: Option<&str>) -> Answer {
    match tool {
        "memory_get" => get(fields, space),
        "memory_ingest" => {
            let request = checked(ingest::parse(fields))?;
            write(space, |book| store::capture::ingest(book, request))
        }
        "memory_list" => {
            let call = checked(store::list::parse(fields))?;
            read(space, |session| store::list::list(session, &call))
        }
        "memory_relate" => relate(fields, space),
        "memory_forget" => forget(fields, space),
        "memory_classify" => classify_call(fields, space),
        "memory_extract" => extract_call(fields),
        "memory_session_start" => {
            checked(Shape::new(fields, &[]))?;
            write(space, store::sessions::start)
        }
        "memory_session_finish" => finish(fields, space),
        "memory_retrieve" => {
            let query = checked(recall::parse(fields))?;
            let body = |session: &Session| store::recall::retrieve(session, &query);
            let answer = match session::may_write() {
                true => session::write(space, |_| Ok(()), |session, ()| body(session))?,
                false => session::read(space, |_| Ok(()), |session, ()| body(session))?,
            };
            Ok(result(&answer)?)
        }
        "memory_digest" => {
            let mut shape = checked(Shape::new(fields, &["headlines", "project_prefix"]))?;
            let headlines = checked(shape.count("headlines"))?.unwrap_or(HEADLINES);
            let prefix = checked(shape.text("project_prefix"))?;
            let fence = checked(Fence::new(None, prefix))?;
            read(space, |session| store::digest::digest(session, &fence, headlines))
        }
        "memory_bootstrap" => bootstrap(fields, space),
        "memory_consolidate" => {
            let mut shape = checked(Shape::new(fields, &["apply_tiers"]))?;
            match checked(shape.boolean("apply_tiers"))?.unwrap_or(false) {
                true => write(space, store::consolidate::apply),
                false => read(space, store::consolidate::plan),
            }
        }
        "memory_alias" => words::alias(fields, space),
        "memory_vector" => words::vector(fields, space),
        "memory_outcome" => words::outcome(fields, space),
        "memory_preference" => words::preference(fields, space),
        "memory_pin" => words::pin(fields, space),
        "memory_review" => words::review(fields, space),
        "memory_export" => {
            let mut shape = checked(Shape::new(fields, &["stamp"]))?;
            let stamped = checked(shape.boolean("stamp"))?.unwrap_or(true);
            read(space, |session| store::views::export(session, stamped))
        }
        "memory_visual" => visual(fields, space),
        "memory_import" => {
            let call = checked(store::import::parse(fields))?;
            write(space, |book| store::import::import(book, &call))
        }
        "memory_merge" => merge(fields, space),
        "memory_verify" => {
            checked(Shape::new(fields, &[]))?;
            read(space, |session| {
                let verdict = store::verify::verify(session)?;
                Ok(verdict.report(store::verify::out_of_band(session)?))
            })
        }
        _ => Err(Error::Internal(format!("tool {tool} is listed but not served")).into()),
    }
}

fn checked<T>(value: Checked<T>) -> Result<T> {
    value.map_err(Error::from)
}

fn encode(value: &Value) -> Answer {
    Ok(result(&value.to_string())?)
}

fn read(space: Option<&str>, body: impl FnOnce(&Session) -> Result<Value>) -> Answer {
    encode(&session::read(space, |_| Ok(()), |session, ()| body(session))?)
}

fn write(space: Option<&str>, body: impl FnOnce(&mut Book) -> Result<Value>) -> Answer {
    let answer = session::write(
        space,
        |_| Ok(()),
        |session, ()| {
            let mut book = Book::open(session)?;
            let answer = body(&mut book)?;
            book.close()?;
            Ok(answer)
        },
    )?;
    encode(&answer)
}

fn get(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["id"]))?;
    let id = checked(shape.need_text("id"))?;
    if let Some(found) = session::read_capsule_at_once(space, &id)? {
        return encode(&found);
    }
    read(space, |session| store::get::get(session, &id))
}

fn relate(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["kind", "from", "to"]))?;
    let kind = checked(shape.word("kind", Relation::WORDS, Relation::from_word))?;
    let kind = checked(kind.ok_or_else(|| shape.missing("kind")))?;
    let (from, to) = (checked(shape.need_text("from"))?, checked(shape.need_text("to"))?);
    write(space, |book| store::relate::relate(book, kind, &from, &to))
}

fn forget(fields: Fields, space: Option<&str>) -> Answer {
    let (id, mode, reason) = forget_arguments(fields).map_err(|fault| {
        let Fault::Shape { argument, rule, message } = fault else { return Error::from(fault) };
        let contract = "memory_forget needs id, mode (purged or redacted) and reason";
        Error::from(Fault::Shape { argument, rule, message: format!("{message}; {contract}") })
    })?;
    let answer = session::write(
        space,
        |_| Ok(()),
        |session, ()| {
            let mut book = Book::open(session)?;
            store::forget::forget(&mut book, &id, mode, &reason)?;
            book.close()?;
            store::get::get(session, &id)
        },
    )?;
    encode(&answer)
}

fn forget_arguments(fields: Fields) -> Checked<(String, Mode, String)> {
    let mut shape = Shape::new(fields, &["id", "mode", "reason"])?;
    let id = shape.need_text("id")?;
    let mode = shape.word("mode", Mode::WORDS, Mode::from_word)?.ok_or_else(|| shape.missing("mode"))?;
    Ok((id, mode, shape.need_text("reason")?))
}

fn classify_call(fields: Fields, space: Option<&str>) -> Answer {
    let call = checked(classify::parse(fields))?;
    match call.capsule_id.clone() {
        Some(id) => write(space, |book| store::classify::classify(book, &call, &id)),
        None => encode(&store::classify::derived(&call)),
    }
}

fn extract_call(fields: Fields) -> Answer {
    let mut shape = checked(Shape::new(fields, &["content", "text"]))?;
    if shape.has("content") && shape.has("text") {
        return Err(Error::from(Fault::shape(
            "text",
            "content and text are two spellings of one argument: send one",
        ))
        .into());
    }
    let content = match checked(shape.text("content"))? {
        Some(content) => content,
        None => checked(shape.text("text"))?.ok_or_else(|| Error::from(shape.missing("content")))?,
    };
    let found = extract::candidates(&content);
    let rows: Vec<Value> = found
        .iter()
        .map(|one| json!({"content": one.content, "kind": one.kind.word(), "cue": one.cue}))
        .collect();
    encode(&json!({"label": LABEL, "count": rows.len(), "candidates": rows}))
}

fn finish(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["session_id", "summary", "handoff"]))?;
    let id = checked(shape.need_text("session_id"))?;
    let (summary, handoff) = (checked(shape.text("summary"))?, checked(shape.text("handoff"))?);
    write(space, |book| store::sessions::finish(book, &id, summary, handoff))
}

fn bootstrap(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["project_id", "project_prefix", "terms", "token_budget"]))?;
    let (project_id, prefix) = (checked(shape.text("project_id"))?, checked(shape.text("project_prefix"))?);
    let terms = recall::usable(checked(shape.texts("terms"))?.unwrap_or_default());
    let budget = checked(shape.count("token_budget"))?.unwrap_or(recall::TOKEN_BUDGET_DEFAULT);
    let fence = checked(Fence::new(project_id, prefix))?;
    read(space, |session| store::digest::bootstrap(session, &fence, &terms, budget))
}

fn visual(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["view", "project_prefix"]))?;
    let view = checked(shape.word("view", View::WORDS, View::from_word))?;
    let view = checked(view.ok_or_else(|| shape.missing("view")))?;
    let prefix = checked(shape.text("project_prefix"))?;
    if prefix.is_some() && view != View::Tiers {
        return Err(
            Error::from(Fault::value("project_prefix", "project_prefix goes with view tiers alone")).into()
        );
    }
    let fence = checked(Fence::new(None, prefix))?;
    read(space, |session| store::views::draw(session, view, &fence))
}

/// What the journal calls a merged dump.
const FROM_DUMP: &str = "dump";

/// Both spaces are read and written in the caller's one transaction.
fn merge(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["from", "dump"]))?;
    if let Some(document) = checked(shape.object("dump"))? {
        if shape.has("from") {
            return Err(
                Error::from(Fault::value("from", "from and dump exclude each other: send one")).into()
            );
        }
        let source = checked(Dump::parse(document, guc::max_content_bytes()))?;
        return write(space, |book| store::merge::merge(book, FROM_DUMP, &source));
    }
    let from = checked(shape.need_text("from"))?;
    let source = session::read(Some(&from), |_| Ok(()), |session, ()| store::merge::read(session));
    let source = source.map_err(|_| {
        let message = format!("from {} is no space that can be read here", invalid::excerpt(&from));
        Error::from(Fault::value("from", message))
    })?;
    write(space, |book| store::merge::merge(book, &from, &source))
}

/// Runs `me.capsule_dump`.
fn dump(space: Option<&str>) -> Answer {
    read(space, |session| Ok(store::merge::read(session)?.to_json()))
}

/// Runs `me.capsule_adopt`: the content of a plain memory is captured; the memory stays as it is.
fn adopt(id: Option<Id>, source: Option<String>, anchor: Option<String>, space: Option<&str>) -> Answer {
    let id = required("id", id)?;
    let (source, anchor) = (required("source", source)?, required("anchor", anchor)?);
    let answer = session::write(
        space,
        |_| Ok(()),
        |session, ()| {
            let content = store::adopt::content(session, id)?;
            let mut book = Book::open(session)?;
            let item = ingest::Item { content, source, anchor, ..ingest::Item::default() };
            let answer = store::capture::ingest(&mut book, ingest::Request::Single(Box::new(item)))?;
            book.close()?;
            Ok(answer)
        },
    )?;
    encode(&answer)
}
