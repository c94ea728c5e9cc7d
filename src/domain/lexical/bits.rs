//! Numbers as few bytes.

use super::Damaged;

/// Appends a number, seven bits to a byte, the lowest first.
pub fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads what was written, from the front.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What was not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next byte.
    ///
    /// # Errors
    /// There is none.
    pub fn byte(&mut self) -> Result<u8, Damaged> {
        let (first, rest) = self.rest.split_first().ok_or(Damaged)?;
        self.rest = rest;
        Ok(*first)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next number.
    ///
    /// # Errors
    /// The bytes end before it, or it is larger than any that is written.
    pub fn varint(&mut self) -> Result<u32, Damaged> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damaged)
    }
}

/// How many bits the largest of the numbers has.
#[must_use]
pub fn width(values: &[u32]) -> u8 {
    (32 - values.iter().fold(0, |all, value| all | value).leading_zeros()) as u8
}

/// How many bytes so many numbers of that width take.
#[must_use]
pub fn packed_bytes(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

/// Appends numbers of at most `width` bits each, one behind the other.
pub fn pack(out: &mut Vec<u8>, values: &[u32], width: u8) {
    let (mut held, mut bits) = (0u64, 0u32);
    for value in values {
        held |= u64::from(*value) << bits;
        bits += u32::from(width);
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(held as u8);
    }
}

/// One of numbers of `width` bits each.
///
/// # Errors
/// The bytes end before it, or no number has that width.
pub fn at(bytes: &[u8], width: u8, place: usize) -> Result<u32, Damaged> {
    if width > 32 {
        return Err(Damaged);
    }
    let bit = place * usize::from(width);
    let needed = bytes.get(bit / 8..(bit + usize::from(width)).div_ceil(8)).ok_or(Damaged)?;
    let mut held = [0; 8];
    held.get_mut(..needed.len()).ok_or(Damaged)?.copy_from_slice(needed);
    Ok(((u64::from_le_bytes(held) >> (bit % 8)) & ((1u64 << width) - 1)) as u32)
}

/// Reads `out.len()` numbers of `width` bits each.
///
/// # Errors
/// The bytes are fewer than that takes, or no number has that width.
pub fn unpack(bytes: &[u8], width: u8, out: &mut [u32]) -> Result<(), Damaged> {
    if width == 0 {
        out.fill(0);
        return Ok(());
    }
    if width > 32 || bytes.len() < packed_bytes(out.len(), width) {
        return Err(Damaged);
    }
    let mask = (1u64 << width) - 1;
    let (mut held, mut bits, mut at) = (0u64, 0u32, 0usize);
    for slot in out {
        while bits < u32::from(width) {
            if bits <= 32
                && let Some(four) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>)
            {
                held |= u64::from(u32::from_le_bytes(*four)) << bits;
                bits += 32;
                at += 4;
            } else {
                held |= u64::from(*bytes.get(at).ok_or(Damaged)?) << bits;
                bits += 8;
                at += 1;
            }
        }
        *slot = (held & mask) as u32;
        held >>= width;
        bits -= u32::from(width);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_that_end_too_early_are_damaged() {
        assert_eq!(Reader::new(&[0x80]).varint(), Err(Damaged));
        assert_eq!(Reader::new(&[0x80; 6]).varint(), Err(Damaged));
        assert_eq!(Reader::new(&[1]).take(2), Err(Damaged));
        assert_eq!(unpack(&[1, 2], 9, &mut [0; 2]), Err(Damaged));
        assert_eq!(unpack(&[1, 2], 33, &mut [0; 1]), Err(Damaged));
    }

    proptest! {
        #[test]
        fn numbers_come_back(values in prop::collection::vec(any::<u32>(), 0..300), shift in 0u32..32) {
            let values: Vec<u32> = values.into_iter().map(|value| value >> shift).collect();
            let mut bytes = Vec::new();
            values.iter().for_each(|value| put_varint(&mut bytes, *value));
            let mut reader = Reader::new(&bytes);
            for value in &values {
                prop_assert_eq!(reader.varint(), Ok(*value));
            }
            prop_assert!(reader.is_empty());
            let width = width(&values);
            bytes.clear();
            pack(&mut bytes, &values, width);
            prop_assert_eq!(bytes.len(), packed_bytes(values.len(), width));
            let mut back = vec![0; values.len()];
            prop_assert_eq!(unpack(&bytes, width, &mut back), Ok(()));
            prop_assert_eq!(back, values);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), width in any::<u8>(), count in 0usize..80) {
            let mut reader = Reader::new(&bytes);
            while reader.varint().is_ok() {}
            let _ = unpack(&bytes, width, &mut vec![0; count]);
        }
    }
}
