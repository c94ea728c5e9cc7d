//! API keys: their text, and what a key may do of what its holder may (PRIN-14…16).

use super::access::{Grant, Level};
use super::invalid::{Invalid, excerpt};
use super::path::{Home, TreePath};
use super::space::Slug;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::hint::black_box;

/// The text of a key: `me.<16 characters>.<32 characters>`. The first part finds it, the second proves it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText {
    lookup: String,
    secret: String,
}

impl std::fmt::Debug for KeyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "me.{}.…", self.lookup)
    }
}

/// The characters of both parts: 64 of them, so that each is six random bits.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn is_part(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

impl KeyText {
    const LOOKUP: usize = 16;
    const SECRET: usize = 32;

    /// Makes a key out of random bytes.
    pub fn from_random(bytes: [u8; 48]) -> Self {
        let text: String = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 63)])).collect();
        let (lookup, secret) = text.split_at(Self::LOOKUP);
        Self { lookup: lookup.to_owned(), secret: secret.to_owned() }
    }

    /// Reads a key; `None` when the text cannot be one. Why is nobody's business.
    pub fn parse(text: &str) -> Option<Self> {
        let (lookup, secret) = text.strip_prefix("me.")?.split_once('.')?;
        (is_part(lookup, Self::LOOKUP) && is_part(secret, Self::SECRET))
            .then(|| Self { lookup: lookup.to_owned(), secret: secret.to_owned() })
    }

    /// The part that is stored as it is.
    pub fn lookup(&self) -> &str {
        &self.lookup
    }

    /// The whole text: shown once, when the key is made.
    pub fn reveal(&self) -> String {
        format!("me.{}.{}", self.lookup, self.secret)
    }

    /// What proves the key, without its secret.
    pub fn proof(&self) -> KeyProof {
        KeyProof { lookup: self.lookup.clone(), digest: Sha256::digest(self.secret.as_bytes()).into() }
    }
}

/// What proves a key: the SHA-256 of its secret, which a gateway can hand on without the secret. What a server logs
/// of its statements is then no key.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyProof {
    lookup: String,
    digest: [u8; 32],
}

impl KeyProof {
    const MARK: &str = "sha256:";

    /// Reads a key, or `me.<16 characters>.sha256:<64 hexadecimal digits>` with the digest of its secret.
    pub fn parse(text: &str) -> Option<Self> {
        let (lookup, hex) = text.strip_prefix("me.")?.split_once('.')?;
        let Some(hex) = hex.strip_prefix(Self::MARK) else {
            return KeyText::parse(text).map(|key| key.proof());
        };
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if !is_part(lookup, KeyText::LOOKUP) || hex.len() != 64 || !hex.bytes().all(is_digit) {
            return None;
        }
        let mut digest = [0; 32];
        for (index, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Self { lookup: lookup.to_owned(), digest })
    }

    /// The part of the key that is stored as it is.
    pub fn lookup(&self) -> &str {
        &self.lookup
    }

    /// SHA-256 of the secret: what is stored of it. The secret is random, so that no salt is needed.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Whether the stored digest is that of this key. It takes as long wherever they differ.
    pub fn proves(&self, stored: &[u8]) -> bool {
        let own = self.digest();
        let mut difference = u8::from(stored.len() != own.len());
        for (index, byte) in own.iter().enumerate() {
            difference |= black_box(byte ^ stored.get(index).copied().unwrap_or(!*byte));
        }
        black_box(difference) == 0
    }
}

/// What a restricted key may do in one space.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpaceCeiling {
    /// Whether it may use its holder's being admin.
    pub admin: bool,
    /// How far it reaches at which tree; `None` sets no limit.
    pub trees: Option<Vec<Grant>>,
}

/// What a key may do of what its holder may.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allow {
    /// The spaces it is for; `None` for a key without restriction.
    spaces: Option<BTreeMap<String, SpaceCeiling>>,
}

impl Allow {
    /// A key that may do whatever its holder may.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads `{"spaces": {SLUG: {"admin": BOOLEAN, "trees": {TREE: LEVEL}}}}`; `~` is the holder's home.
    ///
    /// # Errors
    /// Another shape is refused under `PRIN-15`, a wrong slug, tree or level under its own rule.
    pub fn parse(argument: &str, text: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        Self::read(argument, text, &|place, tree| TreePath::parse_required(place, tree, home))
    }

    /// Takes the stored form; `None` if it is not one.
    pub fn from_stored(text: &str) -> Option<Self> {
        let dotted = |place: &str, tree: &str| {
            TreePath::from_dotted(tree).ok_or_else(|| shape(place, "a stored tree"))
        };
        Self::read("allow", text, &dotted).ok()
    }

