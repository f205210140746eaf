//! The members of sets.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Selectors of sets: by the set label, by one label or two, and an invalid one.
pub(super) fn selectors() -> Vec<Value> {
    let by = |selector: Value| json!({"selectorType": "LabelSelector", "labelSelector": selector});
    let expression = |key: &str, operator: &str, values: &[&str]| {
        let values = (!values.is_empty()).then_some(values);
        by(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
    };
    vec![
        json!({"selectorType": "ExclusiveClusterSetLabel"}),
        json!({"selectorType": "LabelSelector"}),
        by(json!({})),
        by(json!({"matchLabels": {"team": "b"}})),
        by(json!({"matchLabels": {"team": "a", "zone": "a"}})),
        expression("team", "NotIn", &["a"]),
        expression("zone", "Exists", &[]),
        expression("zone", "DoesNotExist", &[]),
        expression(
            "cluster.open-cluster-management.io/clusterset",
            "In",
            &["a", "s2"],
        ),
        expression("team", "Odd", &[]),
    ]
}

/// A change of a set or a cluster (by number), with its selector or its labels.
type Step = (bool, usize, Option<usize>, [Option<&'static str>; 3]);

fn step() -> impl Strategy<Value = Step> {
    let value = || prop::sample::select(vec![None, Some("a"), Some("b"), Some("s2")]);
    let selector = proptest::option::weighted(0.8, 0..selectors().len());
    (
        any::<bool>(),
        0..4_usize,
        selector,
        [value(), value(), value()],
    )
}

proptest! {
    /// The stored membership always equals that of matching every set with every cluster.
    #[test]
    fn membership_is_as_if_matched_anew(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut view, now) = (view(), now());
        for (version, (is_set, which, there, values)) in (1..).zip(steps) {
            let (kind, object) = if is_set {
                let selector = selectors().swap_remove(there.unwrap_or_default());
                (Kind::Set, set(["a", "b", "s2", "s3"][which], version, selector))
            } else {
                let mut object = cluster(&format!("c{which}"), version, json!({}));
                let keys = ["cluster.open-cluster-management.io/clusterset", "team", "zone"];
                let labels = keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?)));
                object.value["metadata"]["labels"] = json!(labels.collect::<BTreeMap<_, _>>());
                (Kind::Cluster, object)
            };
            view.wakes();
            let before = members(&view);
            match there {
                Some(_) => view.apply(kind, &object, Source::Watch, now),
                None => view.gone(kind, &object, Source::Watch),
            }
            let (after, wakes) = (members(&view), view.wakes());
            for (set, cluster) in before.symmetric_difference(&after) {
                let is_there = view.set(set).is_some();
                prop_assert!(!is_there || wakes.contains(&Key::Set((&**set).into())), "{set} is counted");
                let is_there = view.clusters.contains_key(&**cluster);
                prop_assert!(!is_there || wakes.contains(&cluster_key(cluster)), "{cluster} is told");
            }
            let there: Vec<_> = view.sets.names().cloned().collect();
            let mut anew = BTreeSet::new();
            for name in &there {
                let (set, members) = view.set(name).unwrap();
                let clusters = view.clusters.iter().filter(|(_, entry)| {
                    entry.cluster.as_ref().is_some_and(|cluster| set.selects(&cluster.labels))
                });
                let clusters: Vec<_> = clusters.map(|(cluster, _)| cluster.to_string()).collect();
                prop_assert_eq!(members, clusters.len(), "{}", name);
                anew.extend(clusters.into_iter().map(|cluster| (name.to_string(), cluster)));
            }
            prop_assert_eq!(&after, &anew);
            let invalid: Vec<_> = view.sets.undecided().map(|set| set.name.clone()).collect();
            let expected = there.iter().filter(|name| view.set(name).unwrap().0.membership.is_err());
            prop_assert_eq!(invalid.iter().collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>());
        }
        let existing = view.clusters.values().filter(|entry| entry.cluster.is_some()).count();
        prop_assert_eq!(view.existing, existing);
    }
}

/// Pairs of set and cluster, as deciders see them.
fn members(view: &View) -> BTreeSet<(String, String)> {
    let clusters = view.clusters.keys();
    let pairs = clusters.flat_map(|cluster| {
        let sets = view.with_cluster(cluster, None, |facts| {
            let sets = facts.sets.iter().map(|set| set.name.to_string());
            sets.collect::<Vec<_>>()
        });
        let cluster = cluster.to_string();
        sets.into_iter()
            .flatten()
            .map(move |set| (set, cluster.clone()))
    });
    pairs.collect()
}
