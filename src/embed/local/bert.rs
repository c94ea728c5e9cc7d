//! BERT and its descendants of the same shape.

use super::pooling::{self, Pooling};
use crate::embed::Fault;
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_nn::ops::{layer_norm, softmax_last_dim};
use serde::Deserialize;
use std::path::Path;

/// Most tokens of one pass, padding included. With fewer the weights are read more often; with more, what lies between two
/// layers no longer fits into what the allocator keeps, and every layer gets its pages from the system anew: with 2048
/// that took a sixth of the time.
const TOKENS: usize = 512;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    max_position_embeddings: usize,
    #[serde(default = "one")]
    type_vocab_size: usize,
    layer_norm_eps: f64,
    hidden_act: String,
    #[serde(default)]
    pad_token_id: u32,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn one() -> usize {
    1
}

fn absolute() -> String {
    "absolute".into()
}

#[derive(Debug, Clone, Copy)]
enum Activation {
    Gelu,
    GeluTanh,
    Relu,
}

/// The weights, and how they are used.
pub struct Bert {
    words: Tensor,
    /// Positions, with the one token type added that single texts have.
    positions: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    dimensions: usize,
    activation: Activation,
    pooling: Pooling,
    max_tokens: usize,
    pad: u32,
}

struct Layer {
    /// Query, key and value in one.
    qkv: Linear,
    attention: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

/// A matrix that is applied from the right, and a bias.
struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn open(from: &VarBuilder, input: usize, output: usize) -> Result<Self> {
        Ok(Self { weight: from.get((output, input), "weight")?.t()?, bias: from.get(output, "bias")? })
    }

    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        rows.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

impl Norm {
    /// Old checkpoints call the two `gamma` and `beta`.
    fn open(from: &VarBuilder, size: usize, epsilon: f64) -> Result<Self> {
        let named = |name, old| from.get(size, name).or_else(|_| from.get(size, old));
        Ok(Self { weight: named("weight", "gamma")?, bias: named("bias", "beta")?, epsilon: epsilon as f32 })
    }

    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        layer_norm(rows, &self.weight, &self.bias, self.epsilon)
    }
}

