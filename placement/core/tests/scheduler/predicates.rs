//! Predicates: the cases of OCM's filter, and some more.

use serde_json::{Value, json};

use crate::bench::{Bench, names};

fn predicate(labels: Value, claims: Value) -> Value {
    json!({"requiredClusterSelector": {
        "labelSelector": labels, "claimSelector": {"matchExpressions": claims},
    }})
}

fn in_(key: &str, value: &str) -> Value {
    json!([{"key": key, "operator": "In", "values": [value]}])
}

#[test]
fn a_cluster_must_match_one_predicate_and_every_selector_of_it() {
    let amazon = || json!({"matchLabels": {"cloud": "Amazon"}});
    let cluster = |name: &str, labels: Value, claims: Value| json!({"name": name, "labels": labels, "claims": claims});
    let label = |name: &str, cloud: &str| cluster(name, json!({"cloud": cloud}), json!({}));
    let claim = |name: &str, key: &str, value: &str| cluster(name, json!({}), json!({key: value}));
    let both = |name: &str, cloud: &str, region: &str| {
        cluster(name, json!({"cloud": cloud}), json!({"region": region}))
    };
    let none = || Value::Null;
    for (sentence, predicates, clusters, matched) in [
        (
            "by label",
            json!([predicate(amazon(), none())]),
            vec![label("c1", "Amazon"), label("c2", "Google")],
            &["c1"][..],
        ),
        (
            "by claim",
            json!([predicate(none(), in_("cloud", "Amazon"))]),
            vec![
                claim("c1", "cloud", "Amazon"),
                claim("c2", "cloud", "Google"),
            ],
            &["c1"],
        ),
        (
            "by label and claim",
            json!([predicate(amazon(), in_("region", "us-east-1"))]),
            vec![
                both("c1", "Amazon", "us-east-1"),
                both("c2", "Amazon", "us-east-2"),
            ],
            &["c1"],
        ),
        (
            "a label is no claim",
            json!([predicate(amazon(), in_("region", "us-east-1"))]),
            vec![cluster(
                "c1",
                json!({"region": "us-east-1"}),
                json!({"cloud": "Amazon"}),
            )],
            &[],
        ),
        (
            "by one of two predicates",
            json!([
                predicate(amazon(), none()),
                predicate(none(), in_("region", "us-east-1"))
            ]),
            vec![
                label("c1", "Amazon"),
                claim("c2", "region", "us-east-1"),
                claim("c3", "region", "us-east-2"),
            ],
            &["c1", "c2"],
        ),
        (
            "no predicate",
            json!([]),
            vec![label("c1", "Amazon")],
            &["c1"],
        ),
        (
            "an empty predicate",
            json!([{}]),
            vec![label("c1", "Amazon")],
            &["c1"],
        ),
        (
            "a predicate with an empty selector",
            json!([predicate(json!({}), json!([]))]),
            vec![label("c1", "Amazon")],
            &["c1"],
        ),
    ] {
        let mut bench = Bench::new(json!({"predicates": predicates}));
        for cluster in clusters {
            bench = bench.cluster(cluster);
        }
        assert_eq!(names(&bench.run().matched), matched, "{sentence}");
    }
}

#[test]
fn of_several_claims_with_one_name_the_last_counts() {
    let object = serde_json::from_value(json!({
        "metadata": {"name": "c1"},
        "status": {"clusterClaims": [{"name": "a", "value": "first"}, {"name": "a", "value": "last"}]},
    }));
    let cluster = berth_placement_core::Cluster::from(&object.unwrap());
    assert_eq!(cluster.claims["a"], "last");
}

fn cel(expressions: &[&str]) -> Value {
    json!({"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}})
}

#[test]
fn cel_expressions_must_all_be_true() {
    let region = r#"managedCluster.metadata.labels["region"] == "us-east-1""#;
    let prod = r#"managedCluster.metadata.labels["env"] == "prod""#;
    let amazon = r#"managedCluster.status.clusterClaims.exists(c, c.name == "cloud" && c.value == "Amazon")"#;
    let high = r#"managedCluster.scores("test-addon").filter(s, s.name == 'test-score').all(e, e.value > 80)"#;
    let mut with_label = cel(&[amazon]);
    with_label["requiredClusterSelector"]["labelSelector"] =
        json!({"matchLabels": {"env": "prod"}});
    for (sentence, predicates, matched) in [
        ("on labels", json!([cel(&[region])]), &["c1"][..]),
        ("on claims", json!([cel(&[amazon])]), &["c1", "c3"]),
        ("on scores", json!([cel(&[high])]), &["c1", "c3"]),
        ("two of them", json!([cel(&[prod, high])]), &["c1"]),
        ("with a label selector", json!([with_label]), &["c1"]),
        ("no expression", json!([cel(&[])]), &["c1", "c2", "c3"]),
        (
            "in one of two predicates",
            json!([
                cel(&[region]),
                cel(&["managedCluster.metadata.name == 'c2'"])
            ]),
            &["c1", "c2"],
        ),
        (
            "a value that is no bool",
            json!([cel(&["managedCluster.metadata.name"])]),
            &[],
        ),
        (
            "an error",
            json!([cel(&["managedCluster.scores('nosuch').size() == 0"])]),
            &[],
        ),
    ] {
        let mut bench = Bench::new(json!({"predicates": predicates}));
        for (name, labels, cloud, score) in [
            (
                "c1",
                json!({"region": "us-east-1", "env": "prod"}),
                "Amazon",
                90,
            ),
            (
                "c2",
                json!({"region": "us-west-1", "env": "prod"}),
                "Azure",
                70,
            ),
            ("c3", json!({"env": "dev"}), "Amazon", 81),
        ] {
            let claims = json!({"cloud": cloud});
            bench = bench
                .cluster(json!({"name": name, "labels": labels, "claims": claims}))
                .score(name, ("test-addon", "test-score"), score);
        }
        assert!(bench.rules().uses_cel() || sentence == "no expression");
        assert_eq!(names(&bench.run().matched), matched, "{sentence}");
    }
}

#[test]
fn an_expression_that_selects_nothing_says_why() {
    let bench = Bench::new(json!({"predicates": [
        cel(&["true", "managedCluster.metadata.labels.env == 'prod'"]), cel(&["managedCluster.metadata.name.size() > 5"]),
    ]}))
    .cluster(json!({"name": "c1", "labels": {"env": "dev"}, "taints": []}))
    .cluster(json!({"name": "c2", "taints": []}));
    let outcomes = bench.run().outcomes;
    let second = "predicate 1: the expression is false: managedCluster.metadata.name.size() > 5";
    assert_eq!(
        outcomes["c1"],
        format!(
            "predicate 0: the expression is false: managedCluster.metadata.labels.env == 'prod'; {second}"
        )
    );
    assert_eq!(
        outcomes["c2"],
        format!(
            "predicate 0: the expression fails (no such key: labels): managedCluster.metadata.labels.env == 'prod'; {second}"
        )
    );
}

#[test]
fn an_expression_with_a_mistake_is_a_misconfiguration() {
    let bench = Bench::new(json!({"predicates": [{}, cel(&["true", "invalid.expression"])]}));
    let seen = bench.clusters(&["c1"]).run();
    assert_eq!(
        seen.conditions.misconfigured.message,
        "Predicate:compilation failed: ERROR: <input>:1:1: undeclared reference to 'invalid'"
    );
}
