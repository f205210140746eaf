//! The gate on a hub, end to end: the built binary, registered by the real manifests with the rights of the shipped
//! ClusterRole, met by users with certificates and service accounts with tokens, through `kubectl` and through `kube`.
//!
//! The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names its programs (see `support/cluster`).

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

#[path = "../support/balancer.rs"]
mod balancer;
#[path = "../support/cluster/mod.rs"]
mod cluster;
#[path = "../support/csr.rs"]
mod csr;
#[path = "../support/guarded.rs"]
mod guarded;
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

mod relay;
mod sentences;
mod writes;

mod acceptance;
mod applied;
mod bindings;
mod certificate_requests;
mod certificates;
mod content;
mod default_set;
mod dry_run;
mod feature_gates;
mod impersonation;
mod membership;
mod outage;
mod pasted;
mod people;
mod reserved_names;
mod rights;
mod rotation;
mod service;
mod sets;
mod several_lines;
mod taints;
mod two_gates;
mod undecided;
