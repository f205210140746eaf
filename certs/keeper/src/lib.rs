//! Keeps the gate's certificates in a Secret, and their authority in the webhook registrations.
//!
//! What is to be done is decided by [`berth_certs::managed`], which is pure. This crate asks the hub and writes:
//! - [`run`]: [`Managed`], which reads on every replica, and keeps on the elected replica of the controller;
//! - [`settings`]: where the objects are, and which registrations get the bundle;
//! - `reader`: the Secret by a watch, and the last good state of it; `keeper`: Secret and registrations, under a Lease;
//! - `absent`: registrations that do not exist, and when certificates may rotate without them;
//! - `objects`, `follow`: requests with deadlines, and a watch on one name; `called`: whether a webhook server that the
//!   registrations name is trusted by them.
//!
//! # Promises
//! Those of [`berth_certs::managed`], and:
//! - No write is under way once another process may lead, and each names the version of what it replaces.
//! - A registration that cannot be read holds up a rotation. One that does not exist on the API server's own word does so for
//!   the time to settle ([`Policy::settle`](berth_certs::managed::Policy::settle)); then certificates rotate without it, and
//!   the log and a metric say so. So an installation may leave a registration out, and the page of a proxy takes none away.
//! - Settled, nothing is written.

mod absent;
mod called;
mod follow;
mod keeper;
mod objects;
mod reader;
pub mod run;
pub mod settings;

pub use reader::ManagedPair;
pub use run::Managed;
pub use settings::{Place, Registration, Settings};
