//! What the specs of ClusterManagers and Klusterlets have in common.

use std::collections::BTreeMap;

use berth_api::operator::{FeatureGate, FeatureGateMode, ResourceQosClass, ResourceRequirement};
use berth_api::quantity::as_go_writes;
use berth_api::reserved::{self, AGENT_NAMESPACES};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::cluster::ADDON_NAMESPACE;
use crate::names::OF_OCM;

/// What a feature gate is here.
pub(crate) enum Gate {
    /// A flag of the components.
    Flag,
    /// A switch of the manifests.
    Switch,
    /// It has no effect: what it turns on is always on, or what it turns off was removed.
    WithoutEffect,
    /// OCM has it.
    Unsupported(&'static str),
}

/// What of a spec is ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ignored {
    /// Feature gates that do not exist.
    pub unknown_gates: Vec<String>,
    /// What is set and not supported, each with its field.
    pub unsupported: Vec<String>,
}

/// Returns whether a namespace is that of something else than what an operator runs in a namespace that is named after an object: of Kubernetes, of
/// OpenShift, or of another part of Open Cluster Management.
pub(crate) fn is_reserved(namespace: &str) -> bool {
    let is_of_others = |prefix| namespace.starts_with(prefix);
    reserved::NAMESPACES.contains(&namespace)
        || [AGENT_NAMESPACES, ADDON_NAMESPACE].contains(&namespace)
        || ["kube-", "openshift"].into_iter().any(is_of_others)
}

/// The ConfigMap with the TLS settings of all components, in the operator's namespace. OCM's operators read it, too.
pub const TLS_PROFILE: &str = "ocm-tls-profile";

/// What is in the ConfigMap [`TLS_PROFILE`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsProfile {
    /// `minTLSVersion`, or empty.
    pub min_version: String,
    /// `cipherSuites`, separated by commas, or empty.
    pub cipher_suites: String,
    /// Why components could not start with it: then it is ignored.
    pub mistake: Option<String>,
}

// === impl Ignored ===

impl Ignored {
    /// Returns the flags of a TLS profile, and notes one that cannot be used.
    pub(crate) fn tls(&mut self, profile: Option<&TlsProfile>) -> Vec<String> {
        let Some(profile) = profile else {
            return Vec::new();
        };
        if let Some(mistake) = &profile.mistake {
            self.unsupported
                .push(format!("ConfigMap {TLS_PROFILE}: {mistake}"));
            return Vec::new();
        }
        let flags = [
            ("tls-min-version", &profile.min_version),
            ("tls-cipher-suites", &profile.cipher_suites),
        ];
        let flags = flags.into_iter().filter(|(_, value)| !value.is_empty());
        flags
            .map(|(name, value)| format!("--{name}={value}"))
            .collect()
    }

    /// Returns the gates of this field that have an effect, each with whether it is on, and notes the others.
    pub(crate) fn gates<'g>(
        &mut self,
        field: &str,
        gates: &'g [FeatureGate],
        known: fn(&str) -> Option<Gate>,
    ) -> Vec<(&'g str, bool, Gate)> {
        let mut found = Vec::new();
        for gate in gates {
            let (name, is_on) = (&*gate.feature, gate.mode == FeatureGateMode::Enable);
            match known(name) {
                None => self.unknown_gates.push(name.to_owned()),
                Some(Gate::WithoutEffect) => {}
                Some(Gate::Unsupported(why)) if is_on => {
                    let what = format!("spec.{field}.featureGates {name}: {why}");
                    self.unsupported.push(what);
                }
                Some(Gate::Unsupported(_)) => {}
                Some(gate) => found.push((name, is_on, gate)),
            }
        }
        found
    }
}

/// The image that is set; that of the operator if none is, or one of OCM's, by its name.
pub(crate) fn image(set: &str, own: &str, of_ocm: &[&str]) -> String {
    let name = set.rsplit('/').next().unwrap_or_default();
    let name = name.split([':', '@']).next().unwrap_or_default();
    if set.is_empty() || of_ocm.contains(&name) {
        own.to_owned()
    } else {
        set.to_owned()
    }
}

/// The labels of an object that are copied to what is written for it.
pub(crate) fn labels(metadata: &ObjectMeta) -> BTreeMap<String, String> {
    let labels = metadata.labels.iter().flatten();
    let labels = labels.filter(|(key, _)| *key != "app" && !key.starts_with(OF_OCM));
    labels
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

pub(crate) fn as_map<T: serde::Serialize>(value: &T) -> Option<Map<String, Value>> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// The resources of all containers; `None`: those of the manifests.
pub(crate) fn resources(requirement: &ResourceRequirement) -> Option<Value> {
    match requirement.r#type {
        ResourceQosClass::BestEffort => Some(json!({})),
        ResourceQosClass::ResourceRequirement => {
            let mut resources = json!(requirement.resource_requirements);
            for amounts in ["requests", "limits"] {
                let amounts = resources.get_mut(amounts).and_then(Value::as_object_mut);
                for amount in amounts.into_iter().flat_map(Map::values_mut) {
                    // As the API server stores it in a Deployment.
                    if let Some(written) = amount.as_str().and_then(as_go_writes) {
                        *amount = json!(written);
                    }
                }
            }
            Some(resources)
        }
        ResourceQosClass::Default | ResourceQosClass::Other(_) => None,
    }
}
