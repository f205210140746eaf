//! From the bytes of an AdmissionReview's request to the bytes of its response. No HTTP.
//!
//! - [`Webhook`] says which objects the gate reviews.
//! - [`Gate::examine`] decodes a request, has the rules examine it, gets its questions answered through the port
//!   [`Answerer`], and has the rules decide it.
//! - [`Verdict`] is the result: for users (`berth review`), for logs and metrics, and as the response on the wire.
//!
//! Two answerers implement the port: [`HubAnswerer`] asks a hub, [`FilesAnswerer`] reads files, so that the gate runs
//! with no hub at all.

mod cost;
mod files;
mod gate;
mod header;
mod hub;
mod hub_files;
mod lists;
mod port;
mod refusal;
mod request;
mod response;
mod salvage;
mod single_flight;
mod user;
mod verdict;
mod webhook;

pub use cost::decoding_costs;
pub use files::FilesAnswerer;
pub use gate::Gate;
pub use hub::{HubAnswerer, HubService};
pub use hub_files::{FilesError, HubFiles, Source};
pub use port::{Answerer, Finding, Requester};
pub use refusal::{Refusal, RefusalKind};
pub use verdict::{Evidence, Subject, Verdict};
pub use webhook::Webhook;
