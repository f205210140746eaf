//! ManifestWork.

use jiff::Timestamp;

use super::executor::Needed;
use super::{SeenWork, WorkKind};
use crate::findings::{Faults, Findings};
use crate::object::ManifestWork;
use crate::sentences::works::{self, LONGEST_WORK_NAME};
use crate::{Answers, Case, Change, Decision, Operation, Reason, Rules, Settings};

/// The rules of ManifestWorks.
#[derive(Debug)]
pub struct ValidateWork;

// === impl ValidateWork ===

impl Rules for ValidateWork {
    type Object<'a> = ManifestWork<'a>;
    type Seen = SeenWork;

    /// If the change sets an executor, or changes what is written under one: may the requester execute as it?
    fn examine(
        change: &Change<'_, ManifestWork<'_>>,
        settings: &Settings,
        _: Timestamp,
    ) -> Case<Self> {
        let kind = WorkKind {
            root: "spec",
            no_manifests: works::NO_MANIFESTS,
            namespace: Some(change.namespace),
            others: |_| Vec::new(),
        };
        let mut faults = Faults::default();
        if change.operation() == Operation::Create && change.name.len() > LONGEST_WORK_NAME {
            faults.add(Reason::WorkName, || works::work_name(change.name));
        }
        let (faults, seen) = SeenWork::examine(kind, change, settings, faults);
        Case::new(faults, seen, SeenWork::questions)
    }

    fn decide(
        SeenWork { warnings, needed }: SeenWork,
        change: &Change<'_, ManifestWork<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        if let Some(Needed { permission, shown }) = &needed {
            let work = (change.name, change.namespace);
            let denial = || works::execute_as(change.user, work, shown, permission);
            // Nothing else depends on it.
            let _ = findings.require(permission.clone(), denial);
        }
        Decision {
            warnings,
            ..findings.decision()
        }
    }
}
