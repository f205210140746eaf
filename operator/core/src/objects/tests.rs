use serde_json::json;

use super::*;

fn stored(object: &Value) -> Stored {
    Stored::read(&object.to_string(), crate::names::CREATED_BY).unwrap()
}

fn wanted() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c"}]},
    })
}

/// An object as another client made it, in a list: without its kind.
fn of_another(manager: &str, fields: Value) -> Value {
    json!({
        "metadata": {
            "name": "d", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"},
            "managedFields": [
                {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields},
                {"manager": "kubelet", "operation": "Update", "apiVersion": "apps/v1", "subresource": "status", "fieldsV1": {"f:status": {}}},
            ],
        },
        "spec": {"containers": [{"name": "c"}, {"name": "old"}]},
    })
}

#[test]
fn an_object_that_is_not_seen_is_applied_whoever_has_it() {
    let action = action(&wanted(), None);
    let Some(Action::Apply { body, .. }) = action else {
        panic!("{action:?}");
    };
    assert_eq!(body, wanted());
}

#[test]
fn the_content_of_a_secret_stays_its_keepers() {
    let wanted = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": {"a": "b"}}, "type": "Opaque",
    });
    let object = json!({
        "metadata": {
            "name": "s",
            "managedFields": [{
                "manager": "keeper", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:tls.key": {}}},
            }],
        },
        "data": {"tls.key": "a2V5"}, "type": "Opaque",
    });
    let found = action(&wanted, Some(&stored(&object)));
    assert!(matches!(found, Some(Action::Apply { .. })), "{found:?}");
}

#[test]
fn what_is_right_is_not_written_whoever_wrote_it() {
    let mut object = of_another(
        "registration-operator",
        json!({"f:spec": {"f:containers": {}}}),
    );
    object["spec"] = wanted()["spec"].clone();
    assert_eq!(action(&wanted(), Some(&stored(&object))), None);
}

#[test]
fn the_content_of_another_client_is_taken_over_and_then_applied() {
    let fields = json!({
        "f:metadata": {"f:labels": {"f:theirs": {}}},
        "f:spec": {"f:containers": {"k:{\"name\":\"old\"}": {"f:image": {}}}, "f:webhook": {"f:caBundle": {}, "f:url": {}}},
    });
    let mut object = of_another("registration-operator", fields);
    let taken = action(&wanted(), Some(&stored(&object)));
    let Some(Action::Patch { body, .. }) = taken else {
        panic!("{taken:?}");
    };
    let managed = &body["metadata"]["managedFields"];
    assert_eq!(
        managed[0]["fieldsV1"],
        json!({"f:metadata": {"f:labels": {"f:theirs": {}}}, "f:spec": {"f:webhook": {"f:caBundle": {}}}})
    );
    assert_eq!(managed[1]["manager"], "kubelet");
    assert_eq!(
        (&managed[2]["manager"], &managed[2]["operation"]),
        (&json!(MANAGER), &json!("Apply"))
    );
    assert_eq!(
        managed[2]["fieldsV1"],
        json!({"f:spec": {"f:containers": {"k:{\"name\":\"old\"}": {"f:image": {}}}, "f:webhook": {"f:url": {}}}})
    );
    json_patch::merge(&mut object, &body);
    let applied = action(&wanted(), Some(&stored(&object)));
    let Some(Action::Apply { body, .. }) = applied else {
        panic!("{applied:?}");
    };
    assert_eq!(body["metadata"]["resourceVersion"], "7");
}

#[test]
fn a_field_that_was_applied_and_is_not_wanted_is_removed_by_applying() {
    let mut object = wanted();
    object["spec"]["paused"] = json!(true);
    object["metadata"]["managedFields"] = json!([{
        "manager": MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:paused": {}}},
    }]);
    let found = action(&wanted(), Some(&stored(&object)));
    assert!(matches!(found, Some(Action::Apply { .. })), "{found:?}");
    // Somebody else's, in a place of its own.
    object["metadata"]["managedFields"][0]["manager"] = json!("other");
    assert_eq!(action(&wanted(), Some(&stored(&object))), None);
}

#[test]
fn the_content_of_a_secret_is_not_kept() {
    let object = json!({"metadata": {"name": "s"}, "data": {"tls.key": "a2V5"}});
    let stored = stored(&object);
    assert!(!format!("{stored:?}").contains("a2V5"));
}
