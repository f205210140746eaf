//! ManifestWorks follow placements.

use serde_json::json;

use crate::bench::Hub;

fn all() -> serde_json::Value {
    json!({"type": "All"})
}

#[test]
fn each_selected_cluster_has_one_work() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1", "c2", "c3"]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set= c2/set= c3/set=");
    hub.select("p", &["c1", "c3", "c4"]);
    assert_eq!(hub.settle(), 2);
    assert_eq!(hub.made(), "c1/set= c3/set= c4/set=");
    hub.select("p", &[]);
    hub.settle();
    assert_eq!(hub.made(), "");
}

#[test]
fn the_finalizer_is_added_before_the_first_work() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.set["metadata"]["finalizers"] = json!(["theirs/f"]);
    assert_eq!(hub.step(usize::MAX), 1);
    assert_eq!(
        hub.set["metadata"]["finalizers"],
        json!([
            "theirs/f",
            "work.open-cluster-management.io/manifest-work-cleanup"
        ])
    );
    assert_eq!(hub.made(), "");
    hub.settle();
    assert_eq!(hub.made(), "c1/set=");
}

#[test]
fn works_of_a_placement_that_is_not_named_any_more_are_deleted() {
    let mut hub = Hub::new(&["p", "q"], &all());
    hub.select("p", &["c1", "c2"]);
    hub.select("q", &["c3"]);
    hub.settle();
    hub.set["spec"]["placementRefs"] = json!([{"name": "q"}]);
    hub.settle();
    assert_eq!(hub.made(), "c3/set=");
}

#[test]
fn works_stay_while_their_placement_is_missing() {
    let mut hub = Hub::new(&["p", "q"], &all());
    hub.select("p", &["c1"]);
    hub.select("q", &["c2"]);
    hub.settle();
    hub.placed.remove("p");
    hub.template(2);
    hub.settle();
    assert_eq!(hub.made(), "c1/set c2/set=");
    assert_eq!(
        hub.condition("PlacementVerified"),
        "False PlacementDecisionNotFound: in namespace ns, these Placements do not exist, so their ManifestWorks are kept as they are: p"
    );
}

/// While a decision moves from one PlacementDecision to another, or when somebody deletes one, fewer clusters are listed than selected.
#[test]
fn works_stay_while_fewer_clusters_are_listed_than_selected() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.select("p", &["c1"]);
    hub.placed.get_mut("p").unwrap().selected = 2;
    assert_eq!(hub.settle(), 0);
    assert_eq!(hub.made(), "c1/set= c2/set=");
    let said = hub.condition("PlacementVerified");
    assert!(
        said.starts_with(
            "True AsExpected: the PlacementDecisions of p list 1 of 2 selected clusters"
        ),
        "{said}"
    );
    hub.placed.get_mut("p").unwrap().selected = 1;
    hub.settle();
    assert_eq!(hub.made(), "c1/set=");
}

/// Somebody deletes a placement and creates it again: its decisions follow.
#[test]
fn works_stay_until_a_new_placement_is_evaluated() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.settle();
    hub.select("p", &[]);
    hub.placed.get_mut("p").unwrap().is_new = true;
    assert_eq!(hub.settle(), 0);
    assert_eq!(hub.made(), "c1/set=");
    assert_eq!(
        hub.condition("PlacementVerified"),
        "False PlacementDecisionEmpty: these Placements have not been evaluated yet, so their ManifestWorks are kept: p"
    );
    assert!(
        hub.condition("PlacementRolledOut")
            .starts_with("False Progressing: ")
    );
    hub.placed.get_mut("p").unwrap().is_new = false;
    hub.settle();
    assert_eq!(hub.made(), "");
}

#[test]
fn a_cluster_of_two_placements_has_two_works_and_the_first_has_the_name() {
    let mut hub = Hub::new(&["p", "q"], &all());
    hub.select("p", &["c1", "c2"]);
    hub.select("q", &["c2", "c3"]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set= c2/set= c2/set-a71f710495= c3/set=");
    let q = hub.work("c2", "set-a71f710495")["metadata"]["labels"].clone();
    assert_eq!(q["work.open-cluster-management.io/placementname"], "q");
    // The names stay whatever is deleted first.
    hub.select("p", &["c1"]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set= c2/set-a71f710495= c3/set=");
}

#[test]
fn a_name_that_is_taken_gets_a_hash() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1", "c2"]);
    hub.taken.insert("c1".to_owned());
    hub.settle();
    assert_eq!(hub.made(), "c1/set-a9c83b6a3d= c2/set=");
}

#[test]
fn works_that_ocm_made_keep_their_names_and_get_no_write() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1", "c2"]);
    hub.add("c1", "setx7k2p", "p");
    hub.add("c2", "setq9w1m", "p");
    assert_eq!(hub.settle(), 0);
    hub.template(2);
    assert_eq!(hub.settle(), 2);
    assert_eq!(hub.made(), "c1/setx7k2p= c2/setq9w1m=");
}

