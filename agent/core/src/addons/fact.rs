//! A ManagedClusterAddOn, as far as the agent needs it. The versions v1beta1 and v1alpha1 give the same fact.

use std::collections::BTreeMap;

use berth_api::labels::ADDON_INSTALL_NAMESPACE;
use berth_api::lenient;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use super::Place;
use crate::asked::API_SERVER;

/// The version that current hubs serve.
const CURRENT: &str = "v1beta1";

/// The install namespace of an add-on that names none.
const DEFAULT_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// The annotation of an add-on whose agent runs in another cluster.
const HOSTING_CLUSTER: &str = "addon.open-cluster-management.io/hosting-cluster-name";

/// A ManagedClusterAddOn of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addon {
    /// The version of its apiVersion.
    pub version: String,
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Its install namespace.
    pub namespace: String,
    /// The cluster that its agent runs in, if that is not the managed one.
    pub hosting_cluster: Option<String>,
    /// Another controller reports its health.
    pub is_customized: bool,
    /// Its registrations.
    pub registrations: Vec<Registration>,
    /// How the hub believes that the agent registers it. `None`: the hub does not say.
    pub driver: Option<String>,
    /// `status.registrations` as stored, to be written back with another driver.
    pub stored_registrations: Vec<Value>,
    /// status.conditions
    pub conditions: Vec<Condition>,
}

/// A registration that an add-on asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// The signer; `None`: that of the hub's API server.
    pub signer: Option<String>,
    /// The user name; empty for the default.
    pub user: String,
    /// The groups; empty for the default.
    pub groups: Vec<String>,
    /// The organizational units.
    pub units: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    #[serde(default)]
    api_version: Option<String>,
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Option<Spec>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    install_namespace: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    namespace: Option<String>,
    registrations: Option<Vec<Value>>,
    kube_client_driver: Option<String>,
    health_check: Option<HealthCheck>,
    conditions: Option<Vec<Condition>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HealthCheck {
    mode: Option<String>,
}

/// An item of `status.registrations`: the fields of both versions.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StoredRegistration {
    signer_name: Option<String>,
    subject: Option<Subject>,
    r#type: Option<String>,
    kube_client: Option<KubeClient>,
    custom_signer: Option<CustomSigner>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct KubeClient {
    subject: Option<Subject>,
    driver: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CustomSigner {
    signer_name: Option<String>,
    subject: Option<Subject>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subject {
    user: Option<String>,
    groups: Option<Vec<String>>,
    /// v1beta1
    organization_units: Option<Vec<String>>,
    /// v1alpha1
    organization_unit: Option<Vec<String>>,
}

// === impl Addon ===

impl Addon {
    /// Reads a ManagedClusterAddOn. A registration that cannot be read, or has no signer, is left out.
    ///
    /// # Errors
    /// It is not an object with metadata.
    pub fn read(object: &Value) -> Result<Self, serde_json::Error> {
        let stored = lenient::with_conditions::<Stored>(object)?.object;
        let version = stored.api_version.as_deref().unwrap_or_default();
        let version = version.rsplit_once('/').map_or(CURRENT, |(_, it)| it);
        let status = stored.status.unwrap_or_default();
        let annotations = stored.metadata.annotations.unwrap_or_default();
        let spec = stored.spec.and_then(|it| it.install_namespace);
        let stored_registrations = status.registrations.unwrap_or_default();
        let read: Vec<_> = stored_registrations.iter().map(read_registration).collect();
        let drivers = read.iter().flatten();
        let mut first_driver = drivers.filter(|it| it.0.signer.is_none()).map(|it| &it.1);
        let driver = match version {
            "v1alpha1" => status.kube_client_driver,
            _ => first_driver.next().cloned().flatten(),
        };
        Ok(Self {
            version: version.to_owned(),
            uid: stored.metadata.uid.unwrap_or_default(),
            resource_version: stored.metadata.resource_version.unwrap_or_default(),
            is_deleting: stored.metadata.deletion_timestamp.is_some(),
            namespace: given(status.namespace)
                .or_else(|| given(spec))
                .or_else(|| annotation(&annotations, ADDON_INSTALL_NAMESPACE))
                .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
            hosting_cluster: annotation(&annotations, HOSTING_CLUSTER),
            is_customized: (status.health_check)
                .is_some_and(|it| it.mode.as_deref() == Some("Customized")),
            registrations: read.into_iter().flatten().map(|it| it.0).collect(),
            driver: given(driver),
            stored_registrations,
            conditions: status.conditions.unwrap_or_default(),
        })
    }

    /// Returns where its agent runs.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            hosted: self.hosting_cluster.is_some(),
            namespace: self.namespace.clone(),
        }
    }
}

