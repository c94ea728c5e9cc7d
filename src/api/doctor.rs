//! `me.doctor`: what is wrong with this database and its server, and what to do about it.

use crate::domain::embedding::{Model, Provider};
use crate::store::doctor::{self, Finding, Host, Status};
use crate::{guc, provider, worker};
use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// For superusers and roles that were granted it: it looks into every space.
#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::type_complexity, reason = "what a set-returning function is")]
fn doctor() -> std::result::Result<
    TableIterator<
        'static,
        (name!(check, String), name!(status, String), name!(detail, String), name!(remedy, Option<String>)),
    >,
    ErrorReport,
> {
    let (mut findings, models) = doctor::examine(&Host { preloaded: worker::is_preloaded() })?;
    findings.extend(model_findings(&models));
    findings.extend(endpoint_findings(&models));
    Ok(TableIterator::new(findings.into_iter().map(|finding| {
        (finding.check.to_owned(), finding.status.word().to_owned(), finding.detail, finding.remedy)
    })))
}

/// Whether the files of local models are there and fit what is registered.
fn model_findings(models: &[Model]) -> Vec<Finding> {
    let local = models.iter().filter(|model| model.provider == Provider::Local);
    let found: Vec<Finding> = local
        .filter_map(|model| provider::local(model).err())
        .map(|reason| {
            let remedy = "Put the model's directory where its path option or me.local_model_path says, readable by the server's user.";
            Finding::bad("model files", Status::Error, reason, remedy)
        })
        .collect();
    if found.is_empty() { vec![Finding::fine("model files", "every local model can be read")] } else { found }
}

/// Whether the key of the endpoint is one that nobody else reads, and travels encrypted.
fn endpoint_findings(models: &[Model]) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(path) = guc::embedding::api_key_file() {
        match provider::key_file_fault(&path) {
            Some(provider::KeyFault::Unreadable(reason)) => {
                let remedy =
                    "Set me.embedding_api_key_file to a file with the key that the server's user can read.";
                found.push(Finding::bad("endpoint", Status::Error, reason, remedy));
            }
            Some(provider::KeyFault::ReadByOthers) => {
                let detail =
                    "the file of me.embedding_api_key_file can be read by other users of the machine";
                let remedy = "chmod 600 the file; it belongs to the server's user.";
                found.push(Finding::bad("endpoint", Status::Warning, detail.to_owned(), remedy));
            }
            None => {}
        }
    }
    for model in models.iter().filter(|model| model.provider == Provider::OpenAi) {
        let url = model.options.url.clone().or_else(guc::embedding::url).unwrap_or_default();
        if provider::is_sent_in_the_clear(&url) {
            let name = model.name.as_str();
            let detail = format!("the texts for model \"{name}\" go to another machine unencrypted");
            found.push(Finding::bad("endpoint", Status::Warning, detail, "Use an address with https://."));
        }
    }
    if found.is_empty() { vec![Finding::fine("endpoint", "nothing is given away")] } else { found }
}
