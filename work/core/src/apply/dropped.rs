//! Fields that a manifest had, and has no longer.

use berth_api::labels::CONFIG_SPEC_HASH;
use serde_json::Value;

use super::Applying;
use crate::compare::branches::REPLICAS;
use crate::differs::Findings;
use crate::exact::SPEC_HASH;
use crate::kinds::Rule;
use crate::managed::{self, Entry};
use crate::owner::is_shared;
use crate::path::{Part, Path};

/// Fields of a manager that the manifest has not.
#[derive(Default)]
pub(super) struct Dropped {
    pub(super) paths: Vec<Path>,
    /// Those that were not written by server-side apply.
    pub(super) to_move: Vec<Path>,
    /// Those whose values stay.
    pub(super) to_release: Vec<Path>,
}

/// Keys of labels and annotations that the API server or a controller writes in the name of the agent, and OCM's hashes.
const KEPT_KEYS: [&str; 5] = [
    "kubernetes.io/metadata.name",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    SPEC_HASH,
    CONFIG_SPEC_HASH,
];

// === impl Applying ===

impl Applying {
    /// Finds what a manager wrote for an earlier manifest, and this one has not.
    ///
    /// What was applied on the server was in a manifest. Other fields of the manager may be defaults; of these, only labels and
    /// annotations count, and what the manifest before this one had. Objects that another AppliedManifestWork owns too: only the
    /// latter. The number of replicas stays as it is.
    pub(super) fn dropped(
        &self,
        manager: &str,
        ours: &Value,
        live: &Value,
        entries: &[Entry<'_>],
        findings: &mut Findings<'_>,
    ) -> Dropped {
        let shared = is_shared(live, &self.owner);
        let mut dropped = Dropped::default();
        for entry in entries.iter().filter(|entry| entry.manager == manager) {
            let mut found = |path: &Path, value: &Value| {
                let Some(is_metadata) = removable(path, self.rule) else {
                    return;
                };
                let was_ours = self
                    .before
                    .as_ref()
                    .is_some_and(|before| managed::at(before, &path.0).is_some());
                if !was_ours && (shared || !entry.applied && !is_metadata) {
                    return;
                }
                // The API server would fill in 1, behind the back of the autoscaler to which the manifest leaves the field from now on. As in
                // <https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership>, it only loses its owner.
                let is_kept = path.matches(REPLICAS);
                if is_kept && !entry.applied {
                    return;
                }
                findings.differs(path, None, Some(value), Some(manager));
                if is_kept {
                    dropped.to_release.push(path.clone());
                    return;
                }
                if !entry.applied {
                    dropped.to_move.push(path.clone());
                }
                dropped.paths.push(path.clone());
            };
            managed::dropped(
                entry.fields,
                Some(ours),
                live,
                &mut Path::default(),
                &mut found,
            );
        }
        dropped
    }
}

/// May a field be removed that the manifest has not? Returns whether it is a label or an annotation.
fn removable(path: &Path, rule: Rule) -> Option<bool> {
    let field = |index: usize| match path.0.get(index) {
        Some(Part::Field(name)) => Some(name.as_str()),
        _ => None,
    };
    match field(0)? {
        "apiVersion" | "kind" | "status" => None,
        "metadata" => {
            let key = field(2)?;
            (matches!(field(1)?, "labels" | "annotations") && !KEPT_KEYS.contains(&key))
                .then_some(true)
        }
        // The content of other kinds is compared as a whole.
        _ => (rule == Rule::Other).then_some(false),
    }
}