/// OCM's cache may be late.
#[test]
fn of_several_works_for_the_same_placement_one_stays() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.add("c1", "setb", "p");
    hub.add("c1", "seta", "p");
    hub.settle();
    assert_eq!(hub.made(), "c1/seta=");
}

#[test]
fn a_work_that_is_being_deleted_is_made_again_when_it_is_gone() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.settle();
    hub.work("c1", "set")["metadata"]["finalizers"] = json!(["agent/f"]);
    hub.select("p", &[]);
    hub.settle();
    hub.select("p", &["c1"]);
    hub.settle();
    assert_eq!(hub.made(), "c1/setx");
    hub.works.clear();
    hub.settle();
    assert_eq!(hub.made(), "c1/set=");
}

#[test]
fn labels_follow_the_replica_set_and_those_of_others_stay() {
    let mut hub = Hub::new(&["p"], &all());
    hub.set["metadata"]["labels"] = json!({"a": "1", "b": "1"});
    hub.select("p", &["c1"]);
    hub.settle();
    let labels = |hub: &mut Hub| hub.work("c1", "set")["metadata"]["labels"].clone();
    hub.work("c1", "set")["metadata"]["labels"]["theirs/x"] = json!("y");
    hub.set["metadata"]["labels"] = json!({"a": "2", "c": "1"});
    assert_eq!(hub.settle(), 1);
    assert_eq!(
        labels(&mut hub),
        json!({
            "a": "2", "c": "1", "theirs/x": "y",
            "work.open-cluster-management.io/manifestworkreplicaset": "ns.set",
            "work.open-cluster-management.io/placementname": "p",
        })
    );
    hub.work("c1", "set")["metadata"]["labels"]["a"] = json!("3");
    assert_eq!(hub.settle(), 1);
    assert_eq!(labels(&mut hub)["a"], "2");
}

/// The label that marks the works of OCM stays with OCM's manager.
#[test]
fn labels_that_were_added_to_a_work_of_ocm_are_dropped_again() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.add("c1", "setx7k2p", "p");
    let metadata = &mut hub.work("c1", "setx7k2p")["metadata"];
    let manager = |name: &str, label: &str| json!({"manager": name, "fieldsV1": {"f:metadata": {"f:labels": {format!("f:{label}"): {}}}}});
    for label in ["ours", "theirs/a", "theirs/b"] {
        metadata["labels"][label] = json!("1");
    }
    metadata["managedFields"] = json!([
        manager(
            "work",
            "work.open-cluster-management.io/manifestworkreplicaset"
        ),
        manager("berth-work", "ours"),
        manager("kubectl-label", "theirs/a"),
    ]);
    hub.settle();
    let labels = hub.work("c1", "setx7k2p")["metadata"]["labels"].clone();
    assert_eq!(
        (&labels["ours"], &labels["theirs/a"], &labels["theirs/b"]),
        (&json!(null), &json!("1"), &json!("1"))
    );
}

#[test]
fn what_somebody_changes_in_a_work_is_put_back() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.settle();
    let work = hub.work("c1", "set");
    work["spec"]["executor"] = json!({"subject": {"type": "ServiceAccount"}});
    work["spec"]["workload"]["manifests"] = json!([]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set=");
}

#[test]
fn a_name_with_dots_works_and_a_long_one_is_refused_with_words() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.set["metadata"]["name"] = json!("a.b.c");
    hub.settle();
    assert_eq!(hub.made(), "c1/a.b.c=");
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.set["metadata"]["name"] = json!("a".repeat(61));
    hub.settle();
    assert_eq!(hub.made(), "");
    let said = hub.condition("ManifestworkApplied");
    assert!(
        said.starts_with("False InvalidManifestWorkName: "),
        "{said}"
    );
    assert!(said.contains("(64 characters)"), "{said}");
}

#[test]
fn manifests_are_copied_as_they_are_written() {
    let mut hub = Hub::new(&["p"], &all());
    hub.select("p", &["c1"]);
    hub.set["spec"]["manifestWorkTemplate"] = json!({
        "deleteOption": {"propagationPolicy": "Orphan"},
        "workload": {"manifests": [{"a": [1, null, {"b": 1.5}]}, "text", 7]},
        "unknown": {"field": 1},
    });
    hub.settle();
    let template = hub.set["spec"]["manifestWorkTemplate"].clone();
    assert_eq!(hub.work("c1", "set")["spec"], template);
}
