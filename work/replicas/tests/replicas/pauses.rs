//! Rollouts that an annotation pauses.

use serde_json::{Value, json};

use crate::bench::Hub;

const KEY: &str = "berth.open-cluster-management.io/rollout-paused";

fn progressive(most: u32) -> Value {
    json!({"type": "Progressive", "progressive": {"maxConcurrency": most}})
}

impl Hub {
    fn pause(&mut self, reason: Option<&str>) {
        self.set["metadata"]["annotations"] = json!({ KEY: reason });
        if reason.is_none() {
            self.set["metadata"]["annotations"] = json!({});
        }
    }
}

#[test]
fn while_it_is_paused_no_cluster_gets_the_template() {
    for strategy in [
        json!({"type": "All"}),
        progressive(1),
        json!({"type": "ProgressivePerGroup"}),
    ] {
        let mut hub = Hub::new(&["p"], &strategy);
        hub.select("p", &["c1"]);
        hub.settle();
        hub.report("c1", "A+ V+");
        hub.settle();
        hub.pause(Some("the disks of rack 7"));
        hub.template(2);
        hub.select("p", &["c1", "c2"]);
        assert_eq!(hub.settle(), 0, "{strategy}");
        assert_eq!(hub.made(), "c1/set", "{strategy}");
        assert_eq!(
            hub.condition("PlacementRolledOut"),
            format!(
                "False Paused: 0 of 2 clusters have succeeded; paused by the annotation {KEY}: the disks of rack 7"
            )
        );
        hub.pause(None);
        hub.settle();
        let said = hub.condition("PlacementRolledOut");
        assert_eq!(
            said, "False Progressing: 0 of 2 clusters have succeeded",
            "{strategy}"
        );
        for cluster in ["c1", "c2"] {
            hub.report(cluster, "A+ V+");
            hub.settle();
        }
        assert_eq!(hub.made(), "c1/set= c2/set=", "{strategy}");
    }
}

#[test]
fn what_is_there_is_reported_and_keeps_its_labels() {
    let mut hub = Hub::new(&["p"], &progressive(1));
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.pause(Some("true"));
    hub.set["metadata"]["labels"] = json!({"team": "a"});
    hub.report("c1", "A+ V+");
    hub.settle();
    assert_eq!(hub.work("c1", "set")["metadata"]["labels"]["team"], "a");
    assert_eq!(hub.current(), "c1");
    assert_eq!(hub.set["status"]["summary"]["available"], 1);
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        format!("False Paused: 1 of 2 clusters have succeeded; paused by the annotation {KEY}")
    );
}

#[test]
fn a_cluster_that_left_loses_its_work() {
    let mut hub = Hub::new(&["p"], &json!({"type": "All"}));
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.pause(Some("true"));
    hub.select("p", &["c2", "c3"]);
    hub.settle();
    assert_eq!(hub.made(), "c2/set=");
}

/// Otherwise the cluster would have neither until the rollout is resumed.
#[test]
fn a_cluster_that_moves_to_another_placement_keeps_its_work() {
    let mut hub = Hub::new(&["p", "q"], &json!({"type": "All"}));
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.pause(Some("true"));
    hub.select("p", &[]);
    hub.select("q", &["c1"]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set=");
    assert_eq!(
        hub.work("c1", "set")["metadata"]["labels"]["work.open-cluster-management.io/placementname"],
        "p"
    );
    hub.set["spec"]["placementRefs"] = json!([{"name": "q"}]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set=", "its placement is not named any more");
    hub.pause(None);
    hub.settle();
    let made = hub.made();
    assert!(made.starts_with("c1/set-") && made.ends_with('='), "{made}");
}

#[test]
fn a_set_that_is_deleted_loses_its_works() {
    let mut hub = Hub::new(&["p"], &json!({"type": "All"}));
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.pause(Some("true"));
    hub.set["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    hub.settle();
    assert_eq!(hub.made(), "");
}

#[test]
fn each_pause_has_an_event_and_a_text_of_a_user_makes_none() {
    let mut hub = Hub::new(&["p"], &progressive(1));
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    let text = "the rollout of placement p has stopped";
    hub.pause(Some(text));
    hub.settle();
    assert_eq!(
        hub.events(),
        [format!(
            "Normal RolloutPaused: the rollouts are paused by the annotation {KEY}: {text}"
        )]
    );
    hub.report("c1", "A+ V+ P+ D+");
    hub.settle();
    let events = hub.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(
        events[0].starts_with("Warning RolloutStopped: "),
        "{events:?}"
    );
    hub.pause(None);
    hub.settle();
    assert_eq!(
        hub.events(),
        ["Normal RolloutResumed: the rollouts are not paused any more"]
    );
    let said = hub.condition("PlacementRolledOut");
    assert!(said.starts_with("False Progressing: "), "{said}");
}

#[test]
fn a_complete_rollout_says_that_the_next_one_is_paused() {
    let mut hub = Hub::new(&["p"], &progressive(1));
    hub.select("p", &["c1"]);
    hub.settle();
    hub.report("c1", "A+ V+");
    hub.settle();
    hub.pause(Some("frozen"));
    hub.settle();
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        format!(
            "True Complete: 1 of 1 clusters have succeeded; paused by the annotation {KEY}: frozen"
        )
    );
}
