//! What has no effect, and so is probably not meant: a warning.

use std::collections::HashSet;

use berth_api::work::{
    DeletePropagationPolicy, ResourceIdentifier, UpdateStrategy, UpdateStrategyType,
};

use super::WorkKind;
use super::identifiers::{Wildcards, may_be, may_mean, plural};
use super::manifests::Head;
use crate::Reason;
use crate::display::Quoted;
use crate::introduced::Finding;
use crate::object::{ReadWork, WorkRules};

/// The maximum number of comparisons of an identifier with a manifest. A larger ManifestWork gets no such warnings.
const MOST_COMPARISONS: usize = 1_000_000;

/// The maximum number of bytes that are compared. A ManifestWork with longer names gets no such warnings.
const MOST_COMPARED: usize = 16 << 20;

const NO_MANIFEST: &str = "no manifest has this group, namespace and name";

const NO_RESOURCE: &str = "no manifest has this resource";

/// Returns the doubtful parts of a spec without faults.
pub(super) fn doubts(kind: WorkKind<'_>, work: &ReadWork<'_>) -> Vec<Finding> {
    let mut doubts = Doubts {
        kind,
        found: Vec::new(),
    };
    doubts.of_manifest_configs(&work.rules);
    doubts.of_deletion(&work.rules);
    doubts.of_identifiers(work);
    doubts.found
}

struct Doubts<'c> {
    kind: WorkKind<'c>,
    found: Vec<Finding>,
}

impl Doubts<'_> {
    fn add(&mut self, field: &str, message: &str) {
        let field = self.kind.path(field);
        // The reason of a warning is not shown.
        let finding = Finding::new(Reason::ManifestConfig, field, message);
        self.found.push(finding);
    }

    fn of_manifest_configs(&mut self, rules: &WorkRules) {
        for (index, config) in rules.manifest_configs.iter().enumerate() {
            let path = format!("manifestConfigs[{index}]");
            let resource = &config.resource_identifier.resource;
            if resource.chars().any(|c| c.is_ascii_uppercase()) {
                let message = format!(
                    "{} is no resource: name the plural in lower case, such as deployments",
                    Quoted(resource)
                );
                self.add(&format!("{path}.resourceIdentifier.resource"), &message);
            }
            let has_rules = !config.feedback_rules.is_empty() || !config.condition_rules.is_empty();
            if !has_rules && config.update_strategy.is_none() {
                self.add(
                    &path,
                    "without feedbackRules, conditionRules or updateStrategy it has no effect",
                );
            }
            if let Some(UpdateStrategy {
                server_side_apply: Some(_),
                r#type,
            }) = &config.update_strategy
                && *r#type != UpdateStrategyType::ServerSideApply
            {
                self.add(
                    &format!("{path}.updateStrategy.serverSideApply"),
                    "has an effect only with the type ServerSideApply",
                );
            }
        }
    }

    fn of_deletion(&mut self, rules: &WorkRules) {
        let Some(option) = &rules.delete_option else {
            return;
        };
        let orphans = option.selectively_orphans.as_ref();
        let has_rules = orphans.is_some_and(|it| !it.orphaning_rules.is_empty());
        let selects = option.propagation_policy == DeletePropagationPolicy::SelectivelyOrphan;
        if has_rules && !selects {
            self.add(
                "deleteOption.selectivelyOrphans",
                "has an effect only with the propagationPolicy SelectivelyOrphan",
            );
        } else if selects && !has_rules {
            self.add(
                "deleteOption.propagationPolicy",
                "SelectivelyOrphan without selectivelyOrphans.orphaningRules orphans no object",
            );
        }
    }

    fn of_identifiers(&mut self, work: &ReadWork<'_>) {
        let configs = work.rules.manifest_configs.iter().enumerate();
        let configs = configs.map(|(index, it)| {
            let field = format!("manifestConfigs[{index}].resourceIdentifier");
            (field, &it.resource_identifier, Wildcards::Any)
        });
        let option = work.rules.delete_option.as_ref();
        let orphans = option.and_then(|it| it.selectively_orphans.as_ref());
        let orphans = orphans.map_or(&[][..], |it| &it.orphaning_rules);
        let orphans = orphans.iter().enumerate().map(|(index, it)| {
            let field = format!("deleteOption.selectivelyOrphans.orphaningRules[{index}]");
            (field, it, Wildcards::None)
        });
        let identifiers: Vec<_> = configs.chain(orphans).collect();
        let texts = work.manifests.texts();
        if identifiers.is_empty() || identifiers.len() * texts.len() > MOST_COMPARISONS {
            return;
        }
        let heads = texts.iter().map(|text| Head::read(text));
        let Ok(heads) = heads.collect::<Result<Vec<_>, _>>() else {
            return;
        };
        let heads: Vec<_> = (heads.into_iter())
            .map(|head| (plural(head.kind()), head))
            .collect();
        let names: usize = (heads.iter())
            .map(|(_, it)| it.name().len() + it.namespace().len())
            .sum();
        let patterns: usize = (identifiers.iter())
            .map(|(_, it, _)| it.name.len() + it.namespace.len())
            .sum();
        let compared = names
            .saturating_mul(identifiers.len())
            .saturating_add(patterns.saturating_mul(heads.len()));
        if compared > MOST_COMPARED {
            return;
        }
        let mut named = HashSet::new();
        for (field, id, wildcards) in identifiers {
            let mut meant = (heads.iter()).filter(|(_, head)| may_mean(id, head, wildcards));
            let resource = &id.resource;
            let is_resource = |(plural, head): &(String, Head<'_>)| {
                may_be(resource, head.kind(), plural, head.group())
            };
            match meant.next() {
                None if named.insert(key(id)) => self.add(&field, NO_MANIFEST),
                Some(first)
                    if !resource.chars().any(|c| c.is_ascii_uppercase())
                        && !is_resource(first)
                        && !meant.any(is_resource)
                        && named.insert(key(id)) =>
                {
                    let message = format!("{NO_RESOURCE}; did you mean {}?", Quoted(&first.0));
                    self.add(&format!("{field}.resource"), &message);
                }
                _ => {}
            }
        }
    }
}

/// The same identifier gets one warning.
fn key(id: &ResourceIdentifier) -> [&str; 4] {
    [&id.group, &id.resource, &id.namespace, &id.name].map(String::as_str)
}
