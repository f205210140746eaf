//! ManagedClusterSetBindings: the permission to bind, and the namespaces of accepted clusters.

use berth_api::labels;
use berth_rules::sentences::faults;

use crate::guard::Guard;
use crate::policy::{Code, Policy, Target};
use crate::template::Template;

pub(crate) fn policies(template: &Template) -> [Policy; 2] {
    [binding(template), namespace(template)]
}

fn new(about: &str, template: &Template) -> Policy {
    Policy::validating(about, Target::BINDINGS)
        .when(Guard::Binding.name(), Guard::Binding.fill(template))
        .variables(template, "bindings", &["user", "set", "mayBind"])
}

fn binding(template: &Template) -> Policy {
    new("", template)
        .require_or_say(
            Code::Invalid,
            template.at("bindings/sameName"),
            faults::BINDING_NAME,
        )
        .require(
            Code::Forbidden,
            "variables.mayBind".to_owned(),
            template.fill("{{say bind | variables.set}}"),
        )
}

/// The hub's RoleBindings in a namespace say that the hub accepts the cluster of this name. A policy cannot read the cluster: the
/// name of a parameter cannot depend on the request.
fn namespace(template: &Template) -> Policy {
    new("namespaces", template)
        .for_role_bindings(labels::CLUSTER_NAME)
        .require(
            Code::Forbidden,
            template.at("bindings/notOfCluster"),
            template.fill("{{say clusterNamespace | variables.set | request.namespace}}"),
        )
}
