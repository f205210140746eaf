//! Faults under load. The result of each is a count of calls that failed, and it is zero.
//!
//! The load is what an API server does: calls over HTTP/1.1 and verified TLS, on connections that are kept, to one address
//! with replicas of the built binary behind it. A call has failed that gets no answer in time, an answer that is no
//! AdmissionReview, or a wrong one. Where a decision could not be made, the answers that say so are counted apart.
//!
//! `BERTH_FAULTS` makes it long: `long` is an hour's soak, and some minutes for everything else; a duration such as `10m` is
//! that of the soak. A table of the counts comes at the end. The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names
//! its programs.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

#[path = "../support/balancer.rs"]
mod balancer;
#[path = "../support/cluster/mod.rs"]
mod cluster;
#[path = "../support/guarded.rs"]
mod guarded;
#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/managed.rs"]
mod managed;
#[path = "../support/objects.rs"]
mod objects;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/shipped.rs"]
mod shipped;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/writers.rs"]
mod writers;

mod calls;
mod length;
mod line;
mod load;
mod replicas;
mod served;
mod tally;

// By its name the first, as it takes the longest.
mod busy_and_quiet;
mod certificates;
mod clients;
mod counting;
mod hub;
mod limits;
mod rolling;
