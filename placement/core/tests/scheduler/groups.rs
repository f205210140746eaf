//! Decision groups: the cases of OCM's controller.

use serde_json::{Value, json};

use crate::bench::Bench;

fn group(name: &str, cloud: &str) -> Value {
    json!({"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {"cloud": cloud}}}})
}

/// Clusters `c1`, `c2` and so on, with these values of the label `cloud`.
fn clouds(strategy: Value, clouds: &[&str]) -> Bench {
    let mut bench = Bench::new(json!({"decisionStrategy": {"groupStrategy": strategy}}));
    for (index, cloud) in clouds.iter().enumerate() {
        bench =
            bench.cluster(json!({"name": format!("c{}", index + 1), "labels": {"cloud": cloud}}));
    }
    bench
}

#[test]
fn selected_clusters_are_divided_as_by_ocm() {
    let canary = || json!([group("canary", "Azure")]);
    let four = &["Amazon", "Amazon", "Azure", "Azure"][..];
    let three = &four[..3];
    let by_claim = json!([{"groupName": "g", "groupClusterSelector": {
        "claimSelector": {"matchExpressions": [{"key": "cloud", "operator": "Exists"}]},
    }}]);
    for (sentence, strategy, of, expected) in [
        (
            "no groups",
            json!({}),
            three,
            json!([["", ["c1", "c2", "c3"]]]),
        ),
        ("no clusters", json!({}), &[], json!([["", []]])),
        (
            "no clusters, but groups",
            json!({"clustersPerDecisionGroup": 1, "decisionGroups": canary()}),
            &[],
            json!([["", []]]),
        ),
        (
            "one cluster per group, the named ones first",
            json!({"clustersPerDecisionGroup": 1, "decisionGroups": canary()}),
            four,
            json!([
                ["canary", ["c3"]],
                ["canary", ["c4"]],
                ["", ["c1"]],
                ["", ["c2"]]
            ]),
        ),
        (
            "a quarter per group",
            json!({"clustersPerDecisionGroup": "25%", "decisionGroups": canary()}),
            four,
            json!([
                ["canary", ["c3"]],
                ["canary", ["c4"]],
                ["", ["c1"]],
                ["", ["c2"]]
            ]),
        ),
        (
            "two groups that take all",
            json!({"decisionGroups": [group("group1", "Amazon"), group("group2", "Azure")]}),
            three,
            json!([["group1", ["c1", "c2"]], ["group2", ["c3"]]]),
        ),
        (
            "a percentage is rounded up",
            json!({"clustersPerDecisionGroup": "25%"}),
            three,
            json!([["", ["c1"]], ["", ["c2"]], ["", ["c3"]]]),
        ),
        (
            "a group without clusters is none",
            json!({"decisionGroups": [group("group1", "Google")]}),
            three,
            json!([["", ["c1", "c2", "c3"]]]),
        ),
        (
            "the first group takes a cluster",
            json!({"decisionGroups": [group("a", "Azure"), {"groupName": "b", "groupClusterSelector": {}}]}),
            four,
            json!([["a", ["c3", "c4"]], ["b", ["c1", "c2"]]]),
        ),
        (
            "a number that is not positive means all",
            json!({"clustersPerDecisionGroup": 0}),
            three,
            json!([["", ["c1", "c2", "c3"]]]),
        ),
        (
            "claims are no labels",
            json!({"decisionGroups": by_claim}),
            three,
            json!([["", ["c1", "c2", "c3"]]]),
        ),
    ] {
        let seen = clouds(strategy, of).run();
        assert_eq!(json!(seen.groups), expected, "{sentence}");
    }
}

#[test]
fn groups_follow_as_clusters_come_and_go() {
    let strategy =
        json!({"clustersPerDecisionGroup": 2, "decisionGroups": [group("canary", "Azure")]});
    let sizes = |of: &[&str]| {
        let seen = clouds(strategy.clone(), of).run();
        let sizes = seen.groups.iter();
        sizes
            .map(|(name, clusters)| (name.clone(), clusters.len()))
            .collect::<Vec<_>>()
    };
    let (azure, other) = ("Azure", "Amazon");
    for (of, expected) in [
        (
            &[azure, azure, other, other, other][..],
            json!([["canary", 2], ["", 2], ["", 1]]),
        ),
        (&[azure, other, other], json!([["canary", 1], ["", 2]])),
        (
            &[azure, azure, other, other],
            json!([["canary", 2], ["", 2]]),
        ),
        (&[], json!([["", 0]])),
    ] {
        assert_eq!(json!(sizes(of)), expected);
    }
}

#[test]
fn many_clusters_are_one_group() {
    let mut bench = Bench::new(json!({}));
    for index in 0..101 {
        bench = bench.clusters(&[&format!("c{index}")]);
    }
    let groups = bench.run().groups;
    assert_eq!((groups.len(), groups[0].1.len()), (1, 101));
}
