//! Reviews whose objects exceed a bound: of number, length or value.

use std::time::{Duration, Instant};

use berth_manifests::webhooks::{MUTATE_CLUSTER, VALIDATE_BINDING, VALIDATE_SET};
use berth_review::Webhook;
use berth_webhooks::LARGEST_BODY;
use berth_webhooks::shipped;
use serde_json::{Value, json};

use crate::bad_input::bodies::{asking_with, says};
use berth_testkit::reviews::{PATH, UID, text, with, with_object};
use berth_testkit::{Gate, recorded, response};

/// What the rules say about content, with code and reason.
#[tokio::test]
async fn content_out_of_bounds_is_told_precisely() {
    let gate = Gate::with_files(&[]);
    let long = "x".repeat(10_000);
    let named = |review: &mut Value, name: &str| {
        review["name"] = name.into();
        review["object"]["metadata"]["name"] = name.into();
        review["oldObject"]["metadata"]["name"] = name.into();
    };
    let taints = |number: usize| -> Value {
        (0..number)
            .map(|i| json!({"key": format!("k{i}"), "timeAdded": "2020-01-01T00:00:00Z"}))
            .collect()
    };
    let large_taints = |number: usize| -> Value {
        (0..number)
            .map(|i| json!({"key": format!("k{i}"), "value": "x".repeat(1_000)}))
            .collect()
    };
    let labels = |number: usize| -> Value {
        let labels = (0..number).map(|i| (format!("label{i:06}"), json!("x")));
        labels.collect::<serde_json::Map<_, _>>().into()
    };
    let validate = Webhook::ValidateCluster;
    for (sentence, webhook, body, code, reason, audited, message) in [
        (
            "a taint without a key",
            validate,
            with_object(|object| object["spec"]["taints"] = json!([{"effect": "NoSelect"}])),
            400,
            "BadRequest",
            "taint",
            "spec.taints: Required value: a taint must have a key",
        ),
        (
            "a lease of less than nothing",
            validate,
            with_object(|object| object["spec"]["leaseDurationSeconds"] = json!(-1)),
            400,
            "BadRequest",
            "lease-duration",
            "spec.leaseDurationSeconds: Invalid value: -1: must be between 0 and 86400",
        ),
        (
            "a lease of an age",
            validate,
            with_object(|object| object["spec"]["leaseDurationSeconds"] = i64::MAX.into()),
            400,
            "BadRequest",
            "lease-duration",
            "spec.leaseDurationSeconds: Invalid value: 9223372036854775807: must be between 0 and 86400",
        ),
        (
            "1,000 taints with a time each",
            Webhook::MutateCluster,
            with_object(|object| object["spec"]["taints"] = taints(1_000)),
            400,
            "BadRequest",
            "taint-time-added",
            r#"It is not allowed to set TimeAdded of Taint "k0,k1,k2,k3,k4,k5,k6,k7,k8,k9,... and 990 more"."#,
        ),
        (
            "1,001 taints, where they are defaulted",
            Webhook::MutateCluster,
            with_object(|object| object["spec"]["taints"] = taints(1_001)),
            400,
            "BadRequest",
            "list-too-long",
            "spec.taints: Too many: 1001: must have at most 1000 items",
        ),
        (
            "1,001 taints, where they are checked",
            validate,
            with_object(|object| object["spec"]["taints"] = taints(1_001)),
            400,
            "BadRequest",
            "list-too-long",
            "spec.taints: Too many: 1001: must have at most 1000 items",
        ),
        (
            "900 taints of a kilobyte, where they are defaulted",
            Webhook::MutateCluster,
            with_object(|object| object["spec"]["taints"] = large_taints(900)),
            400,
            "BadRequest",
            "cluster-size",
            "metadata and spec: Too large: …",
        ),
        (
            "900 taints of a kilobyte, where they are checked",
            validate,
            with_object(|object| object["spec"]["taints"] = large_taints(900)),
            400,
            "BadRequest",
            "cluster-size",
            "metadata and spec: Too large: …",
        ),
        (
            "25,000 labels of an accepted cluster",
            validate,
            with_object(|object| object["metadata"]["labels"] = labels(25_000)),
            400,
            "BadRequest",
            "cluster-size",
            "metadata and spec: Too large: …",
        ),
        (
            "1,001 client configs",
            Webhook::MutateCluster,
            with_object(|object| {
                let config = |i| json!({"url": format!("https://{i}")});
                object["spec"]["managedClusterClientConfigs"] = (0..1_001).map(config).collect();
            }),
            400,
            "BadRequest",
            "list-too-long",
            "spec.managedClusterClientConfigs: Too many: 1001: must have at most 1000 items",
        ),
        (
            "500 taints twice",
            validate,
            with_object(|object| {
                let taint = |i| json!({"key": format!("k{}", i / 2)});
                object["spec"]["taints"] = (0..1_000).map(taint).collect();
            }),
            400,
            "BadRequest",
            "taint",
            "spec.taints: Duplicate value: key \"k0\" with effect \"\": keep one of them\n…",
        ),
        (
            "1,000 URLs of other schemes",
            validate,
            with_object(|object| {
                let config = |i| json!({"url": format!("http://{i}")});
                object["spec"]["managedClusterClientConfigs"] = (0..1_000).map(config).collect();
            }),
            400,
            "BadRequest",
            "client-config-url",
            "url \"http://0\" is invalid in client configs\nurl \"http://1\" is invalid in client configs\n…",
        ),
        (
            "a new cluster with a name of 10,000 characters",
            validate,
            with(|request| {
                named(request, &long);
                request["operation"] = "CREATE".into();
                request["oldObject"] = Value::Null;
            }),
            400,
            "BadRequest",
            "cluster-name",
            "metadata.name format is not correct: must be no more than 63 characters",
        ),
        (
            "a denial about a name of 10,000 characters",
            validate,
            with(|request| {
                named(request, &long);
                request["object"]["spec"]["hubAcceptsClient"] = false.into();
            }),
            403,
            "Forbidden",
            "accept",
            "managedclusters/accept.cluster.open-cluster-management.io \"xxx…",
        ),
        (
            "a denial to a user of 10,000 characters",
            validate,
            asking_with(|user| user["username"] = long.as_str().into()),
            403,
            "Forbidden",
            "accept",
            "managedclusters/accept.cluster.open-cluster-management.io \"c1\" is forbidden: user \"xxx…",
        ),
        (
            "a denial about a set of 10,000 characters",
            validate,
            with_object(|object| {
                object["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] =
                    long.as_str().into()
            }),
            403,
            "Forbidden",
            "join",
            "managedclustersets/join.cluster.open-cluster-management.io \"default\" is forbidden…",
        ),
    ] {
        let answer = gate.review(shipped(webhook).path, body).await;
        let response = response(&answer);
        assert_eq!(response["uid"], UID, "{sentence}");
        assert_eq!(response["status"]["code"], code, "{sentence}: {response}");
        assert_eq!(response["status"]["reason"], reason, "{sentence}");
        assert_eq!(
            response["auditAnnotations"]["reason"], audited,
            "{sentence}"
        );
        says(&response["status"]["message"], message, sentence);
        assert_eq!(
            gate.review(PATH, text()).await["response"]["allowed"],
            true,
            "after {sentence}"
        );
    }
    let lines = gate.log();
    let longest = lines
        .iter()
        .map(|line| line.to_string().len())
        .max()
        .unwrap();
    assert!(longest < 50_000, "{longest}");
}

#[tokio::test]
async fn many_new_taints_among_many_stored_ones_are_decided_in_time() {
    let gate = Gate::with_files(&[]);
    let taints = |prefix: &str, number: usize| {
        (0..number)
            .map(|i| json!({"key": format!("{prefix}{i}")}))
            .collect::<Value>()
    };
    let body = with(|request| {
        request["object"]["spec"]["taints"] = taints("new", 1_000);
        request["oldObject"]["spec"]["taints"] = taints("old", 80_000);
    });
    assert!(body.len() < LARGEST_BODY);
    let begun = Instant::now();
    let answer = gate.review(MUTATE_CLUSTER.path, body).await;
    assert_eq!(response(&answer)["allowed"], true);
    assert!(response(&answer)["patch"].is_string());
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_label_that_no_set_can_have_is_a_warning() {
    let gate = Gate::with_files(&[]);
    let body = with(|request| {
        request["userInfo"]["groups"] = json!(["system:masters"]);
        request["object"]["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] =
            "Not a set!".into();
    });
    let answer = gate.review(PATH, body).await;
    assert_eq!(response(&answer)["allowed"], true);
    assert_eq!(
        response(&answer)["warnings"],
        json!([
            "label cluster.open-cluster-management.io/clusterset has the value \"Not a set!\", which is not a valid name of a ManagedClusterSet"
        ])
    );
}

/// A namespace that is not named must not pass for one that belongs to no cluster.
#[tokio::test]
async fn a_binding_without_a_namespace_is_not_decided() {
    let gate = Gate::with_files(&[]);
    let mut review: Value =
        serde_json::from_slice(&recorded("bind-set-a-alice.validate.json")).unwrap();
    let path = VALIDATE_BINDING.path;
    assert_eq!(
        response(&gate.review(path, review.to_string()).await)["allowed"],
        true
    );
    for namespace in [json!(""), Value::Null] {
        review["request"]["namespace"] = namespace;
        let answer = gate.review(path, review.to_string()).await;
        let status = &response(&answer)["status"];
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(400), &json!("BadRequest"))
        );
        assert_eq!(status["message"], "request.namespace is missing");
    }
}

/// A Go program that has no values for a key of `extra` writes null: no reason to refuse whatever that user does.
#[tokio::test]
async fn null_for_values_of_extra_is_none_at_all() {
    let gate = Gate::with_files(&[]);
    let path = VALIDATE_BINDING.path;
    let mut review: Value =
        serde_json::from_slice(&recorded("bind-set-a-alice.validate.json")).unwrap();
    review["request"]["userInfo"]["extra"] = json!({"example.com/scopes": null});
    let answer = gate.review(path, review.to_string()).await;
    assert_eq!(response(&answer)["allowed"], true, "{answer}");
}

/// Stored before there was a bound: such an object goes on working, and gets no longer.
#[tokio::test]
async fn a_stored_list_that_is_too_long_may_stay_or_shrink() {
    let gate = Gate::with_files(&[]);
    let stored: Vec<_> = (0..2_000)
        .map(|i| json!({"key": format!("k{i}"), "effect": "NoSelect", "timeAdded": "2026-11-20T00:00:00Z"}))
        .collect();
    let added = json!({"key": "added", "effect": "NoSelect"});
    let with_added = |taints: &[Value]| [taints, std::slice::from_ref(&added)].concat();
    let masters = json!(["system:masters"]);
    type Change = fn(&mut Value);
    let nothing: Change = |_| {};
    for (sentence, new, change, code) in [
        (
            "a label beside it",
            stored.clone(),
            (|object| object["metadata"]["labels"]["a"] = "b".into()) as Change,
            200,
        ),
        ("it stays", stored.clone(), nothing, 200),
        (
            "it shrinks, and is still too long",
            stored[500..].to_vec(),
            nothing,
            200,
        ),
        (
            "it shrinks below the bound",
            stored[1_500..].to_vec(),
            nothing,
            200,
        ),
        ("it is emptied", vec![], nothing, 200),
        ("it grows", with_added(&stored), nothing, 400),
        (
            "it shrinks, but something is new in it",
            with_added(&stored[500..]),
            nothing,
            400,
        ),
        (
            "an item is there twice",
            with_added(&stored[500..])
                .into_iter()
                .take(1_500)
                .chain([stored[600].clone()])
                .collect(),
            nothing,
            400,
        ),
        (
            "acceptance is taken back",
            stored.clone(),
            |object| object["spec"]["hubAcceptsClient"] = false.into(),
            200,
        ),
        (
            "acceptance is taken back, whatever else",
            with_added(&stored),
            |object| object["spec"]["hubAcceptsClient"] = false.into(),
            200,
        ),
        (
            "its finalizers come off",
            with_added(&stored),
            |object| object["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into(),
            200,
        ),
    ] {
        let body = with(|request| {
            request["userInfo"]["groups"] = masters.clone();
            request["oldObject"]["spec"]["taints"] = stored.clone().into();
            request["object"] = request["oldObject"].clone();
            request["object"]["spec"]["taints"] = new.into();
            change(&mut request["object"]);
            if !request["object"]["metadata"]["deletionTimestamp"].is_null() {
                change(&mut request["oldObject"]);
            }
        });
        for webhook in [Webhook::MutateCluster, Webhook::ValidateCluster] {
            let answer = gate.review(shipped(webhook).path, body.clone()).await;
            let response = response(&answer);
            assert_eq!(
                response["status"]["code"], code,
                "{sentence}, {webhook:?}: {response}"
            );
            if code == 400 {
                assert_eq!(
                    response["auditAnnotations"]["reason"], "list-too-long",
                    "{sentence}"
                );
            } else {
                assert!(response["patch"].is_null(), "{sentence}: {response}");
            }
        }
    }
}

/// The same of a set's selector.
#[tokio::test]
async fn a_stored_selector_that_is_too_large_may_stay() {
    let gate = Gate::with_files(&[]);
    let values = |number: usize| -> Vec<_> { (0..number).map(|i| format!("v{i}")).collect() };
    let selector = |number| {
        json!({
            "selectorType": "LabelSelector",
            "labelSelector": { "matchExpressions": [{ "key": "k", "operator": "In", "values": values(number) }] },
        })
    };
    let path = VALIDATE_SET.path;
    let recorded = recorded("set-selector-bad-operator.record.json");
    for (sentence, stored, new, code) in [
        ("it is made", None, 10_001, 400),
        ("as large as it may be", None, 10_000, 200),
        ("it stays", Some(20_000), 20_000, 200),
        ("it grows", Some(20_000), 20_001, 400),
        ("it comes down to the bound", Some(20_000), 10_000, 200),
    ] {
        let mut review: Value = serde_json::from_slice(&recorded).unwrap();
        let request = &mut review["request"];
        request["userInfo"]["groups"] = json!(["system:masters"]);
        if let Some(stored) = stored {
            request["operation"] = "UPDATE".into();
            request["oldObject"] = request["object"].clone();
            request["oldObject"]["spec"]["clusterSelector"] = selector(stored);
        }
        request["object"]["spec"]["clusterSelector"] = selector(new);
        let answer = gate.review(path, review.to_string()).await;
        let response = response(&answer);
        assert_eq!(response["status"]["code"], code, "{sentence}: {response}");
        if code == 400 {
            assert_eq!(
                response["auditAnnotations"]["reason"], "list-too-long",
                "{sentence}"
            );
            let message = response["status"]["message"].as_str().unwrap();
            let words = format!(
                "spec.clusterSelector.labelSelector: Too many values: {new}: must have at most 10000 items"
            );
            assert_eq!(message, words, "{sentence}");
        }
    }
}

#[tokio::test]
async fn a_uid_has_its_bound() {
    let gate = Gate::with_files(&[]);
    for (length, code, uid) in [(1_024, 200, "u".repeat(1_024)), (1_025, 400, String::new())] {
        let body = with(|request| request["uid"] = "u".repeat(length).into());
        let answer = gate.review(PATH, body).await;
        assert_eq!(response(&answer)["status"]["code"], code);
        assert_eq!(response(&answer)["uid"], uid);
    }
    let body = with(|request| request["uid"] = "u".repeat(5 << 20).into());
    let answer = gate.review(PATH, body).await;
    assert_eq!(
        response(&answer)["status"]["message"],
        "request.uid is longer than 1024 bytes"
    );
    assert!(answer.to_string().len() < 1_000, "{answer}");
}

/// Right-to-left override, zero-width space, an escape: wherever a requester's text is shown, it is escaped.
#[tokio::test]
async fn text_that_hides_is_escaped_in_answers_and_logs() {
    const TRICKS: &str = "a\u{202e}b\u{200b}c\u{1b}[31md\u{2066}\u{feff}\u{3164}";
    let plain = |text: &str| {
        text.chars()
            .all(|c| berth_rules::display::is_plain(c) || c == '\n')
    };
    let gate = Gate::with_files(&[]);
    let named = |request: &mut Value| {
        request["name"] = TRICKS.into();
        request["userInfo"]["username"] = TRICKS.into();
        for object in ["object", "oldObject"] {
            request[object]["metadata"]["name"] = TRICKS.into();
        }
    };
    let set = "cluster.open-cluster-management.io/clusterset";
    for (sentence, body) in [
        (
            "a denial",
            with(|request| {
                named(request);
                request["object"]["spec"]["hubAcceptsClient"] = false.into();
                request["object"]["metadata"]["labels"][set] = TRICKS.into();
            }),
        ),
        (
            "a fault",
            with_object(|object| {
                object["spec"]["managedClusterClientConfigs"] = json!([{ "url": TRICKS }]);
            }),
        ),
        (
            "an operation",
            with(|request| request["operation"] = TRICKS.into()),
        ),
        (
            "a key on the way to what does not decode",
            with_object(|object| object["metadata"]["labels"][TRICKS] = 5.into()),
        ),
        (
            "a text in a wrong place",
            with_object(|object| object["spec"] = TRICKS.into()),
        ),
    ] {
        for webhook in [Webhook::ValidateCluster, Webhook::MutateCluster] {
            let answer = gate.review(shipped(webhook).path, body.clone()).await;
            let response = response(&answer);
            let message = response["status"]["message"].as_str().unwrap_or_default();
            assert!(plain(message), "{sentence}: {message:?}");
            let audited = response["auditAnnotations"].to_string();
            assert!(plain(&audited), "{sentence}: {audited:?}");
            for warning in response["warnings"].as_array().into_iter().flatten() {
                assert!(plain(warning.as_str().unwrap()), "{sentence}: {warning}");
            }
        }
    }
    let lines = gate.log();
    assert!(lines.len() > 5, "{lines:?}");
    for line in lines {
        for field in ["user", "name", "operation", "answer", "uid"] {
            let text = line[field].as_str().unwrap_or_default();
            assert!(plain(text), "{field}: {text:?}");
        }
    }
}

#[tokio::test]
async fn a_log_holds_little_of_what_a_requester_chose() {
    let mut gate = Gate::with_files(&[]);
    let body = asking_with(|user| user["username"] = "x".repeat(500_000).into());
    assert_eq!(
        response(&gate.review(PATH, body).await)["status"]["code"],
        403
    );
    let line = gate.logged(|line| line["message"] == "denied");
    let user = line["user"].as_str().unwrap();
    assert!(user.len() < 300, "{}", user.len());
    assert!(user.ends_with("... (500000 bytes)"), "{user}");
    assert!(line.to_string().len() < 4_000, "{line}");
}
