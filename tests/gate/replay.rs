//! Every recorded review, through the TLS server, with the recorded state of the hub as files: the response has OCM's
//! verdict, code and first sentence, or the documented deviation.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_manifests::webhooks::{MUTATE_CLUSTER, VALIDATE_SET};
use berth_review::Webhook;
use berth_testkit::{Gate, recorded, repository, response};
use berth_webhooks::shipped;
use serde_json::{Value, json};

/// Where the gate decides otherwise than OCM, by which rule of the design's section 2, and what it says instead.
const DEVIATIONS: [(&str, u8, u16, &str); 6] = [
    (
        "create-dotted-name-no-url.validate",
        1,
        400,
        "metadata.name format is not correct: must not contain dots",
    ),
    ("taint-reapply-without-time-carol.mutate", 5, 200, ""),
    (
        "deny-alice-true-to-false.validate",
        6,
        403,
        "managedclusters/accept.cluster.open-cluster-management.io \"c1\" is forbidden: \
         user \"alice\" cannot update the HubAcceptsClient field",
    ),
    ("dave-accepts-dave-1-create-verb.validate", 7, 200, ""),
    (
        "bind-in-cluster-namespace-carol.validate",
        12,
        403,
        "managedclustersetbindings.cluster.open-cluster-management.io \"set-a\" is forbidden: \
         namespace \"c8\" belongs to the accepted ManagedCluster \"c8\"",
    ),
    (
        "bind-set-b-alice-denied.validate",
        12,
        403,
        "managedclustersets/bind.cluster.open-cluster-management.io \"set-b\" is forbidden: \
         user \"alice\" is not allowed to bind cluster set \"set-b\"",
    ),
];

/// Where both patch, but ours is to make another object: by which rule, and what is different.
const PATCH_DEVIATIONS: [(&str, u8); 2] = [
    ("create-unlabelled-bob-no-join.mutate", 9),
    ("taint-reapply-without-time-carol.mutate", 5),
];

