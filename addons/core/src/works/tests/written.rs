//! What is written so that the stored works are as they should be.

use berth_api::ManifestWork;
use berth_api::plan::Action;
use berth_api::work::UpdateStrategyType;
use serde_json::{Value, json};

use super::{Layout, Rendered, config_map, laid_out, rendered, stored, stored_as};
use crate::works::writes::{Owner, writes};

const OWNER: Owner<'static> = Owner {
    namespace: "c1",
    addon: Some(("x", "u1")),
    reconciler: "test",
};

fn reference() -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1",
        "kind": "ManagedClusterAddOn",
        "name": "x",
        "uid": "u1",
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// The works of a layout, as they are stored with their owner.
fn owned(layout: &Layout) -> Vec<ManifestWork> {
    let mut all = stored(layout);
    for work in &mut all {
        let owner = serde_json::from_value(reference()).unwrap();
        work.metadata.owner_references = Some(vec![owner]);
    }
    all
}

/// The only write: the name of the work, and its body.
#[track_caller]
fn only(layout: &Layout, existing: &[ManifestWork]) -> (String, Value) {
    let mut all = writes(layout, &OWNER, existing);
    assert_eq!(all.len(), 1, "{all:?}");
    let write = all.remove(0);
    let body = match write.action {
        Action::CreateText { body } | Action::PatchText { body } => {
            serde_json::from_str(&body).unwrap()
        }
        Action::Delete { uid, .. } => json!({"delete": uid}),
        other => panic!("{other:?}"),
    };
    (write.target.name, body)
}

#[test]
fn a_missing_work_is_created() {
    let layout = laid_out(&[config_map("a", 1)], &[]).unwrap();
    let (name, body) = only(&layout, &[]);
    assert_eq!(name, "addon-x-deploy-0");
    let expected = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {
            "name": "addon-x-deploy-0",
            "namespace": "c1",
            "labels": {"open-cluster-management.io/addon-name": "x"},
            "ownerReferences": [reference()],
        },
        "spec": {"workload": {"manifests": [config_map("a", 1).object]}},
    });
    assert_eq!(body, expected);
}

#[test]
fn nothing_is_written_if_nothing_differs() {
    let layout = laid_out(&[config_map("a", 1)], &[]).unwrap();
    assert_eq!(writes(&layout, &OWNER, &owned(&layout)), []);
}

#[test]
fn only_what_differs_is_written() {
    let layout = laid_out(&[config_map("a", 1)], &[]).unwrap();
    let good = owned(&layout).remove(0);
    let with = |change: fn(&mut ManifestWork)| {
        let mut work = good.clone();
        change(&mut work);
        only(&layout, &[work]).1
    };
    let meta = |field: &str, value: Value| json!({"metadata": {"uid": "uid-addon-x-deploy-0", "resourceVersion": "7", field: value}});
    let body = with(|work| work.metadata.labels = None);
    let labels = json!({"open-cluster-management.io/addon-name": "x"});
    assert_eq!(body, meta("labels", labels));

    let body = with(|work| {
        let hash = "open-cluster-management.io/config-spec-hash".to_owned();
        work.metadata.annotations = Some(
            [
                (hash, "{}".to_owned()),
                ("own".to_owned(), "kept".to_owned()),
            ]
            .into(),
        );
    });
    let annotations = json!({"open-cluster-management.io/config-spec-hash": null});
    assert_eq!(body, meta("annotations", annotations));

    // Of a former ManagedClusterAddOn with the name.
    let body = with(|work| {
        for owner in work.metadata.owner_references.iter_mut().flatten() {
            owner.uid = "former".to_owned();
        }
    });
    assert_eq!(body, meta("ownerReferences", json!([reference()])));

    let body = with(|work| work.spec.workload.manifests.clear());
    let spec = json!({
        "deleteOption": null,
        "manifestConfigs": null,
        "workload": {"manifests": [config_map("a", 1).object]},
    });
    assert_eq!(body["spec"], spec);
    assert_eq!(body["metadata"]["resourceVersion"], "7");
}

