//! Why a placement selects its clusters, what a changed one would select, and the change itself.

use berth_api::Placement;
use berth_placement_core::{Explanation, Gates, Inventory};
use jiff::Timestamp;
use serde_json::Value;

use super::{Done, Failure, Hub};
use crate::hub::DryRun;
use crate::placement::{Needs, bind_hint, explained, manifest, read};

/// What the hub has that a placement is evaluated on.
#[derive(Clone, Debug)]
pub struct PlacementFacts {
    inventory: Inventory,
    needs: Needs,
    namespace: String,
    /// What is missing because of the user's rights.
    notes: Vec<String>,
}

/// A placement, explained as `berth placement explain` does.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What becomes of each cluster, and why.
    pub explanation: Explanation,
    /// What is missing because of the user's rights.
    pub notes: Vec<String>,
    /// The command that binds a set to the namespace, if the placement can select from none.
    pub hint: Option<String>,
}

/// Reads a Placement of YAML or JSON, and checks it against the schema of its CRD.
///
/// # Errors
/// All its mistakes, each with its field.
pub fn placement_of(yaml: &str, namespace: &str) -> Result<Placement, Vec<String>> {
    let object = manifest::document(yaml)?;
    manifest::placement(object, namespace)
}

// === impl PlacementFacts ===

impl PlacementFacts {
    /// Returns true if this placement reads nothing else.
    pub fn serves(&self, placement: &Placement) -> bool {
        let needs = Needs::of(placement);
        placement.metadata.namespace.as_ref() == Some(&self.namespace)
            && self.needs.and(needs) == self.needs
    }

    /// Explains a placement at a time, with the feature gates at their defaults.
    pub fn explain(&self, placement: &Placement, now: Timestamp) -> Explained {
        let explanation = explained(&self.inventory, placement, Gates::default(), now);
        let none = explanation.sets.eligible.is_empty();
        let hint = none.then(|| bind_hint(&explanation, &self.inventory, &[]));
        let unreadable = self.inventory.unreadable.iter();
        let unreadable = unreadable
            .map(|(object, why)| format!("{object} is left out, since it cannot be read: {why}"));
        Explained {
            notes: self.notes.iter().cloned().chain(unreadable).collect(),
            hint: hint.flatten(),
            explanation,
        }
    }
}

// === impl Hub ===

impl Hub {
    /// Returns a placement as the hub sent it, and as it is read; `None` if it does not exist.
    ///
    /// # Errors
    /// Those of the hub, or the placement cannot be read.
    pub async fn placement(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<(Value, Placement)>, Failure> {
        let Some(item) = self.0.get::<Placement>(Some(namespace), name).await? else {
            return Ok(None);
        };
        match item.unreadable {
            None => Ok(Some((item.value, item.object))),
            Some(why) => Err(Failure {
                message: format!("Placement {namespace}/{name} cannot be read: {why}"),
                code: 502,
                reason: "Unreadable".to_owned(),
            }),
        }
    }

    /// Reads what a placement is evaluated on.
    ///
    /// # Errors
    /// Those of the hub. Without the right to list clusters, sets or bindings the message names it.
    pub async fn placement_facts(&self, placement: &Placement) -> Result<PlacementFacts, Failure> {
        let namespace = placement.metadata.namespace.clone().unwrap_or_default();
        let needs = Needs::of(placement);
        let (inventory, notes) = read(&self.0, &[&namespace], needs).await?;
        Ok(PlacementFacts {
            inventory,
            needs,
            namespace,
            notes,
        })
    }

    /// Replaces a placement, as `kubectl replace` does: with a resourceVersion it is refused if somebody else has changed the placement.
    /// With `dry_run` the hub decides, and stores nothing.
    ///
    /// # Errors
    /// The hub or its gate refuses.
    pub async fn replace_placement(
        &self,
        placement: &Placement,
        dry_run: bool,
    ) -> Result<Done, Failure> {
        let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
        let name = placement.metadata.name.as_deref().unwrap_or_default();
        let dry_run = DryRun::of(dry_run);
        (self.0)
            .replace::<Placement>(Some(namespace), name, placement, dry_run)
            .await?;
        let name = berth_rules::display::Quoted(name);
        let suffix = dry_run.suffix();
        Ok(Done {
            lines: vec![format!(
                "Placement {name} in namespace {namespace} replaced{suffix}"
            )],
            notes: Vec::new(),
            offer: None,
        })
    }
}
