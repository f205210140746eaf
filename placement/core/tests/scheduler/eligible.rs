//! Which sets and clusters a placement may select from: the cases of OCM's helpers.

use std::collections::BTreeSet;

use berth_placement_core::Snapshot;
use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE, cluster, membership};

/// A hub with these sets and bindings, and with these clusters.
fn hub(sets: &[(&str, Value)], bindings: &[&str], clusters: &[Value]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (name, selector) in sets {
        let membership = membership(name, selector.clone());
        snapshot.sets.insert((*name).to_owned(), membership);
    }
    let bindings: BTreeSet<_> = bindings.iter().map(|it| (*it).to_owned()).collect();
    snapshot.bindings.insert(NAMESPACE.to_owned(), bindings);
    for short in clusters {
        let cluster = cluster(short);
        snapshot.clusters.insert(cluster.name.clone(), cluster);
    }
    snapshot
}

fn in_set(name: &str, set: &str) -> Value {
    json!({"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": set}})
}

#[test]
fn sets_count_that_exist_and_are_bound_and_wanted() {
    let set = |name| (name, json!({}));
    for (sentence, sets, bindings, wanted, valid, expected) in [
        (
            "a set that is not bound",
            vec![set("s1")],
            &[][..],
            json!([]),
            0,
            &[][..],
        ),
        ("a binding of no set", vec![], &["s1"], json!([]), 0, &[]),
        (
            "a binding of a set",
            vec![set("s1")],
            &["s1"],
            json!([]),
            1,
            &["s1"],
        ),
        (
            "no binding of the wanted sets",
            vec![set("s2"), set("s3")],
            &[],
            json!(["s1", "s2"]),
            0,
            &[],
        ),
        (
            "no set is wanted by name",
            vec![set("s1"), set("s2")],
            &["s2", "s1"],
            json!([]),
            2,
            &["s1", "s2"],
        ),
        (
            "some of the wanted sets are bound",
            vec![set("s2"), set("s3")],
            &["s2", "s3"],
            json!(["s1", "s2"]),
            2,
            &["s2"],
        ),
        (
            "none of them is",
            vec![set("s3")],
            &["s3"],
            json!(["s1"]),
            1,
            &[],
        ),
    ] {
        let mut bench = Bench::new(json!({"clusterSets": wanted}));
        bench.snapshot = hub(&sets, bindings, &[]);
        let eligible = bench.snapshot.eligible(&bench.rules());
        let names: Vec<_> = eligible.sets.iter().map(|set| set.name).collect();
        assert_eq!(
            (eligible.bindings, &names[..]),
            (valid, expected),
            "{sentence}"
        );
    }
}

#[test]
fn clusters_of_the_sets_count_unless_they_are_being_deleted() {
    let by_label = || json!({"selectorType": "ExclusiveClusterSetLabel"});
    let by_selector =
        |selector: Value| json!({"selectorType": "LabelSelector", "labelSelector": selector});
    let openshift = || json!({"name": "c2", "labels": {"vendor": "openShift"}});
    let deleting = || {
        let mut cluster = in_set("c2", "s2");
        cluster["deletionTimestamp"] = json!("2022-01-01T00:00:00Z");
        cluster
    };
    for (sentence, sets, clusters, expected) in [
        ("no set", vec![], vec![in_set("c1", "s1")], &[][..]),
        (
            "two sets",
            vec![("s1", json!({})), ("s2", json!({}))],
            vec![in_set("c1", "s1"), in_set("c2", "s2")],
            &["c1", "c2"],
        ),
        (
            "a cluster that is being deleted",
            vec![("s1", json!({})), ("s2", json!({}))],
            vec![in_set("c1", "s1"), deleting()],
            &["c1"],
        ),
        (
            "the exclusive type",
            vec![("s1", by_label())],
            vec![in_set("c1", "s1"), in_set("c2", "s2")],
            &["c1"],
        ),
        (
            "a selector",
            vec![(
                "s1",
                by_selector(json!({"matchLabels": {"vendor": "openShift"}})),
            )],
            vec![in_set("c1", "s1"), openshift()],
            &["c2"],
        ),
        (
            "an empty selector",
            vec![("s1", by_selector(json!({})))],
            vec![in_set("c1", "s1"), json!({"name": "c2"})],
            &["c1", "c2"],
        ),
        (
            "no selector",
            vec![("s1", by_selector(Value::Null))],
            vec![in_set("c1", "s1")],
            &[],
        ),
        (
            "a cluster of two sets counts once",
            vec![("s1", json!({})), ("s2", by_selector(json!({})))],
            vec![in_set("c1", "s1")],
            &["c1"],
        ),
    ] {
        let mut bench = Bench::new(json!({}));
        let bindings: Vec<_> = sets.iter().map(|(name, _)| *name).collect();
        bench.snapshot = hub(&sets, &bindings, &clusters);
        let seen = bench.run();
        assert_eq!(seen.decided(), expected, "{sentence}");
    }
}
