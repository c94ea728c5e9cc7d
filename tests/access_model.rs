//! No leak: random worlds of roles, nested groups, application users, rosters, grants, homes and memories, in which
//! every answer and every refusal is held against a model of the access rules written for this test alone.
//!
//! Worlds that follow one another in a transaction share roles and memories; between each two of them, rosters,
//! memberships and grants change. The transaction is rolled back. `ACCESS_MODEL_SEED` chooses other worlds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, Refusal, has_function};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Transactions, and worlds in each of them: 10,000 worlds, each with a call.
const FOUNDED: u64 = 200;
const WORLDS: u64 = 50;

const ROLES: usize = 7;
const APPLICATION_USERS: usize = 3;
/// Who is on no roster and in no group, and not even registered.
const STRANGER: usize = ROLES + APPLICATION_USERS;

/// SplitMix64: the same worlds on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// A tree as a list of labels.
type Tree = Vec<String>;

fn slashed(tree: &Tree) -> String {
    format!("/{}", tree.join("/"))
}

fn covers(above: &Tree, below: &Tree) -> bool {
    below.len() >= above.len() && below[..above.len()] == above[..]
}

#[derive(Debug, Clone)]
struct Memory {
    id: String,
    tree: Tree,
    name: Option<String>,
    content: String,
    hash: String,
}

/// What the test knows about a world; nothing of it is read back from the rights the extension computes.
#[derive(Debug, Default)]
struct World {
    /// `inherits[a]` holds `b` when `a` is a direct member of role `b`, with inheritance.
    inherits: BTreeMap<usize, BTreeSet<usize>>,
    /// Who is on the roster, and whether as admin.
    roster: BTreeMap<usize, bool>,
    services: BTreeSet<usize>,
    grants: BTreeMap<(usize, Tree), u8>,
    homes: BTreeMap<usize, Tree>,
    /// Whether who joins owns its home.
    home_grants: bool,
    memories: Vec<Memory>,
}

impl World {
    /// The principals whose rosters entries and grants count for one of them.
    fn counted(&self, who: usize) -> BTreeSet<usize> {
        let mut counted = BTreeSet::from([who]);
        loop {
            let more: BTreeSet<usize> = counted
                .iter()
                .filter_map(|one| self.inherits.get(one))
                .flatten()
                .copied()
                .filter(|one| !counted.contains(one))
                .collect();
            if more.is_empty() {
                return counted;
            }
            counted.extend(more);
        }
    }

    fn admitted(&self, who: usize) -> bool {
        self.counted(who).iter().any(|one| self.roster.contains_key(one))
    }

    fn admin(&self, who: usize) -> bool {
        let service = self.services.contains(&who);
        self.counted(who).iter().any(|one| self.roster.get(one) == Some(&true) && (!service || *one == who))
    }

    fn level(&self, who: usize, tree: &Tree) -> u8 {
        if !self.admitted(who) {
            return 0;
        }
        let counted = self.counted(who);
        let levels = self
            .grants
            .iter()
            .filter(|((holder, at), _)| counted.contains(holder) && covers(at, tree))
            .map(|(_, level)| *level);
        levels.max().unwrap_or(0)
    }

    fn readable(&self, who: usize) -> impl Iterator<Item = &Memory> {
        self.memories.iter().filter(move |memory| self.level(who, &memory.tree) >= 1)
    }

    /// A tree as somebody sees it.
    fn shown(&self, who: usize, tree: &Tree) -> String {
        match self.homes.get(&who) {
            Some(home) if covers(home, tree) => {
                let mut shown = "~".to_owned();
                for label in &tree[home.len()..] {
                    let _ = write!(shown, "/{label}");
                }
                shown
            }
            _ => slashed(tree),
        }
    }

    /// The nodes of `memory_tree` at the root (TRE-1, TRE-6).
    fn nodes(&self, who: usize) -> BTreeMap<String, i64> {
        let mut counts: BTreeMap<Tree, i64> = BTreeMap::new();
        for memory in self.readable(who) {
            for depth in 1..=memory.tree.len() {
                *counts.entry(memory.tree[..depth].to_vec()).or_default() += 1;
            }
        }
        if let Some(home) = self.homes.get(&who)
            && let Some(own) = counts.get(home).copied()
        {
            *counts.get_mut(&home[..1]).unwrap() -= own;
        }
        counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(tree, count)| (self.shown(who, &tree), count))
            .collect()
    }
}