    fn read(
        argument: &str,
        text: &str,
        tree: &dyn Fn(&str, &str) -> Result<TreePath, Invalid>,
    ) -> Result<Self, Invalid> {
        let value: Value = serde_json::from_str(text).map_err(|_| shape(argument, "an object"))?;
        let fields = object(argument, &value, &["spaces"])?;
        let Some(spaces) = fields.get("spaces").filter(|spaces| !spaces.is_null()) else {
            return Err(shape(argument, "an object with the key \"spaces\""));
        };
        let place = format!("{argument}.spaces");
        let spaces = spaces.as_object().ok_or_else(|| shape(&place, "an object of spaces by slug"))?;
        let mut read = BTreeMap::new();
        for (slug, ceiling) in spaces {
            let slug = Slug::parse(&place, slug)?;
            let place = format!("{place}.{}", slug.as_str());
            read.insert(slug.as_str().to_owned(), Self::read_ceiling(&place, ceiling, tree)?);
        }
        Ok(Self { spaces: Some(read) })
    }

    fn read_ceiling(
        place: &str,
        value: &Value,
        tree: &dyn Fn(&str, &str) -> Result<TreePath, Invalid>,
    ) -> Result<SpaceCeiling, Invalid> {
        let fields = object(place, value, &["admin", "trees"])?;
        let admin = match fields.get("admin") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(admin)) => *admin,
            Some(_) => return Err(shape(&format!("{place}.admin"), "a boolean")),
        };
        let at = format!("{place}.trees");
        let trees = match fields.get("trees") {
            None | Some(Value::Null) => None,
            Some(Value::Object(trees)) if !trees.is_empty() => Some(trees),
            Some(_) => return Err(shape(&at, "an object of levels by tree, or absent for no limit")),
        };
        let trees = trees.map(|trees| {
            trees
                .iter()
                .map(|(path, level)| {
                    let level = level.as_str().ok_or_else(|| shape(&at, "an object of levels by tree"))?;
                    Ok(Grant { tree: tree(&at, path)?, level: Level::parse(&at, level)? })
                })
                .collect::<Result<Vec<_>, Invalid>>()
        });
        let mut trees = trees.transpose()?;
        // In the order of trees, whatever spelling they came in: what is stored reads back as the same.
        if let Some(trees) = &mut trees {
            trees.sort_by(|a, b| a.tree.cmp(&b.tree).then(a.level.cmp(&b.level)));
        }
        Ok(SpaceCeiling { admin, trees })
    }

    /// As JSON, with the trees in the form that `tree` gives them; `None` for a key without restriction.
    pub fn to_json(&self, tree: impl Fn(&TreePath) -> String) -> Option<Value> {
        let spaces = self.spaces.as_ref()?;
        let spaces: Map<String, Value> = spaces
            .iter()
            .map(|(slug, ceiling)| {
                let mut fields = Map::from_iter([("admin".to_owned(), ceiling.admin.into())]);
                if let Some(trees) = &ceiling.trees {
                    let trees = trees.iter().map(|grant| (tree(&grant.tree), grant.level.word().into()));
                    fields.insert("trees".to_owned(), Value::Object(trees.collect()));
                }
                (slug.clone(), Value::Object(fields))
            })
            .collect();
        Some(json!({ "spaces": spaces }))
    }

    /// Whether the key may do less than its holder.
    pub fn is_restricted(&self) -> bool {
        self.spaces.is_some()
    }

    /// Whether the key is for this space.
    pub fn admits(&self, space: &str) -> bool {
        self.spaces.as_ref().is_none_or(|spaces| spaces.contains_key(space))
    }

    /// Whether the key may use its holder's being admin of the space.
    pub fn admin(&self, space: &str) -> bool {
        self.spaces.as_ref().is_none_or(|spaces| spaces.get(space).is_some_and(|ceiling| ceiling.admin))
    }

    /// What is left of the holder's grants in the space (PRIN-16).
    pub fn limit(&self, space: &str, held: Vec<Grant>) -> Vec<Grant> {
        let Some(spaces) = &self.spaces else {
            return held;
        };
        match spaces.get(space) {
            None => Vec::new(),
            Some(SpaceCeiling { trees: None, .. }) => held,
            Some(SpaceCeiling { trees: Some(declared), .. }) => Grant::ceiling(&held, declared),
        }
    }
}

fn object<'a>(place: &str, value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, Invalid> {
    let fields = value.as_object().ok_or_else(|| shape(place, "an object"))?;
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(fields),
        Some(unknown) => Err(Invalid::new(
            format!("{place}.{unknown}"),
            "CALL-3",
            format!("unknown key {} in \"{place}\"", excerpt(unknown)),
            format!("Known are: {}.", known.join(", ")),
        )),
    }
}