#[test]
fn an_empty_work_is_deleted_and_a_dying_one_is_left() {
    let empty = stored_as("addon-x-deploy-0", &[]);
    let none = laid_out(&[], std::slice::from_ref(&empty)).unwrap();
    let (name, body) = only(&none, &[empty]);
    assert_eq!(
        (name.as_str(), body),
        (
            "addon-x-deploy-0",
            json!({"delete": "uid-addon-x-deploy-0"})
        )
    );

    let layout = laid_out(&[config_map("a", 1)], &[]).unwrap();
    let mut dying = owned(&layout).remove(0);
    dying.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        jiff::Timestamp::UNIX_EPOCH,
    ));
    dying.metadata.labels = None;
    assert_eq!(writes(&layout, &OWNER, &[dying]), []);
}

#[test]
fn a_work_of_ocm_is_taken_over_without_a_write() {
    let ours = rendered(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"template": {"spec": {"containers": [{"name": "main"}]}}},
    }));
    // As Go's types write it.
    let of_ocm = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"creationTimestamp": null, "name": "a", "namespace": "n"},
        "spec": {
            "selector": null,
            "strategy": {},
            "template": {
                "metadata": {"creationTimestamp": null},
                "spec": {"containers": [{"name": "main", "resources": {}}]},
            },
        },
        "status": {},
    });
    let existing = stored_as("addon-x-deploy-0", std::slice::from_ref(&of_ocm));
    let layout = laid_out(std::slice::from_ref(&ours), &[existing]).unwrap();
    let kept: Value = layout.works[0].spec.workload.manifests[0].read().unwrap();
    assert_eq!(kept, of_ocm);
    // A field that means something empty is not one of these.
    let mut with_volume = of_ocm.clone();
    with_volume["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
    for stored in [with_volume, json!({"kind": "Deployment"}), json!([])] {
        let existing = stored_as("addon-x-deploy-0", std::slice::from_ref(&stored));
        let layout = laid_out(std::slice::from_ref(&ours), &[existing]).unwrap();
        let written: Value = layout.works[0].spec.workload.manifests[0].read().unwrap();
        assert_eq!(written, ours.object);
    }
}

#[test]
fn a_job_that_cannot_be_changed_stays_as_ocm_rendered_it() {
    let job = |env: Value| {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"template": {"spec": {"containers": [{"name": "main", "env": env}]}}},
        })
    };
    let (plain, decorated) = (
        job(json!([])),
        job(json!([{"name": "CLUSTER_NAME", "value": "c1"}])),
    );
    let ours = Rendered {
        object: decorated.clone(),
        undecorated: Some(plain.clone()),
    };
    let manifest = |existing: &[ManifestWork]| {
        let layout = laid_out(std::slice::from_ref(&ours), existing).unwrap();
        let manifests = &layout.works[0].spec.workload.manifests;
        manifests[0].read::<Value>().unwrap()
    };
    let stored = |job: &Value| [stored_as("addon-x-deploy-0", std::slice::from_ref(job))];
    assert_eq!(manifest(&[]), decorated);
    assert_eq!(manifest(&stored(&plain)), plain);
    assert_eq!(
        manifest(&stored(&job(json!([{"name": "OTHER"}])))),
        decorated
    );
}

#[test]
fn the_order_of_configs_does_not_count() {
    let object = |name: &str| {
        rendered(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "n"},
        }))
    };
    let layout = laid_out(&[object("a"), object("b")], &[]).unwrap();
    let mut existing = owned(&layout);
    existing[0].spec.manifest_configs.reverse();
    assert_eq!(writes(&layout, &OWNER, &existing), []);
    let strategy = berth_api::work::UpdateStrategy {
        r#type: UpdateStrategyType::CreateOnly,
        server_side_apply: None,
    };
    existing[0].spec.manifest_configs[0].update_strategy = Some(strategy);
    assert_eq!(writes(&layout, &OWNER, &existing).len(), 1);
}
