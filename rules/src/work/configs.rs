//! `manifestConfigs`: names of reported values and of conditions must be the only ones of their name.

use std::collections::BTreeSet;

use berth_api::conditions::{manifest, manifest_work};
use berth_api::work::{FeedbackRule, FeedbackType, ResourceIdentifier};

use super::WorkKind;
use crate::Reason;
use crate::display::Quoted;
use crate::introduced::Finding;
use crate::object::WorkRules;

/// Conditions that the agent sets itself, on the manifest or on the ManifestWork.
const RESERVED_CONDITIONS: [&str; 5] = [
    manifest_work::APPLIED,
    manifest_work::AVAILABLE,
    manifest_work::DELETING,
    manifest::STATUS_FEEDBACK_SYNCED,
    manifest_work::DRIFTED,
];

/// The values that agents report for the type `WellKnownStatus`, by group and resource.
const WELL_KNOWN: [(&str, &str, &[&str]); 4] = [
    (
        "apps",
        "deployments",
        &["ReadyReplicas", "Replicas", "AvailableReplicas"],
    ),
    (
        "apps",
        "daemonsets",
        &["NumberReady", "DesiredNumberScheduled", "NumberAvailable"],
    ),
    ("batch", "jobs", &["JobComplete", "JobSucceeded"]),
    ("", "pods", &["PodReady", "PodPhase"]),
];

/// Returns the faults of `manifestConfigs`.
pub(super) fn faults(kind: WorkKind<'_>, rules: &WorkRules) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, config) in rules.manifest_configs.iter().enumerate() {
        let path = |field: &str| kind.path(format_args!("manifestConfigs[{index}].{field}"));
        for name in named_twice(&config.feedback_rules, &config.resource_identifier) {
            let message = format!(
                "Duplicate value: {}: two reported values of an object cannot have the same name",
                Quoted(name)
            );
            let path = path("feedbackRules");
            found.push(Finding::new(Reason::ManifestConfig, path, &message));
        }
        for rule in &config.condition_rules {
            if RESERVED_CONDITIONS.contains(&rule.condition.as_str()) {
                let message = format!(
                    "Invalid value: {}: the agent sets the condition of this name itself; use another name",
                    Quoted(&rule.condition)
                );
                let path = path("conditionRules");
                found.push(Finding::new(Reason::ManifestConfig, path, &message));
            }
        }
    }
    found
}

/// Returns the names that more than one rule gives to a value. With two values of one name, the API server refuses the whole status.
fn named_twice<'r>(rules: &'r [FeedbackRule], of: &ResourceIdentifier) -> BTreeSet<&'r str> {
    let is_known = |it: &&(&str, &str, _)| (it.0, it.1) == (&of.group, &of.resource);
    let well_known = WELL_KNOWN
        .iter()
        .find(is_known)
        .map_or(&[][..], |(.., names)| names);
    let names = rules.iter().flat_map(|rule| {
        let fixed: &[&str] = match rule.r#type {
            FeedbackType::WellKnownStatus => well_known,
            FeedbackType::JsonPaths | FeedbackType::Other(_) => &[],
        };
        let paths: &[_] = match rule.r#type {
            FeedbackType::JsonPaths => &rule.json_paths,
            FeedbackType::WellKnownStatus | FeedbackType::Other(_) => &[],
        };
        let fixed = fixed.iter().copied();
        fixed.chain(paths.iter().map(|it| it.name.as_str()))
    });
    let mut seen = BTreeSet::new();
    names.filter(|name| !seen.insert(*name)).collect()
}
