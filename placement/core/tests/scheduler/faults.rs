//! Placements that cannot be evaluated: nothing is evicted by mistake.

use std::sync::Arc;

use berth_placement_core::{CelObject, Cluster, OnFault, Rules, Settings};
use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE, membership};

/// A placement with a mistake that selected `c1` and `c2` before.
fn misconfigured() -> Bench {
    Bench::new(json!({"tolerations": [{"value": "v"}]}))
        .clusters(&["c1", "c2", "c3"])
        .own(&["c2", "c1"])
}

/// Binds a set whose selector is invalid.
fn with_broken_set(mut bench: Bench) -> Bench {
    let broken = membership("broken", json!({"selectorType": "Some"}));
    bench.snapshot.sets.insert("broken".to_owned(), broken);
    let bindings = bench
        .snapshot
        .bindings
        .entry(NAMESPACE.to_owned())
        .or_default();
    bindings.insert("broken".to_owned());
    bench
}

#[test]
fn a_misconfigured_placement_keeps_its_decisions() {
    let seen = misconfigured().run();
    assert_eq!(seen.decided(), ["c1", "c2"]);
    let satisfied = seen.conditions.satisfied;
    assert_eq!(
        (satisfied.status, satisfied.reason),
        ("False", "NotAllDecisionsScheduled")
    );
    assert_eq!(
        satisfied.message,
        "The placement is misconfigured; 2 cluster decisions are kept as they were"
    );
    assert_eq!(
        seen.conditions.misconfigured.message,
        "TaintToleration:If the key is empty, operator must be Exists."
    );
    let kept = "the placement cannot be evaluated; the previous decision is kept";
    assert_eq!(seen.outcomes["c1"], kept);
    assert_eq!(seen.outcomes["c3"], "the placement cannot be evaluated");
}

#[test]
fn it_keeps_them_although_a_mistake_could_not_matter() {
    let mut spec = json!({"tolerations": [{"value": "v"}]});
    spec["predicates"] =
        json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}]);
    let seen = Bench::new(spec).clusters(&["c1"]).own(&["c1"]).run();
    assert_eq!(seen.decided(), ["c1"]);
}

#[test]
fn it_does_not_keep_what_it_may_not_select_any_more() {
    let mut deleting = misconfigured();
    deleting
        .snapshot
        .clusters
        .get_mut("c1")
        .unwrap()
        .is_deleting = true;
    let mut deleted = misconfigured();
    deleted.snapshot.clusters.remove("c1");
    let mut unbound = misconfigured();
    unbound.snapshot.bindings.clear();
    for (sentence, bench, expected) in [
        ("a cluster that is being deleted", deleting, &["c2"][..]),
        ("a cluster that is gone", deleted, &["c2"]),
        ("clusters of a set that is not bound any more", unbound, &[]),
    ] {
        assert_eq!(bench.run().decided(), expected, "{sentence}");
    }
}

#[test]
fn a_setting_removes_the_decisions_as_ocm_does() {
    let mut bench = misconfigured();
    bench.settings = Settings {
        on_fault: OnFault::Remove,
        ..Settings::default()
    };
    let seen = bench.run();
    assert_eq!(seen.groups, [(String::new(), Vec::new())]);
    assert_eq!(seen.conditions.satisfied.reason, "NoManagedClusterMatched");
    assert_eq!(seen.conditions.misconfigured.status, "True");
}

#[test]
fn a_set_with_a_mistake_keeps_decisions_too() {
    let bench = || {
        Bench::new(json!({}))
            .clusters(&["c1", "c2", "c3"])
            .own(&["c1", "c2", "gone"])
    };
    let mut alone = with_broken_set(bench());
    alone.snapshot.sets.remove("all");
    for (sentence, bench) in [
        ("beside another set", with_broken_set(bench())),
        ("alone, so that its members are unknown", alone),
    ] {
        let seen = bench.run();
        assert_eq!(seen.decided(), ["c1", "c2"], "{sentence}");
        let satisfied = seen.conditions.satisfied;
        assert_eq!(
            (satisfied.status, satisfied.reason),
            ("False", "NotAllDecisionsScheduled"),
            "{sentence}"
        );
        assert!(
            satisfied.message.starts_with("failed to get clusters from ClusterSet \"broken\": spec.clusterSelector.selectorType: "),
            "{}",
            satisfied.message
        );
        assert_eq!(seen.conditions.misconfigured.status, "False", "{sentence}");
    }
}