/// Reads a registration, with its driver.
fn read_registration(stored: &Value) -> Option<(Registration, Option<String>)> {
    let stored = StoredRegistration::deserialize(stored).ok()?;
    let (signer, subject, driver) = match (stored.r#type.as_deref(), stored.custom_signer) {
        (Some("kubeClient"), _) => {
            let client = stored.kube_client.unwrap_or_default();
            (None, client.subject, client.driver)
        }
        (Some(_), Some(custom)) => (Some(given(custom.signer_name)?), custom.subject, None),
        // v1alpha1
        _ => {
            let signer = given(stored.signer_name)?;
            let signer = (signer != API_SERVER).then_some(signer);
            (signer, stored.subject, None)
        }
    };
    let subject = subject.unwrap_or_default();
    let units = subject.organization_units.or(subject.organization_unit);
    let registration = Registration {
        user: subject.user.unwrap_or_default(),
        groups: subject.groups.unwrap_or_default(),
        // The signer of the API server ignores them, and so does OCM's agent.
        units: units.filter(|_| signer.is_some()).unwrap_or_default(),
        signer,
    };
    Some((registration, driver))
}

fn annotation(annotations: &BTreeMap<String, String>, key: &str) -> Option<String> {
    given(annotations.get(key).cloned())
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(version: &str, mut object: Value) -> Addon {
        object["apiVersion"] = json!(format!("addon.open-cluster-management.io/{version}"));
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        object["metadata"]["name"] = json!("x");
        Addon::read(&object).unwrap()
    }

    #[test]
    fn both_versions_give_the_same_registrations() {
        let new = of(
            "v1beta1",
            json!({"status": {"registrations": [
                {"type": "kubeClient", "kubeClient": {"subject": {"user": "u", "groups": ["g"]}, "driver": "token"}},
                {"type": "customSigner", "customSigner": {
                    "signerName": "example.com/s",
                    "subject": {"user": "v", "groups": ["h"], "organizationUnits": ["o"]},
                }},
                {"type": "kubeClient"},
            ]}}),
        );
        let old = of(
            "v1alpha1",
            json!({"status": {"kubeClientDriver": "token", "registrations": [
                {"signerName": API_SERVER, "subject": {"user": "u", "groups": ["g"], "organizationUnit": ["?"]}},
                {"signerName": "example.com/s", "subject": {"user": "v", "groups": ["h"], "organizationUnit": ["o"]}},
                {"signerName": API_SERVER},
            ]}}),
        );
        assert_eq!(new.registrations, old.registrations);
        assert_eq!(new.driver.as_deref(), Some("token"));
        assert_eq!(old.driver.as_deref(), Some("token"));
        let texts = |it: &str| vec![it.to_owned()];
        assert_eq!(
            new.registrations,
            [
                Registration {
                    signer: None,
                    user: "u".to_owned(),
                    groups: texts("g"),
                    units: vec![],
                },
                Registration {
                    signer: Some("example.com/s".to_owned()),
                    user: "v".to_owned(),
                    groups: texts("h"),
                    units: texts("o"),
                },
                Registration::default(),
            ]
        );
    }

    #[test]
    fn a_registration_that_cannot_be_read_concerns_itself_only() {
        let read = of(
            "v1beta1",
            json!({"status": {"registrations": [
                7,
                {},
                {"type": "customSigner"},
                {"type": "customSigner", "customSigner": {"signerName": ""}},
                {"type": "later", "later": {}},
                {"type": "kubeClient", "kubeClient": {"subject": {"groups": 7}}},
                {"type": "kubeClient", "kubeClient": null},
            ]}}),
        );
        assert_eq!(read.registrations, [Registration::default()]);
        assert_eq!(read.stored_registrations.len(), 7);
    }

    #[test]
    fn the_install_namespace_is_where_the_hub_says() {
        let annotated = json!({"annotations": {ADDON_INSTALL_NAMESPACE: "annotated"}});
        for (sentence, version, object, expected) in [
            ("nowhere", "v1beta1", json!({}), DEFAULT_NAMESPACE),
            (
                "annotation",
                "v1beta1",
                json!({"metadata": annotated}),
                "annotated",
            ),
            (
                "status",
                "v1beta1",
                json!({"metadata": annotated, "status": {"namespace": "reported"}}),
                "reported",
            ),
            (
                "empty status",
                "v1beta1",
                json!({"metadata": annotated, "status": {"namespace": ""}}),
                "annotated",
            ),
            (
                "spec",
                "v1alpha1",
                json!({"spec": {"installNamespace": "old"}}),
                "old",
            ),
        ] {
            let place = of(version, object).place();
            assert_eq!(place.namespace, expected, "{sentence}");
            assert!(!place.hosted);
        }
        let hosted = json!({"metadata": {"annotations": {HOSTING_CLUSTER: "h"}}});
        assert!(of("v1beta1", hosted).place().hosted);
        let not = json!({"metadata": {"annotations": {HOSTING_CLUSTER: ""}}});
        assert!(!of("v1beta1", not).place().hosted);
    }

    #[test]
    fn a_health_mode_of_its_own_is_noticed() {
        for (mode, expected) in [("Customized", true), ("Lease", false), ("", false)] {
            let read = of(
                "v1beta1",
                json!({"status": {"healthCheck": {"mode": mode}}}),
            );
            assert_eq!(read.is_customized, expected, "{mode}");
        }
    }
}
