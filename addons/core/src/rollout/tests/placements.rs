//! Which configs a cluster has, and what happens while its placements are not known.

use std::time::Duration;

use serde_json::json;

use super::play::{Play, config, placement, settled};
use crate::facts::{Placed, PlacedState};

fn two(first: Placed, second: Placed, clusters: &[&str]) -> Play {
    let all = json!({"type": "All"});
    let placements = [
        placement("p1", &all, json!([config("one")])),
        placement("p2", &all, json!([config("two")])),
    ];
    Play::new(&placements, vec![first, second], clusters)
}

#[test]
fn a_cluster_in_two_placements_belongs_to_the_last_one() {
    let play = two(settled("c1,c2"), settled("c2,c3"), &["c1", "c2", "c3"]);
    assert_eq!(play.config_of("c1"), "one");
    assert_eq!(play.config_of("c2"), "two");
    assert_eq!(
        play.said(0),
        "Completed: selected clusters 2. configured addons 1/1 completed with no errors, 0 failed 0 timeout."
    );
    assert!(
        play.said(1)
            .starts_with("Completed: selected clusters 2. configured addons 2/2")
    );
}

#[test]
fn a_cluster_outside_of_all_placements_has_the_defaults_and_its_own_config_comes_first() {
    let mut play = two(settled("c1"), settled("c2"), &["c1", "c2", "c3"]);
    assert_eq!(play.config_of("c3"), "d");
    play.own_config("c1", "own");
    play.settle();
    assert_eq!(play.config_of("c1"), "own");
    // Its manager has not written the hash yet.
    assert_eq!(play.hashes(), "c1= c2=0 c3=0");
    assert_eq!(play.settle(), 0);
}

#[test]
fn a_placement_without_clusters_is_not_complete() {
    let play = two(settled("c1"), settled(""), &["c1"]);
    assert_eq!(
        play.said(1),
        "Progressing: selected clusters 0. configured addons 0/0 progressing..., 0 failed 0 timeout."
    );
    assert_eq!(play.applied(1), "");
}

/// A PlacementDecision is rewritten, a Placement is created again: the configs of its clusters do not change back and forth.
#[test]
fn configs_stay_while_a_placement_is_in_doubt() {
    for state in [
        PlacedState::InDoubt,
        PlacedState::Missing(Duration::from_secs(59)),
    ] {
        let mut play = two(settled("c1,c2"), settled("c2"), &["c1", "c2"]);
        let gone = Placed {
            state,
            ..settled("")
        };
        play.placed[1] = gone.clone();
        play.settle();
        assert_eq!(play.config_of("c2"), "two", "{state:?}");
        play.placed[0] = gone;
        play.settle();
        assert_eq!(
            (play.config_of("c1"), play.config_of("c2")),
            ("one".into(), "two".into()),
            "{state:?}"
        );
    }
    let mut play = two(settled("c1,c2"), settled("c2"), &["c1", "c2"]);
    play.placed[1] = Placed {
        state: PlacedState::Missing(Duration::from_secs(59)),
        ..settled("")
    };
    play.settle();
    let next = play.next.unwrap();
    assert_eq!(next.duration_since(play.now).as_secs(), 1);
    play.placed[1] = Placed {
        state: PlacedState::Missing(Duration::from_secs(60)),
        ..settled("")
    };
    let before = play.said(1);
    play.settle();
    assert_eq!(play.config_of("c2"), "one", "gone for the whole grace");
    assert_eq!(play.said(1), before, "nothing is known of it");
}

#[test]
fn a_new_cluster_gets_its_configs_while_another_placement_is_in_doubt() {
    let doubt = Placed {
        state: PlacedState::InDoubt,
        ..settled("")
    };
    let play = two(settled("c1"), doubt, &["c1", "c3"]);
    assert_eq!(play.config_of("c1"), "one");
    assert_eq!(
        play.config_of("c3"),
        "",
        "it may belong to the placement in doubt"
    );
}
