//! ManifestWorkReplicaSet: its template is decided like a ManifestWork.
//!
//! Its ManifestWorks are created by a controller that may execute as any executor. So the requester needs the permission, in all
//! namespaces: a placement can select any cluster.

use std::collections::BTreeSet;

use berth_api::names::{is_dns1123_subdomain, label_value};
use berth_rollout::RolloutRules;
use jiff::Timestamp;

use super::executor::Needed;
use super::{SeenWork, WorkKind};
use crate::display::Quoted;
use crate::findings::{Faults, Findings};
use crate::introduced::Finding;
use crate::object::{ReadWork, ReplicaSet};
use crate::sentences::works;
use crate::{Answers, Case, Change, Decision, Operation, Reason, Rules, Settings};

/// The rules of ManifestWorkReplicaSets.
#[derive(Debug)]
pub struct ValidateReplicaSet;

// === impl ValidateReplicaSet ===

impl Rules for ValidateReplicaSet {
    type Object<'a> = ReplicaSet<'a>;
    type Seen = SeenWork;

    /// If the change sets an executor, or changes what is written under one: may the requester execute as it in all namespaces?
    fn examine(
        change: &Change<'_, ReplicaSet<'_>>,
        settings: &Settings,
        _: Timestamp,
    ) -> Case<Self> {
        let kind = WorkKind {
            root: "spec.manifestWorkTemplate",
            no_manifests: works::NO_MANIFESTS_IN_TEMPLATE,
            namespace: None,
            others: of_placements,
        };
        let mut faults = Faults::default();
        let label = format!("{}.{}", change.namespace, change.name);
        if change.operation() == Operation::Create && !label_value(&label).is_empty() {
            faults.add(Reason::WorkName, || works::replica_set_name(change.name));
        }
        let (faults, seen) = SeenWork::examine(kind, change, settings, faults);
        Case::new(faults, seen, SeenWork::questions)
    }

    fn decide(
        SeenWork { warnings, needed }: SeenWork,
        change: &Change<'_, ReplicaSet<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        if let Some(Needed { permission, shown }) = &needed {
            let denial =
                || works::execute_as_everywhere(change.user, change.name, shown, permission);
            // Nothing else depends on it.
            let _ = findings.require(permission.clone(), denial);
        }
        Decision {
            warnings,
            ..findings.decision()
        }
    }
}

/// Returns the faults of `placementRefs`.
fn of_placements(work: &ReadWork<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |reason, field: &str, message: &str| {
        found.push(Finding::new(reason, field, message));
    };
    if work.placements.is_empty() {
        let message = "Required value: name a Placement of this namespace";
        add(Reason::PlacementRef, "spec.placementRefs", message);
    }
    let mut names = BTreeSet::new();
    for (index, placement) in work.placements.iter().enumerate() {
        let name = &placement.name;
        let fault = if name.is_empty() {
            Some("Required value".to_owned())
        } else if !is_dns1123_subdomain(name) {
            Some(format!(
                "Invalid value: {}: must be the name of a Placement: a lowercase RFC 1123 subdomain",
                Quoted(name)
            ))
        } else if !names.insert(name) {
            Some(format!("Duplicate value: {}", Quoted(name)))
        } else {
            None
        };
        if let Some(fault) = fault {
            let field = format!("spec.placementRefs[{index}].name");
            add(Reason::PlacementRef, &field, &fault);
        }
        if let Err(mistake) = RolloutRules::new(&placement.rollout_strategy) {
            let field = format!("spec.placementRefs[{index}].rolloutStrategy");
            add(Reason::RolloutStrategy, &field, &mistake.to_string());
        }
    }
    found
}
