//! The part of the status of a ManagedClusterAddOn that agents and the add-on's own controllers read: as whom the agents act, in which
//! namespace they run, which configs are supported, and the condition RegistrationApplied.

use berth_api::Now;
use berth_api::addon::{
    AddOnTemplateSpec, ConfigGroupResource, DEFAULT_NAMESPACE, HealthCheckMode,
};
use berth_api::conditions::{FALSE, TRUE, addon, with_condition};
use berth_api::plan::Write;
use serde_json::json;

use super::{Facts, Made};
use crate::condition::condition;
use crate::config::{DEPLOYMENT_CONFIG, TEMPLATE};
use crate::registration::registrations;
use crate::writes::{self, ON_CLUSTER};

/// The beginning of the message of a condition with the reason `SetPermissionFailed`.
pub const NOT_PERMITTED: &str = "Failed to set permission for hub agent: ";

/// The message while it is not known as whom the agents act, in OCM's words.
pub const NO_SUBJECT: &str = "registration subject not ready";

/// The message while their RoleBindings are not written yet.
pub const NOT_BOUND: &str = "the RoleBindings of the addon agent are not written yet";

/// Whether the agents of a cluster have the permissions that the template asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions<'a> {
    /// They have, or it asks for none.
    Applied,
    /// They get them once something else has happened: [`NO_SUBJECT`], [`NOT_BOUND`], or another text for users.
    Pending(&'a str),
    /// They cannot be given; the text is for users.
    Failed(&'a str),
}

/// Returns the patch of the status; `None` if it is as it should be.
pub(super) fn write(
    facts: &Facts<'_>,
    template: &AddOnTemplateSpec,
    made: Option<&Made>,
    now: Now,
) -> Option<Write> {
    let on = facts.on;
    let supported = supported();
    let registrations = registrations(facts.cluster, facts.addon, template, &on.registrations);
    let namespace = match made {
        Some(made) => &made.namespace,
        None if on.namespace.is_empty() => DEFAULT_NAMESPACE,
        None => &on.namespace,
    };
    let (result, message) = match facts.permissions {
        Permissions::Applied => (
            (TRUE, addon::SET_PERMISSION_APPLIED),
            "Registration of the addon agent is configured".to_owned(),
        ),
        Permissions::Pending(why) => ((FALSE, addon::PERMISSION_CONFIG_PENDING), why.to_owned()),
        Permissions::Failed(why) => (
            (FALSE, addon::SET_PERMISSION_FAILED),
            format!("{NOT_PERMITTED}{why}"),
        ),
    };
    let applied = condition(addon::REGISTRATION_APPLIED, result, &message, now);
    let conditions = with_condition(&on.conditions, applied);
    let is_same = conditions.is_none()
        && is_supported(&on.supported)
        && registrations == on.registrations
        && namespace == on.namespace
        && on.health_check == HealthCheckMode::Customized;
    if is_same {
        return None;
    }
    let body = json!({"status": {
        "conditions": conditions.unwrap_or_else(|| on.conditions.clone()),
        "healthCheck": {"mode": HealthCheckMode::Customized},
        "namespace": namespace,
        "registrations": registrations,
        "supportedConfigs": supported,
    }});
    let at = (facts.addon, facts.cluster);
    Some(writes::patch_on_cluster(
        ON_CLUSTER,
        at,
        on,
        Some("status"),
        body,
    ))
}

/// The kinds of configs of every add-on from a template.
fn supported() -> [ConfigGroupResource; 2] {
    [DEPLOYMENT_CONFIG, TEMPLATE].map(|(group, resource)| ConfigGroupResource {
        group: group.to_owned(),
        resource: resource.to_owned(),
    })
}

/// In any order: OCM's is random.
fn is_supported(stored: &[ConfigGroupResource]) -> bool {
    let supported = supported();
    stored.len() == supported.len() && supported.iter().all(|it| stored.contains(it))
}
