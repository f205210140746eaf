//! The CRDs of the work API, compared with OCM's.

use berth_api::crds::{applied_manifest_work, manifest_work, manifest_work_replica_set, work};
use serde_json::{Value, json};

use super::structure::{
    assert_structure, conditions, list, list_by, object, text, time, with_metadata,
};

const DNS_SUBDOMAIN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$";
const COUNT_OR_PERCENT: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";

/// OCM's CRDs do not state the conversion, and have no categories.
fn crd(version: &str, scope: &str, names: &Value, columns: &[[&str; 3]], schema: Value) -> Value {
    let mut version = json!({
        "name": version, "served": true, "storage": true,
        "schema": {"openAPIV3Schema": with_metadata(schema)},
        "subresources": {"status": {}},
    });
    if !columns.is_empty() {
        let columns = columns
            .iter()
            .map(|[name, kind, path]| json!({"name": name, "type": kind, "jsonPath": path}));
        version["additionalPrinterColumns"] = columns.collect();
    }
    let plural = names["plural"].as_str().expect("a name");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.work.open-cluster-management.io")},
        "spec": {
            "group": "work.open-cluster-management.io",
            "names": names,
            "preserveUnknownFields": false,
            "scope": scope,
            "versions": [version],
        },
    })
}

fn one_of(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

fn one_of_or(default: &str, values: &[&str]) -> Value {
    json!({"type": "string", "enum": values, "default": default})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn integer(format: &str) -> Value {
    json!({"type": "integer", "format": format})
}

fn resource_identifier() -> Value {
    object(
        &["name", "resource"],
        json!({"group": text(), "name": text(), "namespace": text(), "resource": text()}),
    )
}

fn manifest_config() -> Value {
    let mut condition_rule = object(
        &["condition", "type"],
        json!({
            "celExpressions": list(&text()),
            "condition": text(),
            "message": text(),
            "messageExpression": text(),
            "type": one_of(&["WellKnownConditions", "CEL"]),
        }),
    );
    condition_rule["x-kubernetes-validations"] = json!([{
        "message": "Condition is required for CEL rules",
        "rule": "self.type != 'CEL' || self.condition != \"\"",
    }]);
    let json_path = object(
        &["name", "path"],
        json!({"name": text(), "path": text(), "version": text()}),
    );
    let feedback_rule = object(
        &["type"],
        json!({
            "jsonPaths": list_by("name", &json_path),
            "type": one_of(&["WellKnownStatus", "JSONPaths"]),
        }),
    );
    let ignore_field = object(
        &["condition"],
        json!({
            "condition": one_of_or("OnSpokePresent", &["OnSpokePresent", "OnSpokeChange"]),
            "jqPathExpressions": list(&text()),
            "jsonPaths": list(&text()),
            "jsonPointers": list(&text()),
        }),
    );
    let server_side_apply = object(
        &[],
        json!({
            "fieldManager": {"type": "string", "default": "work-agent", "pattern": "^work-agent"},
            "force": boolean(),
            "ignoreFields": list_by("condition", &ignore_field),
        }),
    );
    let update_strategy = object(
        &["type"],
        json!({
            "serverSideApply": server_side_apply,
            "type": one_of_or("Update", &["Update", "CreateOnly", "ServerSideApply", "ReadOnly"]),
        }),
    );
    object(
        &["resourceIdentifier"],
        json!({
            "conditionRules": list_by("condition", &condition_rule),
            "feedbackRules": list(&feedback_rule),
            "feedbackScrapeType": one_of_or("Poll", &["Poll", "Watch"]),
            "resourceIdentifier": resource_identifier(),
            "updateStrategy": update_strategy,
        }),
    )
}

/// The spec of a ManifestWork, which is the template of a ManifestWorkReplicaSet, too.
fn manifest_work_spec() -> Value {
    let delete_option = object(
        &[],
        json!({
            "propagationPolicy": one_of_or("Foreground", &["Foreground", "Orphan", "SelectivelyOrphan"]),
            "selectivelyOrphans": object(&[], json!({"orphaningRules": list(&resource_identifier())})),
            "ttlSecondsAfterFinished": integer("int64"),
        }),
    );
    let name =
        json!({"type": "string", "minLength": 1, "maxLength": 253, "pattern": DNS_SUBDOMAIN});
    let subject = object(
        &["type"],
        json!({
            "serviceAccount": object(&["name", "namespace"], json!({"name": name, "namespace": name})),
            "type": one_of(&["ServiceAccount"]),
        }),
    );
    let manifest = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    object(
        &[],
        json!({
            "deleteOption": delete_option,
            "executor": object(&[], json!({"subject": subject})),
            "manifestConfigs": list(&manifest_config()),
            "workload": object(&[], json!({"manifests": list(&manifest)})),
        }),
    )
}

fn rollout_strategy() -> Value {
    let max_concurrency = json!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": COUNT_OR_PERCENT,
        "x-kubernetes-int-or-string": true,
    });
    let mut max_failures = max_concurrency.clone();
    max_failures["default"] = json!(0);
    let groups = list(&object(
        &[],
        json!({"groupIndex": integer("int32"), "groupName": text()}),
    ));
    let all = object(
        &[],
        json!({
            "maxFailures": max_failures,
            "minSuccessTime": {"type": "string", "default": "0"},
            "progressDeadline": {"type": "string", "default": "None", "pattern": "^(([0-9])+[h|m|s])|None$"},
        }),
    );
    let mut per_group = all.clone();
    per_group["properties"]["mandatoryDecisionGroups"] = groups;
    let mut progressive = per_group.clone();
    progressive["properties"]["maxConcurrency"] = max_concurrency;
    let mut strategy = object(
        &[],
        json!({
            "all": all,
            "progressive": progressive,
            "progressivePerGroup": per_group,
            "type": one_of_or("All", &["All", "Progressive", "ProgressivePerGroup"]),
        }),
    );
    strategy["default"] = json!({"type": "All", "all": {"progressDeadline": "None"}});
    strategy
}

