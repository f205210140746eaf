//! Decides AdmissionReviews: from the bytes of a request to the bytes of its response, without HTTP.
//!
//! - [`Webhook`] lists the kinds of objects that the gate reviews.
//! - [`Gate::examine`] decodes a request, lets the rules examine it, gets its questions answered through the port
//!   [`Answerer`], and lets the rules decide it.
//! - [`Verdict`] is the result: for users (`berth review`), for logs and metrics, and for the response.
//!
//! Two answerers implement the port: [`HubAnswerer`] calls a hub; [`FilesAnswerer`] reads files, so that the gate runs
//! without a hub.

mod cost;
mod documents;
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

pub use berth_api::Webhook;
pub use cost::decoding_costs;
pub use documents::{NotYaml, documents};
pub use files::FilesAnswerer;
pub use gate::Gate;
pub use hub::HubAnswerer;
pub use hub_files::{FilesError, HubFiles, Source, drop_nulls, objects, objects_in, objects_under};
pub use port::{Answerer, Finding, Requester};
pub use refusal::{Refusal, RefusalKind};
pub use verdict::{Evidence, Subject, Verdict};
