//! Predicates: the cases of OCM's filter without CEL, and some more.

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
