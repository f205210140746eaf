use proptest::prelude::*;
use serde_json::json;

use super::*;

mod documentation;

/// `done`, `progressing` or `failed`, and the message; empty for an object without conditions.
fn said(group: &str, kind: &str, object: &Value) -> String {
    match health(group, kind, object) {
        Health::Unruled => panic!("{kind} has no rule"),
        Health::Settled => String::new(),
        Health::Judged(Judgement {
            progressing: (progressing, message),
            degraded: (degraded, failure),
        }) => {
            let state = match (progressing, degraded) {
                (false, false) => "done",
                (true, false) => "progressing",
                (true, true) => "failed",
                (false, true) => "degraded",
            };
            let expected = if degraded {
                &message
            } else {
                "No failure is reported"
            };
            assert_eq!(failure, expected);
            format!("{state}: {message}")
        }
    }
}

fn condition_of(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message})
}

#[test]
fn deployments() {
    let status = |replicas: i64, updated: i64, available: i64, conditions: &[Value]| {
        json!({
            "metadata": {"generation": 2}, "spec": {"replicas": 3},
            "status": {"observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated,
                       "availableReplicas": available, "conditions": conditions},
        })
    };
    let rolled_out = condition_of("Progressing", "True", "NewReplicaSetAvailable", "");
    let rolling = condition_of("Progressing", "True", "ReplicaSetUpdated", "");
    let late = condition_of(
        "Progressing",
        "False",
        "ProgressDeadlineExceeded",
        "ReplicaSet \"web-1\" has timed out progressing.",
    );
    let available = condition_of("Available", "True", "MinimumReplicasAvailable", "");
    let unavailable = condition_of("Available", "False", "MinimumReplicasUnavailable", "");
    let quota = condition_of(
        "ReplicaFailure",
        "True",
        "FailedCreate",
        "exceeded quota: pods",
    );
    for (object, expected) in [
        (
            json!({"metadata": {"generation": 1}}),
            "progressing: The controller has not observed the latest spec",
        ),
        (
            json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "conditions": [late]}}),
            "progressing: The controller has not observed the latest spec",
        ),
        (
            status(3, 1, 3, std::slice::from_ref(&rolling)),
            "progressing: Pods are being updated",
        ),
        (
            status(4, 3, 3, std::slice::from_ref(&rolling)),
            "progressing: Old pods are being terminated",
        ),
        (
            status(3, 3, 2, &[rolling, unavailable.clone()]),
            "progressing: Pods are not available yet",
        ),
        (
            status(3, 3, 3, &[rolled_out.clone(), available.clone()]),
            "done: The Deployment is rolled out",
        ),
        (status(3, 3, 3, &[]), "done: The Deployment is rolled out"),
        // A pod is lost later: within and beyond what the strategy tolerates.
        (
            status(3, 3, 2, &[rolled_out.clone(), available]),
            "done: The Deployment is rolled out",
        ),
        (
            status(3, 3, 0, &[rolled_out, unavailable.clone()]),
            "progressing: Pods are not available yet",
        ),
        (
            status(3, 3, 2, &[late, unavailable]),
            "failed: The progress deadline is exceeded: ReplicaSet \"web-1\" has timed out progressing.",
        ),
        (
            status(1, 1, 1, &[quota]),
            "failed: Pods cannot be created: exceeded quota: pods",
        ),
        (
            json!({"spec": {"paused": true}}),
            "progressing: The rollout is paused",
        ),
        (
            json!({"spec": {"replicas": 0}}),
            "done: The Deployment is rolled out",
        ),
    ] {
        assert_eq!(said("apps", "Deployment", &object), expected, "{object}");
    }
}

