//! What full text search and search by meaning are told of the rows a call has written: the entries of the text index,
//! and what waits for its vectors.

use super::array::array;
use super::jsonb::Jsonb;
use super::lexeme::Lexer;
use super::payload::{Payload, temporal};
use super::session::Session;
use super::spi::{Row, arg};
use super::tsvector::NewTsVector;
use crate::domain::search::fields::Fields;
use crate::domain::temporal::Temporal;
use crate::error::{Error, Result};
use crate::statement;
use pgrx::pg_sys::{BuiltinOid, Datum};
use pgrx::{IntoDatum, check_for_interrupts};

statement!(
    /// How the space indexes text, and whether it uses a model.
    SPACE,
    ["select s.text_config, s.fulltext_fields,
        exists (select from me.embedding_use as u where u.space = s.slug)
      from me.space as s where s.slug = $1"],
    [TEXTOID],
    planned_once
);
statement!(
    STORE,
    [include_str!("lexeme_store.sql")],
    [
        TEXTOID,
        UUIDARRAYOID,
        INT2ARRAYOID,
        INT2ARRAYOID,
        INT8ARRAYOID,
        INT8ARRAYOID,
        TSVECTORARRAYOID,
        INT4OID,
        BOOLOID
    ]
);
statement!(CUT, [include_str!("lexeme_cut.sql")], [TEXTOID, UUIDARRAYOID, INT2ARRAYOID]);
statement!(
    /// New content waits for its vectors, for each model the space uses.
    QUEUE,
    ["insert into me.embedding_queue (space, id, memory_id, content_version, model, vt, created_at)
      select $1, me._queue_id(), g.id, g.content_version, u.model,
        pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp()
      from (select unnest($2::uuid[]) as id, unnest($3::int8[]) as content_version) as g
      join me.embedding_use as u on u.space = $1"],
    [TEXTOID, UUIDARRAYOID, INT8ARRAYOID]
);
statement!(
    PAYLOADS,
    ["select m.id, m.content_version, m.tree::text, m.name, m.content, m.meta, lower(m.temporal), upper(m.temporal)
      from unnest($2::uuid[]) as g (id)
      join me.memory as m on m.space = $1 and m.id = g.id"],
    [TEXTOID, UUIDARRAYOID]
);

/// How many memories are read and indexed at once.
const AT_ONCE: usize = 500;

/// From how many texts on their words are remembered: it takes several to have many in common.
const FEW: usize = 8;

/// How a space indexes.
pub struct Indexing {
    text_config: String,
    fields: Fields,
    models: bool,
}

/// A memory to be indexed.
pub struct Text<'a> {
    /// The memory.
    pub id: pgrx::Uuid,
    /// Its content version.
    pub content_version: i64,
    /// What it says.
    pub payload: &'a Payload<'a>,
}

impl Indexing {
    /// How the space of a call indexes now.
    pub fn of(session: &Session) -> Result<Self> {
        Self::find(session)?.ok_or_else(|| Error::Internal("the space vanished".into()))
    }

    /// The same of a space that may be gone.
    pub fn find(session: &Session) -> Result<Option<Self>> {
        let row = session.db().row(&SPACE, &[arg(session.space())])?;
        row.map(|row| {
            Ok(Self {
                text_config: row.need(1)?,
                fields: Fields::stored(&row.need::<Vec<Option<String>>>(2)?),
                models: row.need(3)?,
            })
        })
        .transpose()
    }

    /// Whether the content alone decides what a memory is found by.
    pub fn is_of_content_alone(&self) -> bool {
        !self.fields.any()
    }

    /// Indexes memories that are new, and queues them for the models.
    pub fn created(&self, session: &Session, texts: &[Text]) -> Result<()> {
        self.store(session, texts, true)?;
        self.queue(session, texts)
    }

    /// Indexes memories anew, whatever of them is indexed already.
    pub fn changed(&self, session: &Session, texts: &[Text]) -> Result<()> {
        let pieces = self.store(session, texts, false)?;
        let ids = array(BuiltinOid::UUIDOID, texts.iter().map(|text| arg(text.id)));
        let pieces = array(BuiltinOid::INT2OID, pieces.into_iter().map(arg));
        session.db().run(&CUT, &[arg(session.space()), ids, pieces]).map(|_| ())
    }

    /// Queues new content for the models.
    pub fn queue(&self, session: &Session, texts: &[Text]) -> Result<()> {
        if !self.models {
            return Ok(());
        }
        let ids = array(BuiltinOid::UUIDOID, texts.iter().map(|text| arg(text.id)));
        let versions = array(BuiltinOid::INT8OID, texts.iter().map(|text| arg(text.content_version)));
        session.db().run(&QUEUE, &[arg(session.space()), ids, versions]).map(|_| ())
    }

    /// Indexes stored memories anew.
    pub fn refresh(&self, session: &Session, ids: &[pgrx::Uuid]) -> Result<()> {
        for ids in ids.chunks(AT_ONCE) {
            check_for_interrupts!();
            let rows = session.db().run(&PAYLOADS, &[arg(session.space()), arg(ids.to_vec())])?;
            let rows = rows.into_iter().map(|row| Stored::read(&row)).collect::<Result<Vec<_>>>()?;
            let payloads: Vec<Payload> = rows.iter().map(Stored::payload).collect();
            let texts: Vec<Text> = rows
                .iter()
                .zip(&payloads)
                .map(|(row, payload)| Text { id: row.id, content_version: row.content_version, payload })
                .collect();
            if !texts.is_empty() {
                self.changed(session, &texts)?;
            }
        }
        Ok(())
    }

    /// What identifies the configuration rows are indexed under.
    pub fn fingerprint(&self) -> i32 {
        self.fields.fingerprint(&self.text_config)
    }

    /// Writes the entries, of memories that are `new` or known already; how many pieces each memory has.
    fn store(&self, session: &Session, texts: &[Text], new: bool) -> Result<Vec<i16>> {
        let lexer = match texts.len() {
            0..FEW => Lexer::new(session.space(), &self.text_config),
            _ => Lexer::of_many(session.space(), &self.text_config),
        };
        let mut columns: [Vec<Option<Datum>>; ENTRY] = Default::default();
        let mut counts = Vec::with_capacity(texts.len());
        for text in texts {
            let lexed = lexer.lexed(self.fields, text.payload);
            let pieces = i16::try_from(lexed.pieces.len()).unwrap_or(i16::MAX);
            counts.push(pieces);
            for (piece, number) in lexed.pieces.into_iter().zip(0i16..) {
                let entry = [
                    arg(text.id),
                    arg(number),
                    arg(pieces),
                    arg(text.content_version),
                    arg(lexed.length),
                    NewTsVector(piece).into_datum(),
                ];
                for (column, value) in columns.iter_mut().zip(entry) {
                    column.push(value);
                }
            }
        }
        let mut args = vec![arg(session.space())];
        args.extend(columns.into_iter().zip(ELEMENTS).map(|(column, kind)| array(kind, column)));
        args.extend([arg(self.fingerprint()), arg(new)]);
        session.db().run(&STORE, &args)?;
        Ok(counts)
    }
}

const ENTRY: usize = 6;
const ELEMENTS: [BuiltinOid; ENTRY] = [
    BuiltinOid::UUIDOID,
    BuiltinOid::INT2OID,
    BuiltinOid::INT2OID,
    BuiltinOid::INT8OID,
    BuiltinOid::INT8OID,
    BuiltinOid::TSVECTOROID,
];

/// A stored row, as far as it is indexed.
struct Stored {
    id: pgrx::Uuid,
    content_version: i64,
    tree: String,
    name: Option<String>,
    content: String,
    meta: String,
    temporal: Option<Temporal>,
}

impl Stored {
    /// Reads a row of id, content version, tree, name, content, metadata, start and end.
    fn read(row: &Row) -> Result<Self> {
        let meta =
            row.raw(6).map(Jsonb::from_raw).ok_or_else(|| Error::Internal("metadata is missing".into()))?;
        Ok(Self {
            id: row.need(1)?,
            content_version: row.need(2)?,
            tree: row.need(3)?,
            name: row.get(4),
            content: row.need(5)?,
            meta: meta.text(),
            temporal: temporal(row.get(7), row.get(8)),
        })
    }

    fn payload(&self) -> Payload<'_> {
        Payload {
            tree: &self.tree,
            name: self.name.as_deref(),
            content: &self.content,
            meta: self.meta.as_str().into(),
            stored_meta: None,
            temporal: self.temporal,
        }
    }
}
