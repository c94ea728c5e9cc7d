//! Memories as resources: `memory://<space>/<tree>/<name>`, or `memory://<space>/?id=<id>` for one without a name.

use crate::db::{Answer, Asker, Database};
use crate::outcome::{Failure, Refusal};
use rmcp::model::{MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const SCHEME: &str = "memory://";

/// Resources on one page of a listing.
const PAGE: usize = 100;

/// The most links that the result of a search brings along.
const LINKS: usize = 10;

/// What a URI names.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    space: String,
    key: Key,
}

#[derive(Debug, PartialEq, Eq)]
enum Key {
    Path(String),
    Id(String),
}

/// What a listing asks of a memory.
#[derive(Deserialize)]
struct Listed {
    id: String,
    tree: Option<String>,
    name: Option<String>,
    content: Option<String>,
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let (space, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let space = decode(space).filter(|space| !space.is_empty())?;
        let key = match rest.strip_prefix("?id=") {
            Some(id) => Key::Id(decode(id)?),
            None => {
                let path = decode(rest).filter(|path| !path.is_empty())?;
                // `~` is the home; every other path begins at the root.
                Key::Path(if path.starts_with("~/") { path } else { format!("/{path}") })
            }
        };
        Some(Self { space, key })
    }
}

fn uri(space: &str, memory: &Listed) -> String {
    let place = match (&memory.tree, &memory.name) {
        (Some(tree), Some(name)) => {
            let tree = tree.trim_matches('/');
            encode(&if tree.is_empty() { name.clone() } else { format!("{tree}/{name}") })
        }
        _ => format!("?id={}", encode(&memory.id)),
    };
    format!("{SCHEME}{}/{place}", encode(space))
}

/// Escapes all but the characters that mean themselves in a path.
fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

/// Takes the escapes of a URI back.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

fn mime_type(name: Option<&str>) -> &'static str {
    if name.is_some_and(|name| name.ends_with(".md")) { "text/markdown" } else { "text/plain" }
}

fn resource(space: &str, memory: &Listed) -> Resource {
    let name = memory.name.as_deref();
    let resource =
        Resource::new(uri(space, memory), name.unwrap_or(&memory.id)).with_mime_type(mime_type(name));
    match memory.content.as_deref().and_then(|content| content.lines().find(|line| !line.trim().is_empty())) {
        Some(line) => resource.with_description(line.chars().take(120).collect::<String>()),
        None => resource,
    }
}

/// How resources are addressed.
pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("memory://{space}/{+path}", "memory")
            .with_title("A memory by its path")
            .with_description("The content of the memory of this tree and name."),
        ResourceTemplate::new("memory://{space}/?id={id}", "memory-by-id")
            .with_title("A memory by its id")
            .with_description("The content of the memory with this id."),
    ]
}

/// The spaces whose memories are resources: the one the server is locked to, or all that the caller may read.
async fn spaces(database: &Database, asker: &Asker, locked: Option<&str>) -> Result<Vec<String>, Failure> {
    #[derive(Deserialize)]
    struct Spaces {
        spaces: Vec<Space>,
    }
    #[derive(Deserialize)]
    struct Space {
        slug: String,
    }
    if let Some(space) = locked {
        return Ok(vec![space.to_owned()]);
    }
    let spaces: Spaces = read(&database.read(asker, "me_space_list", "{}", None).await?)?;
    let mut slugs: Vec<String> = spaces.spaces.into_iter().map(|space| space.slug).collect();
    slugs.sort();
    Ok(slugs)
}

/// One page of all memories, space by space, oldest first, and where the next one begins.
pub async fn list(
    database: &Database,
    asker: &Asker,
    locked: Option<&str>,
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>), Failure> {
    #[derive(Deserialize)]
    struct Found {
        results: Vec<Listed>,
    }
    let (from, mut after) = match cursor.map(|cursor| cursor.split_once(' ')) {
        None => (None, None),
        Some(Some((space, after))) => (Some(space), Some(after).filter(|after| !after.is_empty())),
        Some(None) => {
            return Err(invalid("cursor", "argument \"cursor\" is none that this server gave".into()));
        }
    };
    let spaces = spaces(database, asker, locked).await?;
    let mut resources = Vec::new();
    for space in spaces.iter().filter(|space| from.is_none_or(|from| space.as_str() >= from)) {
        if from != Some(space) {
            after = None;
        }
        let room = PAGE - resources.len();
        let mut arguments = json!({
            "tree": "/", "order_by": "asc", "limit": room, "select": ["id", "tree", "name", "content:200"],
        });
        if let Some(after) = after {
            arguments["after"] = after.into();
        }
        if locked.is_none() {
            arguments["space"] = space.clone().into();
        }
        let found: Found =
            read(&database.read(asker, "me_memory_search", &arguments.to_string(), None).await?)?;
        resources.extend(found.results.iter().map(|memory| resource(space, memory)));
        if let (true, Some(last)) = (found.results.len() == room, found.results.last()) {
            return Ok((resources, Some(format!("{space} {}", last.id))));
        }
    }
    Ok((resources, None))
}

