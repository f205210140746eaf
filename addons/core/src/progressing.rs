//! How far an add-on on a cluster is: the condition Progressing of a ManagedClusterAddOn.

use berth_api::addon::ConfigReference;
use berth_api::conditions::{FALSE, TRUE, addon, condition_of};
use berth_api::{labels, text};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::facts::{OnCluster, Work};
use crate::works::config_hashes;

/// Upper bound on the bytes of a message of another component in ours.
const LONGEST_MESSAGE: usize = 256;

/// How far the add-on is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Says how far the add-on is, given the ManifestWorks of the ManagedClusterAddOn. The first rule that applies counts.
///
/// OCM reports an add-on whose manifests cannot be applied as progressing, for ever.
pub(crate) fn progress<'a>(
    on: &OnCluster,
    works: impl Iterator<Item = &'a Work> + Clone,
) -> Progress {
    let unsupported = on.configs.iter().find(|it| {
        let mut supported = on.supported.iter();
        !supported.any(|of| (&of.group, &of.resource) == (&it.group, &it.resource))
    });
    if let Some(it) = unsupported {
        let kind = format!("{}/{}", it.group, it.resource);
        let message = format!("Configuration with gvr {kind} is not supported for this addon");
        return Progress::not(addon::CONFIGURATION_UNSUPPORTED, message);
    }
    let applied = |type_, reason, message: &str| match condition_of(&on.conditions, type_) {
        None => Some(Progress::not(reason, message.to_owned())),
        Some(it) => not_made(it),
    };
    let waits = applied(
        addon::MANIFEST_APPLIED,
        addon::WAITING_FOR_MANIFEST_APPLIED,
        "Waiting for ManagedClusterAddOn ManifestApplied condition",
    );
    if let Some(waits) = waits {
        return waits;
    }
    if on.annotations.contains_key(labels::ADDON_HOSTING_CLUSTER) {
        let waits = applied(
            addon::HOSTING_MANIFEST_APPLIED,
            addon::WAITING_FOR_HOSTING_MANIFEST_APPLIED,
            "Waiting for ManagedClusterAddOn HostingManifestApplied condition",
        );
        if let Some(waits) = waits {
            return waits;
        }
    }
    let works = works.filter(|it| !it.is_pre_delete);
    if works.clone().next().is_none() {
        return Progress::on("progressing... no addon works");
    }
    if works.clone().any(|it| !is_made_from(it, &on.references)) {
        return Progress::on("progressing... mca and work configs mismatch");
    }
    if let Some(why) = works.clone().find_map(|it| it.failed.as_ref()) {
        let message = format!("a ManifestWork of the add-on cannot be applied: {why}");
        return Progress::not(addon::FAILED, message);
    }
    if works.clone().any(|it| !it.is_ready) {
        return Progress::on("progressing... work is not ready");
    }
    Progress::not(addon::COMPLETED, "completed with no errors.".to_owned())
}

/// The manifests of the add-on could not be made: its ManifestWorks are old, or do not exist.
fn not_made(applied: &Condition) -> Option<Progress> {
    let failed = (FALSE, addon::MANIFEST_WORK_APPLY_FAILED);
    let is_failed = (&*applied.status, &*applied.reason) == failed;
    is_failed.then(|| {
        let message = text::shorten(&applied.message, LONGEST_MESSAGE).into_owned();
        Progress::not(addon::FAILED, message)
    })
}

/// Returns whether a ManifestWork was made from the configs with these hashes.
fn is_made_from(work: &Work, references: &[ConfigReference]) -> bool {
    let desired = config_hashes(references);
    let is_known = desired.values().all(|hash| !hash.is_empty());
    match &work.hashes {
        Some(hashes) => is_known && *hashes == desired,
        None => references.is_empty(),
    }
}

/// The references once the add-on has the configs that they name.
pub(crate) fn applied(references: &[ConfigReference]) -> Vec<ConfigReference> {
    let applied = references.iter().map(|it| ConfigReference {
        last_applied_config: it.desired_config.clone(),
        ..it.clone()
    });
    applied.collect()
}

// === impl Progress ===

impl Progress {
    fn on(message: &str) -> Self {
        Self {
            status: TRUE,
            reason: addon::PROGRESSING,
            message: message.to_owned(),
        }
    }

    fn not(reason: &'static str, message: String) -> Self {
        Self {
            status: FALSE,
            reason,
            message,
        }
    }

    /// Returns whether the add-on has its configs.
    pub(crate) fn is_completed(&self) -> bool {
        self.reason == addon::COMPLETED
    }
}

#[cfg(test)]
mod tests;