#[test]
fn manifest_works_are_those_of_ocm() {
    let meta = object(
        &["ordinal"],
        json!({
            "group": text(), "kind": text(), "name": text(), "namespace": text(), "ordinal": integer("int32"),
            "resource": text(), "version": text(),
        }),
    );
    let field_value = object(
        &["type"],
        json!({
            "boolean": boolean(),
            "integer": integer("int64"),
            "jsonRaw": {"type": "string", "maxLength": 1024},
            "string": text(),
            "type": one_of(&["Integer", "String", "Boolean", "JsonRaw"]),
        }),
    );
    let value = object(
        &["fieldValue", "name"],
        json!({"fieldValue": field_value, "name": text()}),
    );
    let manifest = object(
        &["conditions", "resourceMeta"],
        json!({
            "conditions": conditions(),
            "resourceMeta": meta,
            "statusFeedback": object(&[], json!({"values": list_by("name", &value)})),
        }),
    );
    let status = object(
        &[],
        json!({
            "conditions": conditions(),
            "resourceStatus": object(&[], json!({"manifests": list(&manifest)})),
        }),
    );
    let names = json!({
        "kind": "ManifestWork", "listKind": "ManifestWorkList", "plural": "manifestworks", "singular": "manifestwork",
    });
    let schema = object(&[], json!({"spec": manifest_work_spec(), "status": status}));
    assert_structure(
        &manifest_work(),
        &crd("v1", "Namespaced", &names, &[], schema),
    );
}

#[test]
fn applied_manifest_works_are_those_of_ocm() {
    let spec = object(
        &["hubHash", "manifestWorkName"],
        json!({"agentID": text(), "hubHash": text(), "manifestWorkName": text()}),
    );
    let resource = object(
        &["name", "resource", "version"],
        json!({
            "group": text(), "name": text(), "namespace": text(), "resource": text(), "uid": text(), "version": text(),
        }),
    );
    let status = object(
        &[],
        json!({"appliedResources": list(&resource), "evictionStartTime": time()}),
    );
    let names = json!({
        "kind": "AppliedManifestWork", "listKind": "AppliedManifestWorkList", "plural": "appliedmanifestworks",
        "singular": "appliedmanifestwork",
    });
    let schema = object(&[], json!({"spec": spec, "status": status}));
    assert_structure(
        &applied_manifest_work(),
        &crd("v1", "Cluster", &names, &[], schema),
    );
}

#[test]
fn manifest_work_replica_sets_are_those_of_ocm() {
    let placement = object(
        &["name"],
        json!({"name": {"type": "string", "minLength": 1}, "rolloutStrategy": rollout_strategy()}),
    );
    let spec = object(
        &["cascadeDeletionPolicy", "placementRefs"],
        json!({
            "cascadeDeletionPolicy": one_of_or("Background", &["Background", "Foreground"]),
            "manifestWorkTemplate": manifest_work_spec(),
            "placementRefs": {"type": "array", "minItems": 1, "items": placement},
        }),
    );
    let count = json!({"type": "integer"});
    let summary = object(
        &[],
        json!({
            "applied": count, "available": count, "degraded": count, "desiredTotal": count, "progressing": count,
            "total": count, "updated": count,
        }),
    );
    let placement_summary = object(
        &[],
        json!({"availableDecisionGroups": text(), "name": text(), "summary": summary}),
    );
    let status = object(
        &[],
        json!({
            "conditions": conditions(),
            "placementSummary": list(&placement_summary),
            "summary": summary,
        }),
    );
    let names = json!({
        "kind": "ManifestWorkReplicaSet", "listKind": "ManifestWorkReplicaSetList", "plural": "manifestworkreplicasets",
        "shortNames": ["mwrs"], "singular": "manifestworkreplicaset",
    });
    let of = |condition, field| format!(".status.conditions[?(@.type==\"{condition}\")].{field}");
    let columns = [
        ["Placement", "string", &of("PlacementVerified", "reason")],
        ["Found", "string", &of("PlacementVerified", "status")],
        [
            "ManifestWorks",
            "string",
            &of("ManifestworkApplied", "reason"),
        ],
        ["Applied", "string", &of("ManifestworkApplied", "status")],
    ];
    let schema = object(&[], json!({"spec": spec, "status": status}));
    assert_structure(
        &manifest_work_replica_set(),
        &crd("v1alpha1", "Namespaced", &names, &columns, schema),
    );
}

#[test]
fn all_three_kinds_are_written_to_the_manifests() {
    assert_eq!(
        work(),
        [
            manifest_work(),
            manifest_work_replica_set(),
            applied_manifest_work()
        ]
    );
}
