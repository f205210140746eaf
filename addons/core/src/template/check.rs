//! What is wrong with a template or a config, before a cluster has it.
//!
//! An error makes every rendering fail. A warning is a doubt: the object is rendered, and something in it has no effect or gives empty text.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::addon::{
    AddOnConfig, AddOnDeploymentConfigSpec, AddOnTemplateSpec, ConfigGroupResource,
    HubPermissionType, RegistrationSpecType,
};
use berth_api::groups;
use berth_api::work::ManifestConfigOption;
use serde_json::{Map, Value};

use super::decorate::{Decoration, certificate_volume};
use super::pods::{Workload, each_container};
use super::resources::Requirements;
use super::values::{CLUSTER_NAME, HUB_KUBECONFIG, INSTALL_NAMESPACE, Values};
use super::variables::Replacement;
use super::{LARGEST, ManifestName, Messages, Request, missing_field};
use crate::object::{Key, text};

/// The longest name of a volume.
const LONGEST_VOLUME: usize = 63;

/// What is wrong with an object, for users. Both lists are bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The object cannot be rendered.
    pub errors: Vec<String>,
    /// Something in the object has no effect, or an effect that nobody wants.
    pub warnings: Vec<String>,
}

#[derive(Default)]
struct Found {
    errors: Messages,
    warnings: Messages,
}

/// Checks a template. `configs` are the AddOnDeploymentConfigs that it is used with, as far as they are known: a variable that none of them
/// defines gives a warning. Without configs, only names that no config can define give one.
#[must_use]
pub fn template(template: &AddOnTemplateSpec, configs: &[&AddOnDeploymentConfigSpec]) -> Findings {
    let mut found = Found::default();
    let mut variables = BTreeMap::new();
    let mut define = |name: &str| variables.insert(name.to_owned(), String::new());
    define(CLUSTER_NAME);
    define(INSTALL_NAMESPACE);
    if !template.registration.is_empty() {
        define(HUB_KUBECONFIG);
    }
    for variable in configs.iter().flat_map(|it| &it.customized_variables) {
        define(&variable.name);
    }
    let mut keys = Vec::new();
    let mut replacement = Replacement::of_check(&variables, LARGEST);
    let manifests = template.agent_spec.workload.manifests.iter();
    for (index, manifest) in manifests.enumerate() {
        let mut object: Map<String, Value> = match manifest.read() {
            Ok(object) => object,
            Err(error) => {
                let problem = format!("manifest {index} is not an object: {error}");
                found.errors.push(problem);
                continue;
            }
        };
        let name = ManifestName::of(index, &object);
        if let Some(missing) = missing_field(&object) {
            found.errors.push(format!("{name} has no {missing}"));
        }
        keys.push(Key::of(&object));
        match replacement.object(&mut object) {
            Err(problem) => found.errors.push(format!("{name}: {problem}")),
            Ok(unknown) => {
                let unknown = unknown
                    .iter()
                    .filter(|it| !configs.is_empty() || !it.may_be_defined());
                let warnings = unknown.map(|it| format!("{name}: {it}"));
                found.warnings.extend(warnings);
            }
        }
    }
    registrations(template, &mut found);
    for (index, config) in template.agent_spec.manifest_configs.iter().enumerate() {
        if !keys.iter().any(|key| may_match(config, key)) {
            let it = &config.resource_identifier;
            found.warnings.push(format!(
                "manifestConfigs[{index}] matches no manifest: resource {:?}, namespace {:?}, name {:?}",
                it.resource, it.namespace, it.name
            ));
        }
    }
    found.into_findings()
}

/// Checks an AddOnDeploymentConfig. `templates` are those that it is used with, as far as they are known: the ID of a container that none of
/// them has gives a warning.
#[must_use]
pub fn config(config: &AddOnDeploymentConfigSpec, templates: &[&AddOnTemplateSpec]) -> Findings {
    let mut found = Found::default();
    for variable in &config.customized_variables {
        if [CLUSTER_NAME, INSTALL_NAMESPACE].contains(&variable.name.as_str()) {
            found.warnings.push(format!(
                "customizedVariables: {} is set by the hub; this value is ignored",
                variable.name
            ));
        }
    }
    let request = Request {
        addon: "",
        cluster: "",
        template: &AddOnTemplateSpec::default(),
        config: Some(config),
        image_registries: None,
    };
    if let Err(problems) = Decoration::of(&request, &Values::of(&request)) {
        found.errors.extend(problems);
    }
    if !templates.is_empty()
        && let Ok(requirements) = Requirements::new(&config.resource_requirements)
    {
        let containers: Vec<_> = templates.iter().flat_map(|it| containers(it)).collect();
        for id in requirements.unused(&containers) {
            let warning = format!("resourceRequirements: containerID {id:?} matches no container");
            found.warnings.push(warning);
        }
    }
    found.into_findings()
}

