//! Deletions: their options, and what is left to do when an object is going.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn deletions_have_preconditions() {
    let desk = Desk::new().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 201 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps/one

{"preconditions":{"uid":"another"}}
= 409 Conflict: Operation cannot be fulfilled on ConfigMap "one": the UID in the precondition (another) does not match the UID in record ([..]). The object might have been deleted and then recreated
  kind=ConfigMap name=one
DELETE /api/v1/namespaces/{ns}/configmaps/one

{"preconditions":{"resourceVersion":"1"}}
= 409 Conflict: Operation cannot be fulfilled on ConfigMap "one": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ([..]). The object might have been modified
  kind=ConfigMap name=one
DELETE /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Nonsense"}
= 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Nonsense": supported values: "Foreground", "Background", "Orphan", "nil"
  causes=["FieldValueNotSupported propagationPolicy"] group=meta.k8s.io kind=DeleteOptions
DELETE /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion":"v1","kind":"ConfigMap"}
= 400 BadRequest: no kind "ConfigMap" is registered for version "v1" in scheme "[..]"
DELETE /api/v1/namespaces/{ns}/configmaps/one

nonsense
= 400 BadRequest: [..]
DELETE /api/v1/namespaces/{ns}/configmaps/one

[]
= 400 BadRequest: [..]
DELETE /api/v1/namespaces/{ns}/configmaps/one?uid=another&gracePeriodSeconds=0
= 409 Conflict: [..]the UID in the precondition (another) does not match the UID in record ([..]
  kind=ConfigMap name=one
DELETE /api/v1/namespaces/{ns}/configmaps/one

{"dryRun":["All"]}
= 200 Status
  kind=configmaps name=one uid=[..]
DELETE /api/v1/namespaces/{ns}/configmaps/one

{"gracePeriodSeconds":-1}
= 200 Status
  kind=configmaps name=one uid=[..]
DELETE /api/v1/namespaces/{ns}/configmaps/one
= 404 NotFound: configmaps "one" not found
  kind=configmaps name=one
"#)
    .await;
}

#[tokio::test]
async fn an_object_that_is_going_takes_no_new_finalizers() {
    let desk = Desk::new().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "finalizers": ["tests.berth/hold"]}}
= 201 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps/one
= 200 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps/one
= 200 ConfigMap
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"finalizers":["tests.berth/hold","tests.berth/more"]}}
= 422 Invalid: [..]
  causes=["FieldValueForbidden metadata.finalizers"[..]] kind=ConfigMap name=one
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "finalizers": ["tests.berth/other"]}}
= 422 Invalid: [..]
  causes=["FieldValueForbidden metadata.finalizers"[..]] kind=ConfigMap name=one
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"deletionTimestamp":null}}
= 200 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 409 AlreadyExists: object is being deleted: configmaps "one" already exists
  kind=configmaps name=one
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"finalizers":[]}}
= 200 ConfigMap
GET /api/v1/namespaces/{ns}/configmaps/one
= 404 NotFound: configmaps "one" not found
  kind=configmaps name=one
"#)
    .await;
}

/// The answer is what was written; watchers are told what was stored.
#[tokio::test]
async fn the_last_finalizer_takes_the_object_along() {
    let desk = Desk::new().await;
    let (collection, path) = (desk.core("configmaps"), desk.core("configmaps/held"));
    for replaces in [false, true] {
        let held = json!({
            "metadata": { "name": "held", "finalizers": ["tests.berth/hold"] }, "data": { "key": "old" },
        });
        let created = desk.admin.post(&collection, &held).await.unwrap();
        let since = created.ok()["metadata"]["resourceVersion"].clone();
        let going = desk.admin.delete(&path).await.unwrap().ok().clone();
        let mut without = going.clone();
        without["metadata"]["finalizers"] = json!([]);
        without["data"]["key"] = "new".into();
        let answer = if replaces {
            desk.admin.put(&path, &without).await
        } else {
            let patch = json!({ "metadata": { "finalizers": null }, "data": { "key": "new" } });
            desk.admin.merge(&path, &patch).await
        };
        let answer = answer.unwrap().ok().clone();
        assert_eq!(answer["metadata"]["finalizers"], Value::Null);
        assert_eq!(answer["data"]["key"], "new");
        for field in ["uid", "resourceVersion", "deletionTimestamp"] {
            assert_eq!(
                answer["metadata"][field], going["metadata"][field],
                "{field}"
            );
        }
        assert_eq!(desk.admin.get(&path).await.unwrap().code, 404);

        let since = since.as_str().unwrap();
        let watch = format!(
            "{collection}?watch=1&timeoutSeconds=1&resourceVersion={since}&fieldSelector=metadata.name=held"
        );
        let events = desk.admin.get(&watch).await.unwrap().body;
        let events: Vec<Value> = events
            .as_str()
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let sorts: Vec<_> = events.iter().map(|event| &event["type"]).collect();
        assert_eq!(sorts, ["MODIFIED", "DELETED"]);
        let mut last = events[1]["object"].clone();
        let version = last["metadata"]["resourceVersion"].take();
        assert_ne!(version, going["metadata"]["resourceVersion"]);
        last["metadata"]["resourceVersion"] = going["metadata"]["resourceVersion"].clone();
        assert_eq!(last, going);
    }
}

