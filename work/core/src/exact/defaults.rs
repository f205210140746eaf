//! Values that the API server fills in: they are no difference from a manifest without them.
//!
//! Each is documented in the reference of its kind: <https://kubernetes.io/docs/reference/kubernetes-api/>.

use serde_json::{Value, json};

use crate::compare::Default;

/// The defaults of a kind.
pub(crate) fn of(kind: &str) -> &'static [Default] {
    match kind {
        "NetworkPolicy" => NETWORK_POLICY,
        "ValidatingAdmissionPolicy" => POLICY,
        "ValidatingAdmissionPolicyBinding" => POLICY_BINDING,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => WEBHOOKS,
        "StorageClass" => STORAGE_CLASS,
        "CSIDriver" => CSI_DRIVER,
        "CustomResourceDefinition" => CRD,
        "Service" => SERVICE,
        _ => &[],
    }
}

const NETWORK_POLICY: &[Default] = &[
    ("spec.ingress[].ports[].protocol", r#""TCP""#),
    ("spec.egress[].ports[].protocol", r#""TCP""#),
    ("spec.podSelector", "{}"),
];
const POLICY: &[Default] = &[
    ("spec.failurePolicy", r#""Fail""#),
    ("spec.matchConstraints.matchPolicy", r#""Equivalent""#),
    ("spec.matchConstraints.namespaceSelector", "{}"),
    ("spec.matchConstraints.objectSelector", "{}"),
    ("spec.matchConstraints.resourceRules[].scope", r#""*""#),
    (
        "spec.matchConstraints.excludeResourceRules[].scope",
        r#""*""#,
    ),
];
const POLICY_BINDING: &[Default] = &[
    ("spec.matchResources.matchPolicy", r#""Equivalent""#),
    ("spec.matchResources.namespaceSelector", "{}"),
    ("spec.matchResources.objectSelector", "{}"),
    ("spec.matchResources.resourceRules[].scope", r#""*""#),
    ("spec.matchResources.excludeResourceRules[].scope", r#""*""#),
    ("spec.paramRef.parameterNotFoundAction", r#""Deny""#),
];
const WEBHOOKS: &[Default] = &[
    ("webhooks[].failurePolicy", r#""Fail""#),
    ("webhooks[].matchPolicy", r#""Equivalent""#),
    ("webhooks[].namespaceSelector", "{}"),
    ("webhooks[].objectSelector", "{}"),
    ("webhooks[].timeoutSeconds", "10"),
    ("webhooks[].reinvocationPolicy", r#""Never""#),
    ("webhooks[].rules[].scope", r#""*""#),
    ("webhooks[].clientConfig.service.port", "443"),
];
const STORAGE_CLASS: &[Default] = &[
    ("reclaimPolicy", r#""Delete""#),
    ("volumeBindingMode", r#""Immediate""#),
];
const CSI_DRIVER: &[Default] = &[
    ("spec.attachRequired", "true"),
    ("spec.podInfoOnMount", "false"),
    ("spec.storageCapacity", "false"),
    ("spec.requiresRepublish", "false"),
    ("spec.seLinuxMount", "false"),
    ("spec.fsGroupPolicy", r#""ReadWriteOnceWithFSType""#),
    ("spec.volumeLifecycleModes", r#"["Persistent"]"#),
];
const CRD: &[Default] = &[
    ("spec.conversion", r#"{"strategy":"None"}"#),
    ("spec.conversion.webhook.clientConfig.service.port", "443"),
    ("spec.preserveUnknownFields", "false"),
];
const SERVICE: &[Default] = &[
    ("spec.selector", "{}"),
    ("spec.ports[].protocol", r#""TCP""#),
    ("spec.type", r#""ClusterIP""#),
    ("spec.sessionAffinity", r#""None""#),
    ("spec.internalTrafficPolicy", r#""Cluster""#),
    ("spec.externalTrafficPolicy", r#""Cluster""#),
    ("spec.allocateLoadBalancerNodePorts", "true"),
    (
        "spec.sessionAffinityConfig",
        r#"{"clientIP":{"timeoutSeconds":10800}}"#,
    ),
];

/// The spec of a NetworkPolicy with the types that the API server fills in.
pub(crate) fn filled_policy(mut spec: Value) -> Value {
    let has = |spec: &Value, name: &str| {
        let items = spec.get(name).and_then(Value::as_array);
        items.is_some_and(|items| !items.is_empty())
    };
    if spec.is_object() && !has(&spec, "policyTypes") {
        spec["policyTypes"] = if has(&spec, "egress") {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
    }
    spec
}

/// The spec of a CRD with the names that the API server derives from others, and with the CA bundle that a controller injects.
pub(crate) fn filled_crd(mut spec: Value, live: &Value) -> Value {
    let kind = spec["names"]["kind"].as_str().map(str::to_owned);
    if let (Some(kind), Some(Value::Object(names))) = (kind, spec.get_mut("names")) {
        let empty = |value: Option<&Value>| value.is_none_or(|it| it.is_null() || *it == "");
        if empty(names.get("singular")) {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if empty(names.get("listKind")) {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if let Some(Value::Object(client)) = spec.pointer_mut("/conversion/webhook/clientConfig")
        && client
            .get("caBundle")
            .is_none_or(|it| it.is_null() || *it == "")
        && let Some(bundle) = live.pointer("/conversion/webhook/clientConfig/caBundle")
    {
        client.insert("caBundle".to_owned(), bundle.clone());
    }
    if spec.is_null() { json!({}) } else { spec }
}
