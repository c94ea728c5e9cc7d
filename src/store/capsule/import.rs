//! `memory_import`: Markdown files become capsules, piece by piece (CAP-IMP).

use super::book::Book;
use super::capture::{Outcome, capture, summary};
use super::files::{self, Spot};
use super::relate::{IMPORT, connect};
use super::state;
use super::vocabulary::require_writer;
use crate::domain::capsule::fault::{self, Fault};
use crate::domain::capsule::ingest::Item;
use crate::domain::capsule::record::id_of;
use crate::domain::capsule::shape::Shape;
use crate::domain::capsule::split::{Piece, split};
use crate::domain::capsule::words::{Authority, ImportSource, Relation};
use crate::error::Result;
use crate::guc;
use crate::statement;
use crate::store::spi::arg;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

statement!(
    /// What a file was cut into before: number, whether the import captured it, whether it was there the last time.
    LINEAGE,
    ["select i.seq, i.created, i.present from me.capsule_import as i
      where i.space = $1 and i.source_key = $2 order by i.ordinal, i.seq"],
    [TEXTOID, TEXTOID]
);
statement!(
    /// Which of some capsules are present in another file.
    ELSEWHERE,
    ["select distinct i.seq from me.capsule_import as i
      where i.space = $1 and i.source_key <> $2 and i.present and i.seq = any ($3)"],
    [TEXTOID, TEXTOID, INT8ARRAYOID]
);
statement!(
    ABSENT,
    ["update me.capsule_import set present = false where space = $1 and source_key = $2 and present"],
    [TEXTOID, TEXTOID]
);
statement!(
    PRESENT,
    ["insert into me.capsule_import (space, source_key, ordinal, seq, created, present, at)
      values ($1, $2, $3, $4, $5, true, $6)
      on conflict (space, source_key, seq) do update set ordinal = excluded.ordinal, present = true, at = excluded.at"],
    [TEXTOID, TEXTOID, INT4OID, INT8OID, BOOLOID, TIMESTAMPTZOID]
);
statement!(
    /// The edges above a capsule: who supersedes it, and whether the import wrote that.
    ABOVE,
    ["select r.from_seq, r.origin = 'import' from me.capsule_relation as r
      where r.space = $1 and r.kind = 'supersedes' and r.to_seq = $2 and not r.from_outcome order by r.from_seq"],
    [TEXTOID, INT8OID]
);
statement!(
    /// Deletes an edge that the import wrote.
    DETACH,
    ["delete from me.capsule_relation
      where space = $1 and kind = 'supersedes' and to_seq = $2 and not from_outcome and from_seq = $3
        and origin = 'import'"],
    [TEXTOID, INT8OID, INT8OID]
);

/// A checked call.
pub struct Import {
    source: ImportSource,
    dir: Option<String>,
    base: String,
    files: Option<BTreeMap<String, String>>,
}

/// Reads a call.
pub fn parse(fields: Map<String, Value>) -> fault::Result<Import> {
    let mut shape = Shape::new(fields, &["source", "dir", "base", "files"])?;
    let source = shape.word("source", ImportSource::WORDS, ImportSource::from_word)?;
    let source = source.ok_or_else(|| shape.missing("source"))?;
    let (dir, base) = (shape.text("dir")?, shape.text("base")?.unwrap_or_default());
    let files = shape.object("files")?.map(texts).transpose()?;
    match (source, &dir) {
        (ImportSource::Folder, None) => {
            return Err(Fault::value("dir", "dir is required with source memory-dir"));
        }
        (ImportSource::Folder, Some(_)) | (_, None) => {}
        (_, Some(_)) => return Err(Fault::value("dir", "dir goes with source memory-dir alone")),
    }
    for (argument, path) in [("base", Some(&base).filter(|base| !base.is_empty())), ("dir", dir.as_ref())] {
        if let Some(path) = path
            && files::relative(path).is_none()
        {
            return Err(Fault::value(argument, format!("{argument} must be a relative path without \"..\"")));
        }
    }
    Ok(Import { source, dir, base, files })
}

fn texts(files: Map<String, Value>) -> fault::Result<BTreeMap<String, String>> {
    files
        .into_iter()
        .map(|(path, text)| match text {
            Value::String(text) => Ok((path, text)),
            _ => Err(Fault::shape(format!("files.{path}"), "files must map paths to texts")),
        })
        .collect()
}

/// What was found to be imported.
enum Sources {
    /// Paths and texts, in order.
    Files(Vec<(String, String)>),
    /// Nothing: where it was looked for.
    Absent(String),
    /// Something that is not followed, and why.
    Rejected(String, &'static str),
}

impl Import {
    /// The path of what is imported, below the folder.
    fn path(&self) -> String {
        let name = match self.source {
            ImportSource::User => ".claude/CLAUDE.md",
            ImportSource::Project => "CLAUDE.md",
            ImportSource::Agents => "AGENTS.md",
            ImportSource::Folder => self.dir.as_deref().unwrap_or_default(),
        };
        if self.base.is_empty() { name.to_owned() } else { format!("{}/{name}", self.base) }
    }

    fn find(&self) -> fault::Result<Sources> {
        let path = self.path();
        if let Some(files) = &self.files {
            return Ok(given(self.source, files, path));
        }
        let root = guc::capsule_file_root().ok_or_else(|| {
            Fault::value(
                "files",
                "the server reads no files: send them as files, or set me.capsule_file_root",
            )
        })?;
        let root = Path::new(&root);
        match self.source {
            ImportSource::Folder => folder(root, path),
            _ => Ok(one_file(root, path)),
        }
    }
}

/// Among files that came with the call.
fn given(source: ImportSource, files: &BTreeMap<String, String>, path: String) -> Sources {
    let found: Vec<(String, String)> = match source {
        ImportSource::Folder => files
            .iter()
            .filter(|(name, _)| {
                let inside = name.strip_prefix(&path).and_then(|rest| rest.strip_prefix('/'));
                inside.is_some_and(|rest| !rest.contains('/') && rest.ends_with(".md"))
            })
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect(),
        _ => files.get(&path).map(|text| (path.clone(), text.clone())).into_iter().collect(),
    };
    if found.is_empty() { Sources::Absent(path) } else { Sources::Files(found) }
}

fn one_file(root: &Path, path: String) -> Sources {
    let spot = files::relative(&path).map_or(Spot::Nothing, |relative| files::spot(root, &relative));
    match spot {
        Spot::Link => Sources::Rejected(path, "a symbolic link stands in its place"),
        Spot::Folder(_) | Spot::Nothing => Sources::Absent(path),
        Spot::File(file) => match text_of(&file) {
            Some(text) => Sources::Files(vec![(path, text)]),
            None => Sources::Rejected(path, "it cannot be read as UTF-8 text"),
        },
    }
}

/// The Markdown files directly in a folder, by name; symbolic links are skipped.
fn folder(root: &Path, path: String) -> fault::Result<Sources> {
    let spot = files::relative(&path).map_or(Spot::Nothing, |relative| files::spot(root, &relative));
    let Spot::Folder(place) = spot else { return Ok(Sources::Absent(path)) };
    let Ok(entries) = std::fs::read_dir(&place) else { return Ok(Sources::Absent(path)) };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".md"));
    names.sort();
    let found = names
        .into_iter()
        .map(|name| format!("{path}/{name}"))
        .filter_map(|name| {
            let file = files::plain_file(root, &files::relative(&name)?)?;
            Some((name, text_of(&file)?))
        })
        .collect();
    Ok(Sources::Files(found))
}

fn text_of(file: &Path) -> Option<String> {
    String::from_utf8(files::read(file)?).ok()
}

/// Runs a call.
pub fn import(book: &mut Book, call: &Import) -> Result<Value> {
    require_writer(book.session())?;
    let source = call.source.word();
    let files = match call.find()? {
        Sources::Absent(path) => return Ok(json!({"outcome": "absent", "source": source, "tried": [path]})),
        Sources::Rejected(path, reason) => {
            return Ok(json!({"outcome": "rejected", "source": source, "reason": reason, "path": path}));
        }
        Sources::Files(files) => files,
    };
    let mut outcomes = Vec::new();
    for (path, text) in files {
        outcomes.extend(import_file(book, source, &path, &text)?);
    }
    let mut answer = summary(outcomes.into_iter());
    answer["outcome"] = "imported".into();
    answer["source"] = source.into();
    Ok(answer)
}

/// A capsule that a file was cut into before.
struct Earlier {
    seq: i64,
    created: bool,
    present: bool,
}

fn import_file(book: &mut Book, source: &str, path: &str, text: &str) -> Result<Vec<Outcome>> {
    let key = format!("{source}:{path}");
    let space = arg(book.session().space());
    let rows = book.session().db().run(&LINEAGE, &[space, arg(key.as_str())])?;
    let earlier: Vec<Earlier> = rows
        .into_iter()
        .map(|row| Ok(Earlier { seq: row.need(1)?, created: row.need(2)?, present: row.need(3)? }))
        .collect::<Result<_>>()?;
    // What somebody else imported from a file of this name is not this caller's to supersede or revive.
    let earlier: Vec<Earlier> = earlier
        .into_iter()
        .filter(|one| state::find_writable(book.session(), &id_of(one.seq)).is_ok())
        .collect();
    let mut outcomes = Vec::new();
    let mut now: Vec<(i64, bool)> = Vec::new();
    for piece in split(text) {
        let outcome = capture(book, item(source, path, &piece), "memory_import")?;
        match &outcome {
            Outcome::Captured(stored) => now.push((stored.seq, true)),
            Outcome::Deduplicated(stored) if now.iter().all(|(seq, _)| *seq != stored.seq) => {
                now.push((stored.seq, false));
            }
            Outcome::Deduplicated(_) | Outcome::Rejected(_) => {}
        }
        outcomes.push(outcome);
    }
    replace(book, &key, &earlier, &now)?;
    let db = book.session().db();
    db.run(&ABSENT, &[space, arg(key.as_str())])?;
    for (ordinal, (seq, created)) in now.iter().enumerate() {
        let ordinal = i32::try_from(ordinal + 1).unwrap_or(i32::MAX);
        db.run(
            &PRESENT,
            &[space, arg(key.as_str()), arg(ordinal), arg(*seq), arg(*created), arg(book.now_at())],
        )?;
    }
    Ok(outcomes)
}

fn item(source: &str, path: &str, piece: &Piece) -> Item {
    Item {
        content: piece.text.clone(),
        source: source.to_owned(),
        anchor: format!("{path}:{}", piece.line),
        authority: Some(Authority::Imported),
        instruction_taint: true,
        ..Item::default()
    }
}

/// Lets new pieces supersede those they stand for, and revives pieces that came back (CAP-IMP-6…8).
fn replace(book: &mut Book, key: &str, earlier: &[Earlier], now: &[(i64, bool)]) -> Result<()> {
    let here: BTreeSet<i64> = now.iter().map(|(seq, _)| *seq).collect();
    let own: BTreeSet<i64> = earlier.iter().filter(|one| one.created).map(|one| one.seq).collect();
    let mut vanished: Vec<i64> = earlier
        .iter()
        .filter(|one| one.present && one.created && !here.contains(&one.seq))
        .map(|one| one.seq)
        .collect();
    let elsewhere = present_elsewhere(book, key, &vanished)?;
    vanished.retain(|seq| !elsewhere.contains(seq));
    for (seq, _) in now {
        let came_back = earlier.iter().any(|one| one.seq == *seq && one.created && !one.present);
        if came_back && let Some(top) = revive(book, *seq, &own)? {
            if !here.contains(&top) && !elsewhere.contains(&top) {
                connect(book, Relation::Supersedes, (false, *seq), top, IMPORT)?;
            }
            vanished.retain(|other| *other != top);
        }
    }
    let captured: Vec<i64> = now.iter().filter(|(_, created)| *created).map(|(seq, _)| *seq).collect();
    if captured.len() == vanished.len() {
        for (new, old) in captured.iter().zip(&vanished) {
            connect(book, Relation::Supersedes, (false, *new), *old, IMPORT)?;
        }
    }
    Ok(())
}

fn present_elsewhere(book: &Book, key: &str, seqs: &[i64]) -> Result<BTreeSet<i64>> {
    if seqs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let session = book.session();
    let rows = session.db().run(&ELSEWHERE, &[arg(session.space()), arg(key), arg(seqs.to_vec())])?;
    rows.into_iter().map(|row| row.need(1)).collect()
}

/// Takes the one machine edge off a capsule, if all edges above it are machine edges of this file; answers with the
/// end of the chain, which took its place last.
fn revive(book: &Book, seq: i64, own: &BTreeSet<i64>) -> Result<Option<i64>> {
    let session = book.session();
    let mut chain = vec![seq];
    loop {
        let at = chain.last().copied().unwrap_or(seq);
        let rows = session.db().run(&ABOVE, &[arg(session.space()), arg(at)])?;
        let above: Vec<(i64, bool)> =
            rows.into_iter().map(|row| Ok((row.need(1)?, row.need(2)?))).collect::<Result<_>>()?;
        match above.as_slice() {
            [] => break,
            [(next, true)] if own.contains(next) && !chain.contains(next) => chain.push(*next),
            _ => return Ok(None),
        }
    }
    let [_, next, ..] = chain.as_slice() else { return Ok(None) };
    session.db().run(&DETACH, &[arg(session.space()), arg(seq), arg(*next)])?;
    Ok(chain.last().copied())
}
