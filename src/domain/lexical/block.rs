//! Lists of postings as bytes: blocks of 128, each with its last number and the impacts that bound it in front.

use super::bits::{Reader, at, pack, packed_bytes, put_varint, unpack, width};
use super::scoring::{IMPACTS, Impact, frontier};
use super::{Damaged, Posting};
use std::rc::Rc;

/// Postings of a block; the last of a list may have fewer.
pub const BLOCK: usize = 128;
/// Where the width of the frequencies stands, this says that all are whole words.
const WHOLE: u8 = 0x80;

/// What is known of a part of a list without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The number before which it ends: of its last memory, plus one.
    pub end: u32,
    /// What bounds its rows.
    pub impacts: Vec<Impact>,
}

impl Skip {
    /// What is known of these postings, of which there is at least one.
    #[must_use]
    pub fn of(postings: &[Posting], lengths: &[u32]) -> Self {
        let impacts = postings.iter().map(|posting| Impact {
            halves: posting.halves,
            length: lengths.get(posting.ordinal as usize).copied().unwrap_or_default(),
        });
        Self { end: postings.last().map_or(0, |last| last.ordinal + 1), impacts: frontier(impacts.collect()) }
    }

    /// Appends it; `base` is the end of what comes before.
    pub fn put(&self, out: &mut Vec<u8>, base: u32) {
        put_varint(out, self.end - base);
        out.push(self.impacts.len() as u8);
        for impact in &self.impacts {
            put_varint(out, impact.halves);
            put_varint(out, impact.length);
        }
    }

    /// Reads what [`Skip::put`] wrote.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn read(reader: &mut Reader, base: u32) -> Result<Self, Damaged> {
        let end = base.checked_add(reader.varint()?).ok_or(Damaged)?;
        let count = usize::from(reader.byte()?);
        if count > IMPACTS || end == base {
            return Err(Damaged);
        }
        let mut impacts = Vec::with_capacity(count);
        for _ in 0..count {
            impacts.push(Impact { halves: reader.varint()?, length: reader.varint()? });
        }
        Ok(Self { end, impacts })
    }
}

/// Writes postings in blocks, what is known of each in front of all.
#[must_use]
pub fn encode(postings: &[Posting], lengths: &[u32], base: u32) -> Vec<u8> {
    let (mut out, mut bodies) = (Vec::new(), Vec::new());
    put_varint(&mut out, postings.len().div_ceil(BLOCK) as u32);
    let mut from = base;
    for block in postings.chunks(BLOCK) {
        let skip = Skip::of(block, lengths);
        skip.put(&mut out, from);
        let before = bodies.len();
        encode_block(&mut bodies, block, from);
        put_varint(&mut out, (bodies.len() - before) as u32);
        from = skip.end;
    }
    out.extend_from_slice(&bodies);
    out
}

fn encode_block(out: &mut Vec<u8>, block: &[Posting], base: u32) {
    let mut from = base;
    let mut gaps = Vec::with_capacity(block.len());
    for posting in block {
        gaps.push(posting.ordinal - from);
        from = posting.ordinal + 1;
    }
    let whole = block.iter().all(|posting| posting.halves.is_multiple_of(2));
    let halves: Vec<u32> = block
        .iter()
        .map(|posting| if whole { posting.halves / 2 } else { posting.halves }.saturating_sub(1))
        .collect();
    let (gap_width, halves_width) = (width(&gaps), width(&halves));
    out.push((block.len() - 1) as u8);
    out.push(gap_width);
    out.push(halves_width | if whole { WHOLE } else { 0 });
    pack(out, &gaps, gap_width);
    pack(out, &halves, halves_width);
}

/// A block of a chunk: what is known of it, and where its bytes are.
#[derive(Debug, Clone)]
pub struct Block {
    /// What is known of it.
    pub skip: Skip,
    /// The end of what comes before.
    base: u32,
    from: usize,
    to: usize,
}

/// Postings as [`encode`] wrote them, with what is known of their blocks.
#[derive(Debug, Clone)]
pub struct Chunk {
    bytes: Rc<[u8]>,
    /// The blocks, in order.
    pub blocks: Vec<Block>,
}

/// The postings of a block, taken apart.
#[derive(Debug, Clone, Default)]
pub struct Decoded {
    /// The numbers, rising.
    pub ordinals: Vec<u32>,
    /// Occurrences of each, in halves.
    pub halves: Vec<u32>,
}

/// The bytes of a block.
struct Packed<'a> {
    count: usize,
    base: u32,
    end: u32,
    gaps: &'a [u8],
    gaps_width: u8,
    halves: &'a [u8],
    halves_width: u8,
    times: u32,
}

impl Packed<'_> {
    fn numbers(&self, into: &mut Vec<u32>) -> Result<(), Damaged> {
        into.resize(self.count, 0);
        unpack(self.gaps, self.gaps_width, into)?;
        let mut from = self.base;
        for slot in into.iter_mut() {
            *slot = from.checked_add(*slot).ok_or(Damaged)?;
            from = slot.checked_add(1).ok_or(Damaged)?;
        }
        if from == self.end { Ok(()) } else { Err(Damaged) }
    }
}