fn shape(place: &str, what: &str) -> Invalid {
    Invalid::new(
        place,
        "PRIN-15",
        format!("\"{place}\" must be {what}"),
        "Use {\"spaces\": {\"SLUG\": {\"admin\": false, \"trees\": {\"/share\": \"read\"}}}}.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(list: &[(&str, Level)]) -> Vec<Grant> {
        list.iter()
            .map(|(tree, level)| Grant { tree: TreePath::from_dotted(tree).unwrap(), level: *level })
            .collect()
    }

    #[test]
    fn a_key_is_read_as_it_was_revealed() {
        let key = KeyText::from_random(std::array::from_fn(|index| index as u8 * 5));
        let text = key.reveal();
        assert_eq!(text.len(), 3 + 16 + 1 + 32);
        assert_eq!(KeyText::parse(&text), Some(key.clone()));
        let proof = key.proof();
        assert!(proof.proves(&proof.digest()));
        assert_eq!(proof.lookup(), key.lookup());
        assert!(!format!("{key:?}").contains(&text[20..]));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let text = KeyText::from_random([7; 48]).reveal();
        let other = text.replacen("me.", "ME.", 1);
        for bad in
            ["", "me", "me..", &text[1..], &text[..51], &format!("{text}x"), &other, &text.replace('.', "-")]
        {
            assert_eq!(KeyText::parse(bad), None, "{bad:?}");
            assert!(KeyProof::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn the_digest_of_a_secret_proves_a_key_and_nothing_like_it_does() {
        let key = KeyText::from_random([3; 48]);
        let hex = |bytes: [u8; 32]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let of = |hex: &str| KeyProof::parse(&format!("me.{}.sha256:{hex}", key.lookup()));
        let stored = key.proof().digest();
        assert!(KeyProof::parse(&key.reveal()).unwrap().proves(&stored));
        let proof = hex(Sha256::digest(key.secret.as_bytes()).into());
        assert!(of(&proof).unwrap().proves(&stored));
        assert!(!of(&hex([0; 32])).unwrap().proves(&stored));
        for bad in
            ["", &proof[1..], &proof.to_uppercase(), &format!("{proof}0"), &format!("+{}", &proof[1..])]
        {
            assert!(of(bad).is_none(), "{bad}");
        }
        assert!(KeyProof::parse(&format!("me.short.sha256:{proof}")).is_none());
    }

    #[test]
    fn only_the_digest_of_the_same_secret_proves_a_key() {
        let key = KeyText::from_random([1; 48]).proof();
        for at in [0, 15, 31] {
            let mut digest = key.digest();
            digest[at] ^= 1;
            assert!(!key.proves(&digest));
        }
        assert!(!key.proves(&[]));
        assert!(!key.proves(&key.digest()[..31]));
        let mut longer = key.digest().to_vec();
        longer.push(0);
        assert!(!key.proves(&longer));
    }

    #[test]
    fn a_restriction_is_stored_and_read_again() {
        let home = Home::of([9; 16]);
        let text =
            r#"{"spaces": {"a": {"trees": {"/share/x": "write", "~": "read"}, "admin": true}, "b": {}}}"#;
        let allow = Allow::parse("allow", text, Some(&home)).unwrap();
        let stored = allow.to_json(|tree| tree.as_dotted().to_owned()).unwrap().to_string();
        assert!(stored.contains(home.label()));
        assert_eq!(Allow::from_stored(&stored), Some(allow.clone()));
        assert!(allow.is_restricted() && allow.admits("a") && allow.admits("b") && !allow.admits("c"));
        assert!(allow.admin("a") && !allow.admin("b") && !allow.admin("c"));
        assert!(Allow::everything().admits("c") && Allow::everything().admin("c"));
        assert_eq!(Allow::everything().to_json(|_| String::new()), None);
    }

    #[test]
    fn other_shapes_are_refused_with_their_place() {
        for (bad, place) in [
            ("[]", "allow"),
            ("{}", "allow"),
            (r#"{"space": {}}"#, "allow.space"),
            (r#"{"spaces": []}"#, "allow.spaces"),
            (r#"{"spaces": {"A B": {}}}"#, "allow.spaces"),
            (r#"{"spaces": {"a": null}}"#, "allow.spaces.a"),
            (r#"{"spaces": {"a": {"tree": {}}}}"#, "allow.spaces.a.tree"),
            (r#"{"spaces": {"a": {"admin": "yes"}}}"#, "allow.spaces.a.admin"),
            (r#"{"spaces": {"a": {"trees": {}}}}"#, "allow.spaces.a.trees"),
            (r#"{"spaces": {"a": {"trees": {"/x": "all"}}}}"#, "allow.spaces.a.trees"),
            (r#"{"spaces": {"a": {"trees": {"/x!": "read"}}}}"#, "allow.spaces.a.trees"),
            (r#"{"spaces": {"a": {"trees": {"~": "read"}}}}"#, "allow.spaces.a.trees"),
        ] {
            assert_eq!(Allow::parse("allow", bad, None).unwrap_err().argument, place, "{bad}");
        }
    }

    #[test]
    fn a_key_has_at_most_what_its_holder_has() {
        let allow = r#"{"spaces": {"a": {"trees": {"/p/q": "write", "/r": "owner"}}, "b": {}}}"#;
        let allow = Allow::parse("allow", allow, None).unwrap();
        let held = grants(&[("p", Level::Read), ("r.s", Level::Write), ("t", Level::Owner)]);
        assert_eq!(allow.limit("a", held.clone()), grants(&[("p.q", Level::Read), ("r.s", Level::Write)]));
        assert_eq!(allow.limit("b", held.clone()), held);
        assert_eq!(allow.limit("c", held.clone()), []);
        assert_eq!(Allow::everything().limit("c", held.clone()), held);
    }
}
