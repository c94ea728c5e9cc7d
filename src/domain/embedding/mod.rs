//! Embedding models, vectors and the queue: what is valid, and when a failure is tried again (EMB).

mod model;
mod query;
mod queue;
mod vector;

pub use model::{Dimensions, Model, ModelName, ModelOptions, Provider};
pub use query::Query;
pub use queue::{Claim, Seconds, parse_pending_limit, retry_delay};
pub use vector::{Vector, VectorFault, parse_vectors};