#[test]
fn other_workloads() {
    let observed = |spec: Value, status: Value| {
        let mut object = json!({"metadata": {"generation": 2}, "spec": spec, "status": status});
        object["status"]["observedGeneration"] = json!(2);
        object
    };
    let revisions = |current: &str, updated: i64, ready: i64| {
        json!({"currentRevision": current, "updateRevision": "b", "updatedReplicas": updated,
               "readyReplicas": ready, "replicas": 2})
    };
    let two = json!({"replicas": 2});
    let partition = json!({"replicas": 2, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}});
    let on_delete = json!({"replicas": 2, "updateStrategy": {"type": "OnDelete"}});
    let daemons = |updated: i64, available: i64| json!({"desiredNumberScheduled": 2, "updatedNumberScheduled": updated, "numberAvailable": available});
    let quota = json!([condition_of("ReplicaFailure", "True", "FailedCreate", "")]);
    let stale = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}});
    for (kind, object, expected) in [
        (
            "StatefulSet",
            stale.clone(),
            "progressing: The controller has not observed the latest spec",
        ),
        (
            "StatefulSet",
            observed(two.clone(), revisions("a", 1, 2)),
            "progressing: Pods are being updated",
        ),
        (
            "StatefulSet",
            observed(two.clone(), revisions("a", 2, 2)),
            "progressing: Pods are being updated",
        ),
        (
            "StatefulSet",
            observed(two.clone(), revisions("b", 2, 1)),
            "progressing: Pods are not ready yet",
        ),
        (
            "StatefulSet",
            observed(two.clone(), revisions("b", 2, 2)),
            "done: The StatefulSet is rolled out",
        ),
        (
            "StatefulSet",
            observed(json!({"replicas": 1}), revisions("b", 2, 2)),
            "progressing: Old pods are being terminated",
        ),
        (
            "StatefulSet",
            observed(partition, revisions("a", 1, 2)),
            "done: The StatefulSet is rolled out",
        ),
        (
            "StatefulSet",
            observed(on_delete.clone(), revisions("a", 0, 2)),
            "done: The StatefulSet is rolled out",
        ),
        (
            "DaemonSet",
            stale.clone(),
            "progressing: The controller has not observed the latest spec",
        ),
        (
            "DaemonSet",
            observed(json!({}), daemons(1, 2)),
            "progressing: Pods are being updated",
        ),
        (
            "DaemonSet",
            observed(json!({}), daemons(2, 1)),
            "progressing: Pods are not available yet",
        ),
        (
            "DaemonSet",
            observed(json!({}), daemons(2, 2)),
            "done: The DaemonSet is rolled out",
        ),
        (
            "DaemonSet",
            observed(on_delete, daemons(0, 2)),
            "done: The DaemonSet is rolled out",
        ),
        (
            "ReplicaSet",
            stale,
            "progressing: The controller has not observed the latest spec",
        ),
        (
            "ReplicaSet",
            observed(two.clone(), json!({"replicas": 3, "availableReplicas": 2})),
            "progressing: Old pods are being terminated",
        ),
        (
            "ReplicaSet",
            observed(two.clone(), json!({"replicas": 2, "availableReplicas": 1})),
            "progressing: Pods are not available yet",
        ),
        (
            "ReplicaSet",
            observed(two.clone(), json!({"replicas": 2, "availableReplicas": 2})),
            "done: All pods are available",
        ),
        (
            "ReplicaSet",
            observed(two, json!({"replicas": 1, "conditions": quota})),
            "failed: Pods cannot be created",
        ),
    ] {
        assert_eq!(said("apps", kind, &object), expected, "{object}");
    }
}

#[test]
fn jobs_and_pods() {
    let job = |type_: &str, message: &str| json!({"status": {"conditions": [condition_of(type_, "True", "R", message)]}});
    for (object, expected) in [
        (json!({}), "progressing: The Job is not finished"),
        (
            json!({"spec": {"suspend": true}}),
            "done: The Job is suspended",
        ),
        (job("Complete", ""), "done: The Job is complete"),
        (job("SuccessCriteriaMet", ""), "done: The Job is complete"),
        (
            job("Failed", "Job has reached the specified backoff limit"),
            "failed: The Job failed: Job has reached the specified backoff limit",
        ),
        (job("FailureTarget", ""), "failed: The Job failed"),
    ] {
        assert_eq!(said("batch", "Job", &object), expected, "{object}");
    }
    let ready = |status: &str| json!({"status": {"phase": "Running", "conditions": [condition_of("Ready", status, "", "")]}});
    let waiting = |list: &str, reason: &str| json!({"status": {"phase": "Pending", list: [{"name": "web", "state": {"waiting": {"reason": reason}}}]}});
    for (object, expected) in [
        (json!({}), "progressing: The Pod is not ready"),
        (ready("False"), "progressing: The Pod is not ready"),
        (ready("True"), "done: The Pod is ready"),
        (
            json!({"status": {"phase": "Succeeded"}}),
            "done: The Pod is completed",
        ),
        (
            json!({"status": {"phase": "Failed", "reason": "Evicted"}}),
            "failed: The Pod failed: Evicted",
        ),
        (
            waiting("containerStatuses", "ContainerCreating"),
            "progressing: The Pod is not ready",
        ),
        (
            waiting("containerStatuses", "CrashLoopBackOff"),
            "failed: Container web: CrashLoopBackOff",
        ),
        (
            waiting("initContainerStatuses", "ImagePullBackOff"),
            "failed: Container web: ImagePullBackOff",
        ),
    ] {
        assert_eq!(said("", "Pod", &object), expected, "{object}");
    }
}

