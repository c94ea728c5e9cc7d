//! `me_memory_import` with a path (IMP-9 to IMP-12): every file is read and judged before anything is written, then the
//! records go in parts, each of them all or none.

use super::root::{Root, format};
use super::{Progress, only, refused, text_of};
use crate::db::{Asker, Database, value};
use crate::outcome::{Failure, Refusal};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// A part has at most this many records, and about this many bytes (IMP-12); a larger record goes alone.
const MAX_RECORDS: usize = 1000;
const MAX_BYTES: usize = 768 << 10;

const RECORDS: &str = "select r::text from me.memory_import_records($1::text, $2::text) as r";

const COUNT: &str = "select count(*) from me.memory_import_records($1::text, $2::text)";

const IMPORT: &str =
    "select me.memory_import(content => $1::text, format => 'json', space => $2::text)::text";

/// What the parts came to.
#[derive(Default)]
struct Sum {
    imported: u64,
    skipped: u64,
    failed: usize,
    ids: Vec<Value>,
    skipped_ids: Vec<Value>,
    errors: Vec<Value>,
}

/// What the database says of one part.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    imported: u64,
    skipped: u64,
    ids: Vec<Value>,
    skipped_ids: Vec<Value>,
}

/// Imports a file or a folder.
pub async fn run(
    root: &Root,
    database: &Database,
    asker: &Asker,
    path: &str,
    fields: JsonObject,
    progress: &Progress,
) -> Result<Value, Failure> {
    only(&fields, &["path", "content", "format", "space"])?;
    let (chosen, space) = (text_of(&fields, "format"), text_of(&fields, "space"));
    let place = root.place(path).map_err(refused)?;
    let files = blocking(|| root.files(&place))?;
    let mut total = 0;
    for file in &files {
        let text = blocking(|| root.read(file))?;
        let count: i64 = database
            .read_row(asker, COUNT, &[&text, &chosen.as_deref().or_else(|| format(file))])
            .await
            .and_then(|row| value(&row, 0))
            .map_err(|failure| of_file(file, failure))?;
        total += usize::try_from(count).unwrap_or_default();
    }
    progress.tell(0, total, "all files are read").await;

    let (mut sum, mut parts, mut done) = (Sum::default(), Parts::default(), 0);
    let mut number = 0;
    for file in &files {
        let text = blocking(|| root.read(file))?;
        let rows = database
            .read_rows(asker, RECORDS, &[&text, &chosen.as_deref().or_else(|| format(file))])
            .await
            .map_err(|failure| of_file(file, failure))?;
        for row in &rows {
            if let Some(part) = parts.add(value(row, 0)?) {
                done += part.len();
                sum.send(database, asker, number, &part, space.as_deref()).await?;
                number += 1;
                progress.tell(done, total, &format!("{done} of {total} records")).await;
            }
        }
    }
    let part = parts.rest();
    if !part.is_empty() {
        sum.send(database, asker, number, &part, space.as_deref()).await?;
        progress.tell(total, total, "done").await;
    }
    sum.answer()
}

/// Reading files waits for the disk: the other calls need not.
fn blocking<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, Failure> {
    tokio::task::block_in_place(work).map_err(refused)
}

/// Says in which file the fault is.
fn of_file(file: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusal) => Failure::Refused(Box::new(Refusal {
            message: format!("{}: {}", file.display(), refusal.message),
            ..*refusal
        })),
        other => other,
    }
}

impl Sum {
    async fn send(
        &mut self,
        database: &Database,
        asker: &Asker,
        number: usize,
        part: &[String],
        space: Option<&str>,
    ) -> Result<(), Failure> {
        let content = format!("[{}]", part.join(","));
        let answer = database.rows(asker, IMPORT, &[&content, &space]).await;
        let text: String = match answer.as_deref() {
            Ok([row]) => value(row, 0)?,
            Ok(_) => return Err(Failure::Internal("an import answered without a row".into())),
            Err(Failure::Refused(refusal)) => {
                self.failed += part.len();
                self.errors.push(json!({
                    "chunkIndex": number, "itemCount": part.len(), "ids": ids(part), "error": refusal.message,
                }));
                return Ok(());
            }
            Err(_) => return answer.map(|_| ()),
        };
        let part: Part = serde_json::from_str(&text)
            .map_err(|error| Failure::Internal(format!("an import answered something else: {error}")))?;
        self.imported += part.imported;
        self.skipped += part.skipped;
        self.ids.extend(part.ids);
        self.skipped_ids.extend(part.skipped_ids);
        Ok(())
    }

    /// A call of which nothing arrived has failed (IMP-12).
    fn answer(self) -> Result<Value, Failure> {
        if self.imported == 0
            && let Some(error) = self.errors.first()
        {
            let message = error["error"].as_str().unwrap_or("nothing was imported").to_owned();
            return Err(Failure::Refused(Box::new(Refusal::validation(
                "path",
                message,
                "Nothing was imported. Correct the files and import them again.",
            ))));
        }
        Ok(json!({
            "imported": self.imported, "skipped": self.skipped, "failed": self.failed,
            "ids": self.ids, "skippedIds": self.skipped_ids, "errors": self.errors,
        }))
    }
}

/// The ids that records bring along.
fn ids(part: &[String]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Record {
        id: Option<String>,
    }
    part.iter().filter_map(|record| serde_json::from_str::<Record>(record).ok()?.id).collect()
}

/// Packs records in their order.
#[derive(Default)]
struct Parts {
    records: Vec<String>,
    bytes: usize,
}

impl Parts {
    /// Adds a record; answers with the part that it would have made too large.
    fn add(&mut self, record: String) -> Option<Vec<String>> {
        let full = !self.records.is_empty()
            && (self.records.len() == MAX_RECORDS || self.bytes + record.len() > MAX_BYTES);
        let part = full.then(|| self.rest());
        self.bytes += record.len() + 1;
        self.records.push(record);
        part
    }

    /// What is left.
    fn rest(&mut self) -> Vec<String> {
        self.bytes = 0;
        std::mem::take(&mut self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(records: impl IntoIterator<Item = String>) -> Vec<usize> {
        let mut parts = Parts::default();
        let mut sizes: Vec<usize> =
            records.into_iter().filter_map(|record| parts.add(record)).map(|part| part.len()).collect();
        sizes.push(parts.rest().len());
        sizes
    }

    #[test]
    fn a_part_has_a_thousand_records_at_most() {
        assert_eq!(packed((0..2001).map(|n| n.to_string())), [1000, 1000, 1]);
        assert_eq!(packed((0..1000).map(|n| n.to_string())), [1000]);
    }

    #[test]
    fn a_part_has_768_kibibytes_at_most_and_a_larger_record_goes_alone() {
        let of = |bytes: usize| "x".repeat(bytes);
        assert_eq!(packed([of(400 << 10), of(300 << 10), of(300 << 10)]), [2, 1]);
        assert_eq!(packed([of(10), of(2 << 20), of(10)]), [1, 1, 1]);
    }

    #[test]
    fn records_tell_the_ids_they_bring() {
        let part = [r#"{"id":"a","content":"x"}"#, r#"{"content":"x"}"#].map(str::to_owned);
        assert_eq!(ids(&part), ["a"]);
    }
}
