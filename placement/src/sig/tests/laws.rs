//! What holds for every sequence of writes.

use std::collections::BTreeSet;

use berth_api::plan::Write;
use proptest::prelude::*;
use serde_json::json;

use super::{Model, Step, clusters_of, decisions, index_of, now};
use crate::doubt::Removal;
use crate::sig::layout::LIMIT;

/// What happens to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    CarriedOut,
    /// It fails.
    Refused,
    /// Its response is lost. It may be carried out later.
    Lost,
}

fn any_wanted() -> impl Strategy<Value = BTreeSet<u8>> {
    let few = prop::collection::btree_set(0_u8..20, 0..8);
    let most = prop::collection::btree_set(0_u8..20, 10..20);
    prop_oneof![few, most]
}

fn any_fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::CarriedOut),
        1 => Just(Fate::Refused),
        2 => Just(Fate::Lost),
    ];
    prop::collection::vec(fate, 0..12)
}

/// Changes that others make.
fn meddle(model: &mut Model, how: u8) {
    let Some(last) = model.slices.keys().next_back().cloned() else {
        return;
    };
    if how > 8 {
        return;
    }
    model.version += 1;
    let version = model.version.to_string();
    model.doubts.remove(&last);
    let first = model.slices.values().next().expect("it exists");
    let of_the_first = first["decisions"].clone();
    let object = model.slices.get_mut(&last).expect("it exists");
    object["metadata"]["resourceVersion"] = json!(version);
    match how {
        0 => {
            model.slices.remove(&last);
        }
        1 => object["metadata"]["ownerReferences"] = json!([]),
        2 => object["metadata"]["ownerReferences"] = json!([{"uid": "former", "controller": true}]),
        3 => object["metadata"]["labels"] = json!({}),
        4 => object["metadata"]["deletionTimestamp"] = json!("2026-08-11T12:00:00Z"),
        5 => object["decisions"] = decisions("c01 c00 c01"),
        6 => object["metadata"]["labels"]["multicluster.x-k8s.io/decision-index"] = json!("0"),
        7 => {
            let mut object = object.clone();
            object["metadata"]["name"] = json!("p-of-a-user");
            object["metadata"]["uid"] = json!("of-a-user");
            model.slices.insert("p-of-a-user".to_owned(), object);
        }
        _ => object["decisions"] = of_the_first,
    }
}

/// Returns whether a late write of an earlier selection leaves what is selected now in some slice. A cluster that only this slice lists,
/// and that is selected again before the removal arrives, is unlisted for a moment.
fn is_harmless(model: &Model, late: &Write, wanted: &[&str]) -> bool {
    let Some(removal) = Removal::of(late) else {
        return false;
    };
    let Some(slice) = model.slices.get(&removal.decision) else {
        return true;
    };
    let others = model.own().filter(|it| *it != slice);
    let elsewhere: BTreeSet<_> = others.flat_map(clusters_of).collect();
    let mut removed = clusters_of(slice)
        .into_iter()
        .filter(|it| !removal.left.contains(it));
    removed.all(|it| !wanted.contains(&it.as_str()) || elsewhere.contains(&it))
}

/// Carries out a write. Nothing that stays selected may vanish by it.
fn carry_out(model: &mut Model, write: &Write, wanted: &[&str]) -> Result<(), TestCaseError> {
    let before = model.seen();
    model.carry_out(write);
    let after = model.seen();
    let missed = before.iter().filter(|it| wanted.contains(&it.as_str()));
    let missed: Vec<_> = missed.filter(|it| !after.contains(*it)).collect();
    prop_assert!(missed.is_empty(), "{:?} unlists {:?}", write, missed);
    Ok(())
}

