//! The defaults of ManagedClusters: the set, and the times of taints.
//!
//! The clock is `managedFields`: before policies are evaluated, the API server writes an entry there for the very request, with
//! the time of now.

use crate::options::Options;
use crate::policy::{Policy, Target};
use crate::template::Template;

pub(crate) fn policies(template: &Template, options: &Options) -> Vec<Policy> {
    let mut policies = Vec::new();
    if options.settings.gates.default_cluster_set {
        policies.push(default_set(template));
    }
    policies.push(taint_times(template));
    policies
}

/// Adds a cluster without a set to the default set, if the requester may do that.
fn default_set(template: &Template) -> Policy {
    Policy::mutating("default-set", Target::CLUSTERS)
        .when("not-being-deleted", template.at("times/notBeingDeleted"))
        .when("set-missing", template.at("guards/noSet"))
        .when(
            "had-default-or-may-join-it",
            template.at("clusters/defaultSetAllowed"),
        )
        .merge(template.at("clusters/defaultSet"))
}

/// Writes the times of taints.
fn taint_times(template: &Template) -> Policy {
    Policy::mutating("taint-times", Target::CLUSTERS)
        .when("not-being-deleted", template.at("times/notBeingDeleted"))
        .when("taints-changed", template.at("times/taintsChanged"))
        .variables(
            template,
            "times",
            &["now", "clock", "new", "old", "stored", "echoes", "times"],
        )
        .patch(template.at("times/patch"))
}
