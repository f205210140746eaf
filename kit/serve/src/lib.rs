//! Serving HTTP: what every server of Berth stands on.
//!
//! - [`Listener`] accepts connections, does TLS, speaks HTTP/1.1 and HTTP/2, and drains. It is given a service for each
//!   connection, which sees the client's certificate ([`Peer`]).
//! - [`Limits`] bound connections, headers and times. When all places are taken, the least useful connection is closed.
//! - [`BodyMemory`] receives request bodies within one budget of memory; the slowest senders make room for others.
//! - [`deadline`] reads how long the caller of a request waits.
//! - [`endpoints`] are the routes of health and metrics.
//! - [`metrics`] makes metrics, among them those of connections, certificates and the process.
//!
//! # Promises
//! - A client that is slow, silent or greedy costs a bounded amount of memory, and keeps no other client out.
//! - When [`Listener::serve`] returns, every task that it started has ended.

mod apart;
mod body;
mod connections;
pub mod deadline;
pub mod endpoints;
mod http;
mod limits;
mod listener;
pub mod metrics;
mod room;
mod tls;

pub use body::{Answered, BodyMemory, LARGEST_BODY, NotReceived, Received, Trouble};
pub use connections::Payer;
pub use http::{RequestBody, ResponseBody};
pub use limits::Limits;
pub use listener::{Listener, Peer, Stop};
pub use tls::Tls;
