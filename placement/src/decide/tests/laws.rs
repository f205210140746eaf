//! What holds for every sequence of writes.

use std::collections::BTreeSet;

use berth_api::placement_decision::LIMIT;
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::{Model, Step, Wanted, WantedClusters, WantedGroup, wants};
use crate::recorded::Recorded;

/// Clusters by number; a few more than three PlacementDecisions can list.
const CLUSTERS: u16 = 330;

fn name(cluster: u16) -> String {
    format!("c{cluster:03}")
}

/// Groups of a few ranges of clusters, so that many clusters stay from one selection to the next.
fn any_groups() -> impl Strategy<Value = Vec<WantedGroup>> {
    let range = (0..CLUSTERS, prop_oneof![4 => 0_u16..6, 1 => 0_u16..240]);
    let cut = prop_oneof![Just(1000_usize), 1_usize..5, 50_usize..150];
    let named = prop::collection::vec("[xy]", 0..3);
    (prop::collection::vec(range, 0..6), cut, named).prop_map(|(ranges, cut, named)| {
        let numbers: BTreeSet<u16> = ranges
            .into_iter()
            .flat_map(|(from, length)| from..(from + length).min(CLUSTERS))
            .collect();
        let names: Vec<_> = numbers.into_iter().map(name).collect();
        let chunks = names.chunks(cut.max(names.len() / 8 + 1)).enumerate();
        let mut groups: Vec<_> = chunks
            .map(|(index, clusters)| WantedGroup {
                name: named.get(index).cloned().unwrap_or_default(),
                clusters: clusters.to_vec(),
            })
            .collect();
        if groups.is_empty() {
            groups.push(WantedGroup::default());
        }
        groups
    })
}

fn any_wanted() -> impl Strategy<Value = Wanted> {
    let kept = prop::collection::btree_set(0..CLUSTERS, 0..40)
        .prop_map(|all| WantedClusters::Kept(all.into_iter().map(name).collect()));
    let clusters = prop_oneof![6 => any_groups().prop_map(WantedClusters::Groups), 1 => kept];
    (clusters, 0_i64..3).prop_map(|(clusters, score)| scored(wants(clusters), score))
}

/// Records scores that differ from those of another seed for some clusters.
fn scored(mut wanted: Wanted, seed: i64) -> Wanted {
    if let WantedClusters::Groups(groups) = &wanted.clusters {
        let names = groups.iter().flat_map(|it| &it.clusters);
        let records = names.map(|name| {
            let recorded = Recorded {
                score: Some(i64::from(name.ends_with('7')) * seed),
                reason: "why".to_owned(),
            };
            (name.clone(), recorded)
        });
        wanted.records = records.collect();
    }
    wanted
}

/// Changes that others make.
fn meddle(model: &mut Model, how: u8) {
    let Some(last) = model.decisions.keys().next_back().cloned() else {
        return;
    };
    let object = model.decisions.get_mut(&last).expect("it exists");
    match how {
        0 => {
            model.decisions.remove(&last);
        }
        1 => object["metadata"]["ownerReferences"] = json!([]),
        2 => object["metadata"]["ownerReferences"][0]["uid"] = json!("former"),
        3 => object["metadata"]["labels"] = json!({}),
        4 => object["metadata"]["deletionTimestamp"] = json!("2026-08-11T12:00:00Z"),
        5 => {
            let names = ["c001", "c000", "c001"];
            let listed = names.map(|name| json!({"clusterName": name, "reason": ""}));
            object["status"] = json!({"decisions": listed});
        }
        6 => {
            let mut object = object.clone();
            object["metadata"]["name"] = json!("p-of-a-user");
            object["metadata"]["uid"] = json!("of-a-user");
            model.decisions.insert("p-of-a-user".to_owned(), object);
        }
        _ => {}
    }
}

/// The clusters that are to be listed in the end.
fn names(model: &Model, wanted: &Wanted) -> BTreeSet<String> {
    let names = wanted.names().into_iter();
    match &wanted.clusters {
        WantedClusters::Groups(_) => names.collect(),
        WantedClusters::Kept(_) => {
            let own = model.own_listed();
            names.filter(|name| own.contains(name)).collect()
        }
    }
}

fn settles_at(
    model: &Model,
    wanted: &Wanted,
    names: &BTreeSet<String>,
) -> Result<(), TestCaseError> {
    let mut listed: Vec<String> = Vec::new();
    for (name, object) in &model.decisions {
        let metadata = &object["metadata"];
        let label = |key: &str| {
            let label = &metadata["labels"][format!("cluster.open-cluster-management.io/{key}")];
            label.as_str().unwrap_or("-").to_owned()
        };
        // Foreign objects, and those that others delete.
        if metadata.get("deletionTimestamp").is_some() || label("placement") == "-" {
            continue;
        }
        let clusters = model.clusters(name);
        prop_assert!(clusters.len() <= LIMIT, "{} lists {}", name, clusters.len());
        prop_assert!(clusters.is_sorted(), "{}: {:?}", name, clusters);
        if let WantedClusters::Groups(groups) = &wanted.clusters {
            let index: usize = label("decision-group-index").parse().expect("an index");
            prop_assert_eq!(label("decision-group-name"), groups[index].name.as_str());
            let strange = clusters
                .iter()
                .find(|it| !groups[index].clusters.contains(it));
            prop_assert_eq!(strange, None);
        }
        prop_assert_eq!(&metadata["ownerReferences"][0]["uid"], "p-uid");
        listed.extend(clusters);
    }
    listed.sort();
    let names: Vec<_> = names.iter().cloned().collect();
    prop_assert_eq!(listed, names);
    let groups = &model.placement["status"]["decisionGroups"];
    for (index, group) in groups.as_array().expect("groups").iter().enumerate() {
        prop_assert_eq!(&group["decisionGroupIndex"], index);
        let decisions = group["decisions"].as_array().expect("names");
        prop_assert!(!decisions.is_empty());
        let sizes = decisions.iter().filter_map(|name| name.as_str());
        let count: usize = sizes.map(|name| model.clusters(name).len()).sum();
        prop_assert_eq!(&group["clusterCount"], count);
    }
    Ok(())
}

