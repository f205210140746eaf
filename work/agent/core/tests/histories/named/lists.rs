//! The list of objects in an AppliedManifestWork, and what comes between an object and its entry.

use super::*;

#[test]
fn of_an_object_made_anew_the_newer_uid_counts() {
    each(Traits::default(), &[("a", 1), ("b", 1)], |play| {
        play.rests();
        play.world.cluster.delete("a");
        play.meets("list", Fault::Cut);
        play.replaces(WORK, &[("b", 1)]);
        play.rests();
    });
}

#[test]
fn what_was_made_and_never_listed_goes_with_its_manifest() {
    each(Traits::default(), &[("a", 1), ("b", 1)], |play| {
        play.meets("list", Fault::Cut);
        play.replaces(WORK, &[("b", 1)]);
        play.rests();
    });
}

#[test]
fn what_was_made_and_never_listed_goes_with_its_work() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.meets("list", Fault::Cut);
        play.world.delete(WORK);
        play.rests();
    });
}

#[test]
fn what_was_made_is_listed_though_the_cluster_is_silent_then() {
    let all = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
    each(Traits::default(), &all, |play| {
        play.meets("Create a", Fault::None);
        for need in ["Create b", "Create c", "Create d"] {
            play.meets(need, Fault::Cut);
        }
        let is_listed = play.agent.needs("list");
        assert!(
            is_listed,
            "seed {}: it is not listed by this pass",
            play.seed
        );
        play.meets("list", Fault::None);
        play.world.replace(WORK, vec![("b", 1)]);
        play.kills();
        play.rests();
    });
}

#[test]
fn an_object_that_is_not_known_keeps_its_entry() {
    each(Traits::default(), &[("a", 1), ("b", 1)], |play| {
        play.meets("list", Fault::Cut);
        play.replaces(WORK, &[("b", 1)]);
        play.meets("Get a to remove it", Fault::Cut);
        play.meets("list", Fault::Cut);
        play.replaces(WORK, &[("a", 2), ("b", 1)]);
        play.meets("Get a", Fault::Cut);
        play.meets("list", Fault::None);
        play.replaces(WORK, &[("b", 1)]);
        play.rests();
    });
}

#[test]
fn a_list_counts_though_its_manifests_are_replaced_before_the_response() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.rests();
        play.replaces(WORK, &[("a", 1), ("b", 1)]);
        play.until("list");
        play.replaces(WORK, &[("a", 2), ("b", 1)]);
        play.rests();
    });
}

#[test]
fn a_list_whose_response_is_lost_is_not_one_of_another_agent() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.rests();
        play.replaces(WORK, &[("a", 1), ("b", 1)]);
        play.meets("list", Fault::Lost);
        play.settles();
        play.replaces(WORK, &[("a", 1)]);
        play.settles();
        let is_there = play.world.cluster.live("b").is_some();
        assert!(!is_there, "seed {}: b stays", play.seed);
        play.rests();
    });
}
