//! Vectors: finite, of the model's length, and of length one.

use super::Dimensions;
use crate::domain::invalid::Invalid;
use crate::domain::limits;
use std::fmt;

/// A vector of length one. Its direction is all that cosine similarity looks at, and a unit vector always fits into
/// half precision.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Vec<f32>);

/// Why numbers are no vector of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorFault {
    /// Another length than the model's.
    Length {
        /// The numbers given.
        given: usize,
        /// The model's dimensions.
        expected: usize,
    },
    /// A null, an infinity or no number, at this place (from 0).
    NotFinite(usize),
    /// All zero: a point without a direction.
    Zero,
}

impl fmt::Display for VectorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { given, expected } => write!(f, "has {given} numbers, not {expected}"),
            Self::NotFinite(at) => write!(f, "has no finite number at place {}", at + 1),
            Self::Zero => write!(f, "is all zero and has no direction"),
        }
    }
}

impl Vector {
    /// Takes the numbers of a provider or caller.
    pub fn new(numbers: &[f32], dimensions: Dimensions) -> Result<Self, VectorFault> {
        if numbers.len() != dimensions.get() {
            return Err(VectorFault::Length { given: numbers.len(), expected: dimensions.get() });
        }
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(VectorFault::NotFinite(at));
        }
        // In double precision neither the largest nor the smallest floats over- or underflow when squared.
        let norm = numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
        if norm == 0.0 {
            return Err(VectorFault::Zero);
        }
        let unit: Vec<f32> = numbers.iter().map(|number| (f64::from(*number) / norm) as f32).collect();
        Ok(Self(unit))
    }

    /// Takes an SQL array, whose elements may be null.
    pub fn parse(argument: &str, numbers: &[Option<f32>], dimensions: Dimensions) -> Result<Self, Invalid> {
        let numbers: Vec<f32> = numbers.iter().map(|number| number.unwrap_or(f32::NAN)).collect();
        Self::new(&numbers, dimensions).map_err(|fault| refused(argument, fault))
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }
}

fn refused(argument: &str, fault: VectorFault) -> Invalid {
    Invalid::new(
        argument,
        "EMB-25",
        format!("argument \"{argument}\" {fault}"),
        "Give one finite number for each of the model's dimensions, not all of them zero.",
    )
}

/// Reads the vectors of one content: an array with one array of numbers for each window.
pub fn parse_vectors(argument: &str, text: &str, dimensions: Dimensions) -> Result<Vec<Vector>, Invalid> {
    let shape = || {
        Invalid::new(
            argument,
            "EMB-12",
            format!("argument \"{argument}\" is no array of vectors"),
            format!("Give 1 to {} arrays of numbers, one for each window of the text.", limits::WINDOWS),
        )
    };
    let vectors: Vec<Vec<f64>> = serde_json::from_str(text).map_err(|_| shape())?;
    if vectors.is_empty() || vectors.len() > limits::WINDOWS {
        return Err(shape());
    }
    vectors
        .iter()
        .enumerate()
        .map(|(index, numbers)| {
            let numbers: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
            Vector::new(&numbers, dimensions).map_err(|fault| refused(&format!("{argument}[{index}]"), fault))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dimensions(value: i32) -> Dimensions {
        Dimensions::parse("dimensions", value).unwrap()
    }

    #[test]
    fn a_vector_keeps_its_direction() {
        let vector = Vector::new(&[3.0, 4.0], dimensions(2)).unwrap();
        assert_eq!(vector.as_slice(), [0.6, 0.8]);
    }

    #[test]
    fn what_has_no_direction_is_refused() {
        let new = |numbers: &[f32]| Vector::new(numbers, dimensions(2)).unwrap_err();
        assert_eq!(new(&[1.0]), VectorFault::Length { given: 1, expected: 2 });
        assert_eq!(new(&[1.0, f32::NAN]), VectorFault::NotFinite(1));
        assert_eq!(new(&[f32::INFINITY, 0.0]), VectorFault::NotFinite(0));
        assert_eq!(new(&[0.0, -0.0]), VectorFault::Zero);
        let refusal = Vector::parse("vector", &[Some(1.0), None], dimensions(2)).unwrap_err();
        assert_eq!(refusal.message, "argument \"vector\" has no finite number at place 2");
    }

    #[test]
    fn windows_are_an_array_of_arrays() {
        let parse = |text| parse_vectors("vectors", text, dimensions(2));
        assert_eq!(parse("[[1,0],[0,1.5]]").unwrap().len(), 2);
        for bad in ["[]", "{}", "[1,0]", "[[1]]", "[[1,null]]", "[[1,1e39]]", "[[0,0]]", "\"x\""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!(parse("[[1,0],[1]]").unwrap_err().argument, "vectors[1]");
    }

    proptest! {
        #[test]
        fn every_accepted_vector_has_length_one(numbers in proptest::collection::vec(any::<f32>(), 1..50)) {
            if let Ok(vector) = Vector::new(&numbers, dimensions(numbers.len() as i32)) {
                let norm: f64 = vector.as_slice().iter().map(|number| f64::from(*number).powi(2)).sum();
                prop_assert!((norm - 1.0).abs() < 1e-5, "{norm}");
            }
        }
    }
}
