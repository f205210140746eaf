//! Objects of the add-on API. A spec is decoded only if the change concerns it, and only if its size is bounded.

use berth_api::addon::{
    AddOnConfig, AddOnDeploymentConfigSpec, AddOnTemplateSpec, ConfigGroupResource, InstallStrategy,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::shape::object;
use super::work::Manifests;
use super::{GuardedObject, Metadata, Text, metadata, or_default};
use crate::path::explain_spec;

/// Upper bound on the values of a spec that is checked, without those of its manifests: a value of JSON is short, and large in memory.
pub const MOST_CHECKED_VALUES: usize = 10_000;

/// Upper bound on the values of a manifest of an AddOnTemplate that is checked. One is decoded at a time.
pub const MOST_MANIFEST_VALUES: usize = 50_000;

/// Upper bound on the manifests of an AddOnTemplate that is checked: each of its manifestConfigs is compared with each of them.
pub const MOST_CHECKED_MANIFESTS: usize = 1_000;

/// The fields of an object of the add-on API that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object of an add-on")]
pub struct AddOnObject<'a> {
    /// `apiVersion`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub api_version: Text<'a>,
    /// `kind`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow, default, deserialize_with = "metadata")]
    pub metadata: Metadata<'a>,
    /// The text of `spec`.
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
    /// The text of `status`.
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

/// A spec that is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unchecked {
    /// A value has another type than in the API. The message names the field.
    Unreadable(String),
    /// It has more values, or manifests, than are checked. The words say which.
    TooLarge(String),
}

/// `spec` of a ClusterManagementAddOn in v1alpha1.
#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct ManagementSpec {
    /// The kinds of configs that the add-on can have. Their defaults are not read.
    #[serde(deserialize_with = "or_default")]
    pub(crate) supported_configs: Vec<ConfigGroupResource>,
    /// `installStrategy`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) install_strategy: InstallStrategy,
}

/// `spec` of a ManagedClusterAddOn.
#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct OnClusterSpec {
    /// `configs`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) configs: Vec<AddOnConfig>,
}

/// `status` of a ManagedClusterAddOn.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
struct OnClusterStatus {
    #[serde(deserialize_with = "or_default")]
    supported_configs: Vec<ConfigGroupResource>,
}

/// `spec` of an AddOnTemplate, for its manifests.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
struct TemplateTexts<'a> {
    #[serde(borrow, deserialize_with = "object")]
    agent_spec: AgentTexts<'a>,
}

/// `spec.agentSpec`.
#[derive(Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
struct AgentTexts<'a> {
    #[serde(borrow, deserialize_with = "object")]
    workload: WorkloadTexts<'a>,
}

/// `spec.agentSpec.workload`.
#[derive(Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
struct WorkloadTexts<'a> {
    #[serde(borrow)]
    manifests: Manifests<'a>,
}

// === impl AddOnObject ===

impl AddOnObject<'_> {
    /// Returns true if both have the same spec, as text.
    pub(crate) fn has_spec_of(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    /// Decodes the spec of an AddOnTemplate.
    pub(crate) fn template(&self) -> Result<AddOnTemplateSpec, Unchecked> {
        let text = self.text();
        let texts = object::<_, TemplateTexts<'_>>(&mut serde_json::Deserializer::from_str(text));
        let texts = texts.map_err(|error| Unchecked::of(text, &error))?;
        let manifests = texts.agent_spec.workload.manifests;
        if manifests.number() > MOST_CHECKED_MANIFESTS {
            let number = manifests.number();
            return Err(Unchecked::TooLarge(format!(
                "it has {number} manifests, more than {MOST_CHECKED_MANIFESTS}"
            )));
        }
        let mut of_manifests = 0;
        for (index, manifest) in manifests.texts().iter().enumerate() {
            let values = values_in(manifest);
            if values > MOST_MANIFEST_VALUES {
                return Err(Unchecked::TooLarge(format!(
                    "manifest {index} has more than {MOST_MANIFEST_VALUES} values"
                )));
            }
            of_manifests += values;
        }
        read_bounded(text, values_in(text).saturating_sub(of_manifests))
    }

    /// Decodes the spec of an AddOnDeploymentConfig.
    pub(crate) fn deployment_config(&self) -> Result<AddOnDeploymentConfigSpec, Unchecked> {
        read_bounded(self.text(), values_in(self.text()))
    }

    /// Decodes the spec of a ClusterManagementAddOn.
    pub(crate) fn management(&self) -> Result<ManagementSpec, Unchecked> {
        read_bounded(self.text(), values_in(self.text()))
    }

    /// Decodes the spec of a ManagedClusterAddOn.
    pub(crate) fn on_cluster(&self) -> Result<OnClusterSpec, Unchecked> {
        read_bounded(self.text(), values_in(self.text()))
    }

    /// Returns the kinds of configs that a ManagedClusterAddOn can have, as its manager reports them. Empty if they are not known.
    pub(crate) fn supported_configs(&self) -> Vec<ConfigGroupResource> {
        let text = self.status.map_or("null", RawValue::get);
        let status: Result<OnClusterStatus, _> = read_bounded(text, values_in(text));
        status.unwrap_or_default().supported_configs
    }

    fn text(&self) -> &str {
        self.spec.map_or("null", RawValue::get)
    }
}

