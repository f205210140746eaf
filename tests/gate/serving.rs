//! A server from start to end: readiness, metrics, TLS versions, certificates that change, and the drain.

mod certificates;
pub(crate) mod conversion;
mod drain;
mod health;
mod limits;
mod logs;
mod metrics;
mod tls;
mod work;
