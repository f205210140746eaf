//! Rollouts whose steps need an approval.

use serde_json::{Value, json};

use crate::bench::Hub;

const APPROVAL: &str = "berth.open-cluster-management.io/rollout-approval";
const APPROVED: &str = "berth.open-cluster-management.io/rollout-approved";

fn progressive(most: u32) -> Value {
    json!({"type": "Progressive", "progressive": {"maxConcurrency": most}})
}

fn hub(strategy: &Value, clusters: &[&str]) -> Hub {
    let mut hub = Hub::new(&["p"], strategy);
    hub.set["metadata"]["annotations"] = json!({APPROVAL: "required"});
    hub.select("p", clusters);
    hub.settle();
    hub
}

impl Hub {
    /// The value of the annotation that the status offers; empty if nothing waits.
    pub fn offered(&self) -> String {
        let said = self.condition("ApprovalPending");
        match said.strip_prefix("True StepNotApproved: ") {
            Some(message) => message.rsplit(' ').next().unwrap_or_default().to_owned(),
            None => String::new(),
        }
    }

    /// Approves what the status offers.
    pub fn approve(&mut self) {
        let offered = self.offered();
        assert_ne!(offered, "");
        self.set["metadata"]["annotations"][APPROVED] = json!(offered);
        self.settle();
    }

    fn succeed(&mut self, clusters: &[&str]) {
        for cluster in clusters {
            self.report(cluster, "A+ V+");
        }
        self.settle();
    }
}

#[test]
fn each_step_waits_for_its_approval() {
    let clusters = ["c1", "c2", "c3", "c4", "c5"];
    let mut hub = hub(&progressive(2), &clusters);
    assert_eq!(hub.made(), "");
    assert!(
        hub.condition("ApprovalPending").starts_with(
            "True StepNotApproved: of placement p, 2 clusters wait for an approval: c1, c2; approve with 'berth approve replicaset set -n ns', or set"
        ),
        "{}",
        hub.condition("ApprovalPending")
    );
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        "False ApprovalPending: 0 of 5 clusters have succeeded; 2 clusters wait for an approval"
    );
    for (step, made) in [
        (&["c1", "c2"][..], "c1 c2"),
        (&["c3", "c4"], "c1 c2 c3 c4"),
        (&["c5"], "c1 c2 c3 c4 c5"),
    ] {
        hub.approve();
        assert_eq!(hub.current(), made);
        assert_eq!(hub.condition("ApprovalPending"), "False NothingWaits: ");
        // Nothing follows from the same approval.
        hub.succeed(step);
        assert_eq!(hub.current(), made);
    }
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        "True Complete: 5 of 5 clusters have succeeded"
    );
    assert_eq!(hub.condition("ApprovalPending"), "False NothingWaits: ");
    // The approval of the former template does not count for the next one.
    hub.template(2);
    hub.settle();
    assert_eq!(hub.current(), "");
    hub.approve();
    assert_eq!(hub.current(), "c1 c2");
}

#[test]
fn groups_are_approved_one_by_one() {
    let mut hub = hub(&json!({"type": "ProgressivePerGroup"}), &[]);
    let group = |index, clusters: &[&str]| berth_rollout::RolloutGroup {
        index,
        clusters: clusters.iter().map(|it| (*it).to_owned()).collect(),
        ..berth_rollout::RolloutGroup::default()
    };
    hub.placed.get_mut("p").unwrap().groups =
        vec![group(0, &["c9"]), group(1, &["c1", "c2", "c3"])];
    hub.settle();
    hub.approve();
    assert_eq!(hub.current(), "c9");
    assert_eq!(hub.offered(), "", "the next group waits for this one first");
    hub.succeed(&["c9"]);
    assert_eq!(hub.current(), "c9");
    assert!(hub.offered().ends_with(":p=4"), "{}", hub.offered());
    hub.approve();
    assert_eq!(hub.current(), "c1 c2 c3 c9");
}

#[test]
fn a_rollout_without_steps_needs_none() {
    let hub = hub(&json!({"type": "All"}), &["c1", "c2"]);
    assert_eq!(hub.current(), "c1 c2");
    assert_eq!(hub.condition("ApprovalPending"), "False NothingWaits: ");
}