#[test]
fn kinds_without_pods() {
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    let with = |conditions: &[Value]| json!({"status": {"conditions": conditions}});
    let crds = "apiextensions.k8s.io";
    let apis = "apiregistration.k8s.io";
    let pending = |annotations: Value, spec: Value| json!({"metadata": {"annotations": annotations}, "spec": spec, "status": {"phase": "Pending"}});
    for (group, kind, object, expected) in [
        (
            "",
            "PersistentVolumeClaim",
            phase("Pending"),
            "progressing: No volume is bound yet",
        ),
        (
            "",
            "PersistentVolumeClaim",
            pending(json!({}), json!({"storageClassName": "a"})),
            "done: The claim waits for a pod that uses it",
        ),
        (
            "",
            "PersistentVolumeClaim",
            pending(json!({}), json!({"storageClassName": ""})),
            "progressing: No volume is bound yet",
        ),
        (
            "",
            "PersistentVolumeClaim",
            pending(
                json!({}),
                json!({"storageClassName": "a", "volumeName": "v"}),
            ),
            "progressing: No volume is bound yet",
        ),
        (
            "",
            "PersistentVolumeClaim",
            pending(
                json!({"volume.kubernetes.io/storage-provisioner": "p"}),
                json!({"storageClassName": "a"}),
            ),
            "progressing: No volume is bound yet",
        ),
        (
            "",
            "PersistentVolumeClaim",
            pending(
                json!({"volume.kubernetes.io/selected-node": "n"}),
                json!({"storageClassName": "a"}),
            ),
            "progressing: No volume is bound yet",
        ),
        (
            "",
            "PersistentVolumeClaim",
            phase("Bound"),
            "done: The claim is bound",
        ),
        (
            "",
            "PersistentVolumeClaim",
            phase("Lost"),
            "failed: The volume of the claim is lost",
        ),
        (
            "",
            "PersistentVolume",
            phase("Available"),
            "done: The volume is available",
        ),
        (
            "",
            "PersistentVolume",
            phase("Failed"),
            "failed: The volume failed",
        ),
        (
            "",
            "PersistentVolume",
            phase("Pending"),
            "progressing: The volume is pending",
        ),
        ("", "Service", json!({"spec": {"type": "ClusterIP"}}), ""),
        (
            "",
            "Service",
            json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}}),
            "progressing: The load balancer has no address yet",
        ),
        (
            "",
            "Service",
            json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}),
            "done: The load balancer has an address",
        ),
        ("", "Namespace", phase("Active"), ""),
        (
            "",
            "Namespace",
            phase("Terminating"),
            "progressing: The namespace is being deleted",
        ),
        (
            "",
            "Namespace",
            json!({"status": {"phase": "Terminating", "conditions": [
                condition_of("NamespaceDeletionContentFailure", "True", "ContentDeletionFailed", "…")]}}),
            "failed: The namespace cannot be deleted: ContentDeletionFailed",
        ),
        (
            crds,
            "CustomResourceDefinition",
            json!({}),
            "progressing: The API is not served yet",
        ),
        (
            crds,
            "CustomResourceDefinition",
            with(&[
                condition_of("NamesAccepted", "True", "", ""),
                condition_of("Established", "True", "", ""),
            ]),
            "done: The API is served",
        ),
        (
            crds,
            "CustomResourceDefinition",
            with(&[condition_of(
                "NamesAccepted",
                "False",
                "",
                "\"Widget\" is already in use",
            )]),
            "failed: The names are not accepted: \"Widget\" is already in use",
        ),
        (
            apis,
            "APIService",
            json!({}),
            "progressing: The API is not available",
        ),
        (
            apis,
            "APIService",
            with(&[condition_of("Available", "False", "MissingEndpoints", "…")]),
            "progressing: The API is not available: MissingEndpoints",
        ),
        (
            apis,
            "APIService",
            with(&[condition_of("Available", "True", "Passed", "")]),
            "done: The API is available",
        ),
        ("autoscaling", "HorizontalPodAutoscaler", json!({}), ""),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            with(&[condition_of("AbleToScale", "False", "FailedGetScale", "…")]),
            "failed: The target cannot be scaled: FailedGetScale",
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            with(&[condition_of(
                "ScalingActive",
                "False",
                "FailedGetResourceMetric",
                "…",
            )]),
            "progressing: There are no metrics: FailedGetResourceMetric",
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            with(&[condition_of(
                "ScalingActive",
                "False",
                "ScalingDisabled",
                "",
            )]),
            "done: The autoscaler is active",
        ),
        ("", "ConfigMap", json!({}), ""),
        ("batch", "CronJob", json!({}), ""),
    ] {
        assert_eq!(said(group, kind, &object), expected, "{kind} {object}");
    }
}