#[test]
fn expressions_that_cost_too_much_keep_decisions_too() {
    let expression = "[1, 2, 3, 4, 5, 6, 7, 8].all(x, x > 0)";
    let mut bench = Bench::new(json!({"predicates": [
        {"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}},
    ]}))
    .clusters(&["c1", "c2", "c3"])
    .own(&["c1"]);
    assert_eq!(bench.run().decided(), ["c1", "c2", "c3"]);
    bench.settings.cel_budget = 100;
    bench.settings.on_fault = OnFault::Remove;
    assert_eq!(bench.run().decided(), ["c1"], "it is no mistake");
    bench.settings.on_fault = OnFault::Keep;
    let seen = bench.run();
    assert_eq!(seen.decided(), ["c1"]);
    let satisfied = seen.conditions.satisfied;
    assert_eq!(
        (satisfied.status, satisfied.reason),
        ("False", "NotAllDecisionsScheduled")
    );
    assert!(
        satisfied
            .message
            .starts_with("the CEL expressions cost too much on the clusters of the placement: they exceed the limit of 100 steps; "),
        "{}",
        satisfied.message
    );
    assert_eq!(seen.conditions.misconfigured.status, "False");
}

#[test]
fn predicates_after_the_budget_of_a_placement_are_not_evaluated() {
    // Each of these predicates takes about 3,000 steps on a cluster, and matches none.
    let list: Vec<_> = (0..1_000).collect();
    let expression = format!("{list:?}.exists(x, x < 0)");
    let predicate =
        json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}});
    let spec = json!({"spec": {"predicates": vec![predicate; 20]}});
    let placement = serde_json::from_value(spec).unwrap();
    let settings = Settings {
        cel_budget: 10_000,
        ..Settings::default()
    };
    let rules = Rules::new(&placement, settings);
    let cluster = Cluster {
        object: Some(Arc::new(CelObject::new(&json!({})))),
        ..Cluster::default()
    };
    let matched = rules.matched(&cluster, &|_, _| None).unwrap();
    assert!((10_001..20_000).contains(&matched.steps), "{matched:?}");
}

/// An expression that is true, and takes about 16,000 steps for each of these copies of a text of 64 KiB.
fn costly(copies: usize) -> String {
    let doubled = ".optMap(x, x + x)".repeat(12);
    let copies: Vec<_> = (0..copies).collect();
    format!(
        r#"optional.of("aaaaaaaaaaaaaaaa"){doubled}.optMap(x, {copies:?}.all(y, (x + x).size() > y)).value()"#
    )
}