#[test]
fn a_cluster_that_joins_later_waits_and_one_that_is_put_back_does_not() {
    let mut hub = hub(&progressive(3), &["c2", "c3"]);
    hub.approve();
    hub.succeed(&["c2", "c3"]);
    hub.select("p", &["c1", "c2", "c3"]);
    hub.settle();
    assert_eq!(hub.current(), "c2 c3");
    // It has had the template already.
    hub.work("c3", "set")["spec"] = json!({});
    hub.settle();
    assert_eq!(hub.current(), "c2 c3");
    hub.approve();
    assert_eq!(hub.current(), "c1 c2 c3");
}

#[test]
fn what_is_no_approval_approves_nothing_and_is_reported() {
    let mut hub = hub(&progressive(1), &["c1", "c2"]);
    for wrong in ["true", "p=2", "p:2"] {
        hub.set["metadata"]["annotations"][APPROVED] = json!(wrong);
        hub.settle();
        assert_eq!(hub.made(), "", "{wrong}");
        let said = hub.condition("ApprovalPending");
        assert!(
            said.contains("the annotation that approves is invalid"),
            "{said}"
        );
    }
    hub.approve();
    assert_eq!(hub.current(), "c1");
    assert!(!hub.condition("ApprovalPending").contains("invalid"));
}

#[test]
fn without_the_annotation_the_condition_goes_and_the_rollout_goes_on() {
    let mut hub = hub(&progressive(1), &["c1", "c2"]);
    assert_ne!(hub.offered(), "");
    hub.set["metadata"]["annotations"] = json!({});
    hub.settle();
    assert_eq!(hub.current(), "c1");
    assert_eq!(hub.condition("ApprovalPending"), "");
}

#[test]
fn a_pause_holds_an_approved_step_back() {
    let mut hub = hub(&progressive(1), &["c1", "c2"]);
    let paused = "berth.open-cluster-management.io/rollout-paused";
    hub.set["metadata"]["annotations"][paused] = json!("frozen");
    hub.approve();
    assert_eq!(hub.made(), "");
    let said = hub.condition("PlacementRolledOut");
    assert!(said.starts_with("False Paused: "), "{said}");
    hub.set["metadata"]["annotations"][paused] = json!("false");
    hub.settle();
    assert_eq!(hub.current(), "c1");
}

#[test]
fn placements_are_approved_together_and_count_apart() {
    let mut hub = Hub::new(&["p", "q"], &progressive(1));
    hub.set["metadata"]["annotations"] = json!({APPROVAL: "required"});
    hub.select("p", &["c1", "c2"]);
    hub.select("q", &["d1", "d2"]);
    hub.settle();
    assert!(hub.offered().ends_with(":p=1,q=1"), "{}", hub.offered());
    hub.approve();
    assert_eq!(hub.current(), "c1 d1");
    hub.succeed(&["c1"]);
    assert!(hub.offered().ends_with(":p=2,q=1"), "{}", hub.offered());
    hub.approve();
    assert_eq!(hub.current(), "c1 c2 d1");
}

#[test]
fn a_step_that_waits_has_one_event() {
    let mut hub = hub(&progressive(1), &["c1", "c2"]);
    let waits = "Normal ApprovalPending: 1 cluster waits for an approval";
    assert_eq!(hub.events(), [waits]);
    hub.set["metadata"]["labels"] = json!({"a": "b"});
    hub.settle();
    assert_eq!(hub.events(), [""; 0]);
    hub.approve();
    hub.succeed(&["c1"]);
    assert_eq!(hub.events(), [waits]);
}

#[test]
fn many_names_leave_the_offer_whole() {
    let names: Vec<_> = (0..200).map(|it| format!("{it:0>250}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut hub = hub(&progressive(200), &names);
    let said = hub.condition("ApprovalPending");
    assert!(said.len() < 4200, "{}", said.len());
    assert!(hub.offered().ends_with(":p=200"), "{}", hub.offered());
    hub.approve();
    assert_eq!(hub.works.len(), 200);
}
