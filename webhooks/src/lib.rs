//! The server: routes, TLS, limits, drain, health and metrics.
//!
//! [`router`] answers reviews and needs no socket. [`Server`] puts it behind TLS, next to plain HTTP for health and
//! metrics, and carries it through its life: ready when it can decide, not ready the moment it is told to stop, and
//! serving until nobody asks any more. [`serve`] is a port for whatever else runs in the process.

mod app;
mod body;
mod certificate_metrics;
mod connections;
mod deadline;
mod health;
mod lane;
mod listener;
mod metrics;
mod room;
mod run;

pub use app::{App, router};
pub use body::LARGEST_BODY;
pub use certificate_metrics::certificate_metrics;
pub use connections::Limits;
pub use metrics::Metrics;
pub use run::{Open, Opening, ServeError, Server, serve};
