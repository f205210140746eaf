//! The server of the admission gate: `berth-review` over HTTP and TLS.
//!
//! [`router`] answers reviews without a socket. [`Server`] adds TLS, plain HTTP for health and metrics, and the lifecycle:
//! ready when it can decide; not ready from the moment of the shutdown signal; then serving until clients have moved on.

mod app;
mod lane;
mod limits;
mod metrics;
mod readiness;
mod run;
mod table;

pub use app::{App, router};
pub use berth_serve::LARGEST_BODY;
pub use limits::Limits;
pub use metrics::Metrics;
pub use run::{Open, Opening, ServeError, Server};
pub use table::{shipped, webhook_at};
