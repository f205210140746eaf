#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use StepKind::{Accepted, Approved, Joined, Lease, Prepared, Reports, Requested, Signed};
use StepState::{Done, Failed, Later, Unseen, Waits};

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn cluster(accepted: bool, conditions: &[(&str, &str)]) -> Cluster {
    let conditions: Vec<_> = (conditions.iter())
        .map(|(type_, status)| json!({"type": type_, "status": status, "reason": "R", "message": "because", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
        .collect();
    Cluster::read(&json!({
        "metadata": {"name": "c1"},
        "spec": {"hubAcceptsClient": accepted, "leaseDurationSeconds": 60},
        "status": {"conditions": conditions},
    }))
}

fn csr(decision: Decision, issued: bool) -> CsrFact {
    CsrFact {
        name: "c1-x".to_owned(),
        sender: "system:bootstrap:a".to_owned(),
        created: Some(ago(60)),
        decision,
        issued,
        approved_by: None,
        approved_at: None,
    }
}

fn facts(cluster: Cluster, csrs: Vec<CsrFact>) -> Facts {
    Facts {
        name: "c1".to_owned(),
        cluster,
        created: Some(ago(300)),
        csrs: Some(csrs),
        lease: Some(None),
        namespace: Some(false),
    }
}

const JOINED: (&str, &str) = ("ManagedClusterJoined", "True");

fn available(status: &'static str) -> (&'static str, &'static str) {
    ("ManagedClusterConditionAvailable", status)
}

fn renewed(facts: Facts, seconds: i64) -> Facts {
    let renewed = Some(ago(seconds));
    Facts {
        lease: Some(Some(LeaseFact { renewed })),
        namespace: Some(true),
        ..facts
    }
}

/// What the facts are; the states of some steps; the words of the summary; the side that acts and its command.
type Row = (
    &'static str,
    Facts,
    Vec<(StepKind, StepState)>,
    &'static str,
    Option<(Side, &'static str)>,
);

#[test]
fn each_step_is_done_or_says_what_it_waits_for_and_who_must_act() {
    let accept = Some((Side::Hub, "berth accept c1"));
    let agent = Some((Side::Agent, "berth agent status"));
    let hub = Some((Side::Hub, "berth doctor"));
    let managed = || cluster(true, &[JOINED, available("True")]);
    let rows: Vec<Row> = vec![
        (
            "created by an admin",
            facts(cluster(false, &[]), vec![]),
            vec![
                (Requested, Waits),
                (Accepted, Waits),
                (Approved, Later),
                (Prepared, Later),
                (Joined, Later),
            ],
            "an admin has to accept the cluster",
            accept,
        ),
        (
            "the agent has asked",
            facts(cluster(false, &[]), vec![csr(Decision::Approve, false)]),
            vec![
                (Requested, Done),
                (Accepted, Waits),
                (Approved, Waits),
                (Signed, Later),
            ],
            "an admin has to accept the cluster",
            accept,
        ),
        (
            "denied",
            facts(
                cluster(false, &[("HubAcceptedManagedCluster", "True")]),
                vec![],
            ),
            vec![(Accepted, Failed)],
            "an admin denied the cluster",
            accept,
        ),
        (
            "accepted, no agent",
            facts(cluster(true, &[]), vec![]),
            vec![
                (Requested, Waits),
                (Accepted, Done),
                (Approved, Later),
                (Prepared, Waits),
            ],
            "the agent has not sent a CSR",
            agent,
        ),
        (
            "accepted, CSR by a stranger",
            facts(
                cluster(true, &[]),
                vec![csr(Decision::Left("it is by a stranger".into()), false)],
            ),
            vec![(Approved, Waits)],
            "CSR c1-x stays pending: it is by a stranger",
            Some((Side::Hub, "kubectl describe csr c1-x")),
        ),
        (
            "accepted, CSR denied",
            facts(cluster(true, &[]), vec![csr(Decision::Denied, false)]),
            vec![(Approved, Failed), (Signed, Later)],
            "was denied",
            agent,
        ),
        (
            "approved, no signer",
            facts(cluster(true, &[]), vec![csr(Decision::Approved, false)]),
            vec![(Approved, Done), (Signed, Waits), (Joined, Later)],
            "its certificate is not issued",
            hub,
        ),
        (
            "issued, no controller",
            facts(cluster(true, &[]), vec![csr(Decision::Approved, true)]),
            vec![(Signed, Done), (Prepared, Waits), (Joined, Waits)],
            "the hub's controller has not created the cluster's namespace",
            hub,
        ),
        (
            "issued, the agent has not joined",
            Facts {
                namespace: Some(true),
                ..facts(cluster(true, &[]), vec![csr(Decision::Approved, true)])
            },
            vec![
                (Prepared, Done),
                (Joined, Waits),
                (Lease, Later),
                (Reports, Later),
            ],
            "the agent has not used its certificate yet",
            agent,
        ),
        (
            "joined, silent from the first",
            Facts {
                namespace: Some(true),
                ..facts(cluster(true, &[JOINED]), vec![])
            },
            vec![
                (Requested, Done),
                (Approved, Done),
                (Signed, Done),
                (Joined, Done),
                (Lease, Waits),
                (Reports, Waits),
            ],
            "the agent has not renewed its Lease",
            agent,
        ),
        (
            "managed",
            renewed(facts(managed(), vec![]), 30),
            vec![(Lease, Done), (Reports, Done)],
            "the hub manages the cluster, and it is available",
            None,
        ),
        (
            "the lease is at its bound",
            renewed(facts(managed(), vec![]), 299),
            vec![(Lease, Done)],
            "the hub manages the cluster",
            None,
        ),
        (
            "the agent has stopped",
            renewed(facts(managed(), vec![]), 300),
            vec![(Lease, Failed)],
            "the agent does not renew its Lease: the hub waits for 300 s",
            agent,
        ),
        (
            "the clock of the agent is ahead",
            renewed(facts(managed(), vec![]), -3600),
            vec![(Lease, Done)],
            "the hub manages the cluster",
            None,
        ),
        (
            "the API server is ill",
            renewed(
                facts(cluster(true, &[JOINED, available("False")]), vec![]),
                1,
            ),
            vec![(Reports, Failed)],
            "the cluster is not available: because",
            Some((Side::Agent, "kubectl get --raw /readyz")),
        ),
        (
            "unheard of",
            renewed(
                facts(cluster(true, &[JOINED, available("Unknown")]), vec![]),
                1,
            ),
            vec![(Reports, Failed)],
            "the hub does not hear of the agent",
            agent,
        ),
        (
            "a user who sees clusters only",
            Facts {
                csrs: None,
                lease: None,
                namespace: None,
                ..facts(managed(), vec![])
            },
            vec![
                (Requested, Done),
                (Approved, Done),
                (Prepared, Unseen),
                (Lease, Unseen),
            ],
            "not all steps can be seen",
            None,
        ),
        (
            "the same of a pending one",
            Facts {
                csrs: None,
                ..facts(cluster(true, &[]), vec![])
            },
            vec![(Requested, Unseen), (Approved, Unseen), (Signed, Unseen)],
            "the hub's controller has not created",
            hub,
        ),
    ];
    for (what, facts, states, words, next) in rows {
        let shown = handshake(&facts, now());
        for (kind, state) in states {
            let mut steps = shown.hub.iter().chain(&shown.agent);
            let step = steps.find(|it| it.kind == kind).unwrap();
            assert_eq!(step.state, state, "{what}: {kind:?}: {step:?}");
        }
        let summary = shown.summary.as_str();
        assert!(summary.contains(words), "{what}: {summary}");
        let found = shown
            .next
            .as_ref()
            .map(|it| (it.side, it.command.as_ref().unwrap().as_str()));
        assert_eq!(found, next, "{what}");
    }
}

#[test]
fn a_cluster_that_is_deleted_says_so_and_asks_for_nothing() {
    let mut facts = facts(cluster(true, &[("Deleting", "True")]), vec![]);
    facts.cluster.deleting = true;
    let shown = handshake(&facts, now());
    assert_eq!(
        shown.summary.as_str(),
        "the cluster is being deleted: because"
    );
    assert_eq!(shown.next, None);
}

#[test]
fn names_of_others_stay_within_their_command() {
    let mut facts = facts(cluster(false, &[]), vec![]);
    facts.name = "c1; reboot".to_owned();
    let next = handshake(&facts, now()).next.unwrap();
    assert_eq!(next.command.unwrap().as_str(), "berth accept 'c1; reboot'");
}

proptest! {
    /// Something that is open has a remedy, unless the cluster is being deleted.
    #[test]
    fn an_open_step_has_a_remedy(
        accepted: bool, joined: bool, status in prop::option::of(prop::sample::select(vec!["True", "False", "Unknown"])),
        decision in prop::option::of(prop::sample::select(vec![Decision::Approve, Decision::Approved, Decision::Denied, Decision::Renewal])),
        issued: bool, namespace in prop::option::of(any::<bool>()), silence in prop::option::of(-1000..100_000i64), seen: bool,
    ) {
        let mut conditions = Vec::new();
        conditions.extend(joined.then_some(JOINED));
        conditions.extend(status.map(available));
        let csrs = decision.map(|it| csr(it, issued)).into_iter().collect();
        let mut facts = facts(cluster(accepted, &conditions), csrs);
        facts.namespace = namespace;
        facts.lease = Some(silence.map(|it| LeaseFact { renewed: Some(ago(it)) }));
        if !seen {
            facts.csrs = None;
        }
        let shown = handshake(&facts, now());
        let mut all = shown.hub.iter().chain(&shown.agent);
        let is_open = all.any(|it| matches!(it.state, Waits | Failed));
        prop_assert_eq!(shown.next.is_some(), is_open);
    }
}
