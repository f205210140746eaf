//! The ClusterProfiles that a change concerns.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::sets::selectors;
use super::*;
use berth_lifecycle_core::config::Gates;
use berth_lifecycle_core::profiles;

fn view_with_profiles() -> Seeing {
    Seeing::new(Config {
        gates: Gates {
            cluster_profile: true,
            ..Gates::default()
        },
        ..Config::default()
    })
}

fn binding(namespace: &str, set: &str, version: u64, bound: bool) -> PartialObject {
    let status = if bound { "True" } else { "False" };
    object(json!({
        "metadata": {"name": set, "namespace": namespace, "uid": "u", "resourceVersion": version.to_string()},
        "spec": {"clusterSet": set},
        "status": {"conditions": [{
            "type": "Bound", "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    }))
}

fn profile(namespace: &str, name: &str, version: u64) -> PartialObject {
    let ours = "open-cluster-management";
    object(json!({
        "metadata": {
            "name": name, "namespace": namespace, "uid": "u", "resourceVersion": version.to_string(),
            "labels": {
                "x-k8s.io/cluster-manager": ours, "open-cluster-management.io/cluster-name": name,
                "multicluster.x-k8s.io/clusterset": "a",
            },
        },
        "spec": {"clusterManager": {"name": ours}},
    }))
}

fn key(namespace: &str, name: &str) -> Key {
    Key::Profile(namespace.into(), name.into())
}

fn profile_wakes(view: &mut Seeing) -> BTreeSet<(String, String)> {
    let wakes = view.wakes().into_iter();
    let keys = wakes.filter_map(|key| match key {
        Key::Profile(namespace, name) => Some((namespace.to_string(), name.to_string())),
        _ => None,
    });
    keys.collect()
}

/// A change of an object: its kind, two choices of its name, and its content. None: it is deleted.
type Step = (usize, usize, usize, Option<usize>);

proptest! {
    /// A profile for which a write is due has always been woken.
    #[test]
    fn every_profile_that_has_to_be_written_is_woken(
        steps in proptest::collection::vec((0..4_usize, 0..3_usize, 0..2_usize, proptest::option::weighted(0.8, 0..10_usize)), 0..60),
        listed in 0..60_usize,
    ) {
        let (mut view, now) = (view_with_profiles(), now());
        let (clusters, namespaces) = (["c0", "c1", "c2"], ["n0", "n1"]);
        let mut pending = BTreeSet::new();
        for (at, (kind, one, other, content)) in steps.into_iter().enumerate() {
            let step: Step = (kind, one, other, content);
            let version = at as u64 + 1;
            let how = content.unwrap_or_default();
            let (kind, object) = match kind {
                0 => (Kind::Set, set(["a", "b", "s2"][one], version, selectors().swap_remove(how))),
                1 => {
                    let mut object = cluster(clusters[one], version, json!({}));
                    let set = ["a", "b", "s2"].get(how % 4);
                    let metadata = &mut object.value["metadata"];
                    metadata["labels"] = json!({"cluster.open-cluster-management.io/clusterset": set, "team": (["a", "b"][how % 2])});
                    if set.is_none() {
                        metadata["labels"] = json!({});
                    }
                    if how == 9 {
                        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                    }
                    object.value["status"] = json!({"version": {"kubernetes": (["v1", "v2"][how % 2])}});
                    (Kind::Cluster, object)
                }
                2 => {
                    let mut object = binding(namespaces[other], ["a", "b", "s2"][one], version, how % 3 > 0);
                    if how == 8 {
                        object.value["status"] = json!({});
                    }
                    if how == 9 {
                        object.value["spec"] = json!(7);
                    }
                    (Kind::Binding, object)
                }
                _ => (Kind::Profile, profile(namespaces[other], clusters[one], version)),
            };
            match content {
                Some(_) => view.apply(kind, &object, Source::Watch, now),
                None => view.gone(kind, &object, Source::Watch),
            }
            if at == listed {
                view.profiles_are_listed();
            }
            pending.extend(profile_wakes(&mut view));
            for namespace in namespaces {
                for name in clusters {
                    let plan = view.with_profile(namespace, name, |facts| profiles::decide(facts, now));
                    let pair = (namespace.to_owned(), name.to_owned());
                    if plan.unwrap_or_default().is_empty() {
                        pending.remove(&pair);
                    } else {
                        prop_assert!(pending.contains(&pair), "{step:?}: {pair:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_profile_stays_until_it_is_decided_whether_the_binding_has_effect() {
    let (mut view, now) = (view_with_profiles(), now());
    view.profiles_are_listed();
    let selector = json!({"selectorType": "ExclusiveClusterSetLabel"});
    view.apply(Kind::Set, &set("a", 1, selector), Source::Watch, now);
    for (version, name) in [(2, "c1"), (3, "c2")] {
        let object = cluster(name, version, json!({}));
        view.apply(Kind::Cluster, &object, Source::Watch, now);
    }
    view.apply(Kind::Profile, &profile("n1", "c1", 4), Source::Watch, now);
    let mut undecided = binding("n1", "a", 5, true);
    undecided.value["status"] = json!({});
    view.apply(Kind::Binding, &undecided, Source::Watch, now);
    let writes = |view: &View| {
        ["c1", "c2"].map(|name| {
            let plan = view.with_profile("n1", name, |facts| profiles::decide(facts, now));
            plan.unwrap().writes.len()
        })
    };
    assert_eq!(writes(&view), [0, 0]);
    view.apply(
        Kind::Binding,
        &binding("n1", "a", 6, true),
        Source::Watch,
        now,
    );
    assert_eq!(writes(&view), [0, 1]);
    view.apply(
        Kind::Binding,
        &binding("n1", "a", 7, false),
        Source::Watch,
        now,
    );
    assert_eq!(writes(&view), [1, 0]);
}

#[test]
fn a_report_of_an_agent_concerns_its_profiles_only() {
    let (mut view, now) = (view_with_profiles(), now());
    view.profiles_are_listed();
    let selector = json!({"selectorType": "ExclusiveClusterSetLabel"});
    view.apply(Kind::Set, &set("a", 1, selector), Source::Watch, now);
    view.apply(
        Kind::Cluster,
        &cluster("c1", 2, json!({})),
        Source::Watch,
        now,
    );
    for (version, namespace) in [(3, "n1"), (4, "n2")] {
        let bound = binding(namespace, "a", version, namespace == "n1");
        view.apply(Kind::Binding, &bound, Source::Watch, now);
    }
    assert!(view.wakes().contains(&key("n1", "c1")));
    let mut report = cluster("c1", 5, json!({}));
    report.value["status"] = json!({"clusterClaims": [{"name": "id", "value": "1"}]});
    view.apply(Kind::Cluster, &report, Source::Watch, now);
    assert_eq!(view.wakes(), [key("n1", "c1")]);
    report.value["metadata"]["resourceVersion"] = "6".into();
    report.metadata.resource_version = "6".into();
    view.apply(Kind::Cluster, &report, Source::Watch, now);
    assert_eq!(view.wakes(), []);
}

#[test]
fn without_the_kind_nothing_is_written_and_it_is_said_once() {
    let (mut view, now) = (view_with_profiles(), now());
    let writes = |view: &View| {
        let plan = view.with_profile("n1", "c1", |facts| profiles::decide(facts, now));
        plan.map(|plan| plan.writes.len())
    };
    let selector = json!({"selectorType": "ExclusiveClusterSetLabel"});
    view.apply(Kind::Set, &set("a", 1, selector), Source::Watch, now);
    view.apply(
        Kind::Cluster,
        &cluster("c1", 2, json!({})),
        Source::Watch,
        now,
    );
    view.apply(
        Kind::Binding,
        &binding("n1", "a", 3, true),
        Source::Watch,
        now,
    );
    assert!(view.profiles_are_missing() && !view.profiles_are_missing());
    assert_eq!(writes(&view), None);
    assert!(profile_wakes(&mut view).is_empty());
    assert!(!view.all().contains(&key("n1", "c1")));
    // The CRD has been applied.
    view.profiles_are_listed();
    assert_eq!(writes(&view), Some(1));
    assert!(view.wakes().contains(&key("n1", "c1")));
    assert!(view.all().contains(&key("n1", "c1")));
    // It has been deleted.
    assert!(view.profiles_are_missing());
    assert_eq!(writes(&view), None);
}
