//! The writes that the API server sends to the gate, row by row, in the words of a reader of the registrations.
//! `compared_with_the_gate` tests that no row is missing.

use berth_review::Webhook;
use serde_json::{Value, json};

use crate::manifests::conditions::Conditions;
use crate::manifests::reviews::{bare, merged, review};

#[test]
fn names_say_what_they_mean_in_kebab_case() {
    for webhook in Webhook::ALL {
        for name in Conditions::of(webhook).names() {
            let begins = match webhook {
                Webhook::ValidateRequest => "filed-by-",
                Webhook::ValidateClusterAddOn => "configs-",
                _ => "created-or-",
            };
            assert!(name.starts_with(begins), "{name}");
            assert!(
                name.chars().all(|c| c == '-' || c.is_ascii_lowercase()),
                "{name}"
            );
        }
    }
}

#[test]
fn a_failing_expression_is_not_taken_for_an_answer() {
    let request = json!({ "operation": "UPDATE", "object": null, "oldObject": null });
    for webhook in Webhook::ALL {
        assert!(Conditions::of(webhook).match_request(&request).is_err());
    }
}

/// The webhooks that are called about a write.
fn called(webhooks: &[Webhook], object: &Value, stored: Option<&Value>) -> Vec<Webhook> {
    let mut called = webhooks.to_vec();
    called.retain(|webhook| {
        let review = review(*webhook, object, stored);
        Conditions::of(*webhook)
            .match_request(&review["request"])
            .unwrap_or_else(|error| panic!("{error}: {review}"))
    });
    called
}

/// Checks rows of: what is done, what the stored object has besides the usual (merged into it), the change (a merge
/// patch), and the webhooks that are called.
fn assert_called(webhooks: &[Webhook], usual: &Value, rows: &[(&str, Value, Value, &[Webhook])]) {
    for (case, stored, change, expected) in rows {
        let old = merged(usual, [stored]);
        let new = merged(&old, [change]);
        assert_eq!(called(webhooks, &new, Some(&old)), *expected, "{case}");
    }
}

const CLUSTER: [Webhook; 2] = [Webhook::MutateCluster, Webhook::ValidateCluster];
const NONE: &[Webhook] = &[];
const MUTATE: &[Webhook] = &[Webhook::MutateCluster];
const VALIDATE: &[Webhook] = &[Webhook::ValidateCluster];
const BOTH: &[Webhook] = &CLUSTER;
const SET: &str = "cluster.open-cluster-management.io/clusterset";
const DENY_NOW: &str = berth_api::labels::DENY_NOW;
const RETIRED: &str = "open-cluster-management.io/clusterset";

/// An accepted cluster in the default set, with everything a cluster can have.
fn usual_cluster() -> Value {
    let usual = json!({
        "metadata": {
            "resourceVersion": "100",
            "generation": 3,
            "labels": { SET: "default", "vendor": "Kind" },
            "annotations": { "agent.open-cluster-management.io/klusterlet-config": "a" },
            "finalizers": ["cluster.open-cluster-management.io/api-resource-cleanup"],
        },
        "spec": {
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{ "url": "https://c1.example.com:6443", "caBundle": "Zm9v" }],
            "taints": [{
                "key": "example.com/maintenance", "value": "v", "effect": "NoSelect", "timeAdded": "2026-11-01T08:00:00Z",
            }],
        },
        "status": { "version": { "kubernetes": "v1.33.1" } },
    });
    merged(&bare(Webhook::ValidateCluster), [&usual])
}

