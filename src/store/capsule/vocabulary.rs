//! Aliases, callers' vectors, outcomes, preferences and pins (CAP-ALI, CAP-VEC, CAP-OUT, CAP-PREF, CAP-PIN).

use super::book::{Book, shown};
use super::receipts;
use super::rows::readable_roots;
use super::state;
use crate::domain::access::Level;
use crate::domain::capsule::LABEL;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::project::{ROOT, is_capsule_tree};
use crate::domain::capsule::recall::check_vector;
use crate::domain::capsule::record::{armour, id_of, number};
use crate::domain::capsule::text::{fold, is_blank};
use crate::domain::invalid::excerpt;
use crate::domain::path::TreePath;
use crate::error::Result;
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Map, Value, json};

statement!(
    TEACH,
    ["insert into me.capsule_alias (space, term, alias, at) values ($1, $2, $3, $4)
      on conflict do nothing returning 1"],
    [TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID]
);
statement!(
    TAUGHT,
    ["select a.alias from me.capsule_alias as a where a.space = $1 and a.term = $2 order by a.alias"],
    [TEXTOID, TEXTOID]
);
statement!(
    ALIASES,
    ["select a.term, a.alias, a.at from me.capsule_alias as a where a.space = $1 order by a.term, a.alias"],
    [TEXTOID]
);
statement!(
    TAG,
    ["select v.model_tag from me.capsule_vector as v where v.space = $1 and v.seq <> $2 limit 1"],
    [TEXTOID, INT8OID]
);
statement!(
    OLD_TAG,
    ["select v.model_tag from me.capsule_vector as v where v.space = $1 and v.seq = $2"],
    [TEXTOID, INT8OID]
);
statement!(
    PUT,
    ["insert into me.capsule_vector (space, seq, embedding, model_tag, at) values ($1, $2, $3, $4, $5)
      on conflict (space, seq) do update set embedding = excluded.embedding, model_tag = excluded.model_tag,
        at = excluded.at"],
    [TEXTOID, INT8OID, FLOAT4ARRAYOID, TEXTOID, TIMESTAMPTZOID]
);
statement!(
    VECTORS,
    ["select v.seq, pg_catalog.cardinality(v.embedding), v.model_tag
      from me.capsule_vector as v join me.capsule as c on c.space = v.space and c.seq = v.seq
      where c.space = $1 and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
      order by v.seq"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    OUTCOME,
    ["insert into me.capsule_outcome (space, number, description, actor, evidence_ref, seq, at, receipt, score)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"],
    [TEXTOID, INT8OID, TEXTOID, TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID, TEXTOID, FLOAT8OID]
);
statement!(
    OUTCOMES,
    ["select o.number, o.description, o.actor, o.evidence_ref, o.seq, o.at, o.receipt, o.score
      from me.capsule_outcome as o left join me.capsule as c on c.space = o.space and c.seq = o.seq
      where o.space = $1 and (o.seq is null or $2::text[] is null
        or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
      order by o.number"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    PREFERENCE,
    ["insert into me.capsule_preference (space, number, preferred_seq, rejected_seq, context, actor, at)
      values ($1, $2, $3, $4, $5, $6, $7)"],
    [TEXTOID, INT8OID, INT8OID, INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID]
);
statement!(
    PREFERENCES,
    ["select p.number, p.preferred_seq, p.rejected_seq, p.context, p.actor, p.at
      from me.capsule_preference as p
      join me.capsule as a on a.space = p.space and a.seq = p.preferred_seq
      join me.capsule as b on b.space = p.space and b.seq = p.rejected_seq
      where p.space = $1 and ($2::text[] is null
        or (a.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]) and b.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))
      order by p.number"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    PIN,
    ["insert into me.capsule_pin (space, seq, number, pinned, reason, actor, at)
      select $1, $2, coalesce(max(p.number), 0) + 1, $3, $4, $5, $6
      from me.capsule_pin as p where p.space = $1 and p.seq = $2"],
    [TEXTOID, INT8OID, BOOLOID, TEXTOID, TEXTOID, TIMESTAMPTZOID]
);

/// Longest side of an alias, in bytes: both lead an index entry.
const ALIAS_BYTES: usize = 512;

/// Says that nothing in an outcome decides anything.
const ADVISORY: &str =
    "outcomes are reports: they change no capsule, and no recall that does not ask for them";

/// Refuses a caller who may write nowhere among the capsules: what belongs to the whole space asks for that much.
pub fn require_writer(session: &Session) -> Result<()> {
    let root = TreePath::from_dotted(ROOT).unwrap_or_else(TreePath::root);
    let somewhere = session
        .rights()
        .roots(Level::Write)
        .is_none_or(|roots| roots.iter().any(|tree| tree.contains(&root) || is_capsule_tree(tree)));
    if somewhere { Ok(()) } else { session.require_capsule(Level::Write, &root) }
}

/// Teaches an alias.
pub fn teach(book: &mut Book, term: &str, alias: &str) -> Result<Value> {
    require_writer(book.session())?;
    let (folded_term, folded_alias) = (fold(term), fold(alias));
    for (argument, side) in [("term", &folded_term), ("alias", &folded_alias)] {
        if side.is_empty() {
            return Err(Fault::value(argument, format!("{argument} is blank")).into());
        }
        if side.len() > ALIAS_BYTES {
            return Err(
                Fault::value(argument, format!("{argument} has more than {ALIAS_BYTES} bytes")).into()
            );
        }
    }
    if folded_term == folded_alias {
        return Err(Fault::value("alias", format!("term and alias are the same word: {folded_term}")).into());
    }
    let session = book.session();
    let space = arg(session.space());
    let args = [space, arg(folded_term.as_str()), arg(folded_alias), arg(book.now_at())];
    let is_new = session.db().row(&TEACH, &args)?.is_some();
    if is_new {
        book.note("memory_alias", term, None);
    }
    let rows = session.db().run(&TAUGHT, &[space, arg(folded_term)])?;
    let taught: Vec<String> = rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
    Ok(json!({"label": LABEL, "recorded": true, "already_recorded": !is_new, "aliases_for_term": taught}))
}

/// Every alias.
pub fn aliases(session: &Session) -> Result<Value> {
    let rows = session.db().run(&ALIASES, &[arg(session.space())])?;
    let rows = rows
        .into_iter()
        .map(|row| {
            let (term, alias): (String, String) = (row.need(1)?, row.need(2)?);
            Ok(json!({"term": term, "alias": alias, "at": shown(row.need(3)?)}))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({"label": LABEL, "total": rows.len(), "aliases": rows}))
}

/// Stores a caller's vector.
pub fn put_vector(book: &mut Book, id: &str, vector: &[f32], tag: &str) -> Result<Value> {
    check_vector("embedding", vector)?;
    let tag = tag.trim();
    if tag.is_empty() {
        return Err(Fault::value("model_tag", "model_tag is blank").into());
    }
    let state = state::find_writable(book.session(), id)?;
    if state.is_forgotten() {
        return Err(Fault::Missing { kind: "tombstoned_capsule", id: id.to_owned() }.into());
    }
    let session = book.session();
    let (space, seq) = (arg(session.space()), arg(state.seq));
    let tag_of = |row: Option<crate::store::spi::Row>| row.map(|row| row.need::<String>(1)).transpose();
    let resident = tag_of(session.db().row(&TAG, &[space, seq])?)?;
    let old = tag_of(session.db().row(&OLD_TAG, &[space, seq])?)?;
    if let Some(resident) = resident.as_ref().or(old.as_ref()).filter(|resident| *resident != tag) {
        let message = format!(
            "model_tag {} differs from {}, which the vectors of this space have",
            excerpt(tag),
            excerpt(resident)
        );
        return Err(Fault::value("model_tag", message).into());
    }
    session.db().run(&PUT, &[space, seq, arg(vector.to_vec()), arg(tag), arg(book.now_at())])?;
    book.note("memory_vector", id, Some(tag));
    Ok(json!({
        "label": LABEL,
        "capsule_id": id,
        "dimension": vector.len(),
        "model_tag": tag,
        "recorded": true,
        "replaced": old.is_some(),
    }))
}

/// Every vector the caller may read of, without its numbers.
pub fn vectors(session: &Session) -> Result<Value> {
    let rows = session.db().run(&VECTORS, &[arg(session.space()), readable_roots(session)])?;
    let rows = rows
        .into_iter()
        .map(|row| {
            let (seq, dimension, tag): (i64, i32, String) = (row.need(1)?, row.need(2)?, row.need(3)?);
            Ok(json!({"capsule_id": id_of(seq), "dimension": dimension, "model_tag": tag}))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({"label": LABEL, "total": rows.len(), "vectors": rows}))
}

/// What came of something.
pub struct Outcome {
    /// What came of it.
    pub description: String,
    /// Who reports it.
    pub actor: String,
    /// Where it can be seen.
    pub evidence_ref: Option<String>,
    /// The capsule it is about.
    pub capsule_id: Option<String>,
    /// The receipt of the recall it came of, and what that was worth, 0 to 1.
    pub scored: Option<(String, f64)>,
}

/// Appends an outcome.
pub fn add_outcome(book: &mut Book, outcome: &Outcome) -> Result<Value> {
    require_writer(book.session())?;
    let seq = match &outcome.capsule_id {
        Some(id) => Some(state::find_writable(book.session(), id)?.seq),
        None => None,
    };
    if let Some((receipt, score)) = &outcome.scored {
        receipts::score(book, receipt, *score)?;
    }
    book.outcomes += 1;
    let session = book.session();
    session.db().run(
        &OUTCOME,
        &[
            arg(session.space()),
            arg(book.outcomes),
            arg(outcome.description.as_str()),
            arg(outcome.actor.as_str()),
            outcome.evidence_ref.as_deref().and_then(arg),
            seq.and_then(arg),
            arg(book.now_at()),
            outcome.scored.as_ref().and_then(|(receipt, _)| arg(receipt.as_str())),
            outcome.scored.as_ref().and_then(|(_, score)| arg(*score)),
        ],
    )?;
    let id = format!("out-{}", book.outcomes);
    book.note("memory_outcome", &id, None);
    let mut answer = armour();
    answer.insert("advisory".into(), ADVISORY.into());
    let scored = outcome.scored.as_ref().map(|(receipt, score)| (receipt.as_str(), *score));
    let recorded = OutcomeRow {
        id: &id,
        description: &outcome.description,
        actor: &outcome.actor,
        evidence: outcome.evidence_ref.as_deref(),
        seq,
        at: book.now().text(),
        scored,
    };
    let recorded = recorded.to_json();
    answer.insert("recorded".into(), recorded);
    Ok(answer.into())
}

struct OutcomeRow<'a> {
    id: &'a str,
    description: &'a str,
    actor: &'a str,
    evidence: Option<&'a str>,
    seq: Option<i64>,
    at: &'a str,
    scored: Option<(&'a str, f64)>,
}

impl OutcomeRow<'_> {
    fn to_json(&self) -> Value {
        let mut row =
            json!({"id": self.id, "description": self.description, "actor": self.actor, "at": self.at});
        if let Some(evidence) = self.evidence {
            row["evidence_ref"] = evidence.into();
        }
        if let Some(seq) = self.seq {
            row["capsule_id"] = id_of(seq).into();
        }
        if let Some((receipt, score)) = self.scored {
            row["receipt_id"] = receipt.into();
            row["score"] = number(score);
        }
        row
    }
}

/// Every outcome, in order.
pub fn outcomes(session: &Session) -> Result<Value> {
    let rows = session.db().run(&OUTCOMES, &[arg(session.space()), readable_roots(session)])?;
    let rows = rows
        .into_iter()
        .map(|row| {
            let (evidence, receipt): (Option<String>, Option<String>) = (row.get(4), row.get(7));
            Ok(OutcomeRow {
                id: &format!("out-{}", row.need::<i64>(1)?),
                description: &row.need::<String>(2)?,
                actor: &row.need::<String>(3)?,
                evidence: evidence.as_deref(),
                seq: row.get(5),
                at: &shown(row.need(6)?),
                scored: receipt.as_deref().zip(row.get(8)),
            }
            .to_json())
        })
        .collect::<Result<Vec<_>>>()?;
    let mut answer = armour();
    answer.insert("advisory".into(), ADVISORY.into());
    answer.insert("total".into(), rows.len().into());
    answer.insert("outcomes".into(), rows.into());
    Ok(answer.into())
}

/// Appends a preference.
pub fn add_preference(
    book: &mut Book,
    preferred: &str,
    rejected: &str,
    context: &str,
    actor: &str,
) -> Result<Value> {
    if preferred == rejected {
        return Err(Fault::value("rejected_id", "preferred_id and rejected_id are the same").into());
    }
    let preferred_seq = state::find_writable(book.session(), preferred)?.seq;
    let rejected_seq = state::find_writable(book.session(), rejected)?.seq;
    book.preferences += 1;
    let session = book.session();
    session.db().run(
        &PREFERENCE,
        &[
            arg(session.space()),
            arg(book.preferences),
            arg(preferred_seq),
            arg(rejected_seq),
            arg(context),
            arg(actor),
            arg(book.now_at()),
        ],
    )?;
    let id = format!("pref-{}", book.preferences);
    book.note("memory_preference", &id, None);
    let mut answer = armour();
    answer.insert("advisory".into(), "preferences are reports: nothing consumes them".into());
    answer.insert(
        "recorded".into(),
        preference_row(&id, preferred_seq, rejected_seq, context, actor, book.now().text()),
    );
    Ok(answer.into())
}

fn preference_row(id: &str, preferred: i64, rejected: i64, context: &str, actor: &str, at: &str) -> Value {
    json!({
        "id": id,
        "preferred_id": id_of(preferred),
        "rejected_id": id_of(rejected),
        "context": context,
        "actor": actor,
        "at": at,
    })
}

/// Every preference, in order.
pub fn preferences(session: &Session) -> Result<Value> {
    let rows = session.db().run(&PREFERENCES, &[arg(session.space()), readable_roots(session)])?;
    let rows = rows
        .into_iter()
        .map(|row| {
            Ok(preference_row(
                &format!("pref-{}", row.need::<i64>(1)?),
                row.need(2)?,
                row.need(3)?,
                &row.need::<String>(4)?,
                &row.need::<String>(5)?,
                &shown(row.need(6)?),
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut answer = armour();
    answer.insert("total".into(), rows.len().into());
    answer.insert("preferences".into(), rows.into());
    Ok(answer.into())
}

/// Pins or unpins a capsule.
pub fn pin(book: &mut Book, id: &str, pinned: bool, reason: &str) -> Result<Value> {
    let (id, reason) = (id.trim(), reason.trim());
    for (argument, text) in [("id", id), ("reason", reason)] {
        if is_blank(text) {
            return Err(Fault::value(argument, format!("{argument} is blank")).into());
        }
    }
    let state = state::find_writable(book.session(), id)?;
    if state.is_forgotten() {
        return Err(Fault::value("id", format!("{id} is forgotten and cannot be pinned")).into());
    }
    let session = book.session();
    session.db().run(
        &PIN,
        &[
            arg(session.space()),
            arg(state.seq),
            arg(pinned),
            arg(reason),
            arg(book.actor()),
            arg(book.now_at()),
        ],
    )?;
    book.note("memory_pin", id, Some(reason));
    let mut answer: Map<String, Value> = armour();
    answer.insert("id".into(), id.into());
    answer.insert("pinned".into(), pinned.into());
    answer.insert("reason".into(), reason.into());
    answer.insert("at".into(), book.now().text().into());
    Ok(answer.into())
}
