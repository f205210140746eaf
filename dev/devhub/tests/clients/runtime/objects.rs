//! Objects: server-side apply, status, generations, managers.

use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let desk = widgets::desk().await;
    let api = desk.widgets();
    let mut object = widgets::widget("w");
    object["status"] = json!({ "phase": "Early" });
    let created = api
        .create(
            &PostParams::default(),
            &serde_json::from_value(object).unwrap(),
        )
        .await
        .unwrap();
    assert_eq!(created.data["status"], Value::Null);
    assert_eq!(created.metadata.generation, Some(1));

    let params = PatchParams::apply("statuses").force();
    let status = json!({
        "apiVersion": widgets::GROUP_VERSION, "kind": "Widget",
        "spec": { "size": 50 }, "status": { "phase": "Ready", "conditions": [{ "type": "A", "status": "True" }] },
    });
    let written = api
        .patch_status("w", &params, &Patch::Apply(status))
        .await
        .unwrap();
    assert_eq!(written.data["status"]["phase"], "Ready");
    assert_eq!(written.data["spec"]["size"], 3);
    assert_eq!(written.metadata.generation, Some(1));
    let manager = written
        .managed_fields()
        .iter()
        .find(|entry| entry.manager.as_deref() == Some("statuses"))
        .unwrap();
    assert_eq!(manager.subresource.as_deref(), Some("status"));
    assert_eq!(
        manager.fields_v1.as_ref().unwrap().0,
        json!({ "f:status": {
        "f:conditions": { "k:{\"type\":\"A\"}": { ".": {}, "f:status": {}, "f:type": {} } }, "f:phase": {},
    } })
    );

    // Another writes a condition of its own, and each keeps theirs.
    let other = json!({
        "apiVersion": widgets::GROUP_VERSION, "kind": "Widget",
        "status": { "conditions": [{ "type": "B", "status": "False" }] },
    });
    api.patch_status("w", &PatchParams::apply("others"), &Patch::Apply(other))
        .await
        .unwrap();
    let none = json!({ "apiVersion": widgets::GROUP_VERSION, "kind": "Widget", "status": {} });
    let left = api
        .patch_status("w", &params, &Patch::Apply(none))
        .await
        .unwrap();
    assert_eq!(
        left.data["status"],
        json!({ "conditions": [{ "type": "B", "status": "False" }] })
    );

    let spec = json!({ "spec": { "size": 4 }, "status": { "phase": "Ignored" } });
    let written = api
        .patch("w", &PatchParams::default(), &Patch::Merge(spec))
        .await
        .unwrap();
    assert_eq!(written.metadata.generation, Some(2));
    assert_eq!(written.data["status"]["phase"], Value::Null);

    let mut replaced = written.clone();
    replaced.data["status"] = json!({ "phase": "Replaced" });
    let replaced = api
        .replace_status("w", &PostParams::default(), &replaced)
        .await
        .unwrap();
    assert_eq!(replaced.data["status"], json!({ "phase": "Replaced" }));
    let stale = api
        .replace_status("w", &PostParams::default(), &written)
        .await
        .unwrap_err();
    let kube::Error::Api(error) = stale else {
        panic!("{stale}")
    };
    assert_eq!((error.code, error.reason.as_str()), (409, "Conflict"));
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_none() {
    let desk = widgets::desk().await;
    let api = desk.widgets();
    let object = widgets::widget("w");
    let apply = PatchParams::apply("me");
    let first = api
        .patch("w", &apply, &Patch::Apply(&object))
        .await
        .unwrap();
    let second = api
        .patch("w", &apply, &Patch::Apply(&object))
        .await
        .unwrap();
    assert_eq!(first, second);
    let merge = Patch::Merge(json!({ "spec": { "size": 3 } }));
    assert_eq!(
        api.patch("w", &PatchParams::default(), &merge)
            .await
            .unwrap(),
        first
    );
    assert_eq!(
        api.replace("w", &PostParams::default(), &first)
            .await
            .unwrap(),
        first
    );
    let status = Patch::Merge(json!({ "status": {} }));
    let version = api
        .patch_status("w", &PatchParams::default(), &status)
        .await
        .unwrap()
        .resource_version();
    let again = api
        .patch_status("w", &PatchParams::default(), &status)
        .await
        .unwrap()
        .resource_version();
    assert_eq!(version, again);
}

#[tokio::test]
async fn an_empty_apply_gives_everything_up() {
    let desk = widgets::desk().await;
    let api = desk.configmaps();
    let apply = async |manager: &str, data: Value| {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" }, "data": data });
        api.patch("one", &PatchParams::apply(manager), &Patch::Apply(object))
            .await
            .unwrap()
    };
    apply("a", json!({ "x": "1", "shared": "1" })).await;
    apply("b", json!({ "y": "1", "shared": "1" })).await;
    let left = apply("a", json!({})).await;
    assert_eq!(json!(left.data), json!({ "shared": "1", "y": "1" }));
    let left = apply("b", json!({})).await;
    assert_eq!(left.data, None);
}

#[tokio::test]
async fn a_deletion_can_be_of_this_very_object() {
    let desk = Desk::new().await;
    let first = desk.configmap("one").await;
    let api = desk.configmaps();
    api.delete("one", &DeleteParams::default()).await.unwrap();
    desk.configmap("one").await;
    let uid = first["metadata"]["uid"].as_str().unwrap().to_owned();
    let only = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid),
        resource_version: None,
    });
    let refused = api.delete("one", &only).await.unwrap_err();
    let kube::Error::Api(error) = refused else {
        panic!("{refused}")
    };
    assert_eq!((error.code, error.reason.as_str()), (409, "Conflict"));
    let now = api.get("one").await.unwrap();
    let only = DeleteParams::default().preconditions(Preconditions {
        uid: now.uid(),
        resource_version: now.resource_version(),
    });
    let gone = api.delete("one", &only).await.unwrap().right().unwrap();
    assert_eq!(gone.details.unwrap().uid, now.uid().unwrap());
}

#[tokio::test]
async fn what_is_empty_is_not_stored() {
    let desk = Desk::new().await;
    let objects = [
        (
            "configmaps",
            json!({ "data": {}, "binaryData": {}, "metadata": { "labels": {}, "finalizers": [] } }),
        ),
        ("secrets", json!({ "data": {}, "stringData": {} })),
        (
            "serviceaccounts",
            json!({ "secrets": [], "imagePullSecrets": [] }),
        ),
    ];
    for (resource, mut object) in objects {
        object["metadata"]["name"] = "empty".into();
        let answer = desk
            .admin
            .post(&desk.core(resource), &object)
            .await
            .unwrap();
        let mut fields: Vec<_> = answer.ok().as_object().unwrap().keys().collect();
        fields.retain(|field| *field != "type");
        assert_eq!(fields, ["apiVersion", "kind", "metadata"], "{resource}");
        let metadata = answer.ok()["metadata"].as_object().unwrap();
        assert!(!metadata.contains_key("labels") && !metadata.contains_key("finalizers"));
    }
}