/// All decisions have the score and the reason of the last evaluation.
fn records_are_stored(model: &Model, wanted: &Wanted) -> Result<(), TestCaseError> {
    for object in model.decisions.values() {
        if object["metadata"].get("deletionTimestamp").is_some() {
            continue;
        }
        let listed = object["status"]["decisions"].as_array();
        for it in listed.into_iter().flatten() {
            let recorded = wanted
                .records
                .get(it["clusterName"].as_str().unwrap_or_default());
            if let Some(recorded) = recorded {
                prop_assert_eq!(it["score"].as_i64(), recorded.score);
                prop_assert_eq!(it["reason"].as_str(), Some(&*recorded.reason));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In any order of the writes, killed after any of them, and with changes of others in between.
    #[test]
    fn a_watcher_never_misses_a_cluster_that_stays_selected(
        has_scores in any::<bool>(),
        history in prop::collection::vec((any_wanted(), 0_u8..20, any::<u64>(), 0_usize..12), 1..8),
    ) {
        let mut model = Model { has_scores, ..Model::new() };
        for (wanted, meddled, mut chance, lives) in history {
            meddle(&mut model, meddled);
            let names = names(&model, &wanted);
            let (mut left, mut rounds) = (lives, 0);
            loop {
                let fails = chance.is_multiple_of(7) && left > 0;
                left = left.saturating_sub(usize::from(fails));
                let step = if fails { Step::Failed(None) } else { Step::Next };
                let mut writes = model.plan(&wanted, step);
                if writes.is_empty() && !fails {
                    break;
                }
                chance = next(chance);
                rounds += 1;
                let layout = model.layout();
                prop_assert!(rounds < 16 + lives, "does not settle: {:?}, {:#?}", wanted, layout);
                while !writes.is_empty() {
                    chance = next(chance);
                    let write = writes.swap_remove((chance >> 33) as usize % writes.len());
                    let (before, seen) = (model.listed(), model.seen());
                    let old = model.layout();
                    model.carry_out(&write);
                    let after = model.listed();
                    let missed: Vec<_> = (before.intersection(&names))
                        .filter(|it| !after.contains(*it))
                        .collect();
                    prop_assert!(missed.is_empty(), "{:?} unlists {:?}", write, missed);
                    if let (Some(before), Some(after)) = (seen, model.seen()) {
                        let hidden: Vec<_> = (before.intersection(&names))
                            .filter(|it| !after.contains(*it))
                            .collect();
                        prop_assert!(hidden.is_empty(), "{:?} hides {:?} of {:#?}", write, hidden, old);
                    }
                    if left > 0 && chance.is_multiple_of(3) {
                        left -= 1;
                        break;
                    }
                }
            }
            // Scores, and the order by score, may have to wait.
            model.now += SignedDuration::from_secs(61);
            let waited = model.settle(&wanted);
            prop_assert!(has_scores || waited.is_empty());
            settles_at(&model, &wanted, &names)?;
            if has_scores {
                records_are_stored(&model, &wanted)?;
            }
        }
    }

    /// One cluster comes or goes: one PlacementDecision is written, and nothing moves.
    #[test]
    fn a_cluster_that_comes_or_goes_moves_no_other(
        groups in any_groups(), cluster in 0..CLUSTERS, has_scores in any::<bool>(),
    ) {
        let mut groups = groups;
        groups.truncate(1);
        let mut model = Model { has_scores, ..Model::new() };
        model.settle(&scored(wants(WantedClusters::Groups(groups.clone())), 1));
        let before = model.clone();
        let changed = name(cluster);
        let clusters = &mut groups[0].clusters;
        match clusters.binary_search(&changed) {
            Ok(found) => { clusters.remove(found); }
            Err(place) => clusters.insert(place, changed.clone()),
        }
        let rounds = model.settle(&scored(wants(WantedClusters::Groups(groups)), 2)).concat();
        if !rounds.iter().any(|it| it.starts_with("delete ")) {
            let lists = rounds.iter().filter(|it| it.starts_with("list "));
            prop_assert_eq!(lists.count(), 1);
            for name in before.decisions.keys() {
                let stay = before.clusters(name).into_iter().filter(|it| *it != changed);
                let after = model.clusters(name);
                prop_assert!(stay.into_iter().all(|it| after.contains(&it)));
            }
        }
    }
}

fn next(chance: u64) -> u64 {
    let product = chance.wrapping_mul(6_364_136_223_846_793_005);
    product.wrapping_add(1_442_695_040_888_963_407)
}
