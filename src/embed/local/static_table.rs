//! One vector per token, added up: microseconds a text.

use candle_core::{DType, Device, Tensor};
use std::path::Path;

/// The table of a Model2Vec or WordLlama model.
pub struct StaticTable {
    /// Row after row.
    rows: Vec<f32>,
    dimensions: usize,
    /// The row of each token, when that is not its id (Model2Vec's `mapping`).
    mapping: Option<Vec<usize>>,
    /// The weight of each token (Model2Vec's `weights`).
    weights: Option<Vec<f32>>,
}

impl StaticTable {
    /// Reads `model.safetensors`: a matrix `embeddings` or `embedding.weight`.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let path = directory.join("model.safetensors");
        let told = |error: candle_core::Error| format!("{}: {error}", path.display());
        let tensors = candle_core::safetensors::load(&path, &Device::Cpu).map_err(told)?;
        let matrix = ["embeddings", "embedding.weight"]
            .iter()
            .find_map(|name| tensors.get(*name))
            .ok_or_else(|| format!("{}: there is no table of token vectors in it", path.display()))?;
        let (count, dimensions) = matrix.dims2().map_err(told)?;
        if dimensions == 0 || count == 0 {
            return Err(format!("{}: the table of token vectors is empty", path.display()));
        }
        let flat = |tensor: &Tensor, kind| {
            tensor.to_dtype(kind).and_then(|tensor| tensor.flatten_all()).map_err(told)
        };
        let rows = flat(matrix, DType::F32)?.to_vec1::<f32>().map_err(told)?;
        let weights = match tensors.get("weights") {
            Some(weights) => Some(flat(weights, DType::F32)?.to_vec1::<f32>().map_err(told)?),
            None => None,
        };
        let mapping = match tensors.get("mapping") {
            Some(mapping) => {
                let mapping = flat(mapping, DType::I64)?.to_vec1::<i64>().map_err(told)?;
                Some(mapping.into_iter().map(|row| usize::try_from(row).unwrap_or(usize::MAX)).collect())
            }
            None => None,
        };
        Ok(Self { rows, dimensions, mapping, weights })
    }

    /// The length of its vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The mean of the tokens' vectors; all zero when none of them has one.
    pub fn embed(&self, tokens: &[u32]) -> Vec<f32> {
        let mut sum = vec![0f32; self.dimensions];
        for token in tokens {
            let token = *token as usize;
            let row = self.mapping.as_ref().map_or(Some(token), |mapping| mapping.get(token).copied());
            let weight =
                self.weights.as_ref().map_or(1.0, |weights| weights.get(token).copied().unwrap_or(0.0));
            let Some(vector) = row.and_then(|row| self.rows.chunks_exact(self.dimensions).nth(row)) else {
                continue;
            };
            for (total, value) in sum.iter_mut().zip(vector) {
                *total += weight * value;
            }
        }
        let count = tokens.len().max(1) as f32;
        sum.iter_mut().for_each(|total| *total /= count);
        sum
    }
}
