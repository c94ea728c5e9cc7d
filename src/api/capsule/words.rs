//! Tools that record with arguments and list without: aliases, vectors, outcomes, preferences. And pins.

use super::{Answer, Fields, checked, read, write};
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::shape::Shape;
use crate::domain::capsule::text::is_blank;
use crate::domain::capsule::words::Verdict;
use crate::error::Error;
use crate::store::capsule::{review, vocabulary as store};

/// Runs `memory_alias`.
pub fn alias(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["term", "alias"]))?;
    match (checked(shape.text("term"))?, checked(shape.text("alias"))?) {
        (Some(term), Some(alias)) => write(space, |book| store::teach(book, &term, &alias)),
        (None, None) => read(space, store::aliases),
        (None, Some(_)) => refuse("term", "term is missing: send both term and alias, or neither to list"),
        (Some(_), None) => refuse("alias", "alias is missing: send both term and alias, or neither to list"),
    }
}

/// Runs `memory_vector`.
pub fn vector(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["capsule_id", "id", "embedding", "model_tag"]))?;
    if shape.is_empty() {
        return read(space, store::vectors);
    }
    let (capsule_id, id) = (checked(shape.text("capsule_id"))?, checked(shape.text("id"))?);
    let embedding = checked(shape.floats("embedding"))?;
    let tag = checked(shape.text("model_tag"))?;
    if let (Some(capsule_id), Some(id)) = (&capsule_id, &id)
        && capsule_id != id
    {
        return refuse("id", "capsule_id and id name different capsules");
    }
    match (capsule_id.or(id), embedding, tag) {
        (Some(id), Some(embedding), Some(tag)) => {
            write(space, |book| store::put_vector(book, &id, &embedding, &tag))
        }
        (None, ..) => refuse("capsule_id", "capsule_id is missing beside embedding and model_tag"),
        (_, None, _) => refuse("embedding", "embedding is missing beside capsule_id and model_tag"),
        (_, _, None) => refuse("model_tag", "model_tag is missing beside capsule_id and embedding"),
    }
}

/// Runs `memory_outcome`. Blank strings count as absent (CAP-OUT-2).
pub fn outcome(fields: Fields, space: Option<&str>) -> Answer {
    let known = &["description", "actor", "evidence_ref", "capsule_id", "receipt_id", "score"];
    let mut shape = checked(Shape::new(fields, known))?;
    let score = checked(shape.number("score"))?;
    let mut filled = |key: &str| checked(shape.text(key)).map(|text| text.filter(|text| !is_blank(text)));
    let (description, actor) = (filled("description")?, filled("actor")?);
    let (evidence_ref, capsule_id, receipt) =
        (filled("evidence_ref")?, filled("capsule_id")?, filled("receipt_id")?);
    let scored = match (receipt, score) {
        (Some(receipt), Some(score)) if (0.0..=1.0).contains(&score) => Some((receipt, score)),
        (Some(_), Some(score)) => return refuse("score", &format!("score {score} is not between 0 and 1")),
        (Some(_), None) => return refuse("score", "score is missing beside receipt_id"),
        (None, Some(_)) => return refuse("receipt_id", "receipt_id is missing beside score"),
        (None, None) => None,
    };
    match (description, actor) {
        (Some(description), Some(actor)) => {
            let outcome = store::Outcome { description, actor, evidence_ref, capsule_id, scored };
            write(space, |book| store::add_outcome(book, &outcome))
        }
        (None, None) if evidence_ref.is_none() && capsule_id.is_none() && scored.is_none() => {
            read(space, store::outcomes)
        }
        _ => refuse("description", "an outcome needs description and actor"),
    }
}

/// Runs `memory_preference`.
pub fn preference(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["preferred_id", "rejected_id", "context", "actor"]))?;
    let mut filled = |key: &str| checked(shape.text(key)).map(|text| text.filter(|text| !is_blank(text)));
    match (filled("preferred_id")?, filled("rejected_id")?, filled("context")?, filled("actor")?) {
        (None, None, None, None) => read(space, store::preferences),
        (Some(preferred), Some(rejected), Some(context), Some(actor)) => {
            write(space, |book| store::add_preference(book, &preferred, &rejected, &context, &actor))
        }
        _ => refuse("preferred_id", "a preference needs preferred_id, rejected_id, context and actor"),
    }
}

/// Runs `memory_pin`.
pub fn pin(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["id", "pinned", "reason"]))?;
    let id = checked(shape.need_text("id"))?;
    let pinned = checked(shape.boolean("pinned"))?.ok_or_else(|| Error::from(shape.missing("pinned")))?;
    let reason = checked(shape.need_text("reason"))?;
    write(space, |book| store::pin(book, &id, pinned, &reason))
}

/// Runs `memory_review`.
pub fn review(fields: Fields, space: Option<&str>) -> Answer {
    let mut shape = checked(Shape::new(fields, &["id", "verdict", "reason"]))?;
    let id = checked(shape.need_text("id"))?;
    let verdict = checked(shape.word("verdict", Verdict::WORDS, Verdict::from_word))?;
    let verdict = checked(verdict.ok_or_else(|| shape.missing("verdict")))?;
    let reason = checked(shape.need_text("reason"))?;
    write(space, |book| review::review(book, &id, verdict, &reason))
}

fn refuse(argument: &'static str, message: &str) -> Answer {
    Err(Error::from(Fault::value(argument, message)).into())
}
