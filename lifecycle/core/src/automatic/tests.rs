//! Which clusters are left to a person, by tables whose rows are sentences.

use berth_api::ManagedClusterSet;
use serde_json::{Value, json};

use super::*;
use crate::facts::ClusterSet;
use crate::names;
use crate::testing::{FakeHub, condition};

const HUB_ACCEPTED: &str = conditions::cluster::HUB_ACCEPTED;

/// A hub with a listed user's request and no obstacle.
fn asked() -> FakeHub {
    let mut hub = FakeHub::new("c1");
    hub.config.gates.auto_approval = true;
    hub.trusted_request = true;
    hub
}

fn why(hub: &FakeHub) -> Option<&'static str> {
    hub.with_facts(true, obstacle)
        .map(|obstacle| obstacle.reason)
}

fn set(name: &str, selector: Value) -> ClusterSet {
    let set: ManagedClusterSet = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"clusterSelector": selector},
    }))
    .unwrap();
    ClusterSet::from(set)
}

#[test]
fn a_cluster_that_a_person_denied_stays_denied_whatever_its_agent_wrote() {
    // The traces of the acceptance when the admin denies the cluster. The agent has removed all that it can.
    for (sentence, leave) in [
        ("its role", names::cluster_role as fn(&str) -> String),
        ("a role binding", names::registration_binding),
        ("the work binding", names::work_binding),
    ] {
        let mut hub = asked();
        hub.run();
        assert!(hub.cluster().accepted, "{sentence}: it was let in");
        let left = leave("c1");
        hub.objects
            .retain(|(_, name), _| *name == left || name == "c1");
        let cluster = hub.cluster();
        cluster.accepted = false;
        cluster.auto_accepted_on = None;
        cluster.finalizers.clear();
        cluster.conditions.clear();
        assert_eq!(why(&hub), Some(reasons::CLUSTER_DENIED), "{sentence}");
        hub.run();
        assert!(!hub.cluster().accepted, "{sentence}");
        assert!(hub.cluster().denied, "{sentence}: and it is noted");

        // The agent gets no other certificate when an admin accepts the cluster again.
        hub.cluster().accepted = true;
        hub.run();
        assert_eq!(why(&hub), Some(reasons::CLUSTER_DENIED), "{sentence}");
    }
}

/// `berth deny` records the denial of a waiting cluster; `--now` sets another annotation, too.
#[test]
fn a_cluster_that_was_denied_before_it_was_ever_accepted_is_not_let_in() {
    for (sentence, deny) in [
        (
            "noted",
            (|cluster| cluster.denied = true) as fn(&mut Cluster),
        ),
        ("with effect now", |cluster| cluster.denied_now = true),
    ] {
        let mut hub = asked();
        deny(hub.cluster());
        assert_eq!(why(&hub), Some(reasons::CLUSTER_DENIED), "{sentence}");
        hub.run();
        assert!(!hub.cluster().accepted, "{sentence}");
        assert!(hub.object("namespaces", "c1").is_none(), "{sentence}");
    }
}

#[test]
fn a_denied_request_speaks_against_its_cluster_when_it_is_gone_too() {
    for accepted in [false, true] {
        let mut hub = asked();
        hub.cluster().accepted = accepted;
        hub.refused_request = true;
        assert_eq!(why(&hub), Some(reasons::CLUSTER_DENIED));
        hub.run();
        assert_eq!(hub.cluster().accepted, accepted);
        hub.refused_request = false;
        assert_eq!(why(&hub), Some(reasons::CLUSTER_DENIED));
        // A new ManagedCluster of the name is another cluster.
        hub.delete_cluster();
        hub.settle();
        assert!(hub.cluster.is_none());
        hub.cluster = FakeHub::new("c1").cluster;
        hub.run();
        assert!(hub.cluster().accepted);
    }
}

#[test]
fn nothing_is_noted_where_nobody_is_let_in_without_a_person() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().conditions = vec![condition(
        HUB_ACCEPTED,
        "False",
        "HubClusterAdminDenied",
        "Denied by hub cluster admin",
    )];
    hub.refused_request = true;
    hub.run();
    assert!(!hub.cluster().denied);
}

