//! The admission gate: reviews answered, over HTTP and TLS.
//!
//! [`review`] gets the questions of a change answered, by a hub or from files, and turns the decision of the rules into
//! an AdmissionReview. [`server`] brings reviews in and answers out: routes, TLS, limits, drain, metrics.

pub mod review;
pub mod server;