#[test]
fn writes_of_clusters_that_touch_nothing_guarded_cost_no_call() {
    let being_deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" } });
    let being_deleted_without_set = json!({ "metadata": {
        "deletionTimestamp": "2026-11-20T08:00:00Z", "labels": null,
    } });
    let spoilt_and_being_deleted = json!({
        "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" },
        "spec": { "leaseDurationSeconds": -5, "managedClusterClientConfigs": [{ "url": "http://x" }] },
    });
    let spoilt = json!({ "spec": {
        "leaseDurationSeconds": -5, "managedClusterClientConfigs": [{ "url": "http://x" }],
    } });
    let no_finalizers = json!({ "metadata": { "finalizers": null } });
    assert_called(
        &CLUSTER,
        &usual_cluster(),
        &[
            ("nothing is changed", json!({}), json!({}), NONE),
            (
                "the resourceVersion moves on",
                json!({}),
                json!({ "metadata": { "resourceVersion": "101", "generation": 4 } }),
                NONE,
            ),
            (
                "managed fields are recorded",
                json!({}),
                json!({ "metadata": { "managedFields": [{ "manager": "kubectl" }] } }),
                NONE,
            ),
            (
                "an annotation is changed",
                json!({}),
                json!({ "metadata": { "annotations": { "agent.open-cluster-management.io/klusterlet-config": "b" } } }),
                NONE,
            ),
            (
                "a denial stays one that takes effect at once",
                json!({ "metadata": { "annotations": { DENY_NOW: "true" } } }),
                json!({ "metadata": { "annotations": { "a": "b" } } }),
                NONE,
            ),
            (
                "a denial is no more one that takes effect at once",
                json!({ "metadata": { "annotations": { DENY_NOW: "true" } } }),
                json!({ "metadata": { "annotations": { DENY_NOW: null } } }),
                NONE,
            ),
            (
                "all annotations go",
                json!({}),
                json!({ "metadata": { "annotations": null } }),
                NONE,
            ),
            (
                "an add-on labels the cluster",
                json!({}),
                json!({ "metadata": { "labels": { "feature.open-cluster-management.io/addon-x": "available" } } }),
                NONE,
            ),
            (
                "a label is dropped",
                json!({}),
                json!({ "metadata": { "labels": { "vendor": null } } }),
                NONE,
            ),
            (
                "a finalizer is added",
                json!({}),
                json!({ "metadata": { "finalizers": ["a", "b"] } }),
                NONE,
            ),
            (
                "the last finalizer of a deleted cluster comes off",
                being_deleted.clone(),
                no_finalizers.clone(),
                NONE,
            ),
            (
                "the last finalizer of a deleted cluster without a set comes off",
                being_deleted_without_set,
                no_finalizers.clone(),
                NONE,
            ),
            (
                "the last finalizer of a deleted cluster comes off, whatever is in it",
                spoilt_and_being_deleted,
                no_finalizers,
                NONE,
            ),
            (
                "a deleted cluster gets a taint",
                being_deleted.clone(),
                json!({ "spec": { "taints": [{ "key": "k", "effect": "NoSelect" }] } }),
                NONE,
            ),
            (
                "a deleted cluster loses its client configs and lease duration",
                being_deleted,
                json!({ "spec": { "managedClusterClientConfigs": null, "leaseDurationSeconds": null } }),
                NONE,
            ),
            (
                "the status is changed",
                json!({}),
                json!({ "status": { "version": { "kubernetes": "v1.34.0" } } }),
                NONE,
            ),
            (
                "what is wrong already is left alone",
                spoilt,
                json!({ "metadata": { "annotations": { "a": "b" } } }),
                NONE,
            ),
            (
                "the retired label goes",
                json!({ "metadata": { "labels": { RETIRED: "x" } } }),
                json!({ "metadata": { "labels": { RETIRED: null } } }),
                NONE,
            ),
            (
                "the retired label stays",
                json!({ "metadata": { "labels": { RETIRED: "x" } } }),
                json!({ "metadata": { "annotations": { "a": "b" } } }),
                NONE,
            ),
            (
                "a spec without acceptance gets an explicit one: false",
                json!({ "spec": null }),
                json!({ "spec": { "hubAcceptsClient": false } }),
                NONE,
            ),
            (
                "an empty spec goes",
                json!({ "spec": null }),
                json!({ "spec": {} }),
                NONE,
            ),
        ],
    );
}