/// Checks the configs that a ManagedClusterAddOn or an install strategy names, against the kinds that the add-on supports.
#[must_use]
pub fn configs(configs: &[AddOnConfig], supported: &[ConfigGroupResource]) -> Findings {
    let mut found = Found::default();
    let mut kinds = BTreeSet::new();
    for config in configs {
        let AddOnConfig {
            group, resource, ..
        } = config;
        let is_supported =
            |it: &ConfigGroupResource| (&it.group, &it.resource) == (group, resource);
        if !supported.iter().any(is_supported) {
            // The sentence of OCM's condition Progressing, reason ConfigurationUnsupported.
            found.errors.push(format!(
                "Configuration with gvr {group}/{resource} is not supported for this addon"
            ));
        }
        let is_first = kinds.insert((group, resource));
        if !is_first
            && (group.as_str(), resource.as_str()) == (groups::ADDON, "addondeploymentconfigs")
        {
            found.warnings.push(format!(
                "addondeploymentconfigs {}/{} is ignored by templates: only the first one is used",
                config.namespace, config.name
            ));
        }
    }
    found.into_findings()
}

fn registrations(template: &AddOnTemplateSpec, found: &mut Found) {
    for (index, registration) in template.registration.iter().enumerate() {
        let at = format!("registration[{index}]");
        match (&registration.r#type, &registration.custom_signer) {
            (RegistrationSpecType::CustomSigner, None) => {
                found.errors.push(format!("{at} has no customSigner"));
            }
            (RegistrationSpecType::CustomSigner, Some(custom)) => {
                let volume = certificate_volume(&custom.signer_name);
                if volume.len() > LONGEST_VOLUME {
                    found.warnings.push(format!(
                        "{at}: the volume {volume:?} has more than {LONGEST_VOLUME} characters, so no pod with it can be created; \
                         use a shorter signerName"
                    ));
                }
            }
            (RegistrationSpecType::KubeClient, _) => {}
            (RegistrationSpecType::Other(other), _) => {
                found
                    .warnings
                    .push(format!("{at}: type {other:?} is ignored"));
            }
        }
        let permissions = registration.kube_client.iter();
        for (permission, it) in permissions.flat_map(|it| &it.hub_permissions).enumerate() {
            let at = format!("{at}.kubeClient.hubPermissions[{permission}]");
            match it.r#type {
                HubPermissionType::CurrentCluster if it.current_cluster.is_none() => {
                    found.errors.push(format!("{at} has no currentCluster"));
                }
                HubPermissionType::SingleNamespace if it.single_namespace.is_none() => {
                    found.errors.push(format!("{at} has no singleNamespace"));
                }
                _ => {}
            }
        }
    }
}

/// Returns false if the config is certainly not for the object. A name with a variable may become any name.
fn may_match(config: &ManifestConfigOption, key: &Key) -> bool {
    let it = &config.resource_identifier;
    let may_be = |wanted: &str, stored: &str| {
        wanted == stored || wanted.contains('*') || stored.contains("{{")
    };
    it.group == key.group()
        && it.resource == key.resource()
        && may_be(&it.name, &key.name)
        // The install namespace replaces the template's.
        && it.namespace.is_empty() == key.namespace.is_empty()
}

/// The IDs of the containers of a template.
fn containers(template: &AddOnTemplateSpec) -> Vec<String> {
    let mut ids = Vec::new();
    for manifest in &template.agent_spec.workload.manifests {
        let Ok(mut object) = manifest.read::<Map<String, Value>>() else {
            continue;
        };
        let Some(workload) = Workload::of(&object) else {
            continue;
        };
        let name = text(&object, &["metadata", "name"]).to_owned();
        if let Some(pod) = workload.pod(&mut object) {
            each_container(pod, |container| {
                let container = text(container, &["name"]);
                ids.push(format!("{}:{name}:{container}", workload.resource));
            });
        }
    }
    ids
}

// === impl Found ===

impl Found {
    fn into_findings(self) -> Findings {
        Findings {
            errors: self.errors.into_lines(),
            warnings: self.warnings.into_lines(),
        }
    }
}
