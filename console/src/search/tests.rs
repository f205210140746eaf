#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn cluster() -> ClusterFact {
    ClusterFact::read(&json!({
        "metadata": {
            "name": "eu-West-1",
            "labels": {
                "cluster.open-cluster-management.io/clusterset": "prod", "env": "live", "a=b": "c",
            },
        },
        "spec": {
            "hubAcceptsClient": true,
            "taints": [{"key": "berth.open-cluster-management.io/unschedulable", "effect": "NoSelectIfNew"}],
        },
        "status": {
            "version": {"kubernetes": "v1.32.4+k3s1"},
            "clusterClaims": [{"name": "region", "value": "eu west"}],
            "conditions": [
                {"type": "ManagedClusterJoined", "status": "True"},
                {"type": "ManagedClusterConditionAvailable", "status": "True"},
            ],
        },
    }))
}

#[test]
fn each_term_asks_for_one_fact() {
    let cluster = cluster();
    for (query, expected) in [
        ("", true),
        ("   ", true),
        ("west", true),
        ("EU-w", true),
        ("us", false),
        ("!us", true),
        ("name:west", true),
        ("\"available\"", false),
        ("name:available", false),
        ("available", true),
        ("!available", false),
        ("state:available", true),
        ("unavailable", false),
        ("pending", false),
        ("cordoned", true),
        ("set:prod", true),
        ("set:pro", false),
        ("!set:dev", true),
        ("version<1.33", true),
        ("version<1.32", false),
        ("version<=1.32", true),
        ("version=1.32", true),
        ("version:1", true),
        ("version>1.32", false),
        ("version>1.32.3", true),
        ("version>=v1.32.4", true),
        ("claim:region", true),
        ("claim:region=\"eu west\"", true),
        ("claim:region=eu", false),
        ("label:env=live", true),
        ("label:env=", false),
        ("!label:env=dev", true),
        ("label:nope", false),
        ("label:\"a=b\"", true),
        ("set:prod version<1.33 available west", true),
        ("set:prod version<1.33 !available", false),
    ] {
        let parsed = Query::parse(query).unwrap();
        assert_eq!(parsed.matches(&cluster), expected, "{query}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (query, at, why) in [
        ("foo:bar", 0, "\"foo\" is not a key"),
        ("a foo:bar", 2, "keys are set:, name:"),
        ("a !foo:bar", 3, "\"foo\" is not a key"),
        ("\u{1f600} foo:bar", 3, "\"foo\" is not a key"),
        ("set:", 4, "a value is missing after set:"),
        ("claim:=x", 6, "a key is missing after claim:"),
        ("version<abc", 8, "\"abc\" is not a version"),
        ("version<=1.x", 9, "\"1.x\" is not a version"),
        ("version<", 8, "\"\" is not a version"),
        ("env=live", 0, "write label:env=..."),
        ("age<3", 0, "only version can be compared with <"),
        ("state:up", 6, "\"up\" is not a state"),
        ("!", 0, "a word is missing"),
        ("\"\"", 0, "a word is missing"),
        ("a \"b", 2, "a double quote is missing"),
    ] {
        let bad = Query::parse(query).unwrap_err();
        assert_eq!(bad.at, at, "{query}: {bad}");
        assert!(bad.why.contains(why), "{query}: {bad}");
    }
    let long = "a ".repeat(600);
    assert!(Query::parse(&long).unwrap_err().why.contains("1024 bytes"));
    let many = "a ".repeat(33);
    let bad = Query::parse(&many).unwrap_err();
    assert_eq!(
        (bad.at, bad.why.as_str()),
        (64, "a query has at most 32 terms")
    );
}

proptest! {
    #[test]
    fn no_query_panics_and_errors_are_within_it(text in "[ !:<>=\"a-z0-9.\u{e4}\u{1f600}]{0,40}") {
        match Query::parse(&text) {
            Ok(query) => { query.matches(&cluster()); }
            Err(bad) => prop_assert!(bad.at <= text.encode_utf16().count()),
        }
    }

    #[test]
    fn a_negated_term_matches_what_the_term_does_not(
        term in prop::sample::select(vec!["eu", "available", "pending", "set:prod", "version<1.33", "claim:region", "label:env=dev", "cordoned"]),
    ) {
        let cluster = cluster();
        let matches = |text: &str| Query::parse(text).unwrap().matches(&cluster);
        prop_assert_ne!(matches(term), matches(&format!("!{term}")));
    }
}