/// The content of a memory; the rest of its record goes along as metadata.
pub async fn contents(
    database: &Database,
    asker: &Asker,
    locked: Option<&str>,
    uri: &str,
) -> Result<ResourceContents, Failure> {
    let address = Address::parse(uri)
        .ok_or_else(|| invalid("uri", format!("argument \"uri\" is no address of a memory: {uri:?}")))?;
    let (tool, mut arguments) = match &address.key {
        Key::Path(path) => ("me_memory_get_by_path", json!({"path": path})),
        Key::Id(id) => ("me_memory_get", json!({"id": id})),
    };
    match locked {
        Some(space) if space != address.space => {
            return Err(invalid("uri", format!("this server is locked to space {space:?}")));
        }
        Some(_) => {}
        None => arguments["space"] = address.space.into(),
    }
    let mut record: Map<String, Value> =
        read(&database.read(asker, tool, &arguments.to_string(), None).await?)?;
    let Some(Value::String(content)) = record.shift_remove("content") else {
        return Err(Failure::Internal("a memory came without content".into()));
    };
    let kind = mime_type(record.get("name").and_then(Value::as_str));
    Ok(ResourceContents::text(content, uri).with_mime_type(kind).with_meta(MetaObject(record)))
}

/// Links to what a search has found, as far as its rows tell which memories they are.
pub fn links(space: &str, answer: &Value) -> Vec<Resource> {
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    results
        .iter()
        .take(LINKS)
        .filter_map(|result| Listed::deserialize(result).ok())
        .map(|memory| resource(space, &memory))
        .collect()
}

fn read<T: for<'a> Deserialize<'a>>(answer: &Answer) -> Result<T, Failure> {
    let mut reader = serde_json::Deserializer::from_str(&answer.json);
    reader.disable_recursion_limit();
    T::deserialize(&mut reader)
        .map_err(|error| Failure::Internal(format!("the database answered something else: {error}")))
}

fn invalid(argument: &str, message: String) -> Failure {
    Failure::Refused(Box::new(Refusal::validation(
        argument,
        message,
        "resources/list names resources, resources/templates/list says how they are addressed.",
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(tree: &str, name: Option<&str>) -> Listed {
        let id = "0190a1b2-0000-7000-8000-000000000051".into();
        Listed { id, tree: Some(tree.into()), name: name.map(str::to_owned), content: None }
    }

    #[test]
    fn addresses_are_written_and_read_back() {
        for (tree, name, expected, path) in [
            ("/share/a", "n.md", "memory://default/share/a/n.md", "/share/a/n.md"),
            ("/", "n", "memory://default/n", "/n"),
            ("~/x", "n", "memory://default/~/x/n", "~/x/n"),
            ("/ü?", "n", "memory://default/%C3%BC%3F/n", "/ü?/n"),
        ] {
            let uri = uri("default", &memory(tree, Some(name)));
            assert_eq!(uri, expected);
            let address = Address { space: "default".into(), key: Key::Path(path.into()) };
            assert_eq!(Address::parse(&uri), Some(address));
        }
        let nameless = uri("a-b", &memory("/x", None));
        assert_eq!(nameless, "memory://a-b/?id=0190a1b2-0000-7000-8000-000000000051");
        assert!(matches!(Address::parse(&nameless), Some(Address { key: Key::Id(_), .. })));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for uri in [
            "",
            "file:///etc/passwd",
            "memory://",
            "memory://x",
            "memory://x/",
            "memory:///a",
            "memory://x/%zz",
            "memory://x/%f",
            "memory://x/%ff",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }

    #[test]
    fn rows_without_an_id_have_no_link() {
        let answer = json!({"results": [{"content": "x"}, {"id": "i", "tree": "/a", "name": "n", "content": "\n one\ntwo"}]});
        let links = links("s", &answer);
        assert_eq!(links.len(), 1);
        assert_eq!(links[0].uri, "memory://s/a/n");
        assert_eq!(links[0].description.as_deref(), Some(" one"));
    }
}