#[test]
fn writes_of_clusters_call_the_webhooks_they_concern() {
    let without_set = json!({ "metadata": { "labels": null } });
    let being_deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" } });
    let annotation = json!({ "metadata": { "annotations": { "a": "b" } } });
    let taint_without_time = json!({ "spec": { "taints": [{
        "key": "example.com/maintenance", "value": "v", "effect": "NoSelect",
    }] } });
    assert_called(
        &CLUSTER,
        &usual_cluster(),
        &[
            (
                "it is turned away",
                json!({}),
                json!({ "spec": { "hubAcceptsClient": false } }),
                VALIDATE,
            ),
            (
                "it is turned away by leaving the field out",
                json!({}),
                json!({ "spec": { "hubAcceptsClient": null } }),
                VALIDATE,
            ),
            (
                "it is turned away by leaving the spec out",
                json!({ "spec": { "taints": null } }),
                json!({ "spec": null }),
                VALIDATE,
            ),
            (
                "it is let in",
                json!({ "spec": { "hubAcceptsClient": false } }),
                json!({ "spec": { "hubAcceptsClient": true } }),
                VALIDATE,
            ),
            (
                "a cluster without a spec is let in",
                json!({ "spec": null }),
                json!({ "spec": { "hubAcceptsClient": true } }),
                VALIDATE,
            ),
            (
                "a deleted cluster is let in",
                merged(
                    &being_deleted,
                    [&json!({ "spec": { "hubAcceptsClient": false } })],
                ),
                json!({ "spec": { "hubAcceptsClient": true } }),
                VALIDATE,
            ),
            (
                "it changes its set",
                json!({}),
                json!({ "metadata": { "labels": { SET: "set-a" } } }),
                VALIDATE,
            ),
            (
                "a deleted cluster changes its set",
                being_deleted.clone(),
                json!({ "metadata": { "labels": { SET: "set-a" } } }),
                VALIDATE,
            ),
            (
                "it leaves its set",
                json!({}),
                json!({ "metadata": { "labels": { SET: null } } }),
                BOTH,
            ),
            (
                "its set is emptied",
                json!({}),
                json!({ "metadata": { "labels": { SET: "" } } }),
                BOTH,
            ),
            (
                "all labels go",
                json!({}),
                json!({ "metadata": { "labels": null } }),
                BOTH,
            ),
            (
                "a deleted cluster leaves its set",
                being_deleted.clone(),
                json!({ "metadata": { "labels": null } }),
                VALIDATE,
            ),
            (
                "a cluster without labels is annotated",
                without_set.clone(),
                annotation.clone(),
                MUTATE,
            ),
            (
                "a cluster with an empty set is annotated",
                json!({ "metadata": { "labels": { SET: "" } } }),
                annotation.clone(),
                MUTATE,
            ),
            (
                "a cluster without labels joins a set",
                without_set,
                json!({ "metadata": { "labels": { SET: "set-a" } } }),
                VALIDATE,
            ),
            (
                "the retired label is set",
                json!({}),
                json!({ "metadata": { "labels": { RETIRED: "x" } } }),
                VALIDATE,
            ),
            (
                "the retired label is set to nothing",
                json!({}),
                json!({ "metadata": { "labels": { RETIRED: "" } } }),
                VALIDATE,
            ),
            (
                "the retired label is changed",
                json!({ "metadata": { "labels": { RETIRED: "x" } } }),
                json!({ "metadata": { "labels": { RETIRED: "y" } } }),
                VALIDATE,
            ),
            (
                "a cluster is denied now",
                json!({}),
                json!({ "metadata": { "annotations": { DENY_NOW: "true" } } }),
                VALIDATE,
            ),
            (
                "a cluster without annotations is denied now",
                json!({ "metadata": { "annotations": null } }),
                json!({ "metadata": { "annotations": { DENY_NOW: "" } } }),
                VALIDATE,
            ),
            (
                "the annotation of a denial gets another value while the cluster is deleted",
                json!({ "metadata": {
                    "annotations": { DENY_NOW: "false" }, "deletionTimestamp": "2026-11-20T08:00:00Z",
                } }),
                json!({ "metadata": { "annotations": { DENY_NOW: "true" } } }),
                VALIDATE,
            ),
            (
                "a client config is added",
                json!({ "spec": { "managedClusterClientConfigs": null } }),
                json!({ "spec": { "managedClusterClientConfigs": [{ "url": "https://x" }] } }),
                VALIDATE,
            ),
            (
                "a caBundle is changed",
                json!({}),
                json!({ "spec": { "managedClusterClientConfigs": [{
                    "url": "https://c1.example.com:6443", "caBundle": "YmFy",
                }] } }),
                VALIDATE,
            ),
            (
                "the lease duration is changed",
                json!({}),
                json!({ "spec": { "leaseDurationSeconds": -5 } }),
                VALIDATE,
            ),
            (
                "a taint is added",
                json!({ "spec": { "taints": null } }),
                json!({ "spec": { "taints": [{ "key": "k", "effect": "NoSelect" }] } }),
                BOTH,
            ),
            (
                "a taint is applied again without its time",
                json!({}),
                taint_without_time,
                BOTH,
            ),
            (
                "a taint's effect is changed",
                json!({}),
                json!({ "spec": { "taints": [{
                    "key": "example.com/maintenance", "value": "v", "effect": "PreferNoSelect",
                    "timeAdded": "2026-11-01T08:00:00Z",
                }] } }),
                BOTH,
            ),
            (
                "a taint goes",
                json!({}),
                json!({ "spec": { "taints": [] } }),
                BOTH,
            ),
            (
                "the submitted object's word for its deletion is not taken",
                json!({}),
                json!({
                    "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" },
                    "spec": { "leaseDurationSeconds": -5, "taints": [] },
                }),
                BOTH,
            ),
        ],
    );
}

