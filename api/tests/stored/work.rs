//! Objects of the work API.

use berth_api::rollout::{RolloutStrategy, RolloutType};
use berth_api::work::{
    CascadeDeletionPolicy, ConditionRuleType, DeletePropagationPolicy, ExecutorSubjectType,
    FeedbackScrapeType, FeedbackType, IgnoreFieldsCondition, Manifest, ManifestConfigOption,
    ManifestWorkExecutor, ManifestWorkReplicaSetStatus, ManifestWorkSpec, ManifestWorkStatus,
    UpdateStrategyType, ValueType,
};
use berth_api::{AppliedManifestWork, ManifestWork, ManifestWorkReplicaSet};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Resource;
use serde_json::{Value, json};

use super::{read, write};

fn condition(kind: &str) -> Value {
    json!({
        "type": kind,
        "status": "True",
        "reason": "Why",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "observedGeneration": 3,
    })
}

/// The spec of a ManifestWork with every field of its type, as the API server stores it.
fn full_spec() -> Value {
    let deployment =
        json!({"group": "apps", "resource": "deployments", "namespace": "shop", "name": "web*"});
    json!({
        "deleteOption": {
            "propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": {"orphaningRules": [{"resource": "namespaces", "name": "shop"}]},
            "ttlSecondsAfterFinished": 0,
        },
        "executor": {"subject": {
            "type": "ServiceAccount",
            "serviceAccount": {"namespace": "shop", "name": "deployer"},
        }},
        "manifestConfigs": [{
            "resourceIdentifier": deployment,
            "feedbackRules": [
                {"type": "WellKnownStatus"},
                {"type": "JSONPaths", "jsonPaths": [{"name": "ready", "path": ".status.readyReplicas", "version": "v1"}]},
            ],
            "feedbackScrapeType": "Watch",
            "updateStrategy": {
                "type": "ServerSideApply",
                "serverSideApply": {
                    "fieldManager": "work-agent-shop",
                    "force": true,
                    "ignoreFields": [
                        {"condition": "OnSpokeChange", "jsonPaths": [".spec.replicas"]},
                        {
                            "condition": "OnSpokePresent",
                            "jsonPointers": ["/spec/replicas"],
                            "jqPathExpressions": [".spec.template.spec.containers[].image"],
                        },
                    ],
                },
            },
            "conditionRules": [
                {"condition": "Complete", "type": "WellKnownConditions"},
                {
                    "condition": "Healthy",
                    "type": "CEL",
                    "celExpressions": ["object.status.readyReplicas > 0"],
                    "message": "ready or not",
                    "messageExpression": "result ? 'ready' : ''",
                },
            ],
        }],
        "workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"k": "v"}},
            {"apiVersion": "example.com/v1", "kind": "Any", "metadata": {"name": "b"}, "other": [1, null, {"x": 0.5}]},
        ]},
    })
}

fn full_work() -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "w1", "namespace": "c1"},
        "spec": full_spec(),
        "status": {
            "conditions": [condition("Applied")],
            "resourceStatus": {"manifests": [{
                "resourceMeta": {
                    "ordinal": 0, "group": "", "version": "v1", "kind": "ConfigMap", "resource": "configmaps", "name": "a",
                    "namespace": "shop",
                },
                "conditions": [condition("Applied")],
                "statusFeedback": {"values": [
                    {"name": "i", "fieldValue": {"type": "Integer", "integer": -1}},
                    {"name": "s", "fieldValue": {"type": "String", "string": ""}},
                    {"name": "b", "fieldValue": {"type": "Boolean", "boolean": false}},
                    {"name": "r", "fieldValue": {"type": "JsonRaw", "jsonRaw": "[1.5]"}},
                ]},
            }]},
        },
    })
}