fn settles_at(model: &Model, wanted: &[&str]) -> Result<(), TestCaseError> {
    let mut listed = Vec::new();
    let mut indexes = BTreeSet::new();
    for object in model.own() {
        if object["metadata"].get("deletionTimestamp").is_some() {
            continue;
        }
        let clusters = clusters_of(object);
        prop_assert!(clusters.len() <= LIMIT);
        prop_assert!(clusters.is_sorted(), "{:?}", clusters);
        prop_assert_eq!(&object["metadata"]["ownerReferences"][0]["uid"], "p-uid");
        let index: usize = index_of(object).parse().expect("an index");
        prop_assert!(indexes.insert(index), "{} twice", index);
        listed.extend(clusters);
    }
    listed.sort();
    prop_assert_eq!(&listed, wanted);
    let slices = wanted.len().div_ceil(LIMIT).max(1);
    prop_assert!(indexes.into_iter().eq(0..slices));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// In any order of the writes, killed after any of them, with failures, with changes of others in between, and with writes that are
    /// carried out long after their response was lost.
    #[test]
    fn a_watcher_never_misses_a_cluster_that_stays_selected(
        history in prop::collection::vec((any_wanted(), 0_u8..24, any_fates(), any::<u64>()), 1..8),
    ) {
        let mut model = Model::default();
        let mut late: Vec<Write> = Vec::new();
        for (wanted, meddled, fates, mut chance) in history {
            meddle(&mut model, meddled);
            let wanted: Vec<_> = wanted.iter().map(|it| format!("c{it:02}")).collect();
            let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
            // All of them together: each of two may take away what the other leaves.
            let mut after = model.clone();
            late.retain(|it| {
                let stays = is_harmless(&after, it, &wanted);
                if stays {
                    after.carry_out(it);
                }
                stays
            });
            let mut fates = fates.into_iter();
            let mut rounds = 0;
            // The selection changes again before the writes for this one are done.
            let mut is_overtaken = false;
            let mut step = Step::Next;
            while !is_overtaken {
                let mut writes = model.plan(&wanted, step, now());
                let was_failed = std::mem::replace(&mut step, Step::Next) != Step::Next;
                if writes.is_empty() && !was_failed {
                    break;
                }
                rounds += 1;
                prop_assert!(rounds < 32, "does not settle: {:?}, {:#?}", wanted, model.slices());
                while !writes.is_empty() && !is_overtaken {
                    chance = next(chance);
                    let write = writes.swap_remove((chance >> 33) as usize % writes.len());
                    match fates.next().unwrap_or(Fate::CarriedOut) {
                        Fate::CarriedOut => carry_out(&mut model, &write, &wanted)?,
                        Fate::Refused => step = Step::Failed(None),
                        Fate::Lost => {
                            model.lose(&write, now());
                            late.push(write);
                            step = Step::Failed(None);
                            is_overtaken = (chance >> 20).is_multiple_of(2);
                        }
                    }
                    if !late.is_empty() && (chance >> 10).is_multiple_of(3) {
                        let write = late.swap_remove((chance >> 40) as usize % late.len());
                        carry_out(&mut model, &write, &wanted)?;
                    }
                    if (chance >> 15).is_multiple_of(11) {
                        break;
                    }
                }
            }
            if model.doubts.is_empty() && !is_overtaken {
                settles_at(&model, &wanted)?;
            }
        }
        let wanted = ["c03", "c05", "c07", "c11"];
        model.doubts.clear();
        model.settle(&wanted);
        settles_at(&model, &wanted)?;
        prop_assert!(model.plan(&wanted, Step::Failed(None), now()).is_empty());
    }

    /// One cluster comes or goes: at most one slice is written, unless their number changes, and nothing moves.
    #[test]
    fn a_cluster_that_comes_or_goes_moves_no_other(wanted in any_wanted(), cluster in 0_u8..20) {
        let name = |it: &u8| format!("c{it:02}");
        let names: Vec<_> = wanted.iter().map(name).collect();
        let mut model = Model::default();
        model.settle(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let before = model.clone();
        let mut changed = wanted.clone();
        if !changed.remove(&cluster) {
            changed.insert(cluster);
        }
        let names: Vec<_> = changed.iter().map(name).collect();
        let rounds = model.settle(&names.iter().map(String::as_str).collect::<Vec<_>>());
        if model.slices.len() == before.slices.len() {
            prop_assert_eq!(rounds.concat().len(), 1);
        }
        if model.slices.len() >= before.slices.len() {
            for (slice, object) in &before.slices {
                let stay = clusters_of(object).into_iter().filter(|it| *it != name(&cluster));
                let after = clusters_of(&model.slices[slice]);
                prop_assert!(stay.into_iter().all(|it| after.contains(&it)));
            }
        }
    }
}

fn next(chance: u64) -> u64 {
    let product = chance.wrapping_mul(6_364_136_223_846_793_005);
    product.wrapping_add(1_442_695_040_888_963_407)
}
