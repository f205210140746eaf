#![allow(clippy::unwrap_used, reason = "tests")]

use berth_api::work::Manifest;
use serde_json::json;

use berth_api::plan::Plan;

use super::*;
use crate::room::Room;
use crate::status;
use crate::testing::{now, view};

/// The work as it is on the hub, of one MiB.
fn large(name: &str, message: Option<&str>) -> (String, Arc<ManifestWork>) {
    let status = message.map(|message| {
        json!({"conditions": [{
            "type": "Applied", "status": "False", "reason": "AppliedManifestWorkTooLarge",
            "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }]})
    });
    let work = json!({
        "metadata": {"name": name, "uid": name, "generation": 1}, "status": status,
    });
    let mut work: ManifestWork = serde_json::from_value(work).unwrap();
    let manifest = Manifest::new(&json!({"data": "x".repeat(1 << 20)})).unwrap();
    work.spec.workload.manifests = vec![manifest];
    (name.to_owned(), Arc::new(work))
}

#[test]
fn of_a_refused_work_only_its_name_and_cost_are_kept_once_its_status_says_so() {
    let mut view = view();
    view.room = Room::new(1 << 20);
    let mut wakes = Wakes::default();
    let now = now();
    let names: Vec<_> = (0..100).map(|at| format!("w{at}")).collect();
    for name in &names {
        let (name, work) = large(name, None);
        view.work_changed(&name, Some(1), work, &mut wakes);
    }
    assert_eq!(view.room.decide().news.len(), names.len());
    assert_eq!(view.counts().refused, names.len());
    for name in &names {
        let plan = status::plan(&view, name, now);
        assert_eq!(plan.writes.len(), 1, "{name} has to say so");
        let excess = view.room.refuses(name).unwrap();
        let message = budget::message(excess, view.room.budget());
        let (name, work) = large(name, Some(&message));
        view.work_changed(&name, Some(1), work, &mut wakes);
        assert!(view.is_forgotten(&view.works[&*name]), "{name}");
        assert_eq!(status::plan(&view, &name, now), Plan::default());
    }
    // One that is being deleted is known: what waits for it must go.
    let (name, mut work) = large("w0", None);
    let deleting = Arc::get_mut(&mut work).unwrap();
    deleting.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    view.work_changed(&name, Some(1), work, &mut wakes);
    assert!(!view.is_forgotten(&view.works["w0"]));
}

#[test]
fn versions_of_one_generation_share_their_manifests() {
    let mut view = view();
    let mut wakes = Wakes::default();
    for _ in 0..2 {
        let (name, work) = large("w", None);
        let former = view.works.get("w").cloned();
        view.work_changed(&name, Some(1), work, &mut wakes);
        let text = |it: &Arc<ManifestWork>| it.spec.workload.manifests[0].text().as_ptr();
        let now = text(&view.works["w"]);
        assert!(former.is_none_or(|it| text(&it) == now));
    }
}
