//! ManagedClusterSetBinding: who may bind a set to a namespace, and to which namespace.
//!
//! The permission is asked for when a set is bound, which is on CREATE: the name of a binding is that of its set, and a
//! name cannot change, so that people without the permission may edit its labels. (A binding that was stored under
//! another name while no gate was there can be mended; that binds a set, too.)

use jiff::Timestamp;

use crate::findings::{Faults, Findings};
use crate::object::Binding;
use crate::{
    Answers, Case, Change, Decision, Permission, Question, Reason, Rules, Settings, sentences,
};

/// The rules of ManagedClusterSetBindings.
#[derive(Debug)]
pub struct ValidateBinding;

// === impl ValidateBinding ===

impl Rules for ValidateBinding {
    type Object<'a> = Binding<'a>;
    /// Whether the change binds a set.
    type Seen = bool;

    /// When a set is bound: may the requester bind the set, and does the namespace belong to an accepted cluster?
    fn examine(change: &Change<'_, Binding<'_>>, _: &Settings, _: Timestamp) -> Case<Self> {
        let binds = binds(change);
        let mut faults = Faults::default();
        if binds && change.name != set(change) {
            faults.add(Reason::BindingName, || {
                "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet"
                    .to_owned()
            });
        }
        Case::new(faults, binds, |binds: &bool| match binds {
            true => vec![Question::Permission(bind(change)), accepted_cluster(change)],
            false => Vec::new(),
        })
    }

    fn decide(
        binds: bool,
        change: &Change<'_, Binding<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        if binds && findings.require(bind(change), || sentences::bind(change.user, set(change))) {
            findings.refuse_if(
                &accepted_cluster(change),
                "there is an accepted ManagedCluster",
                |_| sentences::cluster_namespace(set(change), change.namespace),
            );
        }
        findings.decision()
    }
}

/// Whether the change binds a set that was not bound before. One that is being deleted still binds, as long as a
/// finalizer holds it.
fn binds(change: &Change<'_, Binding<'_>>) -> bool {
    change
        .old
        .as_ref()
        .is_none_or(|old| old.spec.cluster_set != change.new.spec.cluster_set)
}

fn set<'c>(change: &'c Change<'_, Binding<'_>>) -> &'c str {
    change.new.spec.cluster_set.as_str()
}

fn bind(change: &Change<'_, Binding<'_>>) -> Permission {
    Permission::bind(set(change))
}

fn accepted_cluster(change: &Change<'_, Binding<'_>>) -> Question {
    Question::AcceptedCluster {
        name: change.namespace.to_owned(),
    }
}
