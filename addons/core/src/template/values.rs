//! The variables of a template, and where their values come from.

use std::collections::BTreeMap;

use berth_api::addon::{AddOnDeploymentConfigSpec, DEFAULT_NAMESPACE};

use super::Request;

/// The path of the kubeconfig for the hub in the containers of the add-on. A config may give it another value.
pub(super) const HUB_KUBECONFIG: &str = "HUB_KUBECONFIG";
/// The name of the cluster.
pub(super) const CLUSTER_NAME: &str = "CLUSTER_NAME";
/// The install namespace, if a config gives one.
pub(super) const INSTALL_NAMESPACE: &str = "INSTALL_NAMESPACE";

/// Where the Secret with the kubeconfig for the hub is mounted.
pub(super) const HUB_KUBECONFIG_FOLDER: &str = "/managed/hub-kubeconfig";

/// The variables of a template for a cluster.
#[derive(Debug)]
pub(super) struct Values<'a> {
    /// By name.
    pub(super) variables: BTreeMap<String, String>,
    /// The variables that every container gets, in this order.
    pub(super) environment: Vec<(&'static str, String)>,
    /// The namespace that the objects are moved to.
    pub(super) namespace: Option<&'a str>,
}

/// Returns the namespace that the objects are moved to: that of the config, or the default if the config does not name one. `None` without
/// a config, or if the config asks for the template's own namespaces by an empty name.
pub(super) fn namespace(config: Option<&AddOnDeploymentConfigSpec>) -> Option<&str> {
    let named = config?.agent_install_namespace.as_deref();
    Some(named.unwrap_or(DEFAULT_NAMESPACE)).filter(|namespace| !namespace.is_empty())
}

// === impl Values ===

impl<'a> Values<'a> {
    /// Later sources win: the default of HUB_KUBECONFIG, the variables of the config, the name of the cluster and the install namespace.
    pub(super) fn of(request: &Request<'a>) -> Self {
        let mut variables = BTreeMap::new();
        let mut names = Vec::new();
        if !request.template.registration.is_empty() {
            let path = format!("{HUB_KUBECONFIG_FOLDER}/kubeconfig");
            variables.insert(HUB_KUBECONFIG.to_owned(), path);
            names.push(HUB_KUBECONFIG);
        }
        let customized = request.config.iter();
        for variable in customized.flat_map(|config| &config.customized_variables) {
            variables.insert(variable.name.clone(), variable.value.clone());
        }
        variables.insert(CLUSTER_NAME.to_owned(), request.cluster.to_owned());
        names.push(CLUSTER_NAME);
        let namespace = namespace(request.config);
        if let Some(namespace) = namespace {
            variables.insert(INSTALL_NAMESPACE.to_owned(), namespace.to_owned());
            names.push(INSTALL_NAMESPACE);
        }
        let environment = names.into_iter().map(|name| {
            let value = variables.get(name).cloned();
            (name, value.unwrap_or_default())
        });
        Self {
            environment: environment.collect(),
            variables,
            namespace,
        }
    }
}
