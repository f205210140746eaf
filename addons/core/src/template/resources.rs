//! The resources of containers, by the IDs of containers: `deployments:agent:main`, where each part may be `*`.

use berth_api::addon::ContainerResourceRequirements;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// Upper bound on the memory of a compiled ID.
const LARGEST_PATTERN: usize = 256 * 1024;

/// Upper bound on the IDs of a config.
const MOST: usize = 1000;

/// The resources of containers.
#[derive(Debug, Default)]
pub(super) struct Requirements(Vec<Requirement>);

#[derive(Debug)]
struct Requirement {
    id: String,
    containers: Regex,
    resources: Value,
}

// === impl Requirements ===

impl Requirements {
    /// Compiles the IDs. As in OCM, an ID is a regular expression, and `*` in it means any text that is not empty.
    ///
    /// # Errors
    /// IDs that are no regular expressions, or too many. OCM leaves such an entry out.
    pub(super) fn new(all: &[ContainerResourceRequirements]) -> Result<Self, Vec<String>> {
        if all.len() > MOST {
            return Err(vec![format!(
                "resourceRequirements has {} entries; {MOST} are supported",
                all.len()
            )]);
        }
        let (mut compiled, mut problems) = (Vec::new(), Vec::new());
        for requirement in all {
            let id = &requirement.container_id;
            let pattern = format!("^(?:{})$", id.replace('*', ".+"));
            let containers = RegexBuilder::new(&pattern)
                .size_limit(LARGEST_PATTERN)
                .build();
            match (containers, serde_json::to_value(&requirement.resources)) {
                (Ok(containers), Ok(resources)) => compiled.push(Requirement {
                    id: id.clone(),
                    containers,
                    resources,
                }),
                _ => problems.push(format!("containerID {id:?} is not a valid pattern")),
            }
        }
        if problems.is_empty() {
            Ok(Self(compiled))
        } else {
            Err(problems)
        }
    }

    /// Returns the resources of a container. The last entry that matches counts.
    pub(super) fn of(&self, resource: &str, object: &str, container: &str) -> Option<&Value> {
        if self.0.is_empty() {
            return None;
        }
        let id = format!("{resource}:{object}:{container}");
        let mut all = self.0.iter().rev();
        let found = all.find(|requirement| requirement.containers.is_match(&id))?;
        Some(&found.resources)
    }

    /// Returns the IDs that match none of these containers.
    pub(super) fn unused<'a>(&'a self, containers: &'a [String]) -> impl Iterator<Item = &'a str> {
        let unused = self
            .0
            .iter()
            .filter(|it| !containers.iter().any(|id| it.containers.is_match(id)));
        unused.map(|it| it.id.as_str())
    }
}
