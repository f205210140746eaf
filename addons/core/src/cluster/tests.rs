use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::facts::{AddOn, OnCluster, Selection};

const GRACE: Grace = Grace {
    left: Duration::from_secs(10),
    missing: Duration::from_secs(60),
};

fn now() -> Now {
    Now {
        wall: "2026-06-01T00:00:00Z".parse().unwrap(),
        instant: Instant::now(),
    }
}

fn add_on(life_cycle: &str) -> AddOn {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
        "metadata": {
            "name": "a", "uid": "u", "annotations": {"addon.open-cluster-management.io/lifecycle": life_cycle},
        },
        "spec": {"installStrategy": {"type": "Placements", "placements": [{"namespace": "n", "name": "p"}]}},
    });
    AddOn::read(&object.to_string()).unwrap()
}

fn on(metadata: Value, status: Value) -> OnCluster {
    let mut object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "a", "namespace": "c1", "uid": "m", "resourceVersion": "7"},
        "spec": {}, "status": status,
    });
    for (field, value) in metadata.as_object().unwrap() {
        object["metadata"][field] = value.clone();
    }
    OnCluster::read(&object.to_string()).unwrap()
}

fn owned() -> Value {
    json!({"ownerReferences": [owner(&add_on("addon-manager"))]})
}

/// What is due for the add-on on `c1`.
fn due(
    add_on: &AddOn,
    selection: Selection,
    existing: Option<&OnCluster>,
    works: &[Work],
) -> (Vec<Action>, bool) {
    let annotations = BTreeMap::from([(
        "addon.open-cluster-management.io/hosting-cluster-name".to_owned(),
        "h".to_owned(),
    )]);
    let facts = Facts {
        add_on,
        cluster: "c1",
        annotations: Some(&annotations),
        selection,
        since: Duration::from_secs(1),
        existing,
    };
    let Due::Plan(plan) = decide(&facts, works.iter(), None, GRACE, now()) else {
        panic!("there is no template");
    };
    let actions = plan.writes.into_iter().map(|it| {
        assert_eq!(it.target.namespace.as_deref(), Some("c1"));
        assert_eq!(it.target.name, "a");
        it.action
    });
    (actions.collect(), plan.again.is_some())
}

/// The body of the only action, which is a patch of this subresource.
fn patch<'a>(actions: &'a [Action], of: Option<&str>) -> &'a Value {
    match actions {
        [Action::Patch { subresource, body }] if *subresource == of => body,
        _ => panic!("{actions:?}"),
    }
}

#[test]
fn a_new_one_has_its_owner_and_the_annotations_of_its_cluster() {
    let add_on = add_on("addon-manager");
    let (actions, _) = due(&add_on, Selection::Selected, None, &[]);
    let [Action::Create { body }] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(
        body["metadata"],
        json!({
            "name": "a", "namespace": "c1",
            "annotations": {
                "addon.open-cluster-management.io/hosting-cluster-name": "h",
                "berth.open-cluster-management.io/installed-for": "u/c1",
            },
            "ownerReferences": [{
                "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
                "name": "a", "uid": "u", "controller": true, "blockOwnerDeletion": true,
            }],
        })
    );
}

#[test]
fn metadata_comes_before_the_status_and_then_nothing_is_due() {
    let add_on = add_on("addon-manager");
    let mut existing = on(json!({}), json!({}));
    let (actions, _) = due(&add_on, Selection::Selected, Some(&existing), &[]);
    let body = patch(&actions, None);
    assert_eq!(
        (
            &body["metadata"]["uid"],
            &body["metadata"]["resourceVersion"]
        ),
        (&json!("m"), &json!("7"))
    );
    let key = "addon.open-cluster-management.io/hosting-cluster-name";
    assert_eq!(body["metadata"]["annotations"][key], "h");
    let mut metadata = owned();
    metadata["annotations"] = json!({key: "h"});
    existing = on(metadata.clone(), json!({}));
    let (actions, _) = due(&add_on, Selection::Selected, Some(&existing), &[]);
    let body = patch(&actions, Some("status"));
    assert_eq!(
        body["status"]["conditions"][0]["reason"],
        "WaitingForManifestApplied"
    );
    assert_eq!(body["status"].get("configReferences"), None);
    let existing = on(metadata, body["status"].clone());
    assert_eq!(
        due(&add_on, Selection::Selected, Some(&existing), &[]),
        (vec![], false)
    );
}

#[test]
fn a_completed_progress_writes_what_is_applied() {
    let add_on = add_on("addon-manager");
    let hosting = "addon.open-cluster-management.io/hosting-cluster-name";
    let mut metadata = owned();
    metadata["annotations"] = json!({hosting: "h"});
    let done = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "AddonManifestApplied", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let desired = json!({"namespace": "n", "name": "x", "specHash": "1"});
    let existing = on(
        metadata,
        json!({
            "conditions": [done("ManifestApplied"), done("HostingManifestApplied")],
            "configReferences": [{"group": "g", "resource": "r", "desiredConfig": desired}],
        }),
    );
    let work = Work {
        hashes: Some([("r.g/n/x".to_owned(), "1".to_owned())].into()),
        is_ready: true,
        ..Work::default()
    };
    let (actions, _) = due(&add_on, Selection::Selected, Some(&existing), &[work]);
    let body = patch(&actions, Some("status"));
    let status = &body["status"];
    assert_eq!(status["configReferences"][0]["lastAppliedConfig"], desired);
    assert_eq!(
        status["conditions"].as_array().unwrap().len(),
        3,
        "those of others stay"
    );
    assert_eq!(status["conditions"][2]["reason"], "Completed");
}

#[test]
fn a_marked_one_goes_after_the_grace_and_is_kept_up_to_date_until_then() {
    let add_on = add_on("addon-manager");
    let mut metadata = owned();
    metadata["annotations"] = json!({"berth.open-cluster-management.io/installed-for": "u/c1"});
    let existing = on(metadata, json!({}));
    let (actions, again) = due(&add_on, Selection::NotSelected, Some(&existing), &[]);
    assert!(
        matches!(&actions[..], [Action::Patch { .. }]) && again,
        "{actions:?}"
    );
    let facts = Facts {
        add_on: &add_on,
        cluster: "c1",
        annotations: None,
        selection: Selection::NotSelected,
        since: GRACE.left,
        existing: Some(&existing),
    };
    let Due::Plan(plan) = decide(&facts, [].iter(), None, GRACE, now()) else {
        panic!("there is no template");
    };
    let [write] = &plan.writes[..] else {
        panic!("{plan:?}");
    };
    let Action::Delete {
        uid,
        resource_version,
        ..
    } = &write.action
    else {
        panic!("{write:?}");
    };
    assert_eq!((&**uid, resource_version.as_deref()), ("m", Some("7")));
}

#[test]
fn nothing_is_written_for_an_add_on_of_another_manager_or_one_that_is_being_deleted() {
    let existing = on(json!({}), json!({}));
    for life_cycle in ["self", "", "other"] {
        let add_on = add_on(life_cycle);
        for (selection, existing) in [
            (Selection::Selected, None),
            (Selection::NotSelected, Some(&existing)),
            (Selection::Selected, Some(&existing)),
        ] {
            assert_eq!(
                due(&add_on, selection, existing, &[]),
                (vec![], false),
                "{life_cycle:?}"
            );
        }
    }
    let add_on = add_on("addon-manager");
    let deleting = on(
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        json!({}),
    );
    assert_eq!(
        due(&add_on, Selection::Selected, Some(&deleting), &[]),
        (vec![], false)
    );
}
