//! The admission gate, served: `berth-review`'s reviews over HTTP and TLS.
//!
//! [`router`] answers reviews and needs no socket. [`Server`] puts it behind TLS, next to plain HTTP for health and
//! metrics, and carries it through its life: ready when it can decide, not ready the moment it is told to stop, and
//! serving until nobody asks any more.

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