/// The names of all recorded reviews.
pub(crate) fn cases() -> Vec<String> {
    let mut cases: Vec<_> = fs::read_dir(repository("tests/data/reviews"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .filter(|name| !name.ends_with(".ocm"))
        .collect();
    cases.sort();
    assert_eq!(cases.len(), 49, "the recorded reviews are all there");
    cases
}

/// The path to which the API server sent a case.
pub(crate) fn webhook(case: &str, review: &Value) -> Webhook {
    let mutates = case.ends_with(".mutate");
    let resource = review["request"]["resource"]["resource"].as_str().unwrap();
    Webhook::ALL
        .into_iter()
        .find(|webhook| webhook.mutates() == mutates && webhook.resource() == resource)
        .unwrap()
}

#[tokio::test]
async fn recorded_reviews_are_decided_as_ocm_decided_them() {
    let gate = Gate::with_files(&[]);
    let mut deviated = Vec::new();
    for case in cases() {
        let body = recorded(&format!("{case}.json"));
        let review: Value = serde_json::from_slice(&body).unwrap();
        let answer = gate
            .review(shipped(webhook(&case, &review)).path, body)
            .await;
        assert_eq!(answer["apiVersion"], review["apiVersion"], "{case}");
        let ours = response(&answer);
        assert_eq!(ours["uid"], review["request"]["uid"], "{case}");
        if case.ends_with(".record") {
            continue;
        }
        let ocm: Value = serde_json::from_slice(&recorded(&format!("{case}.ocm.json"))).unwrap();
        let ocm = response(&ocm);

        let deviation = DEVIATIONS.iter().find(|(name, ..)| *name == case);
        if let Some((_, rule, code, sentence)) = deviation {
            deviated.push(case.clone());
            assert_ne!(
                (&ours["allowed"], message(ours)),
                (&ocm["allowed"], message(ocm)),
                "{case} is no deviation"
            );
            assert_eq!(ours["status"]["code"], *code, "{case}, rule {rule}: {ours}");
            assert_eq!(ours["allowed"], *code == 200, "{case}, rule {rule}");
            assert!(
                message(ours).starts_with(sentence),
                "{case}, rule {rule}: {}",
                message(ours)
            );
        } else {
            assert_eq!(ours["allowed"], ocm["allowed"], "{case}: {ours}");
            for field in ["code", "reason", "details"] {
                assert_eq!(
                    ours["status"][field], ocm["status"][field],
                    "{case}: {ours}"
                );
            }
            // A denial begins with OCM's sentence, and goes on; what OCM says of content is the whole message.
            assert!(
                message(ours).starts_with(message(ocm)),
                "{case}: {}",
                message(ours)
            );
            if ocm["status"]["code"] == 400 {
                assert_eq!(message(ours), message(ocm), "{case}");
            }
        }
        assert!(ours["auditAnnotations"]["outcome"].is_string(), "{case}");
    }
    deviated.sort();
    let mut all = DEVIATIONS.map(|(case, ..)| case);
    all.sort_unstable();
    assert_eq!(deviated, all);
}

fn message(response: &Value) -> &str {
    response["status"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn our_patch_makes_the_object_that_ocms_patch_makes() {
    let gate = Gate::with_files(&[]);
    let mut compared = 0;
    for case in cases().into_iter().filter(|case| case.ends_with(".mutate")) {
        let body = recorded(&format!("{case}.json"));
        let review: Value = serde_json::from_slice(&body).unwrap();
        let answer = gate.review(MUTATE_CLUSTER.path, body).await;
        let ocm: Value = serde_json::from_slice(&recorded(&format!("{case}.ocm.json"))).unwrap();
        let ours = patched(&review["request"]["object"], response(&answer));
        let theirs =
            without_what_go_types_emit(patched(&review["request"]["object"], response(&ocm)));
        let deviates = PATCH_DEVIATIONS.iter().any(|(name, _)| *name == case);
        let ours = without_what_go_types_emit(ours);
        assert_eq!(ours == theirs, !deviates, "{case}:\n{ours:#}\n{theirs:#}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

/// The object with the patch of a response.
pub(crate) fn patched(object: &Value, response: &Value) -> Value {
    let mut object = object.clone();
    if let Some(patch) = response["patch"].as_str() {
        assert_eq!(response["patchType"], "JSONPatch");
        let patch: json_patch::Patch =
            serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
    }
    object
}

/// Replaces every `timeAdded`: two gates may decide the same review in different seconds.
pub(crate) fn without_stamps(mut value: Value) -> Value {
    stamp(&mut value);
    value
}

fn stamp(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(stamp),
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "timeAdded" && value.is_string() {
                    *value = "stamped".into();
                }
                stamp(value);
            }
        }
        _ => {}
    }
}

/// OCM's patches also add what its Go types always emit; and the two gates stamped taints at different times.
fn without_what_go_types_emit(object: Value) -> Value {
    let mut object = without_stamps(object);
    if object["status"] == json!({ "conditions": null, "version": {} }) {
        object.as_object_mut().unwrap().remove("status");
    }
    if object["spec"]["hubAcceptsClient"] == false {
        object["spec"]
            .as_object_mut()
            .unwrap()
            .remove("hubAcceptsClient");
    }
    object
}

#[tokio::test]
async fn a_set_with_an_unknown_operator_is_refused() {
    let gate = Gate::with_files(&[]);
    let answer = gate
        .review(
            VALIDATE_SET.path,
            recorded("set-selector-bad-operator.record.json"),
        )
        .await;
    let response = response(&answer);
    assert_eq!(response["status"]["code"], 400);
    assert_eq!(response["status"]["reason"], "BadRequest");
    assert_eq!(
        message(response),
        "spec.clusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Like\": \
         not a valid selector operator"
    );
}