#[test]
fn every_new_object_is_looked_at() {
    for object in [bare(Webhook::ValidateCluster), usual_cluster()] {
        assert_eq!(called(&CLUSTER, &object, None), CLUSTER);
    }
    for webhook in [
        Webhook::ValidateClusterSet,
        Webhook::ValidateBinding,
        Webhook::ValidatePlacement,
        Webhook::ValidateWork,
        Webhook::ValidateReplicaSet,
        Webhook::ValidateTemplate,
        Webhook::ValidateDeploymentConfig,
        Webhook::ValidateManagementAddOn,
    ] {
        assert_eq!(called(&[webhook], &bare(webhook), None), [webhook]);
    }
    // Nothing is known of a new one.
    let new = Webhook::ValidateClusterAddOn;
    assert_eq!(called(&[new], &bare(new), None), NONE);
}

#[test]
fn writes_of_add_ons_call_the_gate_only_about_their_spec() {
    let spec = |field: &str, value: &str| json!({ "spec": { field: [{ "name": value }] } });
    let being_deleted = json!({ "metadata": {
        "deletionTimestamp": "2026-11-20T08:00:00Z", "finalizers": ["a"],
    } });
    for (webhook, field) in [
        (Webhook::ValidateTemplate, "registration"),
        (Webhook::ValidateDeploymentConfig, "customizedVariables"),
        (Webhook::ValidateManagementAddOn, "supportedConfigs"),
        (Webhook::ValidateClusterAddOn, "configs"),
    ] {
        let all: &[Webhook] = &[webhook];
        let (one, other) = (spec(field, "a"), spec(field, "b"));
        assert_called(
            all,
            &bare(webhook),
            &[
                (
                    "it is labelled",
                    one.clone(),
                    json!({ "metadata": { "labels": { "a": "b" } } }),
                    NONE,
                ),
                (
                    "a manager writes its owner, annotations and finalizers",
                    one.clone(),
                    json!({ "metadata": {
                        "finalizers": ["a"], "annotations": { "a": "b" }, "ownerReferences": [],
                    } }),
                    NONE,
                ),
                (
                    "the status is changed",
                    one.clone(),
                    json!({ "status": { "conditions": [] } }),
                    NONE,
                ),
                (
                    "the last finalizer comes off",
                    merged(&being_deleted, [&one]),
                    json!({ "metadata": { "finalizers": null } }),
                    NONE,
                ),
                (
                    "it changes while it is deleted",
                    merged(&being_deleted, [&one]),
                    other.clone(),
                    NONE,
                ),
                ("the spec is changed", one, other.clone(), all),
                ("it gets a spec", json!({}), other, all),
            ],
        );
    }
}