fn role(who: usize) -> String {
    format!("model_role_{who}")
}

fn name(who: usize) -> String {
    if who < ROLES { role(who) } else { format!("model user {who}") }
}

const LEVELS: [&str; 4] = ["none", "read", "write", "owner"];

/// One world in the database, and what the test knows about it.
struct Stage<'a> {
    client: &'a mut Client,
    dice: Dice,
    world: World,
    trees: Vec<Tree>,
    functions: &'a BTreeSet<&'static str>,
    /// How often each call ended how: a kind of answer that never comes is not tested.
    tally: &'a mut BTreeMap<(String, String), usize>,
}

/// The answer of a call by one of the world's principals.
type Outcome = Result<Vec<Vec<Option<String>>>, Refusal>;

fn kind(outcome: &Outcome) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => refusal.kind(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl<'a> Stage<'a> {
    fn run(&mut self, sql: &str) {
        self.client.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    fn value(&mut self, sql: &str) -> Value {
        self.client.json(sql, &[]).unwrap_or_else(|refusal| panic!("{sql}: {refusal:?}"))
    }

    /// Roles with random memberships, of which some do not inherit, and application users in some of them.
    fn people(&mut self) {
        for who in 0..ROLES {
            self.run(&format!("create role {}", role(who)));
        }
        for member in 0..ROLES {
            for group in member + 1..ROLES {
                if self.dice.chance(22) {
                    let inherits = self.dice.chance(80);
                    let (group_role, member_role) = (role(group), role(member));
                    self.run(&format!("grant {group_role} to {member_role} with inherit {inherits}"));
                    if inherits {
                        self.world.inherits.entry(member).or_default().insert(group);
                    }
                }
            }
        }
        self.run("create role model_gateway; select me.gateway_add('model_gateway')");
    }

    /// A roster, with or without homes for those who join, and with services on it.
    fn space(&mut self) {
        let home_grants = self.dice.chance(60);
        self.world.home_grants = home_grants;
        self.run(&format!(
            "select me.space_create('world', home_grants => {home_grants}); set local me.space = 'world'"
        ));
        for who in 0..STRANGER {
            let is_role = who < ROLES;
            // An application user has to be somewhere to be known at all.
            if is_role && !self.dice.chance(45) {
                continue;
            }
            let (admin, service) = (self.dice.chance(20), self.dice.chance(15));
            let kind = if service { "service" } else { "user" };
            let added =
                self.value(&format!("me.space_member_add({}, '{kind}', {admin})", quoted(&name(who))));
            self.world.roster.insert(who, admin);
            if service {
                self.world.services.insert(who);
            } else {
                let home = vec!["home".to_owned(), added["id"].as_str().unwrap().replace('-', "")];
                if home_grants {
                    self.world.grants.insert((who, home.clone()), 3);
                }
                self.world.homes.insert(who, home);
            }
            if !is_role && self.dice.chance(40) {
                let removed = self.value(&format!("me.space_member_remove({})", quoted(&name(who))));
                assert_eq!(removed, json!({"removed": true}));
                self.world.roster.remove(&who);
                self.world.grants.retain(|(holder, _), _| *holder != who);
            }
        }
        for who in ROLES..STRANGER {
            for group in 0..ROLES {
                if self.dice.chance(15) {
                    self.run(&format!(
                        "select me.group_member_add('{}', {})",
                        role(group),
                        quoted(&name(who))
                    ));
                    self.world.inherits.entry(who).or_default().insert(group);
                }
            }
        }
        // Grouping may have registered a role as a group, which has no home; what it owns there it keeps.
        let kinds = self.client.query("select name, kind, id::text from me.principal", &[]).unwrap();
        for row in kinds {
            let principal: String = row.get(0);
            let Some(who) = (0..STRANGER).find(|who| name(*who) == principal) else { continue };
            if row.get::<_, String>(1) == "user" {
                let label = row.get::<_, String>(2).replace('-', "");
                self.world.homes.insert(who, vec!["home".to_owned(), label]);
            } else {
                self.world.homes.remove(&who);
            }
        }
    }

    fn plant(&mut self) {
        let labels = ["a", "b", "ab", "a-b", "share"];
        self.trees = vec![vec![]];
        for _ in 0..7 {
            let depth = 1 + self.dice.below(4);
            self.trees.push((0..depth).map(|_| (*self.dice.pick(&labels)).to_owned()).collect());
        }
        for home in self.world.homes.values() {
            self.trees.push(home.clone());
            let mut below = home.clone();
            below.push("a".to_owned());
            self.trees.push(below);
        }
        for n in 0..12 {
            let tree = self.dice.pick(&self.trees).clone();
            let name = self.dice.chance(60).then(|| format!("n{n}"));
            let content = format!("memory {n}");
            let named = name.as_ref().map_or("null".to_owned(), |name| quoted(name));
            let record = self.value(&format!(
                "me.memory_create('{content}', {}, name => {named})",
                quoted(&slashed(&tree))
            ));
            let text = |key: &str| record[key].as_str().unwrap().to_owned();
            self.world.memories.push(Memory {
                id: text("id"),
                tree,
                name,
                content,
                hash: text("versionHash"),
            });
        }
    }

    /// Grants by an owner of the root who is no admin: they put nobody on the roster.
    fn grants(&mut self) {
        self.run(
            "create role model_owner; select me.space_member_add('model_owner', 'service');
             select me.access_grant('model_owner', '/', 'owner'); set local role model_owner;
             set local client_min_messages = warning",
        );
        for _ in 0..10 {
            let (who, tree) = (self.dice.below(STRANGER), self.dice.pick(&self.trees).clone());
            let level = 1 + self.dice.below(3) as u8;
            let word = LEVELS[level as usize];
            let (holder, at) = (quoted(&name(who)), quoted(&slashed(&tree)));
            self.run(&format!("select me.access_grant({holder}, {at}, '{word}')"));
            self.world.grants.insert((who, tree.clone()), level);
            if self.dice.chance(10) {
                self.run(&format!("select me.access_revoke({holder}, {at})"));
                self.world.grants.remove(&(who, tree));
            }
        }
        self.run("reset role; set local client_min_messages = notice");
    }

    /// Makes another world of this one.
    fn change(&mut self) {
        match self.dice.below(4) {
            0 => self.change_roster(),
            1 => self.change_groups(),
            _ => self.change_grants(),
        }
    }

    /// Somebody joins who has a home, or somebody leaves and loses its grants.
    fn change_roster(&mut self) {
        let who = self.dice.below(STRANGER);
        let holder = quoted(&name(who));
        match self.world.roster.get(&who) {
            // Whether the last admin may leave is another test's question.
            Some(true) => {}
            Some(false) => {
                self.run(&format!("select me.space_member_remove({holder})"));
                self.world.roster.remove(&who);
                self.world.grants.retain(|(holder, _), _| *holder != who);
            }
            None => {
                let Some(home) = self.world.homes.get(&who).cloned() else { return };
                let admin = self.dice.chance(20);
                self.run(&format!("select me.space_member_add({holder}, 'user', {admin})"));
                self.world.roster.insert(who, admin);
                if self.world.home_grants {
                    self.world.grants.insert((who, home), 3);
                }
            }
        }
    }

    /// A role begins or ceases to inherit from another.
    fn change_groups(&mut self) {
        let member = self.dice.below(ROLES - 1);
        let group = member + 1 + self.dice.below(ROLES - 1 - member);
        let inherits = self.world.inherits.entry(member).or_default();
        if inherits.remove(&group) {
            self.run(&format!("revoke {} from {}", role(group), role(member)));
        } else {
            inherits.insert(group);
            self.run(&format!("grant {} to {} with inherit true", role(group), role(member)));
        }
    }

    /// A grant more, at another level, or one less.
    fn change_grants(&mut self) {
        let held: Vec<(usize, Tree)> = self.world.grants.keys().cloned().collect();
        if self.dice.chance(50) && !held.is_empty() {
            let (who, tree) = self.dice.pick(&held).clone();
            let (holder, at) = (quoted(&name(who)), quoted(&slashed(&tree)));
            self.run(&format!("select me.access_revoke({holder}, {at})"));
            self.world.grants.remove(&(who, tree));
            return;
        }
        let (who, tree) = (self.dice.below(STRANGER), self.dice.pick(&self.trees).clone());
        let level = 1 + self.dice.below(3) as u8;
        let (holder, at, word) = (quoted(&name(who)), quoted(&slashed(&tree)), LEVELS[level as usize]);
        self.run(&format!(
            "set local role model_owner; set local client_min_messages = warning;
             select me.access_grant({holder}, {at}, '{word}');
             reset role; set local client_min_messages = notice"
        ));
        self.world.grants.insert((who, tree), level);
        // Who was not registered is now, and has a home from now on.
        if !self.world.homes.contains_key(&who) && !self.world.services.contains(&who) {
            self.look_for_homes();
        }
    }

    /// Registers whoever a grant has registered meanwhile: with that, a user has a home.
    fn look_for_homes(&mut self) {
        let rows =
            self.client.query("select name, id::text from me.principal where kind = 'user'", &[]).unwrap();
        for row in rows {
            let principal: String = row.get(0);
            if let Some(who) = (0..STRANGER).find(|who| name(*who) == principal) {
                let label = row.get::<_, String>(1).replace('-', "");
                self.world.homes.insert(who, vec!["home".to_owned(), label]);
            }
        }
    }

    /// Runs a query as somebody and undoes what it did.
    fn ask(&mut self, who: usize, sql: &str) -> Outcome {
        let become_who = if who < ROLES {
            match self.dice.below(2) {
                0 => format!("set local role {}", role(who)),
                _ => format!("set local session authorization {}", role(who)),
            }
        } else {
            format!("set local role model_gateway; set local me.principal = {}", quoted(&name(who)))
        };
        self.run(&format!("savepoint call; {become_who}"));
        let outcome = self.client.rows_of(sql);
        self.run("rollback to call; release call");
        outcome
    }

    fn call(&mut self) {
        let who = self.dice.below(STRANGER + 1);
        let tree = self.dice.pick(&self.trees).clone();
        let memory = self.dice.pick(&self.world.memories).clone();
        match self.dice.below(13) {
            0 => self.get(who, &memory),
            1 => self.get_by_path(who, &memory),
            2 => self.view(who),
            3 => self.create(who, &tree),
            4 => self.update(who, &memory, &tree),
            5 => self.delete(who, &memory),
            6 => self.count(who, &tree),
            7 => self.nodes(who),
            8 => self.export(who, &tree),
            9 => self.delete_tree(who, &tree),
            10 => self.grant(who, &tree),
            11 => self.history(who, &tree),
            _ => self.transfer(who, &tree),
        }
    }

    fn assert_kind(&mut self, what: &str, who: usize, expected: &str, outcome: &Outcome) {
        let found = kind(outcome);
        *self.tally.entry((what.to_owned(), found.clone())).or_default() += 1;
        assert!(found == expected, "{what} as {}: {outcome:?}, not {expected}\n{:#?}", name(who), self.world);
    }

    fn assert_same<T: PartialEq + std::fmt::Debug>(&self, what: &str, who: usize, expected: T, found: T) {
        assert!(expected == found, "{what} as {}: {found:?}, not {expected:?}\n{:#?}", name(who), self.world);
    }

    /// What a call answers when it needs a level on one memory.
    fn expected(&self, who: usize, memory: &Memory, level: u8) -> &'static str {
        match self.world.level(who, &memory.tree) {
            _ if !self.world.admitted(who) => "FORBIDDEN",
            0 => "NOT_FOUND",
            held if held < level => "FORBIDDEN",
            _ => "ok",
        }
    }

    /// A memory one may not read and one that is not there are refused in the same words.
    fn refused_alike(
        &mut self,
        who: usize,
        outcome: &Outcome,
        key: &str,
        sql: impl Fn(&str) -> String,
        absent: &str,
    ) {
        let Err(refusal) = outcome else { return };
        if refusal.kind() != "NOT_FOUND" {
            return;
        }
        let Err(other) = self.ask(who, &sql(absent)) else {
            panic!("{} was found", absent);
        };
        let told = |refusal: &Refusal, key: &str| {
            let told =
                format!("{} {} {} {}", refusal.sqlstate, refusal.message, refusal.detail, refusal.hint);
            assert!(told.contains(key), "{told} does not name {key}");
            told.replace(key, "KEY")
        };
        self.assert_same("the refusal", who, told(&other, absent), told(refusal, key));
    }

    fn get(&mut self, who: usize, memory: &Memory) {
        let sql = |id: &str| format!("select me.memory_get('{id}') ->> 'content'");
        let outcome = self.ask(who, &sql(&memory.id));
        self.assert_kind("get", who, self.expected(who, memory, 1), &outcome);
        if let Ok(rows) = &outcome {
            self.assert_same("get", who, Some(memory.content.clone()), rows[0][0].clone());
        }
        self.refused_alike(who, &outcome, &memory.id, sql, "01890000-0000-7000-8000-00000000abcd");
    }

    fn get_by_path(&mut self, who: usize, memory: &Memory) {
        let Some(leaf) = &memory.name else { return };
        let place = self.world.shown(who, &memory.tree);
        let place = place.trim_end_matches('/');
        let path = format!("{place}/{leaf}");
        let sql = |path: &str| format!("select me.memory_get_by_path({}) ->> 'content'", quoted(path));
        let outcome = self.ask(who, &sql(&path));
        self.assert_kind("get_by_path", who, self.expected(who, memory, 1), &outcome);
        if let Ok(rows) = &outcome {
            self.assert_same("get_by_path", who, Some(memory.content.clone()), rows[0][0].clone());
        }
        self.refused_alike(who, &outcome, &path, sql, &format!("{place}/nothing-of-that-name"));
    }

    fn view(&mut self, who: usize) {
        // A condition of the caller's own, which may not see more than the result does.
        let sql = "select content, tree from me.memories where space = 'world' and length(content) > 0";
        let found: BTreeSet<(String, String)> = self
            .ask(who, sql)
            .unwrap_or_else(|refusal| panic!("{refusal:?}"))
            .into_iter()
            .map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap()))
            .collect();
        let expected: BTreeSet<(String, String)> = self
            .world
            .readable(who)
            .map(|memory| (memory.content.clone(), self.world.shown(who, &memory.tree)))
            .collect();
        self.assert_same("me.memories", who, expected, found);
    }

    fn may(&self, who: usize, tree: &Tree, level: u8) -> &'static str {
        if self.world.level(who, tree) >= level { "ok" } else { "FORBIDDEN" }
    }

    fn create(&mut self, who: usize, tree: &Tree) {
        let taken = self.dice.chance(30).then(|| {
            self.world.memories.iter().find(|memory| memory.tree == *tree && memory.name.is_some()).cloned()
        });
        let taken = taken.flatten();
        let leaf = taken.as_ref().and_then(|memory| memory.name.clone());
        let named = leaf.map_or("null".to_owned(), |leaf| quoted(&leaf));
        let sql = format!("select me.memory_create('new', {}, name => {named})", quoted(&slashed(tree)));
        let outcome = self.ask(who, &sql);
        // Without write access nobody learns whether a key is taken (ERR-6).
        let expected = match self.may(who, tree, 2) {
            "ok" if taken.is_some() => "CONFLICT",
            other => other,
        };
        self.assert_kind("create", who, expected, &outcome);
    }

    fn update(&mut self, who: usize, memory: &Memory, tree: &Tree) {
        let moves = self.dice.chance(40);
        let to = if moves { quoted(&slashed(tree)) } else { "null".to_owned() };
        let stale = self.dice.chance(20);
        let hash = if stale { "0".repeat(32) } else { memory.hash.clone() };
        let sql = |id: &str| {
            format!("select me.memory_update('{id}', '{hash}', content => 'changed', tree => {to})")
        };
        let outcome = self.ask(who, &sql(&memory.id));
        let clashes = moves
            && memory.name.is_some()
            && self
                .world
                .memories
                .iter()
                .any(|other| other.tree == *tree && other.name == memory.name && other.id != memory.id);
        let expected = match self.expected(who, memory, 2) {
            "ok" if moves && self.may(who, tree, 2) != "ok" => "FORBIDDEN",
            "ok" if stale || clashes => "CONFLICT",
            other => other,
        };
        self.assert_kind("update", who, expected, &outcome);
        self.refused_alike(who, &outcome, &memory.id, sql, "01890000-0000-7000-8000-00000000abcd");
    }

    fn delete(&mut self, who: usize, memory: &Memory) {
        let sql = |id: &str| format!("select me.memory_delete('{id}')");
        let outcome = self.ask(who, &sql(&memory.id));
        self.assert_kind("delete", who, self.expected(who, memory, 2), &outcome);
        self.refused_alike(who, &outcome, &memory.id, sql, "01890000-0000-7000-8000-00000000abcd");
    }

    fn admission(&self, who: usize) -> &'static str {
        if self.world.admitted(who) { "ok" } else { "FORBIDDEN" }
    }

    fn count(&mut self, who: usize, tree: &Tree) {
        if !self.functions.contains("memory_count") || tree.is_empty() {
            return;
        }
        let outcome =
            self.ask(who, &format!("select me.memory_count({}) ->> 'count'", quoted(&slashed(tree))));
        self.assert_kind("count", who, self.admission(who), &outcome);
        if let Ok(rows) = &outcome {
            let expected = self.world.readable(who).filter(|memory| covers(tree, &memory.tree)).count();
            self.assert_same("count", who, Some(expected.to_string()), rows[0][0].clone());
        }
    }

    fn nodes(&mut self, who: usize) {
        if !self.functions.contains("memory_tree") {
            return;
        }
        let outcome = self.ask(
            who,
            "select n ->> 'path', n ->> 'count' from jsonb_array_elements(me.memory_tree() -> 'nodes') as n",
        );
        self.assert_kind("tree", who, self.admission(who), &outcome);
        if let Ok(rows) = &outcome {
            let found: BTreeMap<String, i64> = rows
                .iter()
                .map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap().parse().unwrap()))
                .collect();
            self.assert_same("tree", who, self.world.nodes(who), found);
        }
    }

    fn export(&mut self, who: usize, tree: &Tree) {
        if !self.functions.contains("memory_export") || tree.is_empty() {
            return;
        }
        let outcome = self.ask(
            who,
            &format!(
                "select m ->> 'content' from jsonb_array_elements(
                   (me.memory_export('json', {}) ->> 'content')::jsonb) as m",
                quoted(&slashed(tree))
            ),
        );
        self.assert_kind("export", who, self.admission(who), &outcome);
        if let Ok(rows) = &outcome {
            let found: BTreeSet<String> = rows.iter().map(|row| row[0].clone().unwrap()).collect();
            let expected: BTreeSet<String> = self
                .world
                .readable(who)
                .filter(|memory| covers(tree, &memory.tree))
                .map(|memory| memory.content.clone())
                .collect();
            self.assert_same("export", who, expected, found);
        }
    }

    fn delete_tree(&mut self, who: usize, tree: &Tree) {
        if !self.functions.contains("memory_delete_tree") {
            return;
        }
        let dry_run = self.dice.chance(50);
        let sql = format!("select me.memory_delete_tree({}, {dry_run}) ->> 'count'", quoted(&slashed(tree)));
        let outcome = self.ask(who, &sql);
        self.assert_kind("delete_tree", who, self.may(who, tree, 2), &outcome);
        if let Ok(rows) = &outcome {
            let expected = self.world.memories.iter().filter(|memory| covers(tree, &memory.tree)).count();
            self.assert_same("delete_tree", who, Some(expected.to_string()), rows[0][0].clone());
        }
    }

    fn grant(&mut self, who: usize, tree: &Tree) {
        let outcome = self
            .ask(who, &format!("select me.access_grant('model_role_0', {}, 'read')", quoted(&slashed(tree))));
        let expected = if self.world.admin(who) { "ok" } else { self.may(who, tree, 3) };
        self.assert_kind("access_grant", who, expected, &outcome);
    }

    fn history(&mut self, who: usize, tree: &Tree) {
        if !self.functions.contains("memory_history") {
            return;
        }
        let outcome = self.ask(
            who,
            &format!(
                "select e ->> 'content' from jsonb_array_elements(
                   me.memory_history(tree => {}, \"limit\" => 1000) -> 'events') as e",
                quoted(&slashed(tree))
            ),
        );
        self.assert_kind("history", who, self.admission(who), &outcome);
        if let Ok(rows) = &outcome {
            let found: BTreeSet<String> = rows.iter().map(|row| row[0].clone().unwrap()).collect();
            let expected: BTreeSet<String> = self
                .world
                .readable(who)
                .filter(|memory| covers(tree, &memory.tree))
                .map(|memory| memory.content.clone())
                .collect();
            self.assert_same("history", who, expected, found);
        }
    }

    /// Copies need read at the source, moves need write there; both need write at the destination.
    fn transfer(&mut self, who: usize, tree: &Tree) {
        let (function, level) = *self.dice.pick(&[("memory_copy", 1), ("memory_mv", 2)]);
        if !self.functions.contains(function) {
            return;
        }
        let to = self.dice.pick(&self.trees).clone();
        let sql = format!(
            "select me.{function}({}, {}, true) ->> 'count'",
            quoted(&slashed(tree)),
            quoted(&slashed(&to))
        );
        let outcome = self.ask(who, &sql);
        let expected = match self.may(who, tree, level) {
            "ok" => self.may(who, &to, 2),
            other => other,
        };
        self.assert_kind(function, who, expected, &outcome);
        if let Ok(rows) = &outcome {
            let expected = self.world.memories.iter().filter(|memory| covers(tree, &memory.tree)).count();
            self.assert_same(function, who, Some(expected.to_string()), rows[0][0].clone());
        }
    }
}