#[test]
fn an_object_that_is_deleted_or_missing_is_progressing() {
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Bound"}});
    for (kind, missing_is) in [("ConfigMap", true), ("PersistentVolumeClaim", true)] {
        assert_eq!(
            said("", kind, &deleted),
            "progressing: The object is being deleted"
        );
        let expected = Health::Judged(Judgement::progressing("The object does not exist"));
        assert_eq!(missing("", kind) == expected, missing_is);
    }
    assert_eq!(health("example.com", "Widget", &deleted), Health::Unruled);
    assert_eq!(missing("example.com", "Widget"), Health::Unruled);
}

#[test]
fn each_kind_has_one_rule() {
    for (at, rule) in KINDS.iter().enumerate() {
        let same = |it: &&KindRule| (it.group, it.kind) == (rule.group, rule.kind);
        assert_eq!(KINDS[at..].iter().filter(same).count(), 1, "{}", rule.kind);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|it| json!(it)),
        prop::sample::select(vec![i64::MIN, -1, 0, 1, 2, i64::MAX]).prop_map(|it| json!(it)),
        prop::sample::select(vec![
            "",
            "True",
            "False",
            "Failed",
            "Pending",
            "OnDelete",
            "Progressing",
            "Available",
            "ReplicaFailure",
            "LoadBalancer",
        ])
        .prop_map(|it| json!(it)),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let keys = prop::sample::select(vec![
            "metadata",
            "generation",
            "deletionTimestamp",
            "spec",
            "replicas",
            "status",
            "conditions",
            "type",
            "reason",
            "message",
            "observedGeneration",
            "updatedReplicas",
            "updateStrategy",
            "rollingUpdate",
            "partition",
            "phase",
            "containerStatuses",
            "state",
            "waiting",
            "loadBalancer",
            "ingress",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..6).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    /// Any object of any kind is judged, an object that is degraded is progressing, too, and messages are short.
    #[test]
    fn any_object_is_judged(object in any_json(), at in 0..KINDS.len()) {
        let rule = &KINDS[at];
        if let Health::Judged(it) = health(rule.group, rule.kind, &object) {
            prop_assert!(it.progressing.0 || !it.degraded.0);
            prop_assert!(it.progressing.1.len() + it.degraded.1.len() < 3 * LONGEST);
        }
    }
}

#[test]
fn a_long_message_of_an_object_keeps_its_reason() {
    let message = format!("pods {} is forbidden: exceeded quota", "x".repeat(2_000));
    let failure = condition_of("ReplicaFailure", "True", "FailedCreate", &message);
    let object = json!({
        "metadata": {"generation": 2}, "spec": {"replicas": 3},
        "status": {"observedGeneration": 2, "conditions": [failure]},
    });
    let said = said("apps", "Deployment", &object);
    assert!(
        said.len() < 700 && said.ends_with(" is forbidden: exceeded quota"),
        "{said}"
    );
}
