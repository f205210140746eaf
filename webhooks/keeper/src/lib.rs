//! Keeps the gate's certificates in a Secret, and their authority in the webhook registrations.
//!
//! A registration is a webhook configuration, or a CustomResourceDefinition whose objects the gate converts. [`berth_certs::managed`] decides what is due, and is pure. This crate reads and
//! writes the hub's objects:
//! - [`run`]: [`Managed`] reads on every replica, and keeps on the elected replica of the controller;
//! - [`settings`]: where the objects are, and which registrations get the bundle;
//! - `reader`: follows the Secret, and remembers its last good state;
//! - `keeper`: writes Secret and registrations, under a Lease;
//! - `absent`: registrations that do not exist, and when certificates may rotate without them;
//! - `objects`: requests with deadlines;
//! - `called`: finds out if a running webhook server is trusted by the registrations;
//! - `metrics`: [`certificate_metrics`].
//!
//! # Promises
//! Those of [`berth_certs::managed`], and:
//! - No write is under way once another process may lead. Each write names the version of the object that it replaces.
//! - A registration that cannot be read holds up a rotation. A registration that does not exist, on the API server's own
//!   word, holds it up for the time to settle ([`Policy::settle`](berth_certs::managed::Policy::settle)). Then certificates
//!   rotate without it, and the log and a metric report that. So an installation may leave a registration out, and the page of
//!   a proxy does not pass for a missing registration.
//! - A CustomResourceDefinition counts only while it names the gate, by a name of its certificate: the bundle of another conversion webhook
//!   is never changed, and no rotation waits for one.
//! - A process that ends at any time leaves a state from which the next one continues.
//! - While nothing is due, nothing is written.

mod absent;
mod called;
mod keeper;
mod metrics;
mod objects;
mod reader;
pub mod run;
pub mod settings;

pub use metrics::certificate_metrics;
pub use reader::ManagedPair;
pub use run::{Election, Managed};
pub use settings::{Place, Registration, RegistrationKind, Settings};
