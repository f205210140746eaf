//! What the user may do, in words: the rights that the screens need.

use berth_admin::answers::Failure;
use berth_api::groups;
use berth_rules::Permission;

use crate::answers::{Missing, RightAnswer};
use crate::rights::{Rbac, Right};

/// Those on the whole fleet.
pub(crate) fn fleet() -> Vec<(&'static str, Right)> {
    let (clusters, sets) = (groups::MANAGED_CLUSTERS, groups::MANAGED_CLUSTER_SETS);
    let csrs = (groups::CERTIFICATES, "certificatesigningrequests");
    vec![
        ("See clusters", Rbac::list(groups::CLUSTER, clusters).into()),
        ("See the CSRs of agents", Rbac::list(csrs.0, csrs.1).into()),
        (
            "Accept and deny every cluster",
            Right::gate(Permission::accept, None),
        ),
        (
            "Change every cluster: cordon, taints, labels",
            Rbac::change(None).into(),
        ),
        ("See sets", Rbac::list(groups::CLUSTER, sets).into()),
        ("Create sets", Rbac::create_sets().into()),
        (
            "Move clusters into every set and out of it",
            Right::gate(Permission::join, None),
        ),
        (
            "Bind every set to namespaces in which you may create bindings",
            Right::gate(Permission::bind, None),
        ),
    ]
}

/// Those in a namespace; in all of them if it is empty.
pub(crate) fn within(namespace: &str) -> Vec<(&'static str, Right)> {
    let list = |group, plural| Rbac::list(group, plural).within(namespace).into();
    vec![
        ("See placements", list(groups::CLUSTER, groups::PLACEMENTS)),
        ("Change placements", Rbac::placements(namespace).into()),
        ("Create bindings of sets", Rbac::bindings(namespace).into()),
        ("See works", list(groups::WORK, groups::MANIFEST_WORKS)),
        ("Create works", Rbac::works(namespace).into()),
        (
            "See rollouts",
            list(groups::WORK, groups::MANIFEST_WORK_REPLICA_SETS),
        ),
        (
            "Change rollouts: pause, resume, approve",
            Rbac::rollout(namespace, None).into(),
        ),
        ("See Events", list(groups::EVENTS, "events")),
    ]
}

/// The answer of the hub about one of them.
pub(crate) fn answer(what: &str, lacks: Result<Option<Missing>, Failure>) -> RightAnswer {
    let (allowed, missing, why) = match lacks {
        Ok(missing) => (Some(missing.is_none()), missing, None),
        Err(failure) => (None, None, Some(failure.message.into())),
    };
    RightAnswer {
        what: what.into(),
        allowed,
        missing,
        why,
    }
}
