//! Every object decodes as its Kubernetes type, and no field is lost, as a misspelt field would be.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::api::admissionregistration::v1alpha1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifests::files::{read, resources, yaml_files};

#[test]
fn every_object_is_what_kubernetes_takes_it_for() {
    for file in yaml_files("manifests") {
        for object in read(&file) {
            assert_is_its_kind(&file, &object);
        }
    }
}

#[test]
fn every_file_is_in_a_kustomization() {
    let roots = [
        "manifests",
        "manifests/overlays/cert-manager",
        "manifests/overlays/replace-ocm",
        "manifests/overlays/replace-ocm-work",
        "manifests/overlays/hub",
        "manifests/overlays/ocm-names",
        "manifests/overlays/auto-approval",
        "manifests/overlays/cluster-profiles",
        "manifests/overlays/sig-placement-decisions",
        "manifests/overlays/network-policies",
        "manifests/overlays/client-certificates",
        "manifests/monitoring",
        "manifests/bootstrap",
        "manifests/operator",
        "manifests/operator/klusterlet",
        "manifests/overlays/hosting",
        "manifests/overlays/hosted-hub",
        "manifests/agent",
        "manifests/agent-monitoring",
        "manifests/overlays/placement-apart",
        "manifests/placement/debug",
        "manifests/overlays/console",
        "manifests/overlays/console-impersonation",
        "manifests/overlays/agent-without-admin",
        "manifests/overlays/agent-impersonation",
        "manifests/policies",
        "manifests/policies/with-webhook",
        "manifests/overlays/policies",
        "manifests/overlays/policies/monitoring",
        "manifests/overlays/policies-with-webhook",
    ];
    let built: Vec<_> = roots.iter().flat_map(|root| resources(root)).collect();
    for file in yaml_files("manifests") {
        assert!(built.contains(&file), "{file} is in no kustomization");
    }
}

/// Tools group by them. Selectors do not use them, because a selector cannot be changed.
#[test]
fn hand_written_objects_have_the_recommended_labels() {
    let label = |name: &str| format!("app.kubernetes.io/{name}");
    let mut counted = 0;
    for manifest in berth_manifests::files::ALL {
        // Patches have only what they change.
        let is_patch = manifest.path.ends_with("/deployment.yaml")
            && (manifest.path.contains("cert-manager") || manifest.path.contains("client-cert"));
        if manifest.text.starts_with(crate::generated::HEADER)
            || manifest.path.contains("/policies/")
            || is_patch
        {
            continue;
        }
        for object in read(manifest.path) {
            let labels = &object["metadata"]["labels"];
            let what = format!("{}: {}", manifest.path, object["metadata"]["name"]);
            assert_eq!(labels[label("name")], "berth", "{what}");
            assert_eq!(
                labels[label("part-of")],
                "open-cluster-management",
                "{what}"
            );
            assert!(labels[label("component")].is_string(), "{what}");
            for field in [
                "/spec/selector",
                "/spec/podSelector",
                "/spec/template/metadata/labels",
            ] {
                let selector = object.pointer(field).unwrap_or(&Value::Null).to_string();
                assert!(!selector.contains("app.kubernetes.io/"), "{what}: {field}");
            }
            counted += 1;
        }
    }
    assert!(counted > 50, "{counted}");
}

#[test]
fn a_misspelt_field_is_found() {
    let mut deployment = read("manifests/server/deployment.yaml").remove(0);
    let pod = &mut deployment["spec"]["template"]["spec"];
    pod["containers"][0]["livenesProbe"] = pod["containers"][0]["livenessProbe"].take();
    let typed = round_trip::<Deployment>("deployment", &deployment);
    let lost = "/spec/template/spec/containers/0/livenesProbe";
    assert_eq!(difference(&deployment, &typed, ""), Some(lost.to_owned()));
}

