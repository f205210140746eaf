//! The gate on a hub, end to end: the built binary, registered by the shipped manifests with the rights of the shipped
//! ClusterRole. Users with certificates and service accounts with tokens write through `kubectl` and through `kube`.
//!
//! The hub is devhub, or a real kube-apiserver if `KUBEBUILDER_ASSETS` names its programs.

mod relay;
mod sentences;

mod acceptance;
mod addons;
mod applied;
mod bindings;
mod certificate_requests;
mod certificates;
mod content;
mod conversion;
mod default_set;
mod dry_run;
mod feature_gates;
mod impersonation;
mod membership;
mod outage;
mod pasted;
mod people;
mod placements;
mod reserved_names;
mod rights;
mod rotation;
mod service;
mod sets;
mod several_lines;
mod taints;
mod two_gates;
mod undecided;
mod works;
