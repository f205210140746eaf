//! What a controller stands on: watches, queues, plans, writes, events and metrics.

mod limit;
pub mod queue;

pub use limit::Limit;