#[test]
fn who_registers_chooses_no_set() {
    let by_label = |key: &str, value: &str| json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {key: value}}});
    let expression = |operator: &str| {
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchExpressions": [
            {"key": "env", "operator": operator, "values": ["prod"]},
        ]}})
    };
    let label = labels::CLUSTER_SET;
    for (sentence, labels, sets, let_in) in [
        ("no label", json!({}), vec![], true),
        ("an empty one", json!({label: ""}), vec![], true),
        ("default", json!({label: "default"}), vec![], true),
        ("prod", json!({label: "prod"}), vec![], false),
        (
            "global by its label",
            json!({label: "global"}),
            vec![],
            false,
        ),
        (
            "the sets of every hub",
            json!({label: "default"}),
            vec![
                set("default", json!({})),
                set(
                    "global",
                    json!({"selectorType": "LabelSelector", "labelSelector": {}}),
                ),
            ],
            true,
        ),
        (
            "selected",
            json!({"env": "prod"}),
            vec![set("prod", by_label("env", "prod"))],
            false,
        ),
        (
            "not selected",
            json!({"env": "test"}),
            vec![set("prod", by_label("env", "prod"))],
            true,
        ),
        (
            "selected by key",
            json!({"env": "prod"}),
            vec![set("prod", expression("In"))],
            false,
        ),
        (
            "selected as any",
            json!({"env": "test"}),
            vec![set("rest", expression("NotIn"))],
            true,
        ),
        (
            "a selector for what the hub writes",
            json!({label: "default"}),
            vec![set("all", by_label(label, "default"))],
            true,
        ),
    ] {
        let mut hub = asked();
        hub.sets = sets;
        hub.cluster().labels = serde_json::from_value(labels).unwrap();
        let expected = (!let_in).then_some(reasons::OTHER_SET);
        assert_eq!(why(&hub), expected, "{sentence}");
        hub.run();
        assert_eq!(hub.cluster().accepted, let_in, "{sentence}");
        // A cluster that an admin accepted gets no certificate either.
        hub.cluster().accepted = true;
        assert_eq!(why(&hub), expected, "{sentence}");
    }
}

#[test]
fn a_namespace_is_made_or_bears_the_label_before_the_cluster_is_let_in() {
    let mut hub = asked();
    let plan = hub.decide();
    let written: Vec<_> = plan.writes.iter().map(|write| &write.action).collect();
    assert!(
        matches!(written[..], [Action::Create { .. }]),
        "{written:?}"
    );
    assert!(!plan.changes.accept);
    // Another user creates the namespace first.
    let mut other = hub.clone();
    let mut namespace = roles::namespace(&hub.config, "c1");
    namespace["metadata"]["labels"] = json!({});
    other.insert(namespace);
    let failures = other.carry_out(plan.clone());
    assert_eq!(failures[0].code, 409);
    assert!(failures[0].is_transient(), "it is decided again");
    let before = other.objects.clone();
    assert_eq!(why(&other), Some(reasons::NAMESPACE_TAKEN));
    other.run();
    assert!(!other.cluster().accepted);
    assert_eq!(other.objects, before);
    // An admin gives it to the cluster.
    other.objects = hub.objects.clone();
    other.insert(roles::namespace(&hub.config, "c1"));
    other.run();
    assert!(other.cluster().accepted);

    assert_eq!(hub.carry_out(plan), []);
    assert!(hub.decide().changes.accept);
}

#[test]
fn the_hub_is_asked_for_a_namespace_when_it_matters_and_else_not() {
    let asks = |hub: &FakeHub| hub.with_facts(true, asks_for_namespace);
    assert!(asks(&asked()));
    type Change = fn(&mut FakeHub);
    let changes: [(&str, Change); 7] = [
        ("the gate is off", |hub| {
            hub.config.gates.auto_approval = false
        }),
        ("nobody asked", |hub| hub.trusted_request = false),
        ("it is accepted", |hub| hub.cluster().accepted = true),
        ("it was denied", |hub| hub.cluster().denied = true),
        ("it is being deleted", |hub| hub.cluster().deleting = true),
        ("its name is reserved", |hub| {
            hub.name = "default".to_owned()
        }),
        ("it is there", |hub| {
            hub.insert(roles::namespace(&hub.config.clone(), "c1"));
        }),
    ];
    for (sentence, change) in changes {
        let mut hub = asked();
        change(&mut hub);
        assert!(!asks(&hub), "{sentence}");
    }
    // The former answer does not prevent asking the hub again.
    let mut hub = asked();
    let mut namespace = roles::namespace(&hub.config, "c1");
    namespace["metadata"]["labels"] = json!({});
    hub.insert(namespace);
    assert!(asks(&hub));
}
