//! From the bytes of an AdmissionReview to the bytes of its answer.
//!
//! - [`Webhook`] says what the gate serves, and under which paths.
//! - [`Gate::examine`] decodes a review, gets its questions answered through the port [`Answerer`], and has the rules
//!   decide it.
//! - [`Verdict`] is what came of it: for people (`berth review`), for logs and metrics, and as the answer on the wire.
//!
//! Two answerers implement the port: [`HubAnswerer`] asks a hub, [`FilesAnswerer`] reads files, so that the gate runs
//! with no hub at all.

mod answer;
mod cost;
mod envelope;
mod files;
mod gate;
mod hub;
mod hub_files;
mod lists;
mod port;
mod salvage;
mod single_flight;
mod user;
mod webhook;

pub use answer::{Evidence, Refusal, RefusalKind, Subject, Verdict};
pub use cost::decoding_costs;
pub use files::FilesAnswerer;
pub use gate::Gate;
pub use hub::{HubAnswerer, HubService};
pub use hub_files::{FilesError, HubFiles, Source};
pub use port::{Answerer, Finding, Requester};
pub use webhook::Webhook;
