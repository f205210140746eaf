use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhook;
use serde_json::{Value, json};

use super::*;
use crate::admission::testing::{cluster, resource};
use crate::user::User;

/// A webhook about everything, but for `fields`.
fn hook(fields: Value) -> Hook {
    let mut webhook = json!({
        "name": "hook.example.com",
        "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] }],
        "clientConfig": { "url": "https://127.0.0.1:1" },
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    json_patch::merge(&mut webhook, &fields);
    Hook::from(serde_json::from_value::<MutatingWebhook>(webhook).expect("a webhook"))
}

fn rules(version: &str) -> Value {
    json!([{
        "operations": ["*"], "apiGroups": ["cluster.open-cluster-management.io"],
        "apiVersions": [version], "resources": ["managedclusters", "managedclusters/status"],
    }])
}

fn object(value: Value) -> Object {
    Object::try_from(value).expect("an object")
}

/// What is asked, in a store with the namespace `ns`, labelled `team: a`.
struct Case<'a> {
    resource: &'a Resource,
    operation: Operation,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
    object: Option<Value>,
    old: Option<Value>,
}

impl Case<'_> {
    fn ask(self, hook: &Hook) -> Result<Option<Invocation>, ApiError> {
        let store = Store::new(10);
        let namespace = object(json!({ "metadata": { "name": "ns", "labels": { "team": "a" } } }));
        let key = resource("", "v1", "namespaces", "Namespace", false).key("", "ns");
        store.create(&key, namespace).expect("created");
        let served = ["v1alpha1", "v1", "v1beta1"].map(|version| Arc::new(cluster(version)));
        let (new, old) = (self.object.map(object), self.old.map(object));
        let user = User::new("u", &[]);
        let write = Write {
            operation: self.operation,
            user: &user,
            resource: self.resource,
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            old: old.as_ref(),
            options: &Value::Null,
            dry_run: false,
            timeout: Duration::from_secs(1),
        };
        let around = Surroundings {
            store: &store,
            served: &served,
        };
        Attributes::new(around, &write, None).invocation(hook, new.as_ref())
    }
}

fn created(resource: &Resource, value: Value) -> Case<'_> {
    let namespace = if resource.namespaced { "ns" } else { "" };
    Case {
        resource,
        operation: Operation::Create,
        subresource: "",
        namespace,
        name: "x",
        object: Some(value),
        old: None,
    }
}

fn is_called(case: Case<'_>, hook: &Hook) -> bool {
    case.ask(hook).expect("it can be said").is_some()
}

#[test]
fn equivalent_versions_count_unless_the_policy_is_exact() {
    let rows = [
        (rules("v1"), "Equivalent", "v1", Some("v1")),
        (rules("v1"), "Equivalent", "v1beta1", Some("v1")),
        (rules("v1"), "Exact", "v1beta1", None),
        (rules("v1"), "Exact", "v1", Some("v1")),
        (rules("v2"), "Equivalent", "v1", None),
        // The version that is asked for is preferred, then what is served first.
        (rules("*"), "Equivalent", "v1beta1", Some("v1beta1")),
    ];
    for (rules, policy, version, expected) in rows {
        let hook = hook(json!({ "rules": rules, "matchPolicy": policy }));
        let resource = cluster(version);
        for subresource in ["", "status"] {
            let case = Case {
                subresource,
                ..created(&resource, json!({}))
            };
            let invocation = case.ask(&hook).expect("it can be said");
            let invoked = invocation.map(|it| it.resource(&resource).version.clone());
            assert_eq!(invoked.as_deref(), expected, "{rules} {policy} {version}");
        }
    }
}

#[test]
fn objects_are_converted_for_equivalent_versions() {
    let (asked, other) = (cluster("v1beta1"), cluster("v1"));
    let before = object(
        json!({ "apiVersion": asked.api_version(), "kind": "ManagedCluster", "spec": { "a": 1 } }),
    );
    let after = convert(&before, &asked, &other);
    assert_eq!(after.api_version(), other.api_version());
    assert_eq!(after.at(&["spec", "a"]), Some(&json!(1)));
    assert_eq!(convert(&after, &other, &asked), before);
}

