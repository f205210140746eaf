//! How the gate asks the hub: all questions at once, identical questions once, without a cache, and again where a retry may
//! help.

use std::time::Duration;

use berth_manifests::webhooks::{MUTATE_CLUSTER, VALIDATE_BINDING, VALIDATE_CLUSTER};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{binding, carol_accepts, cluster, gate, message, review, written};
use berth_fakes::{FakeHub, Fault};
use berth_testkit::{eventually, when};

const VALIDATE: &str = VALIDATE_CLUSTER.path;

/// By verb, subresource and name of each SubjectAccessReview, sorted.
fn permissions(hub: &FakeHub) -> Vec<[String; 3]> {
    let of = |spec: &Value| {
        ["verb", "subresource", "name"].map(|field| {
            spec["resourceAttributes"][field]
                .as_str()
                .unwrap()
                .to_owned()
        })
    };
    let mut permissions: Vec<_> = hub.reviews().iter().map(of).collect();
    permissions.sort();
    permissions
}

#[tokio::test]
async fn all_questions_of_a_review_are_asked_at_once() {
    let hub = FakeHub::start();
    let mut gate = gate(&hub);
    gate.logged(|line| line["message"] == "ready: questions are answered");
    hub.misbehave(|_| Some(Fault::Slow(Duration::from_millis(300))));
    // Its namespace, the right to accept it, its bindings, two sets to join, and whether the new one exists.
    let write = written(
        "carol",
        &cluster("c1", "set-b", true),
        Some(&cluster("c1", "set-a", false)),
    );
    let response = review(&gate, VALIDATE, &write, "10s").await;
    assert_eq!(response["allowed"], true, "{response}");
    assert_eq!(hub.asked().len(), 6);
    assert_eq!(hub.most_at_once(), 6, "{:?}", hub.asked());
    assert_eq!(
        permissions(&hub),
        [
            ["create", "join", "set-a"],
            ["create", "join", "set-b"],
            ["update", "accept", "c1"],
        ]
    );
    for asked in hub.asked() {
        assert!(asked.is_permitted(), "{asked:?}");
        let of_bindings = asked.path.ends_with("/managedclustersetbindings");
        assert!(
            !of_bindings || asked.query.contains("limit=20"),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn a_change_that_raises_no_question_asks_nothing() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let old = cluster("c1", "set-a", true);
    let mut new = old.clone();
    new["metadata"]["annotations"] = json!({ "a": "b" });
    for path in [VALIDATE, MUTATE_CLUSTER.path] {
        let response = review(&gate, path, &written("bob", &new, Some(&old)), "10s").await;
        assert_eq!(response["allowed"], true);
    }
    assert!(hub.asked().is_empty(), "{:?}", hub.asked());
}

#[tokio::test]
async fn a_permission_is_asked_for_by_its_group_resource_and_name() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    review(&gate, VALIDATE, &carol_accepts("c1"), "10s").await;
    let write = written("alice", &binding("set-a", "team"), None);
    review(&gate, VALIDATE_BINDING.path, &write, "10s").await;
    let mut attributes: Vec<_> = hub.reviews();
    attributes.sort_by_key(ToString::to_string);
    let attributes: Vec<_> = attributes
        .iter()
        .map(|spec| &spec["resourceAttributes"])
        .collect();
    let accept = json!({
        "group": "register.open-cluster-management.io",
        "resource": "managedclusters", "subresource": "accept", "name": "c1", "verb": "update",
    });
    let bind = json!({
        "group": "cluster.open-cluster-management.io",
        "resource": "managedclustersets", "subresource": "bind", "name": "set-a", "verb": "create",
    });
    assert_eq!(attributes, [&bind, &accept]);
}

#[tokio::test]
async fn the_other_verb_is_asked_about_when_the_first_is_not_granted() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let write = written(
        "alice",
        &cluster("c1", "default", true),
        Some(&cluster("c1", "default", false)),
    );
    let response = review(&gate, VALIDATE, &write, "10s").await;
    assert_eq!(response["status"]["code"], 403, "{response}");
    assert_eq!(
        permissions(&hub),
        [["create", "accept", "c1"], ["update", "accept", "c1"]]
    );
}

#[tokio::test]
async fn identical_reviews_at_once_are_asked_once() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    hub.misbehave(|_| Some(Fault::Slow(Duration::from_millis(900))));
    let write = carol_accepts("c1");
    let reviews = (0..8).map(|_| review(&gate, VALIDATE, &write, "10s"));
    for response in join_all(reviews).await {
        assert_eq!(response["allowed"], true, "{response}");
    }
    assert_eq!(permissions(&hub), [["update", "accept", "c1"]]);
    assert_eq!(hub.asked().len(), 3, "facts too: {:?}", hub.asked());
}