impl<'a> GuardedObject<'a> for AddOnObject<'a> {
    fn api_version(&self) -> &str {
        self.api_version.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.as_str()
    }

    fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }
}

// === impl Unchecked ===

impl Unchecked {
    fn of(text: &str, error: &serde_json::Error) -> Self {
        Self::Unreadable(explain_spec(text, error))
    }
}

fn read_bounded<'a, T: Deserialize<'a> + Default>(
    text: &'a str,
    values: usize,
) -> Result<T, Unchecked> {
    if values > MOST_CHECKED_VALUES {
        return Err(Unchecked::TooLarge(format!(
            "it has more than {MOST_CHECKED_VALUES} values"
        )));
    }
    let read = serde_json::from_str::<Option<T>>(text);
    let read = read.map_err(|error| Unchecked::of(text, &error))?;
    Ok(read.unwrap_or_default())
}

/// Returns an upper bound on the values of a JSON text: commas in strings are counted, too.
fn values_in(text: &str) -> usize {
    let begins = |byte: &u8| matches!(byte, b'{' | b'[' | b',');
    text.as_bytes().iter().filter(|it| begins(it)).count()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn template(spec: &Value) -> Result<AddOnTemplateSpec, Unchecked> {
        let text = json!({"spec": spec}).to_string();
        let object: AddOnObject<'_> = serde_json::from_str(&text).unwrap();
        object.template()
    }

    #[test]
    fn what_is_decoded_is_bounded() {
        let manifests =
            |manifests: Vec<Value>| json!({"agentSpec": {"workload": {"manifests": manifests}}});
        let too_large = |words: &str| Err(Unchecked::TooLarge(words.to_owned()));
        let configs = |count| json!({"agentSpec": {"manifestConfigs": vec![json!({}); count]}});
        for (sentence, spec, expected) in [
            ("nothing", json!(null), Ok(())),
            (
                "a long text",
                manifests(vec![json!({"data": {"k": "x".repeat(600_000)}})]),
                Ok(()),
            ),
            (
                "300 objects",
                manifests(vec![json!({"data": vec![0; 1_000]}); 300]),
                Ok(()),
            ),
            (
                "a manifest of many values",
                manifests(vec![json!({}), json!({"data": vec![0; 50_000]})]),
                too_large("manifest 1 has more than 50000 values"),
            ),
            (
                "many manifests",
                manifests(vec![json!({}); 1_001]),
                too_large("it has 1001 manifests, more than 1000"),
            ),
            (
                "many rules",
                configs(10_000),
                too_large("it has more than 10000 values"),
            ),
            (
                "another type",
                json!({"agentSpec": []}),
                Err(Unchecked::Unreadable(
                    "spec.agentSpec: invalid type: sequence, expected an object".to_owned(),
                )),
            ),
        ] {
            assert_eq!(template(&spec).map(|_| ()), expected, "{sentence}");
        }
    }
}
