//! Reviews whose objects are out of bounds: in number, in length, in value.

use std::time::{Duration, Instant};

use berth_webhooks::review::Webhook;
use berth_webhooks::server::LARGEST_BODY;
use serde_json::{Value, json};

use crate::bodies::{asking_with, says};
use crate::reviews::{PATH, UID, text, with, with_object};
use crate::support::{Gate, recorded, response};

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
            "100,000 taints with a time each",
            Webhook::MutateCluster,
            with_object(|object| object["spec"]["taints"] = taints(100_000)),
            400,
            "BadRequest",
            "taint-time-added",
            r#"It is not allowed to set TimeAdded of Taint "k0,k1,k2,k3,k4,k5,k6,k7,k8,k9,... and 99990 more"."#,
        ),
        (
            "50,000 taints twice",
            validate,
            with_object(|object| {
                let taint = |i| json!({"key": format!("k{}", i / 2)});
                object["spec"]["taints"] = (0..100_000).map(taint).collect();
            }),
            400,
            "BadRequest",
            "taint",
            "spec.taints: Duplicate value: key \"k0\" with effect \"\": keep one of them\n…",
        ),
        (
            "100,000 URLs of other schemes",
            validate,
            with_object(|object| {
                let config = |i| json!({"url": format!("http://{i}")});
                object["spec"]["managedClusterClientConfigs"] = (0..100_000).map(config).collect();
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
        let answer = gate.review(webhook.path(), body).await;
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
    let taints = |prefix: &str| {
        (0..40_000)
            .map(|i| json!({"key": format!("{prefix}{i}")}))
            .collect::<Value>()
    };
    let body = with(|request| {
        request["object"]["spec"]["taints"] = taints("new");
        request["oldObject"]["spec"]["taints"] = taints("old");
    });
    assert!(body.len() < LARGEST_BODY);
    let begun = Instant::now();
    let answer = gate.review(Webhook::MutateCluster.path(), body).await;
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
            "label cluster.open-cluster-management.io/clusterset names \"Not a set!\", which no ManagedClusterSet can be named"
        ])
    );
}

/// A namespace that is not named must not pass for one that belongs to no cluster.
#[tokio::test]
async fn a_binding_without_a_namespace_is_not_decided() {
    let gate = Gate::with_files(&[]);
    let mut review: Value =
        serde_json::from_slice(&recorded("bind-set-a-alice.validate.json")).unwrap();
    let path = Webhook::ValidateBinding.path();
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
    let path = Webhook::ValidateBinding.path();
    let mut review: Value =
        serde_json::from_slice(&recorded("bind-set-a-alice.validate.json")).unwrap();
    review["request"]["userInfo"]["extra"] = json!({"example.com/scopes": null});
    let answer = gate.review(path, review.to_string()).await;
    assert_eq!(response(&answer)["allowed"], true, "{answer}");
}
