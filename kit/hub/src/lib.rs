//! Calls to an API server: connections, credentials, deadlines, errors.
//!
//! [`HubApi`] stands for one API server and one user of it. Several may exist in one process. A [`Call`] is one request:
//!
//! ```no_run
//! # async fn example(hub: berth_hub::HubApi) -> Result<(), berth_hub::CallError> {
//! use berth_hub::{Call, optional};
//! use std::time::Duration;
//!
//! let call = Call::get("/api/v1/namespaces/cluster1").within(Duration::from_secs(5));
//! let namespace = optional(hub.call(call).await)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! - A call ends within its deadline, and reads no more of a response than its byte bound.
//! - Nothing is retried and nothing sleeps: the caller knows how much time is left and whether the facts still hold.
//! - A peer that stops acknowledging is detected within the [`Timing`] of the connection, not after the kernel's 15 minutes.
//! - "Not found" is reported only on the API server's own word ([`CallError::is_absent`]), never on a proxy's page.
//! - Credentials that change on disk are used without a restart: token files, and the certificates, keys and kubeconfigs
//!   themselves. Files are compared by content.
//! - Every request is counted, and at most once ([`register_requests`]).
//! - No message of an error holds a token, a key, a password or the output of an exec plugin.

mod access;
mod answer;
mod api;
mod asked;
mod backoff;
mod call;
mod connections;
mod error;
mod identity;
mod kubeconfig;
mod lenient;
mod overrides;
mod requests;
mod sizes;
mod tls;
mod values;

/// The paths of requests.
pub use berth_api::path::{group_path, object_path, query_value, segment, version_path};

pub use access::{Access, ActAs, ConnectError, Sharing, Timing};
pub use answer::{Answer, Chunks};
pub use api::HubApi;
pub use asked::{Asked, Resource};
pub use backoff::Backoff;
pub use call::{
    APPLY_PATCH, Call, JSON, JSON_PATCH, MERGE_PATCH, METADATA, METADATA_LIST, RequestBody,
};
pub use error::{CallError, Cause, Details, Refusal, StatusCause, causes, optional};
pub use identity::{BadCredentials, Identity};
pub use kubeconfig::{
    Authorities, Endpoint, ServerAddress, cluster_of_context, contexts, endpoint, endpoint_in,
    files, namespace_of_context, server_address,
};
pub use overrides::Overrides;
pub use requests::register_requests;
pub use sizes::{LARGE_AT_ONCE, LONGEST_RESPONSE, LargeResponses, ResponseBound, USUAL_RESPONSE};