#[tokio::test]
async fn foreground_and_orphan_are_finalizers() {
    let desk = Desk::new().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "finalizers": ["tests.berth/hold"]}}
= 201 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps/one?propagationPolicy=Foreground
= 200 ConfigMap
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"finalizers":null}}
= 200 ConfigMap
"#)
    .await;
}

#[tokio::test]
async fn a_namespace_that_is_missing_or_going_takes_nothing() {
    let desk = widgets::desk().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}-missing/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 404 NotFound: namespaces "{ns}-missing" not found
  kind=namespaces name={ns}-missing
GET /api/v1/namespaces/{ns}-missing/configmaps
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}-missing/configmaps/one
= 404 NotFound: configmaps "one" not found
  kind=configmaps name=one
DELETE /api/v1/namespaces/{ns}-missing/configmaps
= 200 ConfigMapList
POST /apis/clients.berth.test/v1/namespaces/{ns}-missing/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"size":1}}
= 404 NotFound: namespaces "{ns}-missing" not found
  kind=namespaces name={ns}-missing
PATCH /api/v1/namespaces/{ns}-missing/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 404 NotFound: namespaces "{ns}-missing" not found
  kind=namespaces name={ns}-missing
POST /api/v1/namespaces

{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"{ns}-x"}}
= 201 Namespace
POST /api/v1/namespaces/{ns}-x/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["tests.berth/hold"]}}
= 201 ConfigMap
DELETE /api/v1/namespaces/{ns}-x
= 200 Namespace
POST /api/v1/namespaces/{ns}-x/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
= 403 Forbidden: configmaps "late" is forbidden: unable to create new content in namespace {ns}-x because it is being terminated
  causes=["NamespaceTerminating metadata.namespace"] kind=configmaps name=late
POST /apis/clients.berth.test/v1/namespaces/{ns}-x/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"late"},"spec":{"size":1}}
= 403 Forbidden: widgets.clients.berth.test "late" is forbidden: unable to create new content in namespace {ns}-x because it is being terminated
  causes=["NamespaceTerminating metadata.namespace"] group=clients.berth.test kind=widgets name=late
PATCH /api/v1/namespaces/{ns}-x/configmaps/late?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
= 403 Forbidden: configmaps "late" is forbidden: unable to create new content in namespace {ns}-x because it is being terminated
  causes=["NamespaceTerminating metadata.namespace"] kind=configmaps name=late
PATCH /api/v1/namespaces/{ns}-x/configmaps/held
Content-Type: application/merge-patch+json

{"data":{"still":"writable"}}
= 200 ConfigMap
DELETE /api/v1/namespaces/{ns}-x
= 200 Namespace
PATCH /api/v1/namespaces/{ns}-x/configmaps/held
Content-Type: application/merge-patch+json

{"metadata":{"finalizers":null}}
= 200 ConfigMap
DELETE /api/v1/namespaces/default
= 403 Forbidden: namespaces "default" is forbidden: this namespace may not be deleted
  kind=namespaces name=default
"#)
    .await;
}

#[tokio::test]
async fn a_collection_is_deleted_by_selectors() {
    let desk = Desk::new().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "labels": {"a": "b"}}}
= 201 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two", "labels": {"a": "b"}}}
= 201 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "three"}}
= 201 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps?labelSelector=a%20b
= 400 BadRequest: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
DELETE /api/v1/namespaces/{ns}/configmaps?labelSelector=a%3Db

{"dryRun":["All"]}
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps/one
= 200 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps?labelSelector=a%3Db
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps/one
= 404 NotFound: configmaps "one" not found
  kind=configmaps name=one
GET /api/v1/namespaces/{ns}/configmaps/three
= 200 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps?fieldSelector=metadata.name%3Dthree
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps/three
= 404 NotFound: configmaps "three" not found
  kind=configmaps name=three
DELETE /api/v1/namespaces/{ns}/configmaps?fieldSelector=nonsense%3D1
= 400 BadRequest: "nonsense" is not a known field selector: only "metadata.name", "metadata.namespace"
"#)
    .await;
}
