//! Errors of the hub: the response differs from a denial, comes in time, and names the cause.

use std::time::{Duration, Instant};

use berth_manifests::webhooks::{MUTATE_CLUSTER, VALIDATE_BINDING, VALIDATE_CLUSTER};
use serde_json::{Value, json};

use super::{binding, carol_accepts, cluster, gate, message, review, written};
use berth_fakes::{FakeHub, Fault};

const REVIEWS: &str = "/subjectaccessreviews";
const VALIDATE: &str = VALIDATE_CLUSTER.path;

/// 500 `InternalError`, to be tried again, and the words that it is no denial.
#[track_caller]
fn assert_undecided(case: &str, response: &Value) {
    assert_eq!(response["allowed"], false, "{case}");
    let status = &response["status"];
    assert_eq!(status["code"], 500, "{case}: {response}");
    assert_eq!(status["reason"], "InternalError", "{case}: {response}");
    assert_eq!(status["details"]["retryAfterSeconds"], 1, "{case}");
    for line in message(response).lines() {
        assert!(
            line.ends_with(": this is not a denial, try again"),
            "{case}: {line}"
        );
    }
    assert_eq!(response["auditAnnotations"]["outcome"], "undecided");
}

#[tokio::test]
async fn trouble_with_the_hub_is_told_apart_from_a_denial() {
    const ROLE: &str = "open-cluster-management:berth-registration:webhook";
    let hub = FakeHub::start();
    let gate = gate(&hub);
    for (case, path, fault, fragments) in [
        (
            "the gate may not create reviews",
            REVIEWS,
            Fault::Refuse,
            &["the gate itself may not create subjectaccessreviews", ROLE][..],
        ),
        (
            "the gate may not read namespaces",
            "/namespaces/c1",
            Fault::Refuse,
            &["the gate itself may not get namespaces", ROLE],
        ),
        (
            "the gate may not list bindings",
            "/managedclustersetbindings",
            Fault::Refuse,
            &[
                "the gate itself may not list managedclustersetbindings",
                ROLE,
            ],
        ),
        (
            "the hub does not know the gate",
            REVIEWS,
            Fault::Unauthorized,
            &["does not accept the gate's own credentials", "kubeconfig"],
        ),
        (
            "the hub turns requests away",
            REVIEWS,
            Fault::Busy,
            &["answered create subjectaccessreviews with 429 Too many requests"],
        ),
        (
            "the hub is broken",
            REVIEWS,
            Fault::Broken,
            &["answered create subjectaccessreviews with 500 etcdserver: request timed out"],
        ),
        (
            "a proxy has no hub to ask",
            REVIEWS,
            Fault::Proxy(503, "no healthy upstream"),
            &["answered create subjectaccessreviews with 503 no healthy upstream"],
        ),
        (
            "a proxy that knows no such page does not say that there is no such namespace",
            "/namespaces/c1",
            Fault::Proxy(404, "<h1>not here</h1>"),
            &["answered get namespaces with 404 <h1>not here</h1>"],
        ),
        (
            "the connection is closed",
            REVIEWS,
            Fault::Drop,
            &["the hub cannot be reached (create subjectaccessreviews): connection closed"],
        ),
        (
            "the answer is no JSON",
            REVIEWS,
            Fault::Garbage,
            &["the hub's response to create subjectaccessreviews cannot be read: expected value"],
        ),
        (
            "the answer is another object",
            REVIEWS,
            Fault::OtherKind,
            &["the hub's response to create subjectaccessreviews cannot be read"],
        ),
        (
            "the namespace is another object",
            "/namespaces/c1",
            Fault::OtherKind,
            &["the hub's response to get namespaces cannot be read: missing field `name`"],
        ),
        (
            "the list of bindings is no list",
            "/managedclustersetbindings",
            Fault::OtherKind,
            &[
                "the hub's response to list managedclustersetbindings cannot be read: missing field `items`",
            ],
        ),
        (
            "a proxy that knows no such page does not say that there are no bindings",
            "/managedclustersetbindings",
            Fault::Proxy(404, "<h1>not here</h1>"),
            &["answered list managedclustersetbindings with 404 <h1>not here</h1>"],
        ),
        (
            "a proxy sends the gate somewhere else",
            "/managedclustersetbindings",
            Fault::Proxy(302, "{\"items\":[]}"),
            &["answered list managedclustersetbindings with 302 {\"items\":[]}"],
        ),
        (
            "the answer floods the gate",
            "/namespaces/c1",
            Fault::Flood,
            &["the hub's response to get namespaces cannot be read: it is longer than 8 MiB"],
        ),
        (
            "the answer has no status",
            REVIEWS,
            Fault::Status(|| Value::Null),
            &["a SubjectAccessReview without a status"],
        ),
        (
            "the answer does not come",
            REVIEWS,
            Fault::Hang,
            &["cannot decide whether user \"carol\" may update or create \
               managedclusters/accept.register.open-cluster-management.io \"c1\": \
               no answer from the hub within 1.8s"],
        ),
        (
            "a fact does not come",
            "/namespaces/c1",
            Fault::Hang,
            &[
                "cannot decide whether the hub is terminating namespace \"c1\": \
               no answer from the hub within 1.8s",
            ],
        ),
    ] {
        hub.misbehave_at(path, fault);
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "2s").await;
        assert_undecided(case, &response);
        for fragment in fragments {
            let message = message(&response);
            assert!(message.contains(fragment), "{case}: {message}");
        }
        hub.behave();
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "2s").await;
        assert_eq!(response["allowed"], true, "after {case}: {response}");
    }
}