#[test]
fn writes_of_sets_call_the_gate_only_about_their_selector() {
    let set: &[Webhook] = &[Webhook::ValidateClusterSet];
    let by_label = json!({ "spec": { "clusterSelector": {
        "selectorType": "LabelSelector", "labelSelector": { "matchLabels": { "vendor": "Kind" } },
    } } });
    let being_deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" } });
    assert_called(
        set,
        &bare(Webhook::ValidateClusterSet),
        &[
            (
                "a set without a spec is annotated",
                json!({}),
                json!({ "metadata": { "annotations": { "a": "b" } } }),
                NONE,
            ),
            (
                "a set is labelled",
                by_label.clone(),
                json!({ "metadata": { "labels": { "a": "b" } } }),
                NONE,
            ),
            (
                "the status is changed",
                by_label.clone(),
                json!({ "status": { "conditions": [] } }),
                NONE,
            ),
            (
                "namespaces are managed",
                by_label.clone(),
                json!({ "spec": { "managedNamespaces": [{ "name": "x" }] } }),
                NONE,
            ),
            (
                "a deleted set's selector is changed",
                being_deleted,
                by_label.clone(),
                set,
            ),
            ("a set gets a selector", json!({}), by_label.clone(), set),
            (
                "a set's selector is changed",
                by_label.clone(),
                json!({ "spec": { "clusterSelector": { "labelSelector": { "matchLabels": { "vendor": "AKS" } } } } }),
                set,
            ),
            ("a set's spec goes", by_label, json!({ "spec": null }), set),
        ],
    );
}

#[test]
fn writes_of_placements_call_the_gate_only_about_their_spec() {
    let placement: &[Webhook] = &[Webhook::ValidatePlacement];
    let three = json!({ "spec": { "numberOfClusters": 3 } });
    assert_called(
        placement,
        &bare(Webhook::ValidatePlacement),
        &[
            (
                "a placement without a spec is annotated",
                json!({}),
                json!({ "metadata": { "annotations": { "a": "b" } } }),
                NONE,
            ),
            (
                "a placement is labelled",
                three.clone(),
                json!({ "metadata": { "labels": { "a": "b" } } }),
                NONE,
            ),
            (
                "its number is changed",
                three.clone(),
                json!({ "spec": { "numberOfClusters": 2 } }),
                placement,
            ),
            ("it gets a spec", json!({}), three.clone(), placement),
            ("its spec goes", three, json!({ "spec": null }), placement),
        ],
    );
}

#[test]
fn writes_of_works_call_the_gate_only_about_their_spec() {
    let manifests = |name: &str| json!([{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }]);
    let spec = |name: &str| json!({ "workload": { "manifests": manifests(name) } });
    for (webhook, of) in [
        (
            Webhook::ValidateWork,
            (|spec: Value| json!({ "spec": spec })) as fn(Value) -> Value,
        ),
        (
            Webhook::ValidateReplicaSet,
            |spec| json!({ "spec": { "manifestWorkTemplate": spec } }),
        ),
    ] {
        let all: &[Webhook] = &[webhook];
        let usual = of(spec("a"));
        let being_deleted = json!({ "metadata": {
            "deletionTimestamp": "2026-11-20T08:00:00Z", "finalizers": ["a"],
        } });
        assert_called(
            all,
            &bare(webhook),
            &[
                (
                    "it is labelled",
                    usual.clone(),
                    json!({ "metadata": { "labels": { "a": "b" } } }),
                    NONE,
                ),
                (
                    "the agent or the controller adds its finalizer",
                    usual.clone(),
                    json!({ "metadata": { "finalizers": ["a"] } }),
                    NONE,
                ),
                (
                    "the status is changed",
                    usual.clone(),
                    json!({ "status": { "conditions": [] } }),
                    NONE,
                ),
                (
                    "one without a spec is labelled",
                    json!({}),
                    json!({ "metadata": { "labels": { "a": "b" } } }),
                    NONE,
                ),
                (
                    "the last finalizer comes off",
                    merged(&being_deleted, [&usual]),
                    json!({ "metadata": { "finalizers": null } }),
                    NONE,
                ),
                (
                    "it changes while it is deleted",
                    merged(&being_deleted, [&usual]),
                    of(spec("b")),
                    NONE,
                ),
                ("a manifest changes", usual.clone(), of(spec("b")), all),
                (
                    "the executor changes",
                    usual.clone(),
                    of(json!({ "executor": {} })),
                    all,
                ),
                ("it gets a spec", json!({}), usual.clone(), all),
                ("its spec goes", usual, json!({ "spec": null }), all),
                (
                    "the submitted object's word for its deletion is not taken",
                    of(spec("a")),
                    merged(&being_deleted, [&of(spec("b"))]),
                    all,
                ),
            ],
        );
    }
}