fn predicate(expressions: &[&str]) -> Value {
    json!({"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}})
}

#[test]
fn an_expression_that_costs_too_much_on_a_cluster_keeps_decisions_if_it_decides() {
    let on_c2 = &*format!(
        r#"managedCluster.metadata.name == "c2" ? {} : true"#,
        costly(80)
    );
    let on_all = &*costly(80);
    let within = &*costly(48);
    let mut labelled = predicate(&[on_all]);
    labelled["requiredClusterSelector"]["labelSelector"] = json!({"matchLabels": {"a": "b"}});
    let on = |cluster: &str, (predicate, expression), limit: &str| {
        Some(format!(
            "the CEL expression spec.predicates[{predicate}].requiredClusterSelector.celSelector.celExpressions[{expression}] \
             costs too much on the cluster {cluster}: it exceeds the limit of {limit} on a cluster; \
             make it simpler, or put label selectors before it"
        ))
    };
    let alone = "1000000 steps for an expression";
    let shared = "10000000 steps for all expressions of a predicate";
    for (sentence, predicates, expected, fault) in [
        (
            "on one cluster",
            json!([predicate(&[on_c2])]),
            &["c2", "c3"][..],
            on("c2", (0, 0), alone),
        ),
        (
            "on all, of which the first one by name is told",
            json!([predicate(&["true", on_all])]),
            &["c2", "c3"],
            on("c1", (0, 1), alone),
        ),
        (
            "beside a predicate that does not match",
            json!([predicate(&["false"]), predicate(&[on_c2])]),
            &["c2", "c3"],
            on("c2", (1, 0), alone),
        ),
        (
            "beside a predicate that matches",
            json!([predicate(&[on_all]), predicate(&["true"])]),
            &["c1", "c2", "c3"],
            None,
        ),
        (
            "after an expression that is false",
            json!([predicate(&["managedCluster.metadata.name == 'c1'", on_c2])]),
            &["c1"],
            None,
        ),
        (
            "after an expression that fails, as it does in OCM",
            json!([predicate(&["managedCluster.spec.nothing == 1", on_all])]),
            &[],
            None,
        ),
        (
            "on clusters whose labels do not match",
            json!([labelled]),
            &[],
            None,
        ),
        (
            "within the budget of an expression",
            json!([predicate(&[within; 12])]),
            &["c1", "c2", "c3"],
            None,
        ),
        (
            "within it, but not within that of all expressions",
            json!([predicate(&[within; 13])]),
            &["c2", "c3"],
            on("c1", (0, 12), shared),
        ),
    ] {
        for on_fault in [OnFault::Keep, OnFault::Remove] {
            let mut bench = Bench::new(json!({"predicates": predicates}))
                .clusters(&["c1", "c2", "c3"])
                .own(&["c2", "c3"]);
            bench.settings.on_fault = on_fault;
            let seen = bench.run();
            assert_eq!(seen.fault, fault, "{sentence}");
            assert_eq!(seen.decided(), expected, "{sentence}, {on_fault:?}");
            let satisfied = seen.conditions.satisfied;
            if let Some(fault) = &fault {
                assert_eq!(
                    (satisfied.status, satisfied.reason, &satisfied.message),
                    ("False", "NotAllDecisionsScheduled", fault),
                    "{sentence}"
                );
                let kept = "the placement cannot be evaluated; the previous decision is kept";
                assert_eq!(seen.outcomes["c2"], kept, "{sentence}");
            }
            assert_eq!(seen.conditions.misconfigured.status, "False", "{sentence}");
        }
    }
}

#[test]
fn expressions_on_clusters_that_were_not_read_keep_decisions_always() {
    let mut bench = Bench::new(json!({"predicates": [
        {"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}},
    ]}))
    .clusters(&["c1", "c2"])
    .own(&["c1"]);
    for cluster in bench.snapshot.clusters.values_mut() {
        cluster.object = None;
    }
    for on_fault in [OnFault::Keep, OnFault::Remove] {
        bench.settings.on_fault = on_fault;
        let seen = bench.run();
        assert_eq!(seen.decided(), ["c1"], "{on_fault:?}");
        let satisfied = seen.conditions.satisfied;
        assert_eq!(
            (satisfied.status, satisfied.reason),
            ("False", "NotAllDecisionsScheduled")
        );
        assert!(
            satisfied
                .message
                .starts_with("the CEL expressions read whole ManagedClusters"),
            "{}",
            satisfied.message
        );
    }
}

#[test]
fn expressions_on_clusters_that_were_left_out_keep_decisions_always() {
    let expression = predicate(&["true"]);
    let labels = json!({"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}});
    for (predicates, left_out, decided, is_faulty) in [
        (json!([expression]), &["c2"][..], &["c1"][..], true),
        (json!([expression]), &["c1", "c2"], &["c1"], true),
        (json!([expression]), &[], &["c1", "c2"], false),
        (json!([labels]), &["c1", "c2"], &[], false),
    ] {
        let mut bench = Bench::new(json!({"predicates": predicates}))
            .clusters(&["c1", "c2"])
            .own(&["c1"]);
        for name in left_out {
            let cluster = bench.snapshot.clusters.get_mut(*name).unwrap();
            let object = cluster.object.take().unwrap();
            assert!(
                (200..20_000).contains(&object.bytes()),
                "{}",
                object.bytes()
            );
            cluster.object = Some(Arc::new(object.left_out(3 << 20)));
        }
        for on_fault in [OnFault::Keep, OnFault::Remove] {
            bench.settings.on_fault = on_fault;
            let seen = bench.run();
            assert_eq!(seen.decided(), decided, "{predicates}, {left_out:?}");
            let satisfied = seen.conditions.satisfied;
            assert_eq!(satisfied.status == "False", decided != ["c1", "c2"]);
            if is_faulty {
                assert_eq!(satisfied.reason, "NotAllDecisionsScheduled");
                let limit = "which take more memory than the limit of 3 MiB; ";
                assert!(satisfied.message.contains(limit), "{}", satisfied.message);
            }
            assert_eq!(seen.fault.is_some(), is_faulty);
        }
    }
}

#[test]
fn a_set_with_a_mistake_does_not_concern_placements_that_do_not_use_it() {
    let mut bench = with_broken_set(Bench::new(json!({"clusterSets": ["all"]})).clusters(&["c1"]));
    assert_eq!(bench.run().decided(), ["c1"]);
    bench
        .snapshot
        .bindings
        .get_mut(NAMESPACE)
        .unwrap()
        .remove("broken");
    bench.spec = json!({});
    assert_eq!(bench.run().decided(), ["c1"]);
}
