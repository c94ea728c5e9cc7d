//! `me.mcp_tools` and `me.mcp_call`: the same functions, by their MCP names and spellings.

use super::arguments::Arguments;
use super::filters::Filters;
use super::tools::Catalogue;
use super::{access, capsule, given, history, memory, organise, required, result, search, space, transfer};
use crate::domain::format::Format;
use crate::domain::id::Id;
use crate::domain::instant::Instant;
use crate::domain::invalid::{Invalid, excerpt};
use crate::error::{Error, Result};
use crate::guc;
use crate::store::jsonb::Jsonb;
use crate::store::timestamp;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::Value;

type Answer = std::result::Result<Jsonb, ErrorReport>;

#[pg_extern(stable, parallel_restricted)]
fn mcp_tools(toolset: default!(Option<&str>, "NULL")) -> Answer {
    let toolset = match toolset.unwrap_or("all") {
        word @ ("memory" | "capsule" | "all") => word,
        other => {
            return Err(Error::from(Invalid::new(
                "toolset",
                "MCP-2",
                format!("argument \"toolset\" has unknown value {}", excerpt(other)),
                "Use one of \"memory\", \"capsule\" or \"all\".",
            ))
            .into());
        }
    };
    let tools = Catalogue::load()?.definitions(toolset, guc::space_locked());
    Ok(result(&Value::from(tools).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn mcp_call(name: default!(Option<&str>, "NULL"), arguments: default!(Option<Jsonb>, "NULL")) -> Answer {
    let name = required("name", name)?;
    let catalogue = Catalogue::load()?;
    let tool = catalogue.find(name)?;
    let text = given(arguments).map_or_else(|| "{}".to_owned(), Jsonb::text);
    check_size(&text)?;
    if tool.toolset == "capsule" {
        return capsule::mcp::call(&tool.name, &text);
    }
    let names = tool.argument_names(guc::space_locked());
    let args = Arguments::parse("", &text, &names)?;
    dispatch(&tool.name, &args)
}

fn check_size(text: &str) -> Result<()> {
    let limit = guc::max_content_bytes();
    if text.len() <= limit {
        return Ok(());
    }
    Err(Invalid::new(
        "arguments",
        "LIM-1",
        format!("argument \"arguments\" has {} bytes, more than {limit}", text.len()),
        "Send less at once, or ask an administrator to raise me.max_content_bytes.",
    )
    .into())
}

fn dispatch(tool: &str, args: &Arguments) -> Answer {
    let space_name = space_argument(args)?;
    let space_name = space_name.as_deref();
    match tool {
        "me_memory_context" => {
            check_format(args)?;
            access::context(space_name)
        }
        "me_memory_create" => memory::create(
            memory::Create {
                content: args.text("content")?,
                tree: args.text("tree")?,
                id: args.id("id")?,
                name: args.text("name")?,
                meta: args.json("meta")?,
                temporal: args.json("temporal")?,
            },
            args.text("on_conflict")?.as_deref(),
            space_name,
        ),
        "me_memory_get" => {
            check_format(args)?;
            memory::get(args.id("id")?, args.texts("select")?, timestamp(args, "as_of")?, space_name)
        }
        "me_memory_get_by_path" => {
            check_format(args)?;
            memory::get_by_path(
                args.text("path")?.as_deref(),
                args.texts("select")?,
                timestamp(args, "as_of")?,
                space_name,
            )
        }
        "me_memory_history" => {
            check_format(args)?;
            history::history(
                history::History {
                    memory_id: scope_id(args, "memoryId")?,
                    path: args.text("path")?,
                    tree: args.text("tree")?,
                    operation: args.text("operation")?,
                    operation_id: scope_id(args, "operationId")?,
                    since: timestamp(args, "since")?,
                    until: timestamp(args, "until")?,
                    cursor: args.text("cursor")?,
                    limit: args.integer("limit")?,
                    order: args.text("order")?,
                    select: args.texts("select")?,
                },
                space_name,
            )
        }
        "me_memory_revert" => {
            check_format(args)?;
            history::revert(
                history::Revert {
                    version: args.integer("version")?,
                    id: args.id("id")?,
                    path: args.text("path")?,
                    expected_version_hash: args.text("expectedVersionHash")?,
                },
                space_name,
            )
        }
        "me_memory_update" => memory::update(
            memory::Update {
                id: args.id("id")?,
                version_hash: args.text("version_hash")?,
                content: args.text("content")?,
                name: args.text("name")?,
                meta: args.json("meta")?,
                tree: args.text("tree")?,
                temporal: args.json("temporal")?,
                meta_patch: args.json("meta_patch")?,
                clear: args.texts("clear")?,
            },
            space_name,
        ),
        "me_memory_delete" => memory::delete(args.id("id")?, space_name),
        "me_memory_delete_by_path" => memory::delete_by_path(args.text("path")?.as_deref(), space_name),
        "me_memory_count" => {
            organise::count(args.text("tree")?.as_deref(), args.integer("max_count")?, space_name)
        }
        "me_memory_tree" => {
            organise::tree(args.text("tree")?.as_deref(), args.integer("levels")?, space_name)
        }
        "me_memory_copy" => organise::copy(&ends(args)?, space_name),
        "me_memory_mv" => organise::mv(&ends(args)?, space_name),
        "me_memory_delete_tree" => {
            organise::delete_tree(args.text("tree")?.as_deref(), args.boolean("dry_run")?, space_name)
        }
        "me_memory_import" => {
            let (content, format) = (args.text("content")?, args.text("format")?);
            transfer::import(content.as_deref(), format.as_deref(), space_name)
        }
        "me_memory_export" => transfer::export(
            args.text("format")?.as_deref(),
            filters(args)?,
            args.integer("limit")?,
            space_name,
        ),
        "me_memory_search" => {
            check_format(args)?;
            search::memory_search_call(search_arguments(args)?, args.texts("select")?, space_name)
        }
        "me_space_list" => space::list(),
        _ => Err(Error::Internal(format!("tool {tool} is listed but not served")).into()),
    }
}

fn search_arguments(args: &Arguments) -> Result<search::Search> {
    Ok(search::Search {
        filters: filters(args)?,
        arguments: search::Arguments {
            semantic: args.text("semantic")?,
            embedding: None,
            fulltext: args.text("fulltext")?,
            grep: args.text("grep")?,
            weights: args.json("weights")?.map(Jsonb::text),
            candidate_limit: args.integer("candidateLimit")?,
            semantic_threshold: args.number("semanticThreshold")?,
            limit: args.integer("limit")?,
            order_by: args.text("order_by")?,
            after: args.id("after")?,
            fusion: args.text("fusion")?,
        },
    })
}

/// The arguments of a tool that copies or moves.
fn ends(args: &Arguments) -> Result<organise::Transfer> {
    Ok(organise::Transfer {
        source: args.text("source")?,
        destination: args.text("destination")?,
        dry_run: args.boolean("dry_run")?,
    })
}

/// The filters of a tool that has them.
fn filters(args: &Arguments) -> Result<Filters> {
    Ok(Filters {
        tree: args.text("tree")?,
        meta: args.json("meta")?,
        meta_predicate: args.text("metaPredicate")?,
        temporal: args.json("temporal")?,
    })
}

/// An instant, as the server reads its text under TimeZone UTC (HIST-9). An empty string is none (HIST-1).
fn timestamp(args: &Arguments, name: &str) -> Result<Option<Instant>> {
    let text = args.text(name)?.filter(|text| !text.is_empty());
    Ok(text.map(|text| timestamp::parse(name, &text)).transpose()?)
}

/// An id that narrows; an empty string is none (HIST-1).
fn scope_id(args: &Arguments, name: &str) -> Result<Option<Id>> {
    if args.text(name)?.is_some_and(|text| text.is_empty()) {
        return Ok(None);
    }
    args.id(name)
}

/// The `format` of a reading tool is checked here and used by whoever turns the answer into text (FMT-5).
fn check_format(args: &Arguments) -> Result<()> {
    Format::parse("format", args.text("format")?.as_deref())?;
    Ok(())
}

/// `space`, which may be left out but not given empty or as null (CALL-5).
fn space_argument(args: &Arguments) -> Result<Option<String>> {
    let space = args.text("space")?;
    if args.mentions("space") && space.is_none() {
        return Err(Invalid::new(
            "space",
            "CALL-5",
            "argument \"space\" is null",
            "Name a space, or leave the argument out to use the session's.",
        )
        .into());
    }
    Ok(space)
}
