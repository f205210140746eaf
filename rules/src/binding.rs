//! ManagedClusterSetBinding: the permission to bind a set to a namespace, and the namespaces that a set can be bound to.
//!
//! A set is bound on CREATE: a binding has the name of its set, and a name cannot change. So only CREATE needs the
//! permission, and users without it may edit labels. (A binding that was stored under another name, without a gate, can be
//! corrected by an UPDATE. This also binds a set.)

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
    /// True if the change binds a set.
    type Seen = bool;

    /// If the change binds a set: may the requester bind it, and does the namespace belong to an accepted cluster?
    fn examine(change: &Change<'_, Binding<'_>>, _: &Settings, _: Timestamp) -> Case<Self> {
        let binds = binds(change);
        let mut faults = Faults::default();
        if binds && change.name != set(change) {
            faults.add(Reason::BindingName, || {
                sentences::faults::BINDING_NAME.to_owned()
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
                "the hub has accepted ManagedCluster",
                |_| sentences::cluster_namespace(set(change), change.namespace),
            );
        }
        findings.decision()
    }
}

/// Returns true if the change binds a set that was not bound before. A binding that is being deleted still binds its set
/// while it has a finalizer.
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