#[test]
fn every_answer_is_what_the_rules_allow_and_nothing_more() {
    let seed = std::env::var("ACCESS_MODEL_SEED").map_or(20_250_601, |seed| seed.parse().unwrap());
    let database = Database::new();
    let mut client = database.admin();
    let optional = [
        "memory_copy",
        "memory_count",
        "memory_delete_tree",
        "memory_export",
        "memory_history",
        "memory_mv",
        "memory_tree",
    ];
    let functions: BTreeSet<&'static str> =
        optional.into_iter().filter(|name| has_function(&mut client, name)).collect();
    let mut tally = BTreeMap::new();
    for number in 0..FOUNDED {
        let mut stage = Stage {
            client: &mut client,
            dice: Dice(seed + number * 1_000_003),
            world: World::default(),
            trees: Vec::new(),
            functions: &functions,
            tally: &mut tally,
        };
        stage.run("begin");
        stage.people();
        stage.space();
        stage.plant();
        stage.grants();
        stage.look_for_homes();
        for _ in 0..WORLDS {
            stage.change();
            stage.call();
        }
        stage.run("rollback");
    }
    let seen = |what: &str, kind: &str| tally.get(&(what.to_owned(), kind.to_owned())).copied().unwrap_or(0);
    let always = ["get", "get_by_path", "create", "update", "delete", "access_grant"];
    for what in always.into_iter().chain(functions.iter().map(|name| name.trim_start_matches("memory_"))) {
        let what = if what == "copy" || what == "mv" { format!("memory_{what}") } else { what.to_owned() };
        assert!(seen(&what, "ok") >= 20 && seen(&what, "FORBIDDEN") >= 20, "{what}: {tally:?}");
    }
    for what in ["get", "get_by_path", "update", "delete"] {
        assert!(seen(what, "NOT_FOUND") >= 50, "{what}: {tally:?}");
    }
    assert!(seen("create", "CONFLICT") >= 5 && seen("update", "CONFLICT") >= 5, "{tally:?}");
}