impl Chunk {
    /// Reads what is known of the blocks.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn open(bytes: Rc<[u8]>, base: u32) -> Result<Self, Damaged> {
        let mut reader = Reader::new(&bytes);
        let count = reader.varint()? as usize;
        if count > bytes.len() {
            return Err(Damaged);
        }
        let mut blocks: Vec<Block> = Vec::with_capacity(count);
        let (mut from, mut at) = (base, 0);
        for _ in 0..count {
            let skip = Skip::read(&mut reader, from)?;
            let size = reader.varint()? as usize;
            let end = skip.end;
            blocks.push(Block { skip, base: from, from: at, to: at + size });
            (from, at) = (end, at + size);
        }
        let head = bytes.len() - reader.rest().len();
        if head + at > bytes.len() {
            return Err(Damaged);
        }
        for block in &mut blocks {
            block.from += head;
            block.to += head;
        }
        Ok(Self { bytes, blocks })
    }

    /// What is known of the blocks from one on, and where that begins.
    pub fn known_from(&self, block: usize) -> (u32, impl Iterator<Item = &Skip>) {
        let rest = self.blocks.get(block..).unwrap_or_default();
        (rest.first().map_or(0, |first| first.base), rest.iter().map(|block| &block.skip))
    }

    /// Takes a block apart.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn decode(&self, block: usize, into: &mut Decoded) -> Result<(), Damaged> {
        let packed = self.packed(block)?;
        packed.numbers(&mut into.ordinals)?;
        into.halves.resize(packed.count, 0);
        unpack(packed.halves, packed.halves_width, &mut into.halves)?;
        for slot in &mut into.halves {
            *slot = slot.checked_add(1).and_then(|value| value.checked_mul(packed.times)).ok_or(Damaged)?;
        }
        Ok(())
    }

    /// The numbers of a block alone.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn numbers(&self, block: usize, into: &mut Vec<u32>) -> Result<(), Damaged> {
        self.packed(block)?.numbers(into)
    }

    /// The occurrences of one posting of a block, in halves.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn halves(&self, block: usize, place: usize) -> Result<u32, Damaged> {
        let packed = self.packed(block)?;
        let halves = at(packed.halves, packed.halves_width, place)?;
        halves.checked_add(1).and_then(|value| value.checked_mul(packed.times)).ok_or(Damaged)
    }

    fn packed(&self, block: usize) -> Result<Packed<'_>, Damaged> {
        let block = self.blocks.get(block).ok_or(Damaged)?;
        let mut reader = Reader::new(self.bytes.get(block.from..block.to).ok_or(Damaged)?);
        let count = usize::from(reader.byte()?) + 1;
        let (gaps_width, flags) = (reader.byte()?, reader.byte()?);
        let halves_width = flags & !WHOLE;
        if count > BLOCK || gaps_width > 32 || halves_width > 32 {
            return Err(Damaged);
        }
        Ok(Packed {
            count,
            base: block.base,
            end: block.skip.end,
            gaps: reader.take(packed_bytes(count, gaps_width))?,
            gaps_width,
            halves: reader.take(packed_bytes(count, halves_width))?,
            halves_width,
            times: if flags & WHOLE == 0 { 1 } else { 2 },
        })
    }

    /// Every posting.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn postings(&self, out: &mut Vec<Posting>) -> Result<(), Damaged> {
        let mut decoded = Decoded::default();
        for block in 0..self.blocks.len() {
            self.decode(block, &mut decoded)?;
            out.extend(
                decoded
                    .ordinals
                    .iter()
                    .zip(&decoded.halves)
                    .map(|(ordinal, halves)| Posting { ordinal: *ordinal, halves: *halves }),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn postings_come_back(gaps in prop::collection::vec((0u32..500, 1u32..9, any::<bool>()), 1..700), base in 0u32..1000) {
            let mut from = base;
            let postings: Vec<Posting> = gaps.iter().map(|(gap, halves, whole)| {
                let ordinal = from + gap;
                from = ordinal + 1;
                Posting { ordinal, halves: if *whole { halves * 2 } else { *halves } }
            }).collect();
            let lengths: Vec<u32> = (0..from).map(|ordinal| ordinal % 97 + 20).collect();
            let chunk = Chunk::open(encode(&postings, &lengths, base).into(), base).unwrap();
            let mut back = Vec::new();
            chunk.postings(&mut back).unwrap();
            prop_assert_eq!(&back, &postings);
            for (at, posting) in postings.iter().enumerate() {
                prop_assert_eq!(chunk.halves(at / BLOCK, at % BLOCK), Ok(posting.halves));
            }
            for (block, known) in postings.chunks(BLOCK).zip(&chunk.blocks) {
                prop_assert_eq!(&Skip::of(block, &lengths), &known.skip);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), base in any::<u32>()) {
            if let Ok(chunk) = Chunk::open(bytes.into(), base) {
                let _ = chunk.postings(&mut Vec::new());
            }
        }
    }
}