fn full_replica_set() -> Value {
    let summary = json!({
        "total": 3, "progressing": 0, "available": 2, "degraded": 0, "applied": 3, "desiredTotal": 4, "updated": 3,
    });
    let groups = json!([{"groupName": "canary"}, {"groupIndex": 1}]);
    json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "cascadeDeletionPolicy": "Foreground",
            "manifestWorkTemplate": full_spec(),
            "placementRefs": [
                {"name": "everywhere", "rolloutStrategy": {
                    "type": "All",
                    "all": {"maxFailures": 0, "minSuccessTime": "0", "progressDeadline": "None"},
                }},
                {"name": "carefully", "rolloutStrategy": {
                    "type": "Progressive",
                    "progressive": {
                        "maxConcurrency": "25%",
                        "mandatoryDecisionGroups": groups,
                        "maxFailures": "10%",
                        "minSuccessTime": "1h30m",
                        "progressDeadline": "2h",
                    },
                }},
                {"name": "by-group", "rolloutStrategy": {
                    "type": "ProgressivePerGroup",
                    "progressivePerGroup": {
                        "mandatoryDecisionGroups": groups,
                        "maxFailures": 2,
                        "minSuccessTime": "5m",
                        "progressDeadline": "90m",
                    },
                }},
            ],
        },
        "status": {
            "conditions": [condition("PlacementVerified")],
            "placementSummary": [
                {"name": "everywhere", "availableDecisionGroups": "1 (3 / 4 clusters applied)", "summary": summary},
            ],
            "summary": summary,
        },
    })
}

#[test]
fn a_full_object_is_written_as_it_was_read() {
    let work = full_work();
    assert_eq!(write(&read::<ManifestWork>(&work)), work);

    let set = full_replica_set();
    assert_eq!(write(&read::<ManifestWorkReplicaSet>(&set)), set);

    let applied = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "AppliedManifestWork",
        "metadata": {"name": "hash-w1"},
        "spec": {"hubHash": "hash", "agentID": "", "manifestWorkName": "w1"},
        "status": {
            "appliedResources": [
                {"group": "", "resource": "configmaps", "namespace": "shop", "name": "a", "version": "v1", "uid": "u"},
                {"group": "apps", "resource": "deployments", "namespace": "", "name": "b", "version": "v1"},
            ],
            "evictionStartTime": "2026-01-02T03:04:05Z",
        },
    });
    assert_eq!(write(&read::<AppliedManifestWork>(&applied)), applied);
}