#[test]
fn namespaces_are_selected_by_their_labels() {
    let selects =
        |team: &str| hook(json!({ "namespaceSelector": { "matchLabels": { "team": team } } }));
    let secrets = resource("", "v1", "secrets", "Secret", true);
    let namespaces = resource("", "v1", "namespaces", "Namespace", false);
    let clusters = cluster("v1");
    let labelled = json!({ "metadata": { "labels": { "team": "b" } } });

    assert!(is_called(created(&secrets, json!({})), &selects("a")));
    assert!(!is_called(created(&secrets, json!({})), &selects("b")));
    // What is in no namespace is always selected.
    assert!(is_called(created(&clusters, json!({})), &selects("b")));
    // A namespace that is written: its own labels. One that is deleted: as it is stored.
    assert!(is_called(
        created(&namespaces, labelled.clone()),
        &selects("b")
    ));
    assert!(!is_called(
        created(&namespaces, labelled.clone()),
        &selects("a")
    ));
    let deleted = |name| Case {
        operation: Operation::Delete,
        name,
        object: None,
        old: Some(labelled.clone()),
        ..created(&namespaces, Value::Null)
    };
    assert!(is_called(deleted("ns"), &selects("a")));
    assert!(!is_called(deleted("ns"), &selects("b")));
    let error = deleted("gone")
        .ask(&selects("a"))
        .expect_err("no such namespace");
    assert_eq!(
        (error.code.as_u16(), &*error.message),
        (404, "namespaces \"gone\" not found")
    );
    // Which does not matter to a webhook that is about something else.
    let elsewhere = hook(
        json!({ "rules": rules("v1"), "namespaceSelector": { "matchLabels": { "team": "a" } } }),
    );
    assert!(!is_called(deleted("gone"), &elsewhere));
}

#[test]
fn either_object_may_be_selected() {
    let selects = hook(
        json!({ "objectSelector": { "matchExpressions": [{ "key": "a", "operator": "Exists" }] } }),
    );
    let labelled = || Some(json!({ "metadata": { "labels": { "a": "" } } }));
    let bare = || Some(json!({}));
    let clusters = cluster("v1");
    let rows = [
        (labelled(), None, true),
        (bare(), labelled(), true),
        (labelled(), bare(), true),
        (None, labelled(), true),
        (bare(), bare(), false),
        (None, None, false),
    ];
    for (object, old, expected) in rows {
        let case = Case {
            object: object.clone(),
            old: old.clone(),
            ..created(&clusters, Value::Null)
        };
        assert_eq!(is_called(case, &selects), expected, "{object:?} {old:?}");
    }
}

#[test]
fn a_selector_that_is_none_stops_the_write() {
    let broken = hook(
        json!({ "objectSelector": { "matchExpressions": [{ "key": "a", "operator": "Near" }] } }),
    );
    let clusters = cluster("v1");
    let error = created(&clusters, json!({}))
        .ask(&broken)
        .expect_err("no selector");
    assert_eq!(
        (error.code.as_u16(), &*error.reason),
        (500, "InternalError")
    );
    assert!(
        error.message.contains("not a valid selector operator"),
        "{}",
        error.message
    );
}

#[test]
fn a_failing_condition_is_decided_by_the_failure_policy() {
    let with = |policy: &str, expression: &str| {
        hook(json!({
            "failurePolicy": policy,
            "matchConditions": [{ "name": "c", "expression": expression }],
        }))
    };
    let clusters = cluster("v1");
    let ask = |hook: &Hook| created(&clusters, json!({ "metadata": { "name": "x" } })).ask(hook);
    for policy in ["Fail", "Ignore"] {
        assert!(
            ask(&with(policy, "object.metadata.name == 'x'"))
                .expect("true")
                .is_some()
        );
        assert!(
            ask(&with(policy, "object.metadata.name == 'y'"))
                .expect("false")
                .is_none()
        );
    }
    let fails = "object.spec.a == 1";
    assert!(ask(&with("Ignore", fails)).expect("ignored").is_none());
    let error = ask(&with("Fail", fails)).expect_err("it fails");
    assert_eq!((error.code.as_u16(), &*error.reason), (403, "Forbidden"));
    assert_eq!(
        error.message,
        "managedclusters.cluster.open-cluster-management.io \"x\" is forbidden: expression 'object.spec.a == 1' resulted in error: no such key: spec"
    );
}

#[test]
fn conditions_see_the_version_that_is_called() {
    let hook = hook(json!({
        "rules": rules("v1"),
        "matchConditions": [{ "name": "c", "expression":
            "request.resource.version == 'v1' && request.requestResource.version == 'v1beta1' && object.apiVersion.endsWith('/v1')" }],
    }));
    let asked = cluster("v1beta1");
    let object = json!({ "apiVersion": asked.api_version(), "kind": "ManagedCluster" });
    assert!(is_called(created(&asked, object), &hook));
}
