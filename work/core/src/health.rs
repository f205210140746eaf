//! Built-in conditions Progressing and Degraded for common kinds, so that rollouts end without condition rules. OCM has none.
//!
//! Progressing is True until the object is as its spec asks for. Degraded is True if it does not get there. An object that failed is both:
//! rollouts count a cluster as failed only if both conditions are True.
//!
//! Messages have no counts and no times, because each change of a message is a write to the hub. Counts are what feedback rules are for.

mod others;
mod workloads;

use serde_json::Value;

/// The longest text of an object in a message, in bytes.
const LONGEST: usize = 512;

/// What the rules of the agent say of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// There are no rules for the kind.
    #[default]
    Unruled,
    /// The object is done. It has no conditions of its own; for the ManifestWork, it counts as neither progressing nor degraded.
    Settled,
    /// The object has conditions.
    Judged(Judgement),
}

/// The conditions of an object, with their messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) progressing: (bool, String),
    pub(crate) degraded: (bool, String),
}

/// The rule of a kind.
pub(crate) struct KindRule {
    /// The API group, of any version.
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    /// `None` if the object is done as soon as it exists.
    judge: Option<fn(&Value) -> Option<Judgement>>,
}

/// The rule of a kind, if it has one.
fn rule(group: &str, kind: &str) -> Option<&'static KindRule> {
    let mut kinds = KINDS.iter();
    kinds.find(|rule| (rule.group, rule.kind) == (group, kind))
}

/// Returns whether there are rules for a kind.
pub(crate) fn has_rule(group: &str, kind: &str) -> bool {
    rule(group, kind).is_some()
}

/// What the rules of the agent say of an object.
pub(crate) fn health(group: &str, kind: &str, object: &Value) -> Health {
    let Some(rule) = rule(group, kind) else {
        return Health::Unruled;
    };
    let judgement = rule.judge.and_then(|judge| judge(object));
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        let degraded = judgement.map_or_else(sound, |it| it.degraded);
        return Health::Judged(Judgement {
            progressing: (true, "The object is being deleted".to_owned()),
            degraded,
        });
    }
    judgement.map_or(Health::Settled, Health::Judged)
}

/// What the rules say of an object that does not exist.
pub(crate) fn missing(group: &str, kind: &str) -> Health {
    match rule(group, kind) {
        None => Health::Unruled,
        Some(_) => Health::Judged(Judgement::progressing("The object does not exist")),
    }
}

fn sound() -> (bool, String) {
    (false, "No failure is reported".to_owned())
}

// === impl Judgement ===

impl Judgement {
    fn done(message: &str) -> Self {
        Self {
            progressing: (false, message.to_owned()),
            degraded: sound(),
        }
    }

    fn progressing(message: &str) -> Self {
        Self {
            progressing: (true, message.to_owned()),
            degraded: sound(),
        }
    }

    /// An object that does not get to where its spec wants it.
    fn failed(message: String) -> Self {
        Self {
            progressing: (true, message.clone()),
            degraded: (true, message),
        }
    }
}

const fn judged(
    group: &'static str,
    kind: &'static str,
    judge: fn(&Value) -> Option<Judgement>,
) -> KindRule {
    KindRule {
        group,
        kind,
        judge: Some(judge),
    }
}

const fn settled(group: &'static str, kind: &'static str) -> KindRule {
    KindRule {
        group,
        kind,
        judge: None,
    }
}

/// The kinds that have rules. `docs/work-status.md` has them in words.
pub(crate) const KINDS: &[KindRule] = &[
    judged("apps", "Deployment", workloads::deployment),
    judged("apps", "StatefulSet", workloads::stateful_set),
    judged("apps", "DaemonSet", workloads::daemon_set),
    judged("apps", "ReplicaSet", workloads::replica_set),
    judged("", "ReplicationController", workloads::replica_set),
    judged("batch", "Job", workloads::job),
    judged("", "Pod", workloads::pod),
    judged("", "PersistentVolumeClaim", others::claim),
    judged("", "PersistentVolume", others::volume),
    judged("", "Service", others::service),
    judged("", "Namespace", others::namespace),
    judged(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        others::definition,
    ),
    judged("apiregistration.k8s.io", "APIService", others::api_service),
    judged("autoscaling", "HorizontalPodAutoscaler", others::autoscaler),
    settled("", "ConfigMap"),
    settled("", "Secret"),
    settled("", "ServiceAccount"),
    settled("", "Endpoints"),
    settled("", "LimitRange"),
    settled("", "ResourceQuota"),
    settled("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    settled(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
    ),
    settled(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
    ),
    settled("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    settled(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ),
    settled(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ),
    settled("batch", "CronJob"),
    settled("coordination.k8s.io", "Lease"),
    settled("discovery.k8s.io", "EndpointSlice"),
    settled("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    settled("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    settled("networking.k8s.io", "Ingress"),
    settled("networking.k8s.io", "IngressClass"),
    settled("networking.k8s.io", "NetworkPolicy"),
    settled("node.k8s.io", "RuntimeClass"),
    settled("policy", "PodDisruptionBudget"),
    settled("rbac.authorization.k8s.io", "ClusterRole"),
    settled("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    settled("rbac.authorization.k8s.io", "Role"),
    settled("rbac.authorization.k8s.io", "RoleBinding"),
    settled("scheduling.k8s.io", "PriorityClass"),
    settled("storage.k8s.io", "CSIDriver"),
    settled("storage.k8s.io", "StorageClass"),
    settled("storage.k8s.io", "VolumeAttributesClass"),
];

/// The object's condition of a type.
fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|it| it["type"] == type_)
}

/// The object's condition of a type, if it has this status.
fn condition_with<'a>(object: &'a Value, type_: &str, status: &str) -> Option<&'a Value> {
    condition(object, type_).filter(|it| it["status"] == status)
}

/// The number at a pointer, or a default.
fn number(object: &Value, pointer: &str, default: i64) -> i64 {
    let value = object.pointer(pointer).and_then(Value::as_i64);
    value.unwrap_or(default)
}

/// The text at a pointer, or an empty one.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let value = object.pointer(pointer).and_then(Value::as_str);
    value.unwrap_or_default()
}

/// A sentence, and a field of a condition if it has one: its `message` or `reason`.
fn because(sentence: &str, condition: &Value, field: &str) -> String {
    match condition[field].as_str().unwrap_or_default() {
        "" => sentence.to_owned(),
        why => format!("{sentence}: {}", berth_api::text::shorten(why, LONGEST)),
    }
}

#[cfg(test)]
mod tests;
