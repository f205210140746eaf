//! Writes whose outcome is not known, and that are carried out late.

use jiff::{SignedDuration, Timestamp};

use super::{Doubt, Model, Removal, Step, now, text, wanted};

/// `a` is to move from the first PlacementDecision to the second one; the removal of `a` from the first one times out.
fn after_a_lost_removal() -> (Model, berth_api::plan::Write) {
    let model = Model::new()
        .decision(1, (0, "x"), &["a", "b"])
        .decision(2, (1, "y"), &["a", "c"]);
    let moved = wanted(&["x:b", "y:a c"]);
    let mut writes = model.plan(&moved, Step::Next);
    let lost = writes.remove(0);
    assert_eq!(text(&lost), "list p-decision-1: b");
    let removal = Removal::of(&lost).expect("it removes");
    let mut model = model;
    let doubt = Doubt::new(&["a".to_owned(), "b".to_owned()], &removal, now());
    model.doubts.insert("p-decision-1".to_owned(), doubt);
    (model, lost)
}

fn lists(model: &Model, at: Timestamp) -> Vec<String> {
    let back = wanted(&["x:a b", "y:c"]);
    let writes = model.plan_at(&back, Step::Next, at);
    let writes = writes.iter().map(text);
    writes.filter(|it| it.starts_with("list")).collect()
}

#[test]
fn a_reversed_move_waits_until_a_lost_removal_cannot_arrive_any_more() {
    let (mut model, _) = after_a_lost_removal();
    let removal = ["list p-decision-2: c"];
    assert_eq!(lists(&model, now()), [""; 0]);
    assert_eq!(
        lists(&model, now() + SignedDuration::from_secs(74)),
        [""; 0]
    );
    assert_eq!(
        lists(&model, now() + SignedDuration::from_secs(75)),
        removal
    );
    // A later state of the object has no doubt.
    model.doubts.clear();
    assert_eq!(lists(&model, now()), removal);
}

#[test]
fn a_lost_removal_that_arrives_late_unlists_nothing() {
    let (mut model, lost) = after_a_lost_removal();
    model.carry_out(&lost);
    model.doubts.clear();
    assert!(model.listed().contains("a"));
    assert_eq!(lists(&model, now()), ["list p-decision-1: a b"]);
    model.settle(&wanted(&["x:a b", "y:c"]));
    assert!(model.clusters("p-decision-1").contains(&"a".to_owned()));
}

#[test]
fn the_same_removal_is_tried_again_at_once() {
    let (model, _) = after_a_lost_removal();
    let writes = model.plan(&wanted(&["x:b", "y:a c"]), Step::Next);
    assert_eq!(text(&writes[0]), "list p-decision-1: b");
}
