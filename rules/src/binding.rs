//! ManagedClusterSetBinding: who may bind a set to a namespace, and to which namespace.
//!
//! The permission is asked for when a set is bound, which is on CREATE: the name of a binding is that of its set, and a
//! name cannot change, so that people without the permission may edit its labels. (A binding that was stored under
//! another name while no gate was there can be mended; that binds a set, too.)

use crate::findings::{Faults, Findings};
use crate::object::Binding;
use crate::{Answers, Change, Decision, Permission, Question, Reason, sentences};

/// What must be known: when a set is bound, whether the requester may bind the set, and whether the namespace belongs to an
/// accepted cluster. A binding with the wrong name raises no question.
pub fn questions(change: &Change<'_, Binding<'_>>) -> Vec<Question> {
    if !binds(change) || change.name != set(change) {
        return Vec::new();
    }
    vec![Question::Permission(bind(change)), accepted_cluster(change)]
}

/// Whether the change is admitted.
pub fn decide(change: &Change<'_, Binding<'_>>, answers: Answers<'_>) -> Decision {
    if !binds(change) {
        return Decision::allowed();
    }
    if change.name != set(change) {
        let message =
            "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet";
        let mut faults = Faults::default();
        faults.add(Reason::BindingName, || message.to_owned());
        return faults.decision();
    }
    let mut findings = Findings::new(change.user, answers);
    if findings.require(bind(change), || sentences::bind(change.user, set(change))) {
        findings.refuse_if(
            &accepted_cluster(change),
            "there is an accepted ManagedCluster",
            |_| sentences::cluster_namespace(set(change), change.namespace),
        );
    }
    findings.decision()
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
