//! Acceptance by the gate `ManagedClusterAutoApproval`.

use super::*;

#[test]
fn clusters_are_accepted_automatically_once_and_only_for_trusted_senders() {
    let accepted_by_ocm = Some(ACCEPTED);
    // gate, trusted, accepted, condition, annotation, then: is accepted by us, is annotated by us
    type Row = (
        &'static str,
        bool,
        bool,
        bool,
        Option<(&'static str, &'static str, &'static str)>,
        bool,
        (bool, bool),
    );
    let rows: [Row; 9] = [
        (
            "the gate is off",
            false,
            true,
            false,
            None,
            false,
            (false, false),
        ),
        (
            "a request of a listed identity",
            true,
            true,
            false,
            None,
            false,
            (true, true),
        ),
        (
            "no such request (OCM would accept)",
            true,
            false,
            false,
            None,
            false,
            (false, false),
        ),
        (
            "an accepted one is annotated only",
            true,
            false,
            true,
            accepted_by_ocm,
            false,
            (false, true),
        ),
        (
            "just accepted by a person",
            true,
            true,
            true,
            None,
            false,
            (false, true),
        ),
        (
            "annotated, then denied: that stands",
            true,
            true,
            false,
            Some(DENIED),
            true,
            (false, false),
        ),
        (
            "denied before the gate was on",
            true,
            true,
            false,
            Some(DENIED),
            false,
            (false, false),
        ),
        (
            "is being denied",
            true,
            true,
            false,
            accepted_by_ocm,
            false,
            (false, false),
        ),
        (
            "annotated in advance",
            true,
            true,
            false,
            None,
            true,
            (false, false),
        ),
    ];
    for (row, gate, trusted, accepted, shown, annotated, (accepts, annotates)) in rows {
        let mut hub = FakeHub::new("c1");
        hub.config.gates.auto_approval = gate;
        hub.trusted_request = trusted;
        hub.insert(roles::namespace(&hub.config, "c1"));
        let cluster = hub.cluster();
        cluster.accepted = accepted;
        cluster.auto_accepted_on = annotated.then(|| "2020-01-01T00:00:00Z".to_owned());
        cluster.conditions = shown
            .map(|(status, reason, message)| condition(HUB_ACCEPTED, status, reason, message))
            .into_iter()
            .collect();
        let plan = decided(&hub);
        assert_eq!(plan.changes.accept, accepts, "{row}");
        let time = plan
            .changes
            .annotations
            .get("open-cluster-management.io/automatically-accepted-on");
        let expected = annotates.then_some("2023-11-14T22:13:20Z");
        assert_eq!(time.map(String::as_str), expected, "{row}");
        if accepts {
            assert_eq!(plan.writes, [], "{row}: that comes first");
        }
    }
}

#[test]
fn an_automatic_acceptance_ends_like_any_other_and_a_denial_stands() {
    let mut hub = FakeHub::new("c1");
    hub.config.gates.auto_approval = true;
    hub.trusted_request = true;
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    hub.cluster().accepted = false;
    hub.run();
    assert!(!hub.cluster().accepted);
    assert_eq!(hub_accepted(&hub), Some(DENIED));
}