#[tokio::test]
async fn the_permission_to_bind_and_the_cluster_of_a_namespace_are_undecided_alike() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let bind = written("alice", &binding("set-a", "team"), None);
    let path = VALIDATE_BINDING.path;
    hub.misbehave(|_| Some(Fault::Refuse));
    let response = review(&gate, path, &bind, "2s").await;
    assert_undecided("both are refused", &response);
    let lines: Vec<_> = message(&response).lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("may create managedclustersets/bind"));
    // What concerns the hub is said to those only who may bind the set.
    hub.behave();
    hub.misbehave_at("/managedclusters/team", Fault::Refuse);
    let response = review(&gate, path, &bind, "2s").await;
    assert_undecided("the cluster is refused", &response);
    let lines: Vec<_> = message(&response).lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("the gate itself may not get managedclusters"));
}

#[tokio::test]
async fn an_answer_comes_in_time_although_the_hub_hangs() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    hub.misbehave(|_| Some(Fault::Hang));
    let begun = Instant::now();
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "3s").await;
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_undecided("the hub hangs", &response);
    assert!(message(&response).contains("no answer from the hub within 2.7s"));
}

#[tokio::test]
async fn a_sure_denial_beats_what_is_not_known() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    // Whether alice may accept is not known, but she may not join set-b.
    let new = cluster("c1", "set-b", true);
    let write = written("alice", &new, Some(&cluster("c1", "set-a", false)));
    for fault in [Fault::Hang, Fault::Broken, Fault::Drop] {
        hub.misbehave(move |asked| {
            let attributes = &asked.body["spec"]["resourceAttributes"];
            (attributes["subresource"] == "accept").then_some(fault)
        });
        let response = review(&gate, VALIDATE, &write, "1s").await;
        assert_eq!(response["status"]["code"], 403, "{fault:?}: {response}");
        assert_eq!(response["status"]["reason"], "Forbidden");
        assert!(
            message(&response).starts_with(
                "managedclustersets/join.cluster.open-cluster-management.io \"set-b\" is forbidden"
            ),
            "{response}"
        );
        assert_eq!(message(&response).lines().count(), 1, "{response}");
    }
}