#[test]
fn requests_for_addons_come_to_the_gate_whoever_files_them() {
    let webhook = Webhook::ValidateRequest;
    for (label, called) in [
        ("open-cluster-management.io/addon-name", true),
        ("open-cluster-management.io/cluster-name", false),
    ] {
        let labelled = json!({ "metadata": { "labels": { label: "x" } } });
        let labelled = merged(&bare(webhook), [&labelled]);
        let mut review = review(webhook, &labelled, None);
        review["request"]["userInfo"]["groups"] = json!(["system:masters"]);
        let matches = Conditions::of(webhook).match_request(&review["request"]);
        assert_eq!(matches, Ok(called), "{label}");
    }
}

#[test]
fn nobodys_other_requests_but_agents_come_to_the_gate() {
    let agents = "system:open-cluster-management:managed-clusters";
    let webhook = Webhook::ValidateRequest;
    for (case, groups, called) in [
        ("an agent", json!(["a", agents, "b"]), true),
        ("an agent and nothing else", json!([agents]), true),
        (
            "a node",
            json!(["system:nodes", "system:authenticated"]),
            false,
        ),
        ("an admin", json!(["system:masters"]), false),
        (
            "the agents of one cluster are no group of all",
            json!(["system:open-cluster-management:c1"]),
            false,
        ),
        ("no groups", json!([]), false),
        ("no list of groups", Value::Null, false),
    ] {
        for stored in [None, Some(bare(webhook))] {
            let mut review = review(webhook, &bare(webhook), stored.as_ref());
            let user = review["request"]["userInfo"].as_object_mut().unwrap();
            match &groups {
                Value::Null => user.remove("groups"),
                groups => user.insert("groups".to_owned(), groups.clone()),
            };
            let matches = Conditions::of(webhook).match_request(&review["request"]);
            assert_eq!(matches, Ok(called), "{case}");
        }
    }
}

#[test]
fn writes_of_bindings_call_the_gate_only_about_their_set() {
    let binding: &[Webhook] = &[Webhook::ValidateBinding];
    let bound = json!({ "spec": { "clusterSet": "set-a" } });
    let being_deleted = json!({ "metadata": {
        "deletionTimestamp": "2026-11-20T08:00:00Z", "finalizers": ["a"],
    } });
    assert_called(
        binding,
        &bare(Webhook::ValidateBinding),
        &[
            (
                "a binding is labelled",
                bound.clone(),
                json!({ "metadata": { "labels": { "a": "b" } } }),
                NONE,
            ),
            (
                "a binding without a spec is labelled",
                json!({}),
                json!({ "metadata": { "labels": { "a": "b" } } }),
                NONE,
            ),
            (
                "the status is changed",
                bound.clone(),
                json!({ "status": { "conditions": [] } }),
                NONE,
            ),
            (
                "the last finalizer comes off",
                merged(&being_deleted, [&bound]),
                json!({ "metadata": { "finalizers": null } }),
                NONE,
            ),
            (
                "the set is changed",
                bound.clone(),
                json!({ "spec": { "clusterSet": "set-b" } }),
                binding,
            ),
            (
                "the set is changed while the binding is deleted",
                merged(&being_deleted, [&bound]),
                json!({ "spec": { "clusterSet": "set-b" } }),
                binding,
            ),
            ("a set is named", json!({}), bound.clone(), binding),
            ("the spec goes", bound, json!({ "spec": null }), binding),
        ],
    );
}
