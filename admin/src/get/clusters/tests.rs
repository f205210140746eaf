use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn cluster(value: Value) -> Item<ManagedCluster> {
    Item::of(value)
}

/// A cluster that works.
fn sound() -> Value {
    let condition = |type_: &str| json!({"type": type_, "status": "True", "reason": "x", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"});
    json!({
        "metadata": {
            "name": "c1",
            "labels": {"cluster.open-cluster-management.io/clusterset": "prod"},
            "creationTimestamp": "1969-12-31T23:55:00Z",
        },
        "spec": {
            "hubAcceptsClient": true,
            "managedClusterClientConfigs": [{"url": "https://a:6443"}, {"url": "https://b"}],
            "taints": [
                {"key": "maintenance", "effect": "NoSelect"},
                {"key": "gpu", "value": "a100", "effect": "PreferNoSelect"},
            ],
        },
        "status": {
            "capacity": {"cpu": "7500m", "memory": "16Gi"},
            "version": {"kubernetes": "v1.30.0"},
            "conditions": [
                condition(conditions::cluster::HUB_ACCEPTED),
                condition(conditions::cluster::JOINED),
                condition(conditions::cluster::AVAILABLE),
            ],
        },
    })
}

fn all(wide: bool) -> Clusters {
    Clusters { wide, set: None }
}

fn drawn(view: &Clusters, items: &[Item<ManagedCluster>]) -> String {
    let mut out = Vec::new();
    view.tree(items).write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_row_has_a_cell_for_each_column() {
    let row = all(true).cells(&cluster(sound()), NOW);
    assert_eq!(
        row,
        [
            "c1",
            "true",
            "True",
            "prod",
            "7500m",
            "16Gi",
            "v1.30.0",
            "True",
            "",
            "maintenance:NoSelect,gpu=a100:PreferNoSelect",
            "https://a:6443,https://b",
            "5m",
        ]
    );
    assert_eq!(row.len(), all(true).titles().len());
    let narrow = all(false).cells(&cluster(sound()), NOW);
    assert_eq!(narrow, row[..all(false).titles().len()]);
}

#[test]
fn what_is_not_reported_is_empty() {
    let item = cluster(json!({"metadata": {"name": "c1"}}));
    assert_eq!(
        all(true).cells(&item, NOW),
        [
            "c1",
            "false",
            "",
            "",
            "",
            "",
            "",
            "",
            "NotAccepted",
            "",
            "",
            "<unknown>"
        ]
    );
    assert_eq!(
        drawn(&all(false), &[item]),
        "<ManagedCluster>\n\
         └── <c1>\n    \
             ├── <Accepted> false\n    \
             ├── <Available>\n    \
             ├── <ClusterSet>\n    \
             ├── <KubernetesVersion>\n    \
             └── <Capacity>\n        \
                 ├── <Cpu>\n        \
                 └── <Memory>\n"
    );
}

#[test]
fn of_what_cannot_be_read_the_rest_is_shown() {
    let mut value = sound();
    value["spec"]["hubAcceptsClient"] = json!("perhaps");
    let row = all(true).cells(&cluster(value.clone()), NOW);
    let sound = all(true).cells(&cluster(sound()), NOW);
    for (cell, (shown, of_sound)) in row.iter().zip(&sound).enumerate() {
        let expected = match cell {
            1 => "false",
            8 => "UnreadableFields",
            _ => of_sound,
        };
        assert_eq!(shown, expected, "{cell}");
    }
    let tree = drawn(&all(false), &[cluster(value)]);
    assert!(tree.contains("<Accepted> false\n"), "{tree}");
    assert!(tree.contains("<ClusterSet> prod\n"), "{tree}");
}

#[test]
fn a_name_with_dots_is_one_node() {
    let item = cluster(json!({"metadata": {"name": "a.b"}}));
    assert!(drawn(&all(false), &[item]).contains("└── <a.b>\n"));
}

#[test]
fn the_reason_is_what_stands_first_in_the_way() {
    let accepted = ("hubAcceptsClient", true);
    let left = ("hubAcceptsClient", false);
    let hub = |status, reason| (conditions::cluster::HUB_ACCEPTED, status, reason);
    let joined = (conditions::cluster::JOINED, "True", "ManagedClusterJoined");
    let available = |status, reason| (conditions::cluster::AVAILABLE, status, reason);
    let clock = (
        conditions::cluster::CLOCK_SYNCED,
        "False",
        "ManagedClusterClockOutOfSync",
    );
    let is_accepted = hub("True", "HubClusterAdminAccepted");
    let works = available("True", "ManagedClusterAvailable");
    for (sentence, (_, spec), conditions, expected) in [
        ("nobody has accepted it", left, vec![], "NotAccepted"),
        (
            "somebody has turned it out",
            left,
            vec![hub("False", "HubClusterAdminDenied")],
            "HubClusterAdminDenied",
        ),
        (
            "the hub has not seen yet that it was turned out",
            left,
            vec![is_accepted],
            "NotAccepted",
        ),
        (
            "the hub has not seen yet that it is accepted",
            accepted,
            vec![],
            "AcceptancePending",
        ),
        (
            "the hub could not set it up",
            accepted,
            vec![hub("False", "Error"), joined],
            "Error",
        ),
        (
            "its agent has not come",
            accepted,
            vec![is_accepted],
            "NotJoined",
        ),
        (
            "its agent has not reported",
            accepted,
            vec![is_accepted, joined],
            "NotReported",
        ),
        (
            "its agent is silent",
            accepted,
            vec![
                is_accepted,
                joined,
                available("Unknown", "ManagedClusterLeaseUpdateStopped"),
            ],
            "ManagedClusterLeaseUpdateStopped",
        ),
        (
            "its clock is wrong",
            accepted,
            vec![is_accepted, joined, works, clock],
            "ManagedClusterClockOutOfSync",
        ),
        ("it works", accepted, vec![is_accepted, joined, works], ""),
    ] {
        let conditions = conditions.iter().map(|(type_, status, reason)| {
            json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"})
        });
        let value = json!({
            "metadata": {"name": "c1"},
            "spec": {"hubAcceptsClient": spec},
            "status": {"conditions": Vec::from_iter(conditions)},
        });
        let item = cluster(value.clone());
        assert_eq!(item.unreadable, None);
        assert_eq!(
            reason(&item.object).unwrap_or_default(),
            expected,
            "{sentence}"
        );
        let mut value = value;
        value["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
        let item = cluster(value);
        assert_eq!(
            reason(&item.object).unwrap(),
            "Deleting",
            "{sentence}, and is being deleted"
        );
    }
}

#[test]
fn the_reason_why_a_deleted_cluster_is_still_there_is_told() {
    let mut value = sound();
    value["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    value["status"]["conditions"].as_array_mut().unwrap().push(
        json!({"type": "Deleting", "status": "False", "reason": "ResourceRemaining", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"}),
    );
    assert_eq!(reason(&cluster(value).object).unwrap(), "ResourceRemaining");
}

#[test]
fn only_the_label_of_an_exclusive_set_is_asked_for() {
    let selector = |value: Value| serde_json::from_value::<ManagedClusterSelector>(value).unwrap();
    let exclusive = selector(json!({"selectorType": "ExclusiveClusterSetLabel"}));
    let label = Some("cluster.open-cluster-management.io/clusterset=prod".to_owned());
    assert_eq!(exclusive_label("prod", &exclusive), label);
    assert_eq!(
        exclusive_label("prod", &selector(json!({"selectorType": ""}))),
        label
    );
    assert_eq!(
        exclusive_label("prod", &selector(json!({"selectorType": "LabelSelector"}))),
        None
    );
    // Which no cluster can have: the hub would refuse the selector.
    assert_eq!(exclusive_label(&"a".repeat(64), &exclusive), None);
}
