//! What works say beside their manifests: which fields are reported, which objects stay, and which configs they were made with.

use std::collections::BTreeMap;

use berth_api::addon::ConfigReference;
use berth_api::work::{
    DeleteOption, DeletePropagationPolicy, FeedbackRule, FeedbackType, JsonPath,
    ManifestConfigOption, ResourceIdentifier, SelectivelyOrphan,
};
use serde_json::{Map, Value};

use super::names::is_orphan;
use crate::object::Key;

/// The name of the value that tells that a Job failed. OCM's agent knows only whether it is complete.
pub(super) const JOB_FAILED: &str = "JobFailed";

/// Identifies an object, as the agent of the cluster will: the resource is guessed from the kind.
pub(crate) fn identifier(key: &Key) -> ResourceIdentifier {
    ResourceIdentifier {
        group: key.group().to_owned(),
        resource: key.resource(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// The configs of the manifests: those of the template, and that the status of each Deployment and DaemonSet is reported. Where both are
/// about an object, the template's update strategy counts, and the rules are merged.
pub(super) fn manifest_configs<'a>(
    of_template: &[ManifestConfigOption],
    keys: impl IntoIterator<Item = &'a Key>,
    is_hook: bool,
) -> Vec<ManifestConfigOption> {
    let mut configs = of_template.to_vec();
    for key in keys {
        let rules = match (key.group(), key.kind.as_str(), is_hook) {
            ("apps", "Deployment" | "DaemonSet", _) | ("", "Pod", true) => vec![well_known()],
            ("batch", "Job", true) => vec![well_known(), job_failed()],
            _ => continue,
        };
        let identifier = identifier(key);
        let mut all = configs.iter_mut();
        match all.find(|config| config.resource_identifier == identifier) {
            Some(config) => merge(&mut config.feedback_rules, rules),
            None => configs.push(ManifestConfigOption {
                resource_identifier: identifier,
                feedback_rules: rules,
                ..ManifestConfigOption::default()
            }),
        }
    }
    configs
}

/// Adds rules that are not there. Of two paths with one name, the one that is there counts.
fn merge(rules: &mut Vec<FeedbackRule>, more: Vec<FeedbackRule>) {
    for rule in more {
        let mut all = rules.iter_mut();
        let Some(found) = all.find(|it| it.r#type == rule.r#type) else {
            rules.push(rule);
            continue;
        };
        for path in rule.json_paths {
            if !found.json_paths.iter().any(|it| it.name == path.name) {
                found.json_paths.push(path);
            }
        }
    }
}

fn well_known() -> FeedbackRule {
    FeedbackRule {
        r#type: FeedbackType::WellKnownStatus,
        json_paths: Vec::new(),
    }
}

fn job_failed() -> FeedbackRule {
    FeedbackRule {
        r#type: FeedbackType::JsonPaths,
        json_paths: vec![JsonPath {
            name: JOB_FAILED.to_owned(),
            path: r#".status.conditions[?(@.type=="Failed")].status"#.to_owned(),
            version: String::new(),
        }],
    }
}

/// Which objects stay when the work is deleted. `None` if all go.
pub(super) fn delete_option<'a>(
    objects: impl IntoIterator<Item = (&'a Key, &'a Map<String, Value>)>,
) -> Option<DeleteOption> {
    let orphans = objects
        .into_iter()
        .filter(|(_, object)| is_orphan(object))
        .map(|(key, _)| identifier(key));
    let rules: Vec<_> = orphans.collect();
    if rules.is_empty() {
        return None;
    }
    Some(DeleteOption {
        propagation_policy: DeletePropagationPolicy::SelectivelyOrphan,
        selectively_orphans: Some(SelectivelyOrphan {
            orphaning_rules: rules,
        }),
        ttl_seconds_after_finished: None,
    })
}

/// Returns the hash of each desired config, by resource, namespace and name: the content of the annotation
/// `open-cluster-management.io/config-spec-hash` of a work.
#[must_use]
pub fn config_hashes(configs: &[ConfigReference]) -> BTreeMap<String, String> {
    let hashes = configs.iter().filter_map(|config| {
        let ConfigReference {
            group, resource, ..
        } = config;
        let desired = config.desired_config.as_ref()?;
        let dot = if group.is_empty() { "" } else { "." };
        let key = format!(
            "{resource}{dot}{group}/{}/{}",
            desired.namespace, desired.name
        );
        Some((key, desired.spec_hash.clone()))
    });
    hashes.collect()
}
