//! What an add-on on a cluster is made of.

use std::sync::Arc;

use berth_api::addon::{AddOnTemplateSpec, ConfigSpecHash};

use crate::config::{
    Configs, DEPLOYMENT_CONFIG, DeploymentConfig, Stored, TEMPLATE, Template, desired_of, is_of,
};
use crate::facts::{AddOn, OnCluster};

/// The template and the config of an add-on on a cluster.
#[derive(Clone, Debug)]
pub enum Source<'a> {
    /// The cluster's turn in the rollout has not come, the hub has not seen the latest content, or it may not be used: what is deployed stays.
    Held,
    /// A config does not exist, or cannot be read; the text is for users.
    Broken(String),
    /// The content that the ManagedClusterAddOn names.
    Known {
        /// The AddOnTemplate.
        template: &'a Arc<Template>,
        /// The first AddOnDeploymentConfig. OCM ignores further ones, too.
        config: Option<&'a Arc<DeploymentConfig>>,
    },
}

/// Returns what an add-on is made of; `None` without a template. `add_on`: `None` if the ClusterManagementAddOn does not exist.
///
/// The agents of a cluster may write the references. So a config counts only if the add-on or `spec.configs` names it, too: else an agent
/// could read the templates and configs of others.
///
/// While the add-on is being deleted, the templates and configs count as they are: nobody updates the references any more, and hooks have to
/// run. Then they need not be named either: the ClusterManagementAddOn may be gone, or name others by now.
#[must_use]
pub fn source<'a>(
    add_on: Option<&AddOn>,
    on: &OnCluster,
    configs: &'a Configs,
    is_ending: bool,
) -> Option<Source<'a>> {
    let of_template = desired_of(&on.references, TEMPLATE)?;
    let of_config = desired_of(&on.references, DEPLOYMENT_CONFIG);
    let may_be_used = |kind: (&str, &str), config: &ConfigSpecHash| {
        let of_add_on = add_on.into_iter().flat_map(AddOn::configs);
        let mut all = of_add_on.chain(&on.configs);
        is_ending
            || all.any(|it| {
                is_of(it, kind) && (&it.namespace, &it.name) == (&config.namespace, &config.name)
            })
    };
    if !may_be_used(TEMPLATE, of_template)
        || of_config.is_some_and(|it| !may_be_used(DEPLOYMENT_CONFIG, it))
    {
        return Some(Source::Held);
    }
    let template = configs.template(&of_template.name);
    let template = match state(of_template, template, is_ending) {
        State::Current(template) => template,
        State::Held => return Some(Source::Held),
        State::Broken(why) => {
            return Some(Source::Broken(format!(
                "AddOnTemplate {} {why}",
                of_template.name
            )));
        }
    };
    let Some(of_config) = of_config else {
        let config = None;
        return Some(Source::Known { template, config });
    };
    let ConfigSpecHash {
        namespace, name, ..
    } = of_config;
    let config = configs.deployment_config(namespace, name);
    Some(match state(of_config, config, is_ending) {
        State::Current(config) => {
            let config = Some(config);
            Source::Known { template, config }
        }
        State::Held => Source::Held,
        State::Broken(why) => {
            Source::Broken(format!("AddOnDeploymentConfig {namespace}/{name} {why}"))
        }
    })
}

/// How a config is, compared with the reference to it.
enum State<'a, T> {
    Current(&'a Arc<Stored<T>>),
    Held,
    Broken(&'static str),
}

fn state<'a, T>(
    named: &ConfigSpecHash,
    found: Option<&'a Arc<Stored<T>>>,
    is_ending: bool,
) -> State<'a, T> {
    match found {
        None if is_ending || named.spec_hash.is_empty() => State::Broken("does not exist"),
        None => State::Held,
        Some(it) if !is_ending && it.hash != named.spec_hash => State::Held,
        Some(it) if it.spec.is_none() => State::Broken("cannot be read"),
        Some(it) => State::Current(it),
    }
}

// === impl Source ===

impl<'a> Source<'a> {
    /// The content of the template, if it is known.
    #[must_use]
    pub fn template(&self) -> Option<&'a AddOnTemplateSpec> {
        match self {
            Self::Known { template, .. } => template.spec.as_ref(),
            Self::Held | Self::Broken(_) => None,
        }
    }
}
