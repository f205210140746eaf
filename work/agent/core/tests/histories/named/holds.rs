//! An admin of the cluster holds a work back.

use super::*;
use crate::things::{disturb, has_value};

impl Play {
    /// The hold of the work is this, and the agent sees it.
    fn holds(&mut self, value: Option<&str>) {
        self.world.hold(WORK, value);
        self.agent.reports_applied(&self.world);
    }

    fn has(&self, name: &str, value: u32) -> bool {
        let live = self.world.cluster.live(name);
        live.is_some_and(|it| has_value(name, it, value))
    }

    /// Another client changes an object.
    fn disturbs(&mut self, name: &str) {
        self.world.cluster.change(name, |it| disturb(name, it));
        self.settles();
    }
}

#[test]
fn what_the_hub_changes_waits_for_the_end_of_the_hold() {
    for value in ["changes", "all"] {
        each(Traits::default(), &[("a", 1), ("b", 1)], |play| {
            play.rests();
            play.holds(Some(value));
            play.settles();
            play.replaces(WORK, &[("a", 2)]);
            play.settles();
            assert!(play.has("a", 1) && play.has("b", 1), "seed {}", play.seed);
            play.kills();
            play.settles();
            assert!(play.has("a", 1) && play.has("b", 1), "seed {}", play.seed);
            play.holds(None);
            play.rests();
        });
    }
}

#[test]
fn objects_are_put_back_while_changes_are_held_also_by_the_next_agent() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.rests();
        play.holds(Some("changes"));
        play.settles();
        play.disturbs("a");
        assert!(play.has("a", 1), "seed {}", play.seed);
        play.kills();
        play.settles();
        play.disturbs("a");
        assert!(play.has("a", 1), "seed {}: after a restart", play.seed);
        // The former manifests are not known any more.
        play.replaces(WORK, &[("a", 2)]);
        play.disturbs("a");
        let is_other = !play.has("a", 1) && !play.has("a", 2);
        assert!(is_other, "seed {}", play.seed);
        play.holds(None);
        play.rests();
    });
}

#[test]
fn a_second_hold_is_of_the_manifests_of_its_time() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.rests();
        play.holds(Some("changes"));
        play.settles();
        play.holds(None);
        play.replaces(WORK, &[("a", 2)]);
        play.settles();
        play.holds(Some("changes"));
        play.settles();
        play.disturbs("a");
        assert!(play.has("a", 2), "seed {}", play.seed);
        play.holds(None);
        play.rests();
    });
}

#[test]
fn while_all_is_held_objects_are_not_put_back() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.rests();
        play.holds(Some("all"));
        play.disturbs("a");
        assert!(!play.has("a", 1), "seed {}", play.seed);
        play.holds(None);
        play.rests();
    });
}

/// An agent that did not try the manifests itself cannot know whether they were applied before the hold.
#[test]
fn a_hold_that_an_agent_finds_when_it_begins_stops_all() {
    each(Traits::default(), &[("a", 1)], |play| {
        play.rests();
        play.world.hold(WORK, Some("changes"));
        play.world.replace(WORK, vec![("a", 2)]);
        play.kills();
        play.settles();
        assert!(play.has("a", 1), "seed {}", play.seed);
        play.holds(None);
        play.rests();
    });
}

#[test]
fn a_deleted_work_and_its_objects_stay_until_the_hold_ends() {
    for value in ["changes", "all"] {
        each(Traits::default(), &[("a", 1)], |play| {
            play.rests();
            play.holds(Some(value));
            play.world.delete(WORK);
            play.settles();
            assert!(play.has("a", 1), "seed {}", play.seed);
            let work = play.world.works.get(WORK).unwrap();
            let said = work["status"]["conditions"].to_string();
            assert!(said.contains("until the hold ends"), "{said}");
            // A deletion cannot be taken back.
            let applied = play.world.applied_of(WORK).unwrap();
            assert!(applied["metadata"]["deletionTimestamp"].is_null());
            play.holds(None);
            play.rests();
        });
    }
}

/// Otherwise it would stay for ever: the hold may outlast the agent and the manifests.
#[test]
fn what_was_made_is_listed_though_a_hold_ends_the_pass() {
    each(Traits::default(), &[("a", 1), ("b", 1)], |play| {
        play.meets("Create a", Fault::None);
        play.until("Create b");
        play.holds(Some("all"));
        play.meets("Create b", Fault::None);
        play.settles();
        play.kills();
        play.replaces(WORK, &[("b", 1)]);
        play.settles();
        assert!(play.has("a", 1), "seed {}", play.seed);
        play.holds(None);
        play.rests();
    });
}

#[test]
fn a_removal_stops_when_the_hold_is_seen() {
    let all = [("a", 1), ("b", 1), ("c", 1)];
    each(Traits::default(), &all, |play| {
        play.rests();
        play.world.delete(WORK);
        play.until("Delete a to remove it");
        play.holds(Some("all"));
        play.settles();
        for name in ["a", "b", "c"] {
            assert!(play.has(name, 1), "seed {}: {name}", play.seed);
        }
        play.holds(None);
        play.rests();
    });
}
