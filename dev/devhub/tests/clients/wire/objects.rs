//! Objects of built-in kinds that are refused, and what each says is wrong.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::wire::exchange::said;

fn object(api_version: &str, kind: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x" } })
}

#[tokio::test]
async fn config_maps_and_secrets() {
    let desk = Desk::new().await;
    let config_maps = desk.core("configmaps");
    desk.creates(
        &config_maps,
        &object("v1", "ConfigMap"),
        r#"
{"data": {"a": "b", ".bashrc": "", "a..b": ""}, "binaryData": {"b": "Yg=="}}
= fine
{"data": {"": "b"}}
= data[]: Invalid value: "": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')
{"data": {"a/b": "b"}}
= data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')
{"data": {".": "b"}}
= data[.]: Invalid value: ".": must not be '.'
{"data": {"..a": "b"}}
= data[..a]: Invalid value: "..a": must not start with '..'
"#,
    )
    .await;
    let (long, large) = ("k".repeat(254), "x".repeat((1 << 20) + 1));
    let rows = format!(
        r#"
{{"data": {{"{long}": ""}}}}
= data[{long}]: Invalid value: "{long}": must be no more than 253 [..]
{{"data": {{"a": "{large}"}}}}
= []: Too long: may not be more than 1048576 bytes
"#
    );
    desk.creates(&config_maps, &object("v1", "ConfigMap"), &rows)
        .await;

    let mut fixed = object("v1", "ConfigMap");
    json_patch::merge(
        &mut fixed,
        &json!({ "immutable": true, "data": { "a": "b" } }),
    );
    desk.admin.post(&config_maps, &fixed).await.unwrap().ok();
    desk.changes(
        &desk.core("configmaps/x"),
        r#"
{"metadata": {"labels": {"a": "b"}}, "data": {"a": "b"}}
= fine
{"immutable": null, "data": {"a": "c"}}
= [immutable: Forbidden: field is immutable when `immutable` is set, data: Forbidden: field is immutable when `immutable` is set]
{"binaryData": {"b": "Yg=="}}
= binaryData: Forbidden: field is immutable when `immutable` is set
"#,
    )
    .await;
    desk.creates(
        &desk.core("secrets"),
        &object("v1", "Secret"),
        r#"
{"data": {"a": "Yg=="}, "stringData": {"a": "new", "c": ""}}
= fine
{"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}
= data[tls.key]: Required value
{"type": "kubernetes.io/service-account-token"}
= metadata.annotations[kubernetes.io/service-account.name]: Required value
"#,
    )
    .await;
    let mut both = object("v1", "Secret");
    json_patch::merge(
        &mut both,
        &json!({ "data": { "a": "b2xk", "b": "Yg==" }, "stringData": { "a": "new", "c": "" } }),
    );
    let made = desk.admin.post(&desk.core("secrets"), &both).await.unwrap();
    assert_eq!(
        made.ok()["data"],
        json!({ "a": "bmV3", "b": "Yg==", "c": "" })
    );
    assert_eq!(
        (&made.ok()["type"], &made.ok()["stringData"]),
        (&json!("Opaque"), &Value::Null)
    );
}

#[tokio::test]
async fn metadata() {
    let desk = Desk::new().await;
    let config_maps = desk.core("configmaps");
    desk.creates(
        &config_maps,
        &object("v1", "ConfigMap"),
        r#"
{"metadata": {"name": null, "generateName": "made-"}}
= fine
{"metadata": {"generateName": "é-"}}
= metadata.generateName: Invalid value: "é-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
{"metadata": {"labels": {"/a": "b"}}}
= metadata.labels: Invalid value: "/a": prefix part must be non-empty
{"metadata": {"annotations": {"/A": "anything / goes"}}}
= metadata.annotations: Invalid value: "/A": prefix part must be non-empty
{"metadata": {"ownerReferences": [{"apiVersion": "apps/", "kind": "A", "name": "a", "uid": "1"}]}}
= metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty
{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"}]}}
= metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"1"}: /v1, Kind=Event is disallowed from being an owner
{"metadata": {"finalizers": ["orphan", "foregroundDeletion"]}}
= metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set
{"metadata": {"finalizers": ["/x"]}}
= metadata.finalizers: Invalid value: "/x": prefix part must be non-empty
{"metadata": {"managedFields": [{"operation": "Guess"}]}}
= fine
"#,
    )
    .await;
    let rows = format!(
        r#"
{{"metadata": {{"annotations": {{"a": "{}"}}}}}}
= metadata.annotations: Too long: may not be more than 262144 bytes
"#,
        "x".repeat(1 << 18)
    );
    desk.creates(&config_maps, &object("v1", "ConfigMap"), &rows)
        .await;
    desk.creates(
        "/api/v1/nodes",
        &object("v1", "Node"),
        r#"
{"metadata": {"namespace": "other"}}
= fine
{"metadata": {"finalizers": ["example.com/mine", "orphan"]}}
= fine
"#,
    )
    .await;
    let name = format!("{}-x", desk.namespace);
    let role =
        json!({ "metadata": { "name": name, "finalizers": ["tests.berth/a", "tests.berth/b"] } });
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    desk.admin.post(roles, &role).await.unwrap().ok();
    let path = format!("{roles}/{name}");
    desk.changes(
        &path,
        r#"
{"metadata": {"creationTimestamp": null, "generation": null}}
= fine
{"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}
= fine
"#,
    )
    .await;
    desk.admin.delete(&path).await.unwrap().ok();
    desk.changes(
        &path,
        r#"
{"metadata": {"finalizers": ["tests.berth/a"]}}
= fine
{"metadata": {"finalizers": ["tests.berth/d", "tests.berth/c", "tests.berth/d"]}}
= metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers [..]"tests.berth/c", "tests.berth/d"[..]
"#,
    )
    .await;
    desk.admin
        .merge(&path, &json!({ "metadata": { "finalizers": null } }))
        .await
        .unwrap()
        .ok();
}

#[tokio::test]
async fn custom_finalizers_without_a_domain_earn_a_warning() {
    let desk = crate::widgets::desk().await;
    let path = desk.in_group(crate::widgets::GROUP_VERSION, "widgets");
    desk.creates(
        &path,
        &crate::widgets::widget("x"),
        r#"
{"metadata": {"finalizers": ["mine", "example.com", "example.com/mine", "orphan"]}}
= fine; warning: metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers; warning: metadata.finalizers: "mine": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers
"#,
    )
    .await;
}

#[tokio::test]
async fn namespaces() {
    let desk = Desk::new().await;
    desk.creates(
        "/api/v1/namespaces",
        &object("v1", "Namespace"),
        r#"
{"spec": {"finalizers": ["kubernetes", "a.b/c"]}}
= fine
{"spec": {"finalizers": ["y"]}}
= spec.finalizers: Invalid value: "y": name is neither a standard finalizer name nor is it fully qualified
"#,
    )
    .await;
    let name = format!("{}-x", desk.namespace);
    let label = "kubernetes.io/metadata.name";
    let made = json!({
        "metadata": { "name": name, "labels": { (label): "b" } },
        "spec": { "finalizers": ["tests.berth/x"] }, "status": { "phase": "Terminating" },
    });
    let made = desk
        .admin
        .post("/api/v1/namespaces", &made)
        .await
        .unwrap()
        .ok()
        .clone();
    assert_eq!(made["metadata"]["labels"][label], name.as_str());
    assert_eq!(
        made["spec"],
        json!({ "finalizers": ["tests.berth/x", "kubernetes"] })
    );
    assert_eq!(made["status"], json!({ "phase": "Active" }));
    // Each part is written by its own path only.
    let path = format!("/api/v1/namespaces/{name}");
    let mut change = made.clone();
    change["spec"]["finalizers"] = json!([]);
    change["status"]["conditions"] = json!([{ "type": "T", "status": "True" }]);
    for (part, finalizers, conditions) in [("", 2, 0), ("/status", 2, 1), ("/finalize", 0, 0)] {
        let written = desk
            .admin
            .put(&format!("{path}{part}?dryRun=All"), &change)
            .await
            .unwrap();
        let length = |list: &Value| list.as_array().map_or(0, Vec::len);
        let found = (
            length(&written.ok()["spec"]["finalizers"]),
            length(&written.ok()["status"]["conditions"]),
        );
        assert_eq!(found, (finalizers, conditions), "{part}");
    }
    desk.changes(
        &format!("{path}/status"),
        r#"
{"status": {"phase": "Active"}}
= fine
{"status": {"phase": "Terminating"}}
= status.Phase: Invalid value: "Terminating": may only be 'Active' [..]
"#,
    )
    .await;
    change["spec"]["finalizers"] = json!(["y"]);
    let refused = desk
        .admin
        .put(&format!("{path}/finalize"), &change)
        .await
        .unwrap();
    let words = refused.refused(422, "Invalid");
    assert!(
        words.contains("Invalid value: \"y\": name is neither a standard finalizer name"),
        "{words}"
    );
}

#[tokio::test]
async fn events() {
    let desk = Desk::new().await;
    desk.creates(
        &desk.core("events"),
        &object("v1", "Event"),
        r#"
{"involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"}}
= fine
{"involvedObject": {"kind": "Pod", "namespace": "other", "name": "p"}}
= involvedObject.namespace: Invalid value: "other": does not match event.namespace
"#,
    )
    .await;
    let path = desk.in_group("events.k8s.io/v1", "events");
    let mut event = object("events.k8s.io/v1", "Event");
    json_patch::merge(
        &mut event,
        &json!({
            "regarding": { "kind": "Pod", "namespace": desk.namespace, "name": "p" }, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "x/y", "reportingInstance": "z", "action": "a", "reason": "r", "type": "Normal",
        }),
    );
    let long = format!(
        "{{\"reason\": \"{}\"}}\n= reason: Invalid value: \"\": can have at most 128 characters",
        "r".repeat(129)
    );
    desk.creates(&path, &event, &long).await;
    desk.creates(
        &path,
        &event,
        r#"
{"reportingInstance": null, "action": null}
= [reportingInstance: Required value, action: Required value]
{"type": "Odd"}
= type: Invalid value: [..]has invalid value[..]
"#,
    )
    .await;
    desk.admin.post(&path, &event).await.unwrap().ok();
    desk.changes(
        &format!("{path}/x"),
        r#"
{"note": "y"}
= message: Invalid value: "y": field is immutable
"#,
    )
    .await;
    let old = desk.admin.get(&desk.core("events/x")).await.unwrap();
    assert_eq!(old.ok()["involvedObject"]["name"], "p");
    assert_eq!(old.ok()["reportingComponent"], "x/y");
    let selected = desk
        .admin
        .get(&desk.core("events?fieldSelector=source%3Dx/y"))
        .await
        .unwrap();
    assert_eq!(selected.ok()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn webhook_registrations() {
    let desk = Desk::new().await;
    let mut base = object(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
    );
    base["webhooks"] = json!([{
        "name": "a.b.c", "rules": [{ "operations": ["*"], "apiGroups": ["tests.berth"], "apiVersions": ["v1"], "resources": ["r"] }],
        "clientConfig": { "service": { "name": "s", "namespace": "n" } }, "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }]);
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All";
    let made = desk.admin.post(path, &base).await.unwrap();
    let filled = &made.ok()["webhooks"][0];
    for (field, value) in [
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("reinvocationPolicy", json!("Never")),
        ("namespaceSelector", json!({})),
        ("objectSelector", json!({})),
        ("timeoutSeconds", json!(10)),
    ] {
        assert_eq!(filled[field], value, "{field}");
    }
    assert_eq!(filled["rules"][0]["scope"], "*");
    assert_eq!(filled["clientConfig"]["service"]["port"], 443);
    let many = vec![json!({ "name": "m", "expression": "true" }); 65];
    // What is wrong with a webhook, at which field.
    for (patch, field) in [
        (json!({}), ""),
        (json!({ "name": "a.b" }), "name"),
        (json!({ "sideEffects": null }), "sideEffects"),
        (json!({ "sideEffects": "Some" }), "sideEffects"),
        (json!({ "failurePolicy": "x" }), "failurePolicy"),
        (json!({ "matchPolicy": "x" }), "matchPolicy"),
        (json!({ "reinvocationPolicy": "x" }), "reinvocationPolicy"),
        (json!({ "timeoutSeconds": 31 }), "timeoutSeconds"),
        (
            json!({ "admissionReviewVersions": ["v2"] }),
            "admissionReviewVersions",
        ),
        (
            json!({ "clientConfig": { "service": null } }),
            "clientConfig",
        ),
        (
            json!({ "clientConfig": { "service": null, "url": "http://h" } }),
            "clientConfig.url",
        ),
        (
            json!({ "clientConfig": { "service": null, "url": "https://u@h" } }),
            "clientConfig.url",
        ),
        (
            json!({ "clientConfig": { "service": null, "url": "https:x y" } }),
            "clientConfig.url",
        ),
        (
            json!({ "clientConfig": { "service": { "namespace": null, "name": null } } }),
            "clientConfig.service.name",
        ),
        (json!({ "matchConditions": many }), "matchConditions"),
        (
            json!({ "matchConditions": [{ "name": "m", "expression": "nonsense" }] }),
            "matchConditions[0].expression",
        ),
        (
            json!({ "objectSelector": { "matchExpressions": [{ "key": "k", "operator": "x" }] } }),
            "objectSelector.matchExpressions[0].operator",
        ),
        (
            json!({ "rules": [{ "operations": ["x"], "apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["r"] }] }),
            "rules[0].operations",
        ),
        (
            json!({ "rules": [{ "operations": ["*"], "apiGroups": ["g"], "apiVersions": ["v1"] }] }),
            "rules[0].resources",
        ),
    ] {
        let mut wrong = base.clone();
        json_patch::merge(&mut wrong["webhooks"][0], &patch);
        let answer = desk.admin.post(path, &wrong).await.unwrap();
        let found = answer.body["details"]["causes"][0]["field"]
            .as_str()
            .unwrap_or_default();
        let found = found
            .trim_start_matches("webhooks[0].")
            .trim_end_matches("[0]");
        assert_eq!(found, field, "{patch}: {}", said(&answer));
    }
}
