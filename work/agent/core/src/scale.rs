//! The time that a large ManifestWork takes is linear in its manifests and configs: it holds up all others.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::conditions::manifest_work::COMPLETE;
use berth_api::work::ManifestWork;
use serde_json::{Value, json};

use super::objects::Known;
use super::ready::Ready;
use super::status;
use super::targets::tests::installs;
use super::testing::{self, now};
use super::view::{View, Wakes};

/// The numbers of manifests that are compared: one great work, and as many small ones as have as many manifests. Caches and other processes
/// then hold up both alike.
const SMALL: usize = 500;
const WORKS: usize = 8;

/// Linear is 1, quadratic 8.
const FACTOR: u32 = 4;

/// An agent with a ManifestWork of this many ConfigMaps, each with a config of its own. All are complete, if the status says so.
fn large(count: usize, are_complete: bool) -> View {
    let name = |at: usize| format!("map-{at}");
    let manifest = |at| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": name(at)}});
    let config = |at| {
        json!({
            "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "n", "name": name(at)},
            "updateStrategy": {"type": "ServerSideApply"},
        })
    };
    let state = |at| {
        json!({
            "resourceMeta": {"group": "", "version": "v1", "kind": "ConfigMap", "resource": "configmaps",
                             "namespace": "n", "name": name(at), "ordinal": at},
            "conditions": [{"type": COMPLETE, "status": "True", "reason": "r", "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        })
    };
    let all = |make: &dyn Fn(usize) -> Value, count| (0..count).map(make).collect::<Vec<_>>();
    let work = json!({
        "metadata": {"name": "w", "uid": "u", "generation": 1,
                     "finalizers": ["cluster.open-cluster-management.io/manifest-work-cleanup"]},
        "spec": {"workload": {"manifests": all(&manifest, count)}, "manifestConfigs": all(&config, count)},
        "status": {"resourceStatus": {"manifests": all(&state, if are_complete { count } else { 0 })}},
    });
    let work: ManifestWork = serde_json::from_value(work).unwrap();
    let ready = Ready {
        work: Arc::new(work),
        applied: Arc::default(),
    };
    let mut view = testing::view();
    view.works.insert("w".into(), Arc::clone(&ready.work));
    view.note_complete(&"w".into(), &ready.work);
    installs(&mut view, &ready);
    view.progress.get_mut("w").unwrap().is_tried = true;
    view
}

fn assert_linear(small: &mut dyn FnMut(), great: &mut dyn FnMut()) {
    let took = |run: &mut dyn FnMut()| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    let mut shortest = (Duration::MAX, Duration::MAX);
    for _ in 0..8 {
        shortest = (shortest.0.min(took(small)), shortest.1.min(took(great)));
    }
    let (few, many) = shortest;
    assert!(many < few * FACTOR, "{few:?}, and {many:?}");
}

fn assert_linear_for(are_complete: bool, run: &dyn Fn(&mut View)) {
    let mut small: Vec<_> = (0..WORKS).map(|_| large(SMALL, are_complete)).collect();
    let mut great = large(WORKS * SMALL, are_complete);
    assert_linear(&mut || small.iter_mut().for_each(run), &mut || {
        run(&mut great);
    });
}

#[test]
fn to_map_the_manifests_is_linear() {
    let map = |count| drop(large(count, false));
    assert_linear(&mut || (0..WORKS).for_each(|_| map(SMALL)), &mut || {
        map(WORKS * SMALL);
    });
}

#[test]
fn to_plan_the_status_is_linear() {
    assert_linear_for(false, &|view| {
        let plan = status::plan(view, "w", now());
        assert_eq!(plan.writes.len(), 1);
    });
}

#[test]
fn to_decide_what_is_due_is_linear() {
    assert_linear_for(true, &|view| {
        let count = view.progress["w"].slots.len();
        for at in 0..count {
            view.task("w", at, false, now().instant);
        }
    });
}

#[test]
fn to_note_changes_of_all_objects_is_linear() {
    assert_linear_for(false, &|view| {
        let objects: Vec<_> = view.objects.keys().cloned().collect();
        let mut wakes = Wakes::default();
        for object in &objects {
            view.sees(object, Known::Missing, &mut wakes);
            view.sees(object, Known::Unknown, &mut wakes);
        }
    });
}
