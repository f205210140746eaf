//! The gate's rules as policies: ValidatingAdmissionPolicies and MutatingAdmissionPolicies, which the API server evaluates
//! itself, in [CEL](https://kubernetes.io/docs/reference/using-api/cel/). With them a hub needs no webhook for ManagedClusters,
//! ManagedClusterSets, ManagedClusterSetBindings and CertificateSigningRequests.
//!
//! [`berth_rules`] remains the source of the rules. The expressions are written by hand, one file of `cel/` for each variable
//! or validation. Placeholders stand for what Rust knows: limits, keys of labels, permissions and whole sentences
//! (`template`). [`policies`] puts the expressions together.
//!
//! Guarantees:
//! - Every [`Reason`](berth_rules::Reason) has a policy, or a row of [`NOT_IN_CEL`] that says why not.
//! - The cost of each expression is linear in the size of the object, up to sorting: a requester chooses the number of taints.
//! - Sentences equal those of the gate, but for the differences in [`DIFFERENCES`].
//! - The conditions under which the gate is called ([`Guard`]) are the conditions of the policies.
//!
//! [`installed`] compares the policies of a hub with those that this version prints.

mod bindings;
mod cluster_sets;
mod clusters;
mod coverage;
mod defaults;
mod flags;
mod guard;
pub mod installed;
mod options;
mod policy;
mod requests;
mod sentence;
mod snippets;
mod template;

pub use coverage::{DIFFERENCES, NOT_IN_CEL};
pub use flags::{ANNOTATION, UnknownFlag};
pub use guard::Guard;
pub use options::{Action, HUB_NAMESPACE, Kubernetes, Mode, Options, TooOld};
pub use policy::{Binding, Document, Policy};

use template::Template;

/// Returns all policies with their bindings, in the order in which they are printed.
pub fn policies(options: &Options) -> Vec<Document> {
    let template = Template::new(options);
    let mut policies = Vec::new();
    if options.mutates() {
        policies.extend(defaults::policies(&template, options));
    }
    policies.push(clusters::policy(&template, options));
    if options.action == Action::Deny {
        policies.push(clusters::warnings(&template, options));
    }
    policies.push(cluster_sets::policy(&template));
    policies.extend(bindings::policies(&template));
    policies.push(requests::policy(&template));
    policies
        .into_iter()
        .flat_map(|policy| policy.documents(options))
        .collect()
}

/// Returns what the policies of these options leave out, as sentences for the user.
pub fn left_out(options: &Options) -> Vec<String> {
    let mut sentences: Vec<String> = NOT_IN_CEL
        .iter()
        .filter(|row| !(row.in_webhook && options.mode == Mode::WithWebhook))
        .map(|row| format!("{}: {}", row.what, row.why))
        .collect();
    if options.kubernetes < Kubernetes::V1_36 {
        sentences.push(
            "the default set and the times of taints: Kubernetes serves MutatingAdmissionPolicies from 1.36; \
             keep the registration managedclustermutators.admission.cluster.open-cluster-management.io"
                .to_owned(),
        );
    } else if options.action == Action::Audit {
        sentences.push(
            "the default set, the times of taints, and warnings: they cannot be tried without effect"
                .to_owned(),
        );
    }
    sentences
}
