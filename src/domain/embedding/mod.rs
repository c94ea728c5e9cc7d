//! Embedding models, vectors and the queue: what is valid, and when a failure is tried again (EMB).

mod model;
mod queue;
mod vector;

pub use model::{Dimensions, Model, ModelName, ModelOptions, Provider};
pub use queue::{Claim, Seconds, retry_delay};
pub use vector::{Vector, VectorFault, parse_vectors};
