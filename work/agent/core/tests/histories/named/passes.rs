//! What comes in between while a pass is under way.

use super::*;
use crate::things::{Kind, has_value};
use crate::world::{COMMON, RIVAL, is_owned};

#[test]
fn a_pass_ends_once_its_manifests_are_replaced() {
    each(Traits::default(), &[("a", 1), ("b", 1)], |play| {
        play.rests();
        play.replaces(WORK, &[("a", 2), ("b", 2)]);
        play.until("Replace a");
        play.replaces(WORK, &[("a", 2), ("b", 1)]);
        play.rests();
        let log = play.world.cluster.log(Kind::ConfigMap).iter();
        let mut of_b = log.filter(|(name, _)| *name == "b").flat_map(|(_, it)| it);
        assert!(
            of_b.all(|it| has_value("b", &it.value, 1)),
            "seed {}",
            play.seed
        );
    });
}

#[test]
fn a_changed_work_is_tried_at_once() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.meets("Create a", Fault::Cut);
        play.meets("Create a", Fault::Cut);
        play.settles();
        play.replaces(WORK, &[("a", 1), ("b", 1)]);
        play.settles();
        let is_made = play.world.cluster.live("a").is_some();
        assert!(is_made, "seed {}: it waits", play.seed);
    });
}

#[test]
fn a_work_that_joins_an_object_while_it_is_removed_keeps_it() {
    each(Traits::default(), &[("a", 1), (COMMON, 1)], |play| {
        play.rests();
        play.replaces(WORK, &[("a", 1)]);
        play.until("Delete c to remove it");
        play.agent.held = Some("Delete c to remove it");
        play.creates(RIVAL, &[(COMMON, 1)]);
        play.steps_until(|world, _| {
            let applied = world.applied_of(RIVAL);
            applied.is_some_and(|it| is_owned(world.cluster.live(COMMON).unwrap(), it))
        });
        play.agent.held = None;
        play.rests();
    });
}
