//! The end of a replica set.

use serde_json::{Value, json};

use crate::bench::Hub;

fn deleted(policy: &str, are_finalized: bool) -> Hub {
    let mut hub = Hub::new(&["p"], &json!({"type": "All"}));
    hub.set["spec"]["cascadeDeletionPolicy"] = json!(policy);
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.add("c3", "set-0123456789", "other");
    if are_finalized {
        for work in hub.works.values_mut() {
            work["metadata"]["finalizers"] = json!(["agent/f"]);
        }
    }
    hub.set["metadata"]["deletionTimestamp"] = json!(hub.now);
    hub
}

#[test]
fn works_are_deleted_before_the_replica_set_is_gone() {
    let gone = json!([]);
    let stays = json!(["work.open-cluster-management.io/manifest-work-cleanup"]);
    let all = "c1/setx c2/setx c3/set-0123456789x";
    for (policy, are_finalized, made, finalizers) in [
        ("Background", false, "", &gone),
        ("Background", true, all, &gone),
        ("Foreground", false, "", &gone),
        ("Foreground", true, all, &stays),
    ] {
        let mut hub = deleted(policy, are_finalized);
        hub.settle();
        assert_eq!(hub.made(), made, "{policy} {are_finalized}");
        let left: &Value = &hub.set["metadata"]["finalizers"];
        assert_eq!(left, finalizers, "{policy} {are_finalized}");
    }
}

#[test]
fn the_finalizer_stays_until_each_work_is_being_deleted() {
    let mut hub = deleted("Background", false);
    for left in ["c2/set= c3/set-0123456789=", "c3/set-0123456789=", ""] {
        hub.step(1);
        assert_eq!(hub.made(), left);
        assert_eq!(
            hub.set["metadata"]["finalizers"].as_array().unwrap().len(),
            1
        );
    }
    hub.step(1);
    assert_eq!(hub.set["metadata"]["finalizers"], json!([]));
    assert_eq!(hub.settle(), 0);
}

#[test]
fn finalizers_of_others_stay() {
    let mut hub = deleted("Background", false);
    let all = hub.set["metadata"]["finalizers"].as_array_mut().unwrap();
    all.push(json!("theirs/f"));
    hub.settle();
    assert_eq!(hub.set["metadata"]["finalizers"], json!(["theirs/f"]));
}

#[test]
fn a_work_that_no_controller_named_is_neither_deleted_nor_waited_for() {
    let mut hub = deleted("Foreground", false);
    hub.add("c4", "theirs", "p");
    hub.works
        .get_mut(&("c4".to_owned(), "theirs".to_owned()))
        .unwrap()["metadata"]["finalizers"] = json!(["agent/f"]);
    hub.settle();
    assert_eq!(hub.made(), "c4/theirs=");
    assert_eq!(hub.set["metadata"]["finalizers"], json!([]));
}

#[test]
fn a_deletion_names_what_it_waits_for() {
    for (policy, expected) in [
        (
            "Foreground",
            "the deletion waits for 3 ManifestWorks, which go when the agents of their clusters have removed their objects: c1/set, \
             c2/set, c3/set-0123456789",
        ),
        (
            "Background",
            "0 of 2 ManifestWorks are available, 0 progressing, 0 degraded",
        ),
    ] {
        let mut hub = deleted(policy, true);
        hub.settle();
        let all = hub.set["status"]["conditions"].as_array().unwrap();
        let applied = all.iter().find(|it| it["type"] == "ManifestworkApplied");
        assert_eq!(applied.unwrap()["message"], expected, "{policy}");
    }
}
