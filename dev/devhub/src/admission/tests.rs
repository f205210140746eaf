//! Admission from registrations to answers, against webhooks in this process.

use std::time::Instant;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::issue::{Authority, Issued};
use serde_json::json;

use super::testing::{Server, authority, certificate, cluster, json as answer, resource};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A hub with nothing but registrations.
struct DevHub {
    authority: Authority,
    certificate: Issued,
    store: Store,
    admission: Admission,
    served: Vec<Arc<Resource>>,
}

/// What became of a write.
#[derive(Debug)]
struct Done {
    result: Result<(), ApiError>,
    object: Object,
    warnings: Vec<String>,
}

impl DevHub {
    fn new() -> Self {
        let authority = authority();
        Self {
            certificate: certificate(&authority),
            authority,
            store: Store::new(10),
            admission: Admission::new(crate::options::Services::new()),
            served: vec![Arc::new(cluster("v1")), Arc::new(cluster("v1beta1"))],
        }
    }

    /// A webhook that answers by a function from requests to responses, without uid.
    async fn server(&self, respond: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Server {
        Server::start(&self.certificate, move |review| {
            let mut response = respond(&review["request"]);
            response["uid"] = review["request"]["uid"].clone();
            answer(&json!({
                "kind": review["kind"], "apiVersion": review["apiVersion"], "response": response,
            }))
        })
        .await
    }

    fn webhook(&self, url: &str, fields: Value) -> Value {
        let mut webhook = json!({
            "name": "hook.example.com",
            "clientConfig": { "url": url, "caBundle": BASE64_STANDARD.encode(self.authority.certificate_pem()) },
            "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["*", "*/*"] }],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
        });
        json_patch::merge(&mut webhook, &fields);
        webhook
    }

    fn register(&self, kind: &str, name: &str, webhooks: Vec<Value>) {
        let group = "admissionregistration.k8s.io";
        let plural = format!("{}s", kind.to_lowercase());
        let key = resource(group, "v1", &plural, kind, false).key("", name);
        let registration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": { "name": name }, "webhooks": webhooks,
        });
        let registration = Object::try_from(registration).expect("an object");
        match self.store.get(&key) {
            None => self.store.create(&key, registration),
            Some(old) => self.store.update(&key, old.revision, registration),
        }
        .expect("committed");
    }

    fn mutating(&self, name: &str, webhooks: Vec<Value>) {
        self.register("MutatingWebhookConfiguration", name, webhooks);
    }

    fn validating(&self, name: &str, webhooks: Vec<Value>) {
        self.register("ValidatingWebhookConfiguration", name, webhooks);
    }

    /// Creates a ManagedCluster `c1`.
    async fn create(&self) -> Done {
        self.write(Operation::Create, "v1", false, SECOND * 10)
            .await
    }

    async fn write(
        &self,
        operation: Operation,
        version: &str,
        dry_run: bool,
        timeout: Duration,
    ) -> Done {
        let resource = cluster(version);
        let user = User::new("alice", &["system:authenticated"]);
        let options = json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" });
        let mut object = Object::try_from(json!({
            "apiVersion": resource.api_version(), "kind": "ManagedCluster",
            "metadata": { "name": "c1" }, "spec": {},
        }))
        .expect("an object");
        let old = object.clone();
        let is_deletion = operation == Operation::Delete;
        let write = Write {
            operation,
            user: &user,
            resource: &resource,
            subresource: "",
            namespace: "",
            name: "c1",
            old: (operation != Operation::Create).then_some(&old),
            options: &options,
            dry_run,
            timeout,
        };
        let around = Surroundings {
            store: &self.store,
            served: &self.served,
        };
        let settle = |object: &mut Object| object.set(&["spec", "settled"], true);
        let mut warnings = Vec::new();
        let mut result = self
            .admission
            .mutate(
                around,
                &write,
                (!is_deletion).then_some(&mut object),
                &settle,
                &mut warnings,
            )
            .await;
        if result.is_ok() {
            let object = (!is_deletion).then_some(&object);
            result = self
                .admission
                .validate(around, &write, object, &mut warnings)
                .await;
        }
        Done {
            result,
            object,
            warnings,
        }
    }
}

/// A response with a patch.
fn patched(operations: Value) -> Value {
    json!({
        "allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations.to_string()),
    })
}

/// A response that appends a letter to an annotation.
fn appends(request: &Value, letter: &str) -> Value {
    let was = request["object"]["metadata"]["annotations"]["trace"].as_str();
    let trace = format!("{}{letter}", was.unwrap_or_default());
    patched(json!([{ "op": "add", "path": "/metadata/annotations", "value": { "trace": trace } }]))
}

fn trace(done: &Done) -> &str {
    done.object.str_at(&["metadata", "annotations", "trace"])
}

#[tokio::test]
async fn mutating_webhooks_are_called_by_name_of_registration_then_in_order() {
    let hub = DevHub::new();
    let servers = [
        hub.server(|request| appends(request, "a")).await,
        hub.server(|request| appends(request, "b")).await,
        hub.server(|request| appends(request, "c")).await,
    ];
    let [a, b, c] = servers
        .each_ref()
        .map(|server| hub.webhook(&server.url(), json!({})));
    hub.mutating("z", vec![a]);
    hub.mutating("y", vec![b, c]);
    let done = hub.create().await;
    assert_eq!(done.result, Ok(()));
    assert_eq!(trace(&done), "bca");
    assert_eq!(done.object.at(&["spec", "settled"]), Some(&json!(true)));
}

#[tokio::test]
async fn a_webhook_that_asks_for_it_sees_what_others_changed_after_it() {
    let hub = DevHub::new();
    let servers = [
        hub.server(|request| appends(request, "a")).await,
        hub.server(|request| appends(request, "b")).await,
    ];
    let reinvoked = json!({ "reinvocationPolicy": "IfNeeded" });
    let [a, b] = servers
        .each_ref()
        .map(|server| hub.webhook(&server.url(), reinvoked.clone()));
    hub.mutating("x", vec![a, b]);
    // The second change of a calls b again; then it is enough.
    assert_eq!(trace(&hub.create().await), "abab");
}

#[tokio::test]
async fn a_webhook_that_does_not_ask_for_it_is_called_once() {
    let hub = DevHub::new();
    let servers = [
        hub.server(|request| appends(request, "a")).await,
        hub.server(|request| appends(request, "b")).await,
    ];
    hub.mutating(
        "x",
        servers
            .each_ref()
            .map(|server| hub.webhook(&server.url(), json!({})))
            .to_vec(),
    );
    assert_eq!(trace(&hub.create().await), "ab");
}

#[tokio::test]
async fn registrations_count_from_the_next_write_on() {
    let hub = DevHub::new();
    let server = hub.server(|_| json!({ "allowed": false })).await;
    assert_eq!(hub.create().await.result, Ok(()));
    hub.validating("x", vec![hub.webhook(&server.url(), json!({}))]);
    assert!(hub.create().await.result.is_err());
    hub.validating("x", vec![]);
    assert_eq!(hub.create().await.result, Ok(()));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn of_several_denials_the_first_registrations_counts_and_all_warn() {
    let hub = DevHub::new();
    let slow = hub
        .server(|_| {
            std::thread::sleep(Duration::from_millis(100));
            json!({ "allowed": false, "warnings": ["one"], "status": { "code": 403, "reason": "Forbidden", "message": "slow" } })
        })
        .await;
    let quick = hub
        .server(|_| json!({ "allowed": false, "warnings": ["two"] }))
        .await;
    hub.validating(
        "a",
        vec![hub.webhook(&slow.url(), json!({ "name": "a.example.com" }))],
    );
    hub.validating(
        "b",
        vec![hub.webhook(&quick.url(), json!({ "name": "b.example.com" }))],
    );
    let done = hub.create().await;
    let error = done.result.expect_err("denied");
    assert_eq!((error.code.as_u16(), &*error.reason), (403, "Forbidden"));
    assert_eq!(
        error.message,
        "admission webhook \"a.example.com\" denied the request: slow"
    );
    assert_eq!(done.warnings, ["one", "two"]);
}

#[tokio::test]
async fn the_failure_policy_decides_about_failed_calls() {
    let hub = DevHub::new();
    let url = "https://127.0.0.1:1/x";
    for register in [DevHub::mutating, DevHub::validating] {
        register(&hub, "x", vec![hub.webhook(url, json!({}))]);
        let error = hub.create().await.result.expect_err("nobody is there");
        assert_eq!(
            (error.code.as_u16(), &*error.reason),
            (500, "InternalError")
        );
        assert_eq!(
            error.message,
            "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post \"https://127.0.0.1:1/x?timeout=5s\": dial tcp 127.0.0.1:1: connect: connection refused"
        );
        register(
            &hub,
            "x",
            vec![hub.webhook(url, json!({ "failurePolicy": "Ignore" }))],
        );
        assert_eq!(hub.create().await.result, Ok(()));
    }
}

#[tokio::test]
async fn denials_count_whatever_the_failure_policy() {
    let hub = DevHub::new();
    let server = hub
        .server(|_| json!({ "allowed": false, "status": { "message": "no" } }))
        .await;
    for register in [DevHub::mutating, DevHub::validating] {
        register(
            &hub,
            "x",
            vec![hub.webhook(&server.url(), json!({ "failurePolicy": "Ignore" }))],
        );
        let error = hub.create().await.result.expect_err("denied");
        assert_eq!((error.code.as_u16(), &*error.reason), (400, ""));
        assert_eq!(
            error.message,
            "admission webhook \"hook.example.com\" denied the request: no"
        );
        register(&hub, "x", vec![]);
    }
}

#[tokio::test]
async fn a_call_takes_no_longer_than_its_own_timeout_or_the_requests() {
    let hub = DevHub::new();
    let server = Server::misbehaving(&hub.certificate, |stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let rows = [
        (
            1,
            SECOND * 10,
            "Fail",
            "?timeout=1s\": context deadline exceeded",
        ),
        (
            5,
            SECOND / 2,
            "Fail",
            "?timeout=1s\": context deadline exceeded",
        ),
        (
            5,
            SECOND / 2,
            "Ignore",
            "Timeout: request did not complete within requested timeout",
        ),
    ];
    for (seconds, timeout, policy, expected) in rows {
        let fields = json!({ "timeoutSeconds": seconds, "failurePolicy": policy });
        hub.mutating("x", vec![hub.webhook(&server.url(), fields)]);
        let begun = Instant::now();
        let done = hub.write(Operation::Create, "v1", false, timeout).await;
        let error = done.result.expect_err("too late");
        assert!(error.message.ends_with(expected), "{}", error.message);
        assert!(begun.elapsed() < SECOND * 4);
    }
}

#[tokio::test]
async fn dry_runs_call_only_what_has_no_side_effects_in_them() {
    let hub = DevHub::new();
    let server = hub.server(|_| json!({ "allowed": true })).await;
    let dry = async |effects: &str| {
        let fields = json!({ "sideEffects": effects, "failurePolicy": "Ignore" });
        hub.validating("x", vec![hub.webhook(&server.url(), fields)]);
        hub.write(Operation::Create, "v1", true, SECOND * 10)
            .await
            .result
    };
    assert_eq!(dry("None").await, Ok(()));
    assert_eq!(dry("NoneOnDryRun").await, Ok(()));
    let error = dry("Some").await.expect_err("it has side effects");
    assert_eq!((error.code.as_u16(), &*error.reason), (400, "BadRequest"));
    assert_eq!(
        error.message,
        "admission webhook \"hook.example.com\" does not support dry run"
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].review["request"]["dryRun"], true);
}

#[tokio::test]
async fn patches_that_cannot_be_applied_stop_the_write() {
    let hub = DevHub::new();
    let rows = [
        (
            patched(json!([{ "op": "replace", "path": "/spec/a/b", "value": 1 }])),
            "operation '/0' failed at path '/spec/a/b'",
        ),
        (
            patched(json!([{ "op": "replace", "path": "/metadata", "value": [] }])),
            "metadata is not a JSON object",
        ),
        (
            patched(json!([{ "op": "replace", "path": "/kind", "value": "Other" }])),
            "admission webhook \"hook.example.com\" attempted to change the object's apiVersion or kind",
        ),
        (
            json!({ "allowed": true, "patchType": "Strategic", "patch": BASE64_STANDARD.encode(r#"[{"op":"remove","path":"/spec"}]"#) }),
            "failed calling webhook \"hook.example.com\": unsupported patch type \"Strategic\"",
        ),
        (
            json!({ "allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode("{}") }),
            "failed calling webhook \"hook.example.com\": received undecodable patch in webhook response: ",
        ),
    ];
    for (response, expected) in rows {
        let server = hub.server(move |_| response.clone()).await;
        hub.mutating("x", vec![hub.webhook(&server.url(), json!({}))]);
        let error = hub.create().await.result.expect_err(expected);
        assert_eq!(
            (error.code.as_u16(), &*error.reason),
            (500, "InternalError")
        );
        let message = format!("Internal error occurred: {expected}");
        assert!(error.message.starts_with(&message), "{}", error.message);
    }
}

#[tokio::test]
async fn a_deletion_has_no_object_to_patch() {
    let hub = DevHub::new();
    let server = hub.server(|request| appends(request, "a")).await;
    hub.mutating("x", vec![hub.webhook(&server.url(), json!({}))]);
    let done = hub.write(Operation::Delete, "v1", false, SECOND * 10).await;
    assert_eq!(
        done.result.expect_err("no object").message,
        "Internal error occurred: admission webhook \"hook.example.com\" attempted to modify the object, which is not supported for this operation"
    );
    let request = &server.asked()[0].review["request"];
    assert_eq!(
        (&request["operation"], &request["object"]),
        (&json!("DELETE"), &Value::Null)
    );
    assert_eq!(request["oldObject"]["metadata"]["name"], "c1");
}

#[tokio::test]
async fn a_webhook_for_another_version_is_called_with_that_and_its_patch_comes_back() {
    let hub = DevHub::new();
    let server = hub.server(|request| appends(request, "a")).await;
    hub.mutating("x", vec![hub.webhook(&server.url(), json!({}))]);
    let done = hub
        .write(Operation::Create, "v1beta1", false, SECOND * 10)
        .await;
    assert_eq!(done.result, Ok(()));
    assert_eq!(trace(&done), "a");
    assert_eq!(
        done.object.api_version(),
        "cluster.open-cluster-management.io/v1beta1"
    );
    let request = &server.asked()[0].review["request"];
    assert_eq!(request["kind"]["version"], "v1");
    assert_eq!(request["requestKind"]["version"], "v1beta1");
    assert_eq!(
        request["object"]["apiVersion"],
        "cluster.open-cluster-management.io/v1"
    );
}

#[tokio::test]
async fn registrations_themselves_are_shown_to_nobody() {
    let hub = DevHub::new();
    hub.validating("x", vec![hub.webhook("https://127.0.0.1:1/x", json!({}))]);
    let registrations = resource(
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        false,
    );
    let user = User::new("alice", &[]);
    let write = Write {
        operation: Operation::Delete,
        user: &user,
        resource: &registrations,
        subresource: "",
        namespace: "",
        name: "x",
        old: None,
        options: &Value::Null,
        dry_run: false,
        timeout: SECOND,
    };
    let around = Surroundings {
        store: &hub.store,
        served: &hub.served,
    };
    let result = hub
        .admission
        .validate(around, &write, None, &mut Vec::new())
        .await;
    assert_eq!(result, Ok(()));
}

#[tokio::test]
async fn a_registration_that_cannot_be_read_stops_writes_until_it_is_gone() {
    let hub = DevHub::new();
    hub.validating("x", vec![json!({ "name": 1 })]);
    let error = hub.create().await.result.expect_err("spoilt");
    assert_eq!(
        (error.code.as_u16(), &*error.reason),
        (500, "InternalError")
    );
    assert!(
        error.message.contains("\"x\" cannot be read"),
        "{}",
        error.message
    );
    hub.validating("x", vec![]);
    assert_eq!(hub.create().await.result, Ok(()));
}

/// Requests are built as a real API server has sent them.
#[test]
fn reviews_are_those_of_a_real_api_server() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/reviews");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("UTF-8")
            .to_owned();
        if !name.ends_with(".json") || name.ends_with(".ocm.json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let mut expected: Value = serde_json::from_str(&text).expect("JSON");
        let request = expected["request"].clone();
        let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = |kind: &str, name: &str| {
            let (kind, name) = (&request[kind], &request[name]);
            let mut it = resource(
                &text_of(&kind["group"]),
                &text_of(&kind["version"]),
                &text_of(&name["resource"]),
                &text_of(&kind["kind"]),
                request["namespace"].is_string(),
            );
            it.subresources.clear();
            Arc::new(it)
        };
        let object = |field: &str| Object::try_from(request[field].clone()).ok();
        let info = &request["userInfo"];
        let user = User {
            name: text_of(&info["username"]),
            uid: text_of(&info["uid"]),
            groups: serde_json::from_value(info["groups"].clone()).expect("strings"),
            extra: serde_json::from_value(info["extra"].clone()).unwrap_or_default(),
        };
        let (asked, invoked) = (
            version("requestKind", "requestResource"),
            version("kind", "resource"),
        );
        let (new, old) = (object("object"), object("oldObject"));
        let (object_name, namespace) = (text_of(&request["name"]), text_of(&request["namespace"]));
        let write = Write {
            operation: match request["operation"].as_str() {
                Some("CREATE") => Operation::Create,
                Some("UPDATE") => Operation::Update,
                _ => Operation::Delete,
            },
            user: &user,
            resource: &asked,
            subresource: "",
            namespace: &namespace,
            name: &object_name,
            old: old.as_ref(),
            options: &request["options"],
            dry_run: request["dryRun"] == true,
            timeout: SECOND,
        };
        let about = review::About::new(&write, &invoked, &object_name, &namespace);
        if expected["apiVersion"] != "admission.k8s.io/v1" {
            continue;
        }
        let (uid, review) = about.review(new.as_ref(), old.as_ref());
        expected["request"]["uid"] = uid.as_str().into();
        let built: Value = serde_json::from_slice(&review).expect("JSON");
        assert_eq!(built, expected, "{name}");
        // The order of fields, too.
        let start = |text: &str| -> String {
            let text: String = text.split_whitespace().collect();
            let until_the_object = text.split("\"object\":").next().unwrap_or_default();
            until_the_object.replace(request["uid"].as_str().expect("a uid"), &uid)
        };
        let built = String::from_utf8(review).expect("UTF-8");
        assert_eq!(start(&built), start(&text), "{name}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}