#[tokio::test]
async fn a_verb_that_is_granted_is_enough_whatever_becomes_of_the_other() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    for fault in [Fault::Hang, Fault::Broken, Fault::Garbage] {
        hub.misbehave(move |asked| {
            let attributes = &asked.body["spec"]["resourceAttributes"];
            (attributes["verb"] == "create").then_some(fault)
        });
        let begun = Instant::now();
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "20s").await;
        assert_eq!(response["allowed"], true, "{fault:?}: {response}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{fault:?}");
    }
    // One sure no is no denial as long as the other verb is not known.
    let write = written(
        "alice",
        &cluster("c1", "set-a", true),
        Some(&cluster("c1", "set-a", false)),
    );
    hub.misbehave(|asked| {
        let attributes = &asked.body["spec"]["resourceAttributes"];
        (attributes["verb"] == "create").then_some(Fault::Broken)
    });
    let response = review(&gate, VALIDATE, &write, "5s").await;
    assert_undecided("one verb is not known", &response);
}

#[tokio::test]
async fn allowed_alone_decides() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    for (case, status, code) in [
        (
            "a no is a no, although nobody denied",
            (|| json!({ "allowed": false, "denied": false })) as fn() -> Value,
            403,
        ),
        ("a status that says nothing is a no", || json!({}), 403),
        (
            "an error of the authorizer makes no yes of a no",
            || json!({ "allowed": false, "evaluationError": "webhook authorizer timed out" }),
            403,
        ),
        (
            "nor a no of a yes",
            || json!({ "allowed": true, "evaluationError": "role \"gone\" not found" }),
            200,
        ),
        (
            "no authorizer says both; if one does, allowed counts",
            || json!({ "allowed": true, "denied": true }),
            200,
        ),
    ] {
        hub.misbehave_at(REVIEWS, Fault::Status(status));
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
        assert_eq!(response["status"]["code"], code, "{case}: {response}");
        assert_eq!(response["allowed"], code == 200, "{case}");
        if code == 403 {
            assert_eq!(response["status"]["reason"], "Forbidden", "{case}");
        }
    }
}

#[tokio::test]
async fn what_is_only_for_a_warning_never_fails_a_write() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let write = written(
        "carol",
        &cluster("c1", "no-such-set", false),
        Some(&cluster("c1", "set-a", false)),
    );
    let response = review(&gate, VALIDATE, &write, "2s").await;
    assert_eq!(response["allowed"], true);
    assert_eq!(
        response["warnings"],
        json!([
            "ManagedClusterSet \"no-such-set\" does not exist; until it does, ManagedCluster \"c1\" is in no set"
        ])
    );
    for fault in [Fault::Refuse, Fault::Hang, Fault::Broken, Fault::Drop] {
        hub.misbehave_at("/managedclustersets", fault);
        let response = review(&gate, VALIDATE, &write, "2s").await;
        assert_eq!(response["allowed"], true, "{fault:?}: {response}");
        assert_eq!(response["warnings"], Value::Null, "{fault:?}: {response}");
    }
}

#[tokio::test]
async fn the_default_set_stays_away_with_a_warning_when_nobody_can_be_asked() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let path = MUTATE_CLUSTER.path;
    let write = written("alice", &cluster("c1", "", false), None);
    let response = review(&gate, path, &write, "2s").await;
    assert!(response["patch"].is_string(), "{response}");
    for (fault, why) in [
        (Fault::Broken, "the hub answered"),
        (Fault::Hang, "no answer from the hub within 1.8s"),
        (
            Fault::Refuse,
            "the gate itself may not create subjectaccessreviews",
        ),
    ] {
        hub.misbehave_at(REVIEWS, fault);
        let response = review(&gate, path, &write, "2s").await;
        assert_eq!(response["allowed"], true, "{fault:?}: {response}");
        assert_eq!(response["patch"], Value::Null, "{fault:?}: {response}");
        let warning = response["warnings"][0].as_str().unwrap();
        assert!(
            warning.starts_with(
                "ManagedCluster \"c1\" was not put into ManagedClusterSet \"default\": \
                 cannot find out whether user \"alice\" may join it"
            ) && warning.contains(why),
            "{fault:?}: {warning}"
        );
    }
    // A label that was there comes back without a question.
    hub.misbehave(|_| Some(Fault::Hang));
    let restore = written(
        "bob",
        &cluster("c1", "", false),
        Some(&cluster("c1", "default", false)),
    );
    let response = review(&gate, path, &restore, "2s").await;
    assert!(response["patch"].is_string(), "{response}");
}