#[test]
fn the_fields_of_a_full_object_are_found_in_its_type() {
    let work: ManifestWork = read(&full_work());
    let spec = work.spec;
    let delete = spec.delete_option.expect("a delete option");
    assert_eq!(
        delete.propagation_policy,
        DeletePropagationPolicy::SelectivelyOrphan
    );
    assert_eq!(delete.ttl_seconds_after_finished, Some(0));
    let subject = spec.executor.and_then(|it| it.subject).expect("a subject");
    assert_eq!(subject.r#type, ExecutorSubjectType::ServiceAccount);
    let config = &spec.manifest_configs[0];
    assert_eq!(config.feedback_scrape_type, FeedbackScrapeType::Watch);
    assert_eq!(config.feedback_rules[1].r#type, FeedbackType::JsonPaths);
    assert_eq!(config.condition_rules[1].r#type, ConditionRuleType::Cel);
    let strategy = config.update_strategy.as_ref().expect("a strategy");
    assert_eq!(strategy.r#type, UpdateStrategyType::ServerSideApply);
    let ignored = &strategy
        .server_side_apply
        .as_ref()
        .expect("settings")
        .ignore_fields;
    assert_eq!(ignored[0].condition, IgnoreFieldsCondition::OnSpokeChange);
    let status = work.status.expect("a status");
    let values = &status.resource_status.manifests[0].status_feedback.values;
    assert_eq!(values[3].field_value.r#type, ValueType::JsonRaw);

    let set: ManifestWorkReplicaSet = read(&full_replica_set());
    assert_eq!(
        set.spec.cascade_deletion_policy,
        CascadeDeletionPolicy::Foreground
    );
    let strategy = &set.spec.placement_refs[1].rollout_strategy;
    assert_eq!(strategy.r#type, RolloutType::Progressive);
    let progressive = strategy.progressive.as_ref().expect("settings");
    assert_eq!(
        progressive.config.max_failures,
        Some(IntOrString::String("10%".to_owned()))
    );
    assert_eq!(progressive.mandatory_decision_groups[1].group_index, 1);
}

#[test]
fn manifests_keep_their_text() {
    // A tree of values would round the first number, and refuse the last one.
    let manifest = r#"{"metadata":{"name":"n"},"kind":"Any","big":123456789012345678901234567890,"one":1.0,"e":1E400}"#;
    let work = format!(r#"{{"spec":{{"workload":{{"manifests":[{manifest}]}}}}}}"#);
    let work: ManifestWork = serde_json::from_str(&work).expect("a ManifestWork");
    assert_eq!(work.spec.workload.manifests[0].text(), manifest);
    let written = serde_json::to_string(&work).expect("JSON");
    assert!(written.contains(manifest), "{written}");

    let set = format!(
        r#"{{"spec":{{"placementRefs":[],"manifestWorkTemplate":{{"workload":{{"manifests":[{manifest}]}}}}}}}}"#
    );
    let set: ManifestWorkReplicaSet = serde_json::from_str(&set).expect("a set");
    assert_eq!(set.spec.manifest_work_template, work.spec);
}

#[test]
fn a_manifest_is_read_as_a_type_and_written_from_one() {
    let work: ManifestWork = read(&full_work());
    let manifest = &work.spec.workload.manifests[0];
    let config: ConfigMap = manifest.read().expect("a ConfigMap");
    assert_eq!(config.metadata.name.as_deref(), Some("a"));
    let same = Manifest::new(&config).expect("JSON");
    assert_eq!(
        same.read::<Value>().expect("JSON"),
        full_spec()["workload"]["manifests"][0]
    );
    let copy = manifest.clone();
    assert_eq!(&copy, manifest);
    assert_eq!(copy.text().as_ptr(), manifest.text().as_ptr());
    assert_ne!(manifest, &work.spec.workload.manifests[1]);
}

#[test]
fn a_malformed_manifest_does_not_hide_the_others() {
    let work: ManifestWork =
        read(&json!({"spec": {"workload": {"manifests": [null, 1, "a", [], {"kind": "A"}]}}}));
    let texts: Vec<_> = work
        .spec
        .workload
        .manifests
        .iter()
        .map(Manifest::text)
        .collect();
    assert_eq!(texts, ["null", "1", "\"a\"", "[]", r#"{"kind":"A"}"#]);
    let error = work.spec.workload.manifests[1].read::<ConfigMap>();
    let error = error.expect_err("not an object").to_string();
    assert!(error.starts_with("invalid type: integer `1`"), "{error}");
}

#[test]
fn the_content_of_manifests_is_not_shown_in_debug_output() {
    let secret = json!({"kind": "Secret", "stringData": {"password": "hunter2"}});
    let work: ManifestWork = read(&json!({"spec": {"workload": {"manifests": [secret]}}}));
    let shown = format!("{work:?}");
    assert!(shown.contains("Manifest(53 bytes)"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn an_object_without_spec_or_status_is_read() {
    let object = json!({"metadata": {"name": "w", "namespace": "ns"}});
    let work: ManifestWork = read(&object);
    assert_eq!(work.meta().name.as_deref(), Some("w"));
    assert_eq!(
        (work.spec, work.status),
        (ManifestWorkSpec::default(), None)
    );
    let applied: AppliedManifestWork = read(&object);
    assert_eq!((applied.spec.hub_hash.as_str(), applied.status), ("", None));
    let set: ManifestWorkReplicaSet = read(&object);
    assert_eq!(
        set.spec.cascade_deletion_policy,
        CascadeDeletionPolicy::Background
    );
    assert_eq!(set.status, None);
    assert_eq!(
        (
            ManifestWork::plural(&()),
            ManifestWorkReplicaSet::api_version(&())
        ),
        (
            "manifestworks".into(),
            "work.open-cluster-management.io/v1alpha1".into()
        )
    );
}

#[test]
fn nulls_and_empty_structs_of_go_clients_are_read_as_absent() {
    let work: ManifestWork = read(&json!({
        "metadata": {"name": "w", "creationTimestamp": null},
        "spec": {
            "deleteOption": null,
            "executor": null,
            "manifestConfigs": [
                {"resourceIdentifier": {"group": "", "resource": "", "name": "", "namespace": ""}, "feedbackRules": null,
                 "updateStrategy": null, "conditionRules": null, "feedbackScrapeType": null},
            ],
            "workload": {"manifests": null},
        },
        "status": {"conditions": null, "resourceStatus": {"manifests": null}},
    }));
    let expected = ManifestWorkSpec {
        manifest_configs: vec![ManifestConfigOption::default()],
        ..ManifestWorkSpec::default()
    };
    assert_eq!(work.spec, expected);
    assert_eq!(work.status, Some(ManifestWorkStatus::default()));

    let rule = json!({"condition": "A", "type": "CEL", "celExpressions": null, "message": "", "messageExpression": null});
    let work: ManifestWork =
        read(&json!({"spec": {"manifestConfigs": [{"conditionRules": [rule]}]}}));
    assert_eq!(
        write(&work.spec),
        json!({"manifestConfigs": [{
            "conditionRules": [{"condition": "A", "type": "CEL"}],
            "feedbackScrapeType": "Poll",
        }]})
    );

    let set: ManifestWorkReplicaSet = read(&json!({
        "spec": {"manifestWorkTemplate": {"workload": {}}, "placementRefs": [{"name": "p", "rolloutStrategy": {}}]},
        "status": {"conditions": null, "summary": {}, "placementSummary": null},
    }));
    assert_eq!(
        set.spec.placement_refs[0].rollout_strategy,
        RolloutStrategy::default()
    );
    assert_eq!(set.status, Some(ManifestWorkReplicaSetStatus::default()));
}

/// The CRD requires no subject. An executor without one is not the absence of an executor.
#[test]
fn an_executor_without_a_subject_is_read_as_such() {
    for executor in [json!({}), json!({"subject": null})] {
        let work: ManifestWork = read(&json!({"spec": {"executor": executor}}));
        assert_eq!(
            work.spec.executor,
            Some(ManifestWorkExecutor { subject: None })
        );
        assert_eq!(write(&work.spec), json!({"executor": {}}));
    }
}

#[test]
fn the_agent_and_the_hub_write_the_fields_that_ocm_always_writes() {
    let status: ManifestWorkStatus = read(&json!({"resourceStatus": {"manifests": [{}]}}));
    assert_eq!(
        write(&status),
        json!({"resourceStatus": {"manifests": [{
            "resourceMeta": {
                "ordinal": 0, "group": "", "version": "", "kind": "", "resource": "", "name": "", "namespace": "",
            },
            "conditions": [],
        }]}})
    );
    let counts = json!({
        "total": 0, "progressing": 0, "available": 0, "degraded": 0, "applied": 0, "desiredTotal": 0, "updated": 0,
    });
    assert_eq!(
        write(&ManifestWorkReplicaSetStatus::default()),
        json!({"summary": counts, "placementSummary": []})
    );
}

#[test]
fn fields_of_a_newer_version_are_ignored() {
    let mut object = full_work();
    object["spec"]["nextYear"] = json!({"a": [1]});
    object["spec"]["manifestConfigs"][0]["nextYear"] = json!(true);
    object["status"]["resourceStatus"]["nextYear"] = json!("a");
    assert_eq!(read::<ManifestWork>(&object), read(&full_work()));
}

#[test]
fn values_of_a_newer_version_are_kept() {
    let mut object = full_replica_set();
    let spec = &mut object["spec"];
    spec["cascadeDeletionPolicy"] = json!("Orphan");
    spec["placementRefs"][0]["rolloutStrategy"]["type"] = json!("ByHand");
    let template = &mut spec["manifestWorkTemplate"];
    template["deleteOption"]["propagationPolicy"] = json!("Background");
    template["executor"]["subject"]["type"] = json!("User");
    let config = &mut template["manifestConfigs"][0];
    config["feedbackScrapeType"] = json!("Push");
    config["feedbackRules"][0]["type"] = json!("CEL");
    config["updateStrategy"]["type"] = json!("Replace");
    config["updateStrategy"]["serverSideApply"]["ignoreFields"][0]["condition"] = json!("Always");
    config["conditionRules"][0]["type"] = json!("Wasm");
    assert_eq!(write(&read::<ManifestWorkReplicaSet>(&object)), object);

    let mut object = full_work();
    let manifest = &mut object["status"]["resourceStatus"]["manifests"][0];
    manifest["statusFeedback"]["values"][0]["fieldValue"]["type"] = json!("Quantity");
    assert_eq!(write(&read::<ManifestWork>(&object)), object);
}

#[test]
fn a_field_of_the_wrong_type_is_refused_with_the_reason() {
    for (spec, expected) in [
        (
            json!({"workload": {"manifests": {}}}),
            "invalid type: map, expected a sequence",
        ),
        (json!({"executor": {"subject": {}}}), "missing field `type`"),
        (
            json!({"manifestConfigs": [{"conditionRules": [{"type": "CEL"}]}]}),
            "missing field `condition`",
        ),
        (
            json!({"deleteOption": {"ttlSecondsAfterFinished": "1h"}}),
            "invalid type: string \"1h\", expected i64",
        ),
    ] {
        let object = json!({"spec": spec});
        let error = serde_json::from_value::<ManifestWork>(object).expect_err("wrong");
        assert_eq!(error.to_string(), expected, "{spec}");
    }
}
