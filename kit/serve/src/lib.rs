//! Serving HTTP, for every server of Berth.
//!
//! - [`Listener`] accepts connections, does TLS, speaks HTTP/1.1 and HTTP/2, and drains. The routes of a
//!   connection can depend on the client's certificate ([`Peer`]).
//! - [`Limits`] bound connections, headers and times. When the limit of connections is reached, the least useful connection
//!   is closed.
//! - [`BodyMemory`] receives request bodies within one budget of memory. When the budget is used up, the slowest senders lose
//!   theirs.
//! - [`deadline`] reads how long the client of a request waits.
//! - [`endpoints`] are the routes of health and metrics. [`Turns`] has which threads are held; [`on_thread`] starts one.
//! - [`door`] lets authenticated callers in: an [`Authority`](door::Authority) knows the user of a token and its permissions.
//! - [`metrics`] makes metrics, among them those of connections, certificates and the process.
//!
//! # Promises
//! - A client that is slow, silent or greedy costs a bounded amount of memory, and does not keep other clients out.
//! - When [`Listener::serve`] returns, every task that it started has ended.

mod apart;
mod body;
mod connections;
pub mod deadline;
pub mod door;
pub mod endpoints;
mod http;
mod limits;
mod listen;
mod listener;
pub mod metrics;
mod room;
mod tls;
mod turns;

pub use apart::on_thread;
pub use body::{Answered, BodyMemory, LARGEST_BODY, NotReceived, Received, Trouble};
pub use connections::Payer;
pub use limits::Limits;
pub use listen::listen;
pub use listener::{Listener, Peer, Stop};
pub use tls::Tls;
pub use turns::{LONGEST, Turns};
