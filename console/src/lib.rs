//! `berth console`: a page in the browser that answers questions about a hub.
//!
//! # How it is built
//! - Plain functions decide: `search` and `table` (which rows a page shows), `sessions` and `guard` (who is answered),
//!   `handshake` and `screens` (what the facts mean).
//! - `live` follows the hub while a page is open; `stream` tells pages what has changed; `routes` is the rest of the API.
//! - What the commands decide is asked of `berth_admin::answers`, and not decided again.
//!
//! # Guarantees
//! - The hub is called as the user of the session (that of the kubeconfig; with `--serve` each user by the own token), so that a page
//!   shows and does nothing that kubectl would be refused.
//! - A request needs a session, the Host of this server, and no foreign Origin. A write needs a header that other sites cannot send.
//! - Text of the fleet is escaped, and is never HTML. Secrets are in no log.

pub mod answers;
mod app;
mod cookie;
mod entry;
mod event;
mod fact;
mod guard;
mod handshake;
mod health;
mod keep;
mod last_facts;
mod lines;
mod live;
mod metrics;
mod oidc;
mod page;
mod public;
mod random;
mod respond;
mod rights;
mod routes;
mod run;
mod screens;
mod search;
mod served;
mod server;
mod sessions;
mod shown;
mod sign_in;
mod stream;
mod table;

pub use berth_admin::answers::Hub;
pub use lines::Lines;
pub use run::{ConsoleArgs, run, serve_many};
pub use served::{Options, Served};
