//! Which writes lead from what is stored to what is wanted.

use jiff::SignedDuration;
use serde_json::json;

use super::{Model, Step, now, owner, text};
use crate::sig::{DueSlices, SliceFacts};

fn three() -> Model {
    Model::default()
        .slice(1, 0, "a b c")
        .slice(2, 1, "d e f")
        .slice(3, 2, "g")
}

#[test]
fn a_change_of_the_selection_takes_few_writes() {
    let two = || Model::default().slice(1, 0, "a b c").slice(2, 1, "d");
    let cases: [(&str, Model, &str, &[&[&str]]); 9] = [
        (
            "new: all slices have their clusters at once",
            Model::default(),
            "a b c d",
            &[&["create 1: 0 a b c", "create 2: 1 d"]],
        ),
        (
            "nothing is selected: an empty slice says so",
            Model::default(),
            "",
            &[&["create 1: 0 "]],
        ),
        ("nothing differs", two(), "a b c d", &[]),
        (
            "a cluster comes first by name: the others stay where they are",
            two(),
            "0 a b c d",
            &[&["patch 2: 0 d"]],
        ),
        (
            "a cluster goes, and another one comes",
            two(),
            "a b d x",
            &[&["patch 1: a b x"]],
        ),
        (
            "the last slice is not needed: its clusters move before it goes",
            three(),
            "a b d e f g",
            &[&["patch 1: a b g"], &["delete 3"]],
        ),
        (
            "clusters go from all slices",
            three(),
            "a d g",
            &[&["patch 1: a d g"], &["delete 2", "delete 3"]],
        ),
        (
            "no cluster stays",
            three(),
            "",
            &[&["patch 1: ", "delete 2", "delete 3"]],
        ),
        (
            "others come: those that go make room in the same write",
            three(),
            "1 2 3 4",
            &[&["patch 1: 1 2 3", "patch 2: 4"], &["delete 3"]],
        ),
    ];
    for (sentence, mut model, wanted, expected) in cases {
        let wanted: Vec<_> = wanted.split_whitespace().collect();
        assert_eq!(model.settle(&wanted), expected, "{sentence}");
    }
}

#[test]
fn what_others_changed_is_repaired() {
    let two = || Model::default().slice(1, 0, "a b c").slice(2, 1, "d");
    let label = |key: &str, value: Option<&str>| json!({"metadata": {"labels": {key: value}}});
    let foreign = |reference: serde_json::Value| {
        let reference = json!({"clusterProfileRef": reference});
        json!({"decisions": [reference]})
    };
    let mut without_the_first = two();
    without_the_first.slices.remove("p-decision-1");
    let cases: [(&str, Model, &[&[&str]]); 9] = [
        (
            "the index",
            two().with(2, label("multicluster.x-k8s.io/decision-index", Some("7"))),
            &[&["patch 2: 1 d"]],
        ),
        (
            "an index twice",
            two().with(2, label("multicluster.x-k8s.io/decision-index", Some("0"))),
            &[&["patch 2: 1 d"]],
        ),
        (
            "the key",
            two().with(1, label("multicluster.x-k8s.io/decision-key", None)),
            &[&["patch 1: 0 a b c"]],
        ),
        (
            "the owner",
            two().with(1, json!({"metadata": {"ownerReferences": null}})),
            &[&["patch 1: a b c"]],
        ),
        (
            "the scheduler",
            two().with(2, json!({"schedulerName": "x"})),
            &[&["patch 2: d"]],
        ),
        (
            "a reference without a namespace",
            two().with(2, foreign(json!({"name": "d"}))),
            &[&["patch 2: d"]],
        ),
        (
            "a reference to another namespace",
            two().with(2, foreign(json!({"name": "d", "namespace": "x"}))),
            &[&["patch 2: d"]],
        ),
        (
            "the order",
            two().with(1, json!({"decisions": super::decisions("c a b")})),
            &[&["patch 1: a b c"]],
        ),
        ("a deletion", without_the_first, &[&["create 1: 0 a b c"]]),
    ];
    for (sentence, mut model, expected) in cases {
        assert_eq!(model.settle(&["a", "b", "c", "d"]), expected, "{sentence}");
    }
}