/// Panics unless the object is one that Kubernetes, or cert-manager, takes as it is.
pub(crate) fn assert_is_its_kind(from: &str, object: &Value) {
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let what = format!("{from}: {kind} {}", object["metadata"]["name"]);
    let typed = match (version, kind) {
        ("v1", "Namespace") => round_trip::<Namespace>(&what, object),
        ("v1", "ConfigMap") => round_trip::<ConfigMap>(&what, object),
        ("v1", "Service") => round_trip::<Service>(&what, object),
        ("v1", "Secret") => round_trip::<Secret>(&what, object),
        ("networking.k8s.io/v1", "NetworkPolicy") => round_trip::<NetworkPolicy>(&what, object),
        ("networking.k8s.io/v1", "Ingress") => round_trip::<Ingress>(&what, object),
        ("v1", "ServiceAccount") => round_trip::<ServiceAccount>(&what, object),
        ("apps/v1", "Deployment") => round_trip::<Deployment>(&what, object),
        ("policy/v1", "PodDisruptionBudget") => round_trip::<PodDisruptionBudget>(&what, object),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => round_trip::<ClusterRole>(&what, object),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => {
            round_trip::<ClusterRoleBinding>(&what, object)
        }
        ("rbac.authorization.k8s.io/v1", "Role") => round_trip::<Role>(&what, object),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => round_trip::<RoleBinding>(&what, object),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {
            round_trip::<CustomResourceDefinition>(&what, object)
        }
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") => {
            round_trip::<MutatingWebhookConfiguration>(&what, object)
        }
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") => {
            round_trip::<ValidatingWebhookConfiguration>(&what, object)
        }
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy") => {
            round_trip::<ValidatingAdmissionPolicy>(&what, object)
        }
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding") => {
            round_trip::<ValidatingAdmissionPolicyBinding>(&what, object)
        }
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy") => {
            newest::<MutatingAdmissionPolicy>(&what, object)
        }
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding") => {
            newest::<MutatingAdmissionPolicyBinding>(&what, object)
        }
        ("cert-manager.io/v1", "Issuer" | "Certificate") => {
            round_trip::<Other<CertManagerSpec>>(&what, object)
        }
        ("monitoring.coreos.com/v1", "ServiceMonitor") => {
            round_trip::<Other<ServiceMonitor>>(&what, object)
        }
        ("monitoring.coreos.com/v1", "PrometheusRule") => {
            round_trip::<Other<PrometheusRule>>(&what, object)
        }
        ("kustomize.config.k8s.io/v1beta1", "Kustomization") => {
            round_trip::<Kustomization>(&what, object)
        }
        other => panic!("{what}: unexpected kind {other:?}"),
    };
    if let Some(path) = difference(object, &typed, "") {
        panic!("{what}: {path} is no field of {kind}, or not of its type");
    }
}

/// The object as its type writes it. Of these kinds, the types have an older version, with the same fields.
fn newest<T: DeserializeOwned + Serialize>(what: &str, object: &Value) -> Value {
    let mut older = object.clone();
    older["apiVersion"] = "admissionregistration.k8s.io/v1alpha1".into();
    let mut typed = round_trip::<T>(what, &older);
    typed["apiVersion"] = object["apiVersion"].clone();
    typed
}

/// The object as its type writes it.
fn round_trip<T: DeserializeOwned + Serialize>(what: &str, object: &Value) -> Value {
    let typed: T =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    serde_json::to_value(typed).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// The first place where `typed` lacks what `source` says.
pub(crate) fn difference(source: &Value, typed: &Value, path: &str) -> Option<String> {
    match (source, typed) {
        // Empty is as good as absent.
        (Value::Object(source), Value::Null) if source.is_empty() => None,
        (Value::Object(source), Value::Object(typed)) => source.iter().find_map(|(key, value)| {
            let typed = typed.get(key).unwrap_or(&Value::Null);
            difference(value, typed, &format!("{path}/{key}"))
        }),
        (Value::Array(source), Value::Array(typed)) if source.len() == typed.len() => source
            .iter()
            .zip(typed)
            .enumerate()
            .find_map(|(i, (source, typed))| difference(source, typed, &format!("{path}/{i}"))),
        (Value::Number(source), Value::Number(typed)) if source.as_f64() == typed.as_f64() => None,
        _ if source == typed => None,
        _ => Some(path.to_owned()),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The kinds that Kubernetes' own types do not cover, as far as the manifests use them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Other<Spec> {
    api_version: String,
    kind: String,
    metadata: Value,
    spec: Spec,
}

/// Documented at <https://prometheus-operator.dev/docs/api-reference/api/>.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServiceMonitor {
    selector: LabelSelector,
    endpoints: Vec<Endpoint>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Endpoint {
    port: String,
    interval: String,
    relabelings: Vec<Relabeling>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scheme: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_config: Option<TlsConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<Authorization>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TlsConfig {
    insecure_skip_verify: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Authorization {
    credentials: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Relabeling {
    target_label: String,
    replacement: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrometheusRule {
    groups: Vec<RuleGroup>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleGroup {
    name: String,
    rules: Vec<AlertingRule>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlertingRule {
    alert: String,
    expr: String,
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    lasts: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CertManagerSpec {
    SelfSigned(SelfSignedIssuer),
    Ca(CaIssuer),
    Certificate(Certificate),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SelfSignedIssuer {
    self_signed: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CaIssuer {
    ca: Value,
}

/// Documented at <https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateSpec>.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Certificate {
    #[serde(rename = "isCA", default)]
    pub(crate) is_ca: bool,
    #[serde(default)]
    common_name: Option<String>,
    pub(crate) secret_name: String,
    issuer_ref: Value,
    #[serde(default)]
    pub(crate) dns_names: Vec<String>,
    #[serde(default)]
    usages: Vec<String>,
    duration: String,
    renew_before: String,
    private_key: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kustomization {
    api_version: String,
    kind: String,
    resources: Vec<String>,
    #[serde(default)]
    patches: Vec<Value>,
    #[serde(default)]
    images: Vec<Value>,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    config_map_generator: Vec<Value>,
}
