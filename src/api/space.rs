//! `me.space_*`: the spaces themselves.

use super::{required, result};
use crate::domain::space::{Slug, SpaceName};
use crate::error::{Error, Result};
use crate::store::caller::{self, Intent};
use crate::store::jsonb::Jsonb;
use crate::store::random;
use crate::store::space as store;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// Runs `space_list`.
pub fn list() -> Answer {
    let spaces = caller::call(Intent::Read, store::list)?;
    let spaces: Vec<_> = spaces.iter().map(|(slug, name)| json!({"slug": slug, "name": name})).collect();
    Ok(result(&json!({ "spaces": spaces }).to_string())?)
}

fn create(slug: Option<&str>, name: Option<&str>) -> Answer {
    let slug = match slug {
        Some(slug) => Slug::parse("slug", slug),
        None => Ok(Slug::from_random(random::bytes())),
    }
    .map_err(Error::from)?;
    let name = SpaceName::parse("name", name.unwrap_or(slug.as_str())).map_err(Error::from)?;
    caller::call(Intent::Manage, |caller| store::create(caller, &slug, &name))?;
    Ok(result(&json!({"slug": slug.as_str(), "name": name.as_str()}).to_string())?)
}

fn rename(slug: Option<&str>, name: Option<&str>) -> Answer {
    let slug = required("slug", slug)?;
    let name = SpaceName::parse("name", required("name", name)?).map_err(Error::from)?;
    caller::call(Intent::Manage, |caller| store::rename(caller, slug, &name))?;
    Ok(result(&json!({"slug": slug, "name": name.as_str()}).to_string())?)
}

fn drop(slug: Option<&str>) -> Answer {
    let slug: Result<&str> = required("slug", slug);
    let slug = slug?;
    caller::call(Intent::Manage, |caller| store::drop(caller, slug))?;
    Ok(result(r#"{"dropped": true}"#)?)
}

#[pg_extern(stable, parallel_restricted)]
fn space_list() -> Answer {
    list()
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_create(slug: default!(Option<&str>, "NULL"), name: default!(Option<&str>, "NULL")) -> Answer {
    create(slug, name)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_rename(slug: default!(Option<&str>, "NULL"), name: default!(Option<&str>, "NULL")) -> Answer {
    rename(slug, name)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_drop(slug: default!(Option<&str>, "NULL")) -> Answer {
    drop(slug)
}
