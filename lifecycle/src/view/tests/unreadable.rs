//! Objects and fields that cannot be read.

use berth_lifecycle_core::config::Gates;
use berth_reconcile::LabelKeys;

use super::*;
use crate::kinds::watched;

#[test]
fn one_object_that_cannot_be_read_disturbs_no_other() {
    let (mut view, now) = (view(), now());
    view.apply(
        Kind::Cluster,
        &cluster("good", 4, json!({})),
        Source::Watch,
        now,
    );
    view.apply(
        Kind::Cluster,
        &cluster("bad", 5, json!({"hubAcceptsClient": "yes"})),
        Source::Watch,
        now,
    );
    assert!(view.cluster("good").is_some());
    let bad = view.cluster("bad").unwrap();
    assert!(!bad.accepted, "what is no yes is no acceptance");
    assert_eq!(bad.unreadable.to_string(), "spec.hubAcceptsClient");
    assert_eq!(view.census(now).unreadable, 1);
    view.apply(
        Kind::Cluster,
        &cluster("bad", 6, json!({"hubAcceptsClient": true})),
        Source::Watch,
        now,
    );
    let bad = view.cluster("bad").unwrap();
    assert!(bad.accepted && bad.unreadable.is_empty());
    assert_eq!(view.census(now).unreadable, 0);
    let gates = Gates {
        cluster_profile: true,
        ..Gates::default()
    };
    for (kind, _) in watched(&LabelKeys::default(), gates) {
        let strange =
            object(json!({"metadata": {"name": "x", "namespace": "y"}, "spec": 7, "status": []}));
        view.apply(kind, &strange, Source::Watch, now);
        view.gone(kind, &strange, Source::Watch);
    }
    assert!(view.cluster("good").is_some());
}

#[test]
fn a_cluster_with_a_field_that_cannot_be_read_is_one_all_the_same() {
    let (mut view, now) = (view(), now());
    let mut only = cluster("c1", 4, json!({"hubAcceptsClient": true})).value;
    only["metadata"]["finalizers"] = json!(["a/b"]);
    let apply = |view: &mut Seeing, value: &Value| {
        view.apply(Kind::Cluster, &object(value.clone()), Source::Watch, now);
    };
    apply(&mut view, &only);
    let condition = |type_: &str, time: &str| json!({"type": type_, "status": "True", "reason": "R", "message": "", "lastTransitionTime": time});
    only["metadata"]["resourceVersion"] = json!("5");
    only["status"]["conditions"] = json!([
        condition("A", "9999-12-31T23:59:59Z"),
        condition("B", "2026-01-01T00:00:00Z"),
    ]);
    apply(&mut view, &only);
    assert!(
        view.common_roles().0,
        "the roles of all agents stay, though this is the only cluster"
    );
    let known = view.cluster("c1").unwrap();
    assert!(known.accepted && known.has_finalizer("a/b"));
    assert_eq!(known.condition_status("A"), Some("True"));
    assert_eq!(known.condition_status("B"), Some("True"));
    assert!(!known.unreadable.is_empty());
    view.wakes();
    only["metadata"]["resourceVersion"] = json!("6");
    only["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    apply(&mut view, &only);
    assert!(view.cluster("c1").unwrap().deleting);
    assert_eq!(view.wakes(), [cluster_key("c1")]);
}

#[test]
fn an_agent_cannot_hide_its_addon() {
    let (mut view, now) = (view(), now());
    let addon = |version: u64, deleting: bool| {
        object(json!({
            "apiVersion": "addon.open-cluster-management.io/v1beta1",
            "metadata": {
                "name": "a", "namespace": "c1", "uid": "u", "resourceVersion": version.to_string(),
                "deletionTimestamp": deleting.then_some("2026-01-01T00:00:00Z"),
            },
            "status": {"conditions": [
                {"type": "Available", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00+99:99"}, 7,
            ]},
        }))
    };
    let seen = |view: &View| {
        view.with_cluster("c1", None, |facts| {
            let addon = &facts.addons["a"];
            let available = addon.available.as_ref().map(|it| it.status.clone());
            (addon.deleting, available.unwrap_or_default())
        })
    };
    view.apply(Kind::Addon, &addon(1, false), Source::Watch, now);
    assert_eq!(seen(&view), Some((false, "False".to_owned())));
    view.apply(Kind::Addon, &addon(2, true), Source::Watch, now);
    assert_eq!(seen(&view), Some((true, "False".to_owned())));
}