#[test]
fn slices_of_ocms_controller_are_adopted() {
    // It writes no owner, and the index of the group, which is the same on all slices of a group.
    let unowned = json!({"metadata": {"ownerReferences": null}});
    let mut model = Model::default().slice(1, 0, "a b c").slice(2, 0, "d");
    model = model.with(1, unowned.clone()).with(2, unowned);
    let expected = [["patch 1: a b c", "patch 2: 1 d"]];
    assert_eq!(model.settle(&["a", "b", "c", "d"]), expected);
}

#[test]
fn objects_of_others_are_left_alone() {
    let another = json!({"metadata": {"ownerReferences": [{"uid": "of another"}]}});
    let by_label = json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": "fleet"}, "ownerReferences": null}});
    for (sentence, patch) in [
        ("another object controls it, with all labels", another),
        ("another scheduler chose the same key", by_label),
    ] {
        let mut model = Model::default().slice(1, 0, "x").with(1, json!({}));
        json_patch::merge(model.slices.get_mut("p-decision-1").unwrap(), &patch);
        if sentence.starts_with("another object") {
            model.slices.get_mut("p-decision-1").unwrap()["metadata"]["ownerReferences"][0]["controller"] =
                json!(true);
        }
        let before = model.slices["p-decision-1"].clone();
        assert_eq!(model.settle(&["a"]), [["create 2: 0 a"]], "{sentence}");
        assert_eq!(model.slices["p-decision-1"], before, "{sentence}");
        // The name becomes free: the slice stays as it is.
        model.slices.remove("p-decision-1");
        assert_eq!(model.settle(&["a"]), [[""; 0]; 0], "{sentence}");
        assert_eq!(model.slices(), ["2: 0 a"], "{sentence}");
    }
}

#[test]
fn a_slice_that_is_being_deleted_keeps_its_clusters_until_they_are_elsewhere() {
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-08-11T12:00:00Z"}});
    let mut model = Model::default().slice(1, 0, "a b").with(1, deleted);
    assert_eq!(model.settle(&["a", "b"]), [["create 2: 0 a b"]]);
}

#[test]
fn a_name_that_cannot_be_a_label_has_no_slices() {
    let name = "n".repeat(64);
    let due = DueSlices {
        owner: crate::facts::Owner {
            name: &name,
            ..owner()
        },
        wanted: &["a"],
        stored: &std::collections::BTreeMap::<String, SliceFacts>::new(),
    };
    assert_eq!(due.plan(Step::Next, now()).writes, []);
}

/// `g` moves to the first slice, and back before it is known whether it was removed there.
#[test]
fn a_lost_removal_keeps_the_other_copy_until_it_cannot_arrive_any_more() {
    let mut model = Model::default().slice(1, 0, "a b g").slice(2, 1, "d e f");
    // The first slice loses g, and the response is lost.
    let without = ["a", "b", "d", "e", "f"];
    let lost = model.plan(&without, Step::Next, now());
    assert_eq!(lost.iter().map(text).collect::<Vec<_>>(), ["patch 1: a b"]);
    model.lose(&lost[0], now());
    // Another slice lists it, too.
    let mut model = model.slice(3, 2, "g");
    let six = ["a", "b", "d", "e", "f", "g"];
    let due = |model: &Model, seconds| {
        let at = now() + SignedDuration::from_secs(seconds);
        let writes = model.plan(&six, Step::Next, at);
        writes.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(due(&model, 0), [""; 0]);
    assert_eq!(due(&model, 74), [""; 0]);
    assert_eq!(due(&model, 75), ["delete 3"]);
    assert!(model.carry_out(&lost[0]), "it arrives late");
    assert_eq!(model.settle(&six), [["patch 1: a b g"], ["delete 3"]]);
}