#[tokio::test]
async fn another_user_and_another_name_are_other_questions() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    hub.misbehave(|_| Some(Fault::Slow(Duration::from_millis(300))));
    let alices = written(
        "alice",
        &cluster("c1", "default", true),
        Some(&cluster("c1", "default", false)),
    );
    let mut other_extra = carol_accepts("c1");
    other_extra["request"]["userInfo"]["extra"] = json!({ "scopes": ["read-only"] });
    let (carols, others) = (carol_accepts("c1"), carol_accepts("c2"));
    let (a, b, c, d) = tokio::join!(
        review(&gate, VALIDATE, &carols, "10s"),
        review(&gate, VALIDATE, &alices, "10s"),
        review(&gate, VALIDATE, &others, "10s"),
        review(&gate, VALIDATE, &other_extra, "10s"),
    );
    let allowed = [a, b, c, d].map(|response| response["allowed"] == true);
    assert_eq!(allowed, [true, false, true, true]);
    let about_c1 = |spec: &&Value| spec["resourceAttributes"]["name"] == "c1";
    assert_eq!(hub.reviews().iter().filter(about_c1).count(), 4);
}

/// Waits until the hub has been asked this often.
async fn is_asked(hub: &FakeHub, times: usize) {
    eventually(&format!("{times} questions"), async || {
        when(hub.asked(), |it| it.len() >= times)
    })
    .await;
}

#[tokio::test]
async fn a_follower_keeps_its_own_deadline() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    hub.misbehave(|_| Some(Fault::Slow(Duration::from_millis(1500))));
    let write = carol_accepts("c1");
    let follower = async {
        is_asked(&hub, 3).await;
        review(&gate, VALIDATE, &write, "20s").await
    };
    let (leader, follower) = tokio::join!(review(&gate, VALIDATE, &write, "1s"), follower);
    assert_eq!(leader["status"]["code"], 500, "{leader}");
    assert!(message(&leader).contains("within 0.9s"), "{leader}");
    assert_eq!(follower["allowed"], true, "{follower}");
    assert_eq!(hub.asked().len(), 3, "asked once: {:?}", hub.asked());
}

#[tokio::test]
async fn an_answer_is_not_kept() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "10s").await;
    assert_eq!(response["allowed"], true);
    hub.policy(|policy| assert!(policy.remove_cluster_role_binding("team-carol-hub-admin")));
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "10s").await;
    assert_eq!(response["status"]["code"], 403, "{response}");
    assert_eq!(response["status"]["reason"], "Forbidden");
}

#[tokio::test]
async fn who_asks_again_does_not_wait_for_an_answer_that_hangs() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    hub.misbehave(|_| Some(Fault::Hang));
    let first = carol_accepts("c1");
    let again = async {
        is_asked(&hub, 3).await;
        // Early callers share the answer that hangs; soon the hub is asked anew.
        eventually("another question", async || {
            let response = review(&gate, VALIDATE, &first, "200ms").await;
            assert_eq!(response["status"]["code"], 500, "{response}");
            when(hub.asked(), |it| it.len() > 3)
        })
        .await;
        hub.behave();
        // The last question may have been asked just now: its callers share it, too.
        eventually("an answer", async || {
            let response = review(&gate, VALIDATE, &first, "1s").await;
            when(response, |it| it["allowed"] == true)
        })
        .await;
    };
    let (waits, ()) = tokio::join!(review(&gate, VALIDATE, &first, "5s"), again);
    assert_eq!(waits["status"]["code"], 500, "{waits}");
}

#[tokio::test]
async fn what_may_pass_is_asked_again_within_the_review() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    for fault in [
        Fault::Busy,
        Fault::Drop,
        Fault::Proxy(502, "Bad Gateway"),
        Fault::Proxy(503, "no healthy upstream"),
        Fault::Proxy(504, "Gateway Timeout"),
    ] {
        hub.forget();
        let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
        hub.misbehave(move |asked| {
            let question = format!("{} {}", asked.path, asked.body);
            seen.lock().unwrap().insert(question).then_some(fault)
        });
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
        assert_eq!(response["allowed"], true, "{fault:?}: {response}");
        assert_eq!(hub.asked().len(), 6, "{fault:?}");
    }
}

#[tokio::test]
async fn hostile_names_reach_no_path() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let long = "a".repeat(10_000);
    let names = [
        "../../x",
        "..",
        ".",
        "a/b",
        "%2e%2e",
        "%2F",
        "a?watch=true",
        "a#b",
        "a b",
        "a\nb",
        "a\\b",
        "ümlaut",
        "A",
        "a..b",
        "-a",
        "",
        &long,
    ];
    for name in names {
        // An update: the name rule is for CREATE only.
        let accepts = carol_accepts(name);
        let moves = written(
            "carol",
            &cluster("c1", name, false),
            Some(&cluster("c1", "set-a", false)),
        );
        let mut binds = written("carol", &binding("set-a", "team"), None);
        binds["request"]["namespace"] = name.into();
        review(&gate, VALIDATE, &accepts, "10s").await;
        review(&gate, VALIDATE, &moves, "10s").await;
        review(&gate, VALIDATE_BINDING.path, &binds, "10s").await;
    }
    assert!(
        hub.reviews().len() > names.len(),
        "permissions were asked for"
    );
    for asked in hub.asked() {
        assert!(asked.is_permitted(), "{asked:?}");
        assert!(
            asked.path.ends_with("/subjectaccessreviews"),
            "no object has such a name: {asked:?}"
        );
    }
}