impl Bert {
    /// Reads `config.json`, `model.safetensors` and what says how tokens are pooled.
    pub fn open(directory: &Path) -> std::result::Result<Self, String> {
        let path = directory.join("config.json");
        let config: Config =
            pooling::read(&path)?.ok_or_else(|| format!("{}: the file is missing", path.display()))?;
        let activation = match config.hidden_act.as_str() {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            other => return Err(format!("{}: activation \"{other}\" is not supported", path.display())),
        };
        let fits = config.num_attention_heads > 0
            && config.hidden_size.is_multiple_of(config.num_attention_heads)
            && config.position_embedding_type == "absolute";
        if !fits {
            return Err(format!("{}: a network of this shape is not supported", path.display()));
        }
        // RoBERTa and its descendants count positions from behind the padding's.
        let first = if config.model_type == "bert" { 0 } else { config.pad_token_id as usize + 1 };
        let positions = config.max_position_embeddings.saturating_sub(first);
        let max_tokens = pooling::max_tokens(directory)?.unwrap_or(positions).min(positions);

        let path = directory.join("model.safetensors");
        let told = |error: candle_core::Error| format!("{}: {error}", path.display());
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).map_err(told)?;
        let root = ["", "bert", "roberta"]
            .iter()
            .map(|name| if name.is_empty() { weights.clone() } else { weights.pp(name) })
            .find(|root| root.contains_tensor("embeddings.word_embeddings.weight"))
            .ok_or_else(|| format!("{}: there is no network in it", path.display()))?;
        Self::read(&config, &root, first, max_tokens, activation, Pooling::open(directory)?).map_err(told)
    }

    fn read(
        config: &Config,
        root: &VarBuilder,
        first: usize,
        max_tokens: usize,
        activation: Activation,
        pooling: Pooling,
    ) -> Result<Self> {
        let (size, epsilon) = (config.hidden_size, config.layer_norm_eps);
        let from = root.pp("embeddings");
        let types = from.get((config.type_vocab_size, size), "token_type_embeddings.weight")?;
        let positions = from
            .get((config.max_position_embeddings, size), "position_embeddings.weight")?
            .narrow(0, first, max_tokens)?
            .broadcast_add(&types.get(0)?)?;
        let layers = (0..config.num_hidden_layers)
            .map(|index| {
                let from = root.pp(format!("encoder.layer.{index}"));
                let parts = ["query", "key", "value"]
                    .map(|part| Linear::open(&from.pp("attention.self").pp(part), size, size));
                let [query, key, value] = parts;
                let (query, key, value) = (query?, key?, value?);
                Ok(Layer {
                    qkv: Linear {
                        weight: Tensor::cat(&[&query.weight, &key.weight, &value.weight], 1)?,
                        bias: Tensor::cat(&[&query.bias, &key.bias, &value.bias], 0)?,
                    },
                    attention: Linear::open(&from.pp("attention.output.dense"), size, size)?,
                    attention_norm: Norm::open(&from.pp("attention.output.LayerNorm"), size, epsilon)?,
                    up: Linear::open(&from.pp("intermediate.dense"), size, config.intermediate_size)?,
                    down: Linear::open(&from.pp("output.dense"), config.intermediate_size, size)?,
                    norm: Norm::open(&from.pp("output.LayerNorm"), size, epsilon)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            words: from.get((config.vocab_size, size), "word_embeddings.weight")?,
            positions,
            norm: Norm::open(&from.pp("LayerNorm"), size, epsilon)?,
            layers,
            heads: config.num_attention_heads,
            dimensions: size,
            activation,
            pooling,
            max_tokens,
            pad: config.pad_token_id,
        })
    }

    /// The length of its vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many tokens it reads at once.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The vectors of windows, in their order. Windows of like length go together, so that little is padded.
    pub fn embed(
        &self,
        windows: &[Vec<u32>],
        interrupted: &dyn Fn() -> bool,
    ) -> std::result::Result<Vec<Vec<f32>>, Fault> {
        let mut order: Vec<usize> = (0..windows.len()).collect();
        order.sort_by_key(|index| (windows[*index].len(), *index));
        let mut vectors = vec![Vec::new(); windows.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let count = batch(rest.iter().map(|index| windows[*index].len()));
            let (now, later) = rest.split_at(count);
            rest = later;
            let texts: Vec<&[u32]> = now.iter().map(|index| windows[*index].as_slice()).collect();
            let found = self.pass(&texts, interrupted).map_err(|error| Fault::Failed(error.to_string()))?;
            for (index, vector) in now.iter().zip(found.ok_or(Fault::Interrupted)?) {
                vectors[*index] = vector;
            }
        }
        Ok(vectors)
    }

    /// One pass over texts; nothing when it was interrupted.
    fn pass(&self, texts: &[&[u32]], interrupted: &dyn Fn() -> bool) -> Result<Option<Vec<Vec<f32>>>> {
        let (count, size, heads) = (texts.len(), self.dimensions, self.heads);
        let length = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let ids: Vec<u32> = texts
            .iter()
            .flat_map(|text| text.iter().copied().chain(std::iter::repeat_n(self.pad, length - text.len())))
            .collect();
        let mask = self.mask(texts, length)?;
        let words = self.words.index_select(&Tensor::new(ids, &Device::Cpu)?, 0)?;
        let placed =
            words.reshape((count, length, size))?.broadcast_add(&self.positions.narrow(0, 0, length)?)?;
        let mut rows = self.norm.forward(&placed.reshape((count * length, size))?)?;
        let scale = 1.0 / ((size / heads) as f64).sqrt();
        for layer in &self.layers {
            if interrupted() {
                return Ok(None);
            }
            let qkv = layer.qkv.forward(&rows)?.reshape((count, length, 3, heads, size / heads))?;
            let part = |index: usize| qkv.narrow(2, index, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
            let (query, key, value) = ((part(0)? * scale)?, part(1)?, part(2)?);
            let mut scores = query.matmul(&key.t()?)?;
            if let Some(mask) = &mask {
                scores = scores.broadcast_add(mask)?;
            }
            let seen = softmax_last_dim(&scores)?.matmul(&value)?;
            let seen = seen.transpose(1, 2)?.reshape((count * length, size))?;
            rows = layer.attention_norm.forward(&(rows + layer.attention.forward(&seen)?)?)?;
            let wide = layer.up.forward(&rows)?;
            let wide = match self.activation {
                Activation::Gelu => wide.gelu_erf()?,
                Activation::GeluTanh => wide.gelu()?,
                Activation::Relu => wide.relu()?,
            };
            rows = layer.norm.forward(&(rows + layer.down.forward(&wide)?)?)?;
        }
        let rows = rows.reshape((count, length, size))?;
        texts
            .iter()
            .enumerate()
            .map(|(index, text)| self.pool(&rows.get(index)?, text.len()))
            .collect::<Result<_>>()
            .map(Some)
    }

    /// What keeps a text from reading its padding; nothing when no text has any.
    fn mask(&self, texts: &[&[u32]], length: usize) -> Result<Option<Tensor>> {
        if texts.iter().all(|text| text.len() == length) {
            return Ok(None);
        }
        let mask: Vec<f32> = texts
            .iter()
            .flat_map(|text| (0..length).map(|at| if at < text.len() { 0.0 } else { f32::MIN }))
            .collect();
        Tensor::from_vec(mask, (texts.len(), 1, 1, length), &Device::Cpu).map(Some)
    }

    fn pool(&self, rows: &Tensor, length: usize) -> Result<Vec<f32>> {
        let rows = rows.narrow(0, 0, length)?;
        match self.pooling {
            Pooling::Mean => rows.mean(0)?,
            Pooling::First => rows.get(0)?,
            Pooling::Max => rows.max(0)?,
        }
        .to_vec1()
    }
}

/// How many of the texts, in order of length, go into one pass.
fn batch(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.enumerate().take_while(|(index, length)| (index + 1) * length <= TOKENS).count().max(1)
}
