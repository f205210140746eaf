//! Clusters that are moved into a set, and sets that are bound to a namespace or unbound.

use berth_api::cluster_set::ManagedClusterSelector;

use super::{Done, Failure, Hub};
use crate::clusterset::{Selects, bind_one, existing, move_one, unbind_one, unfit};
use crate::failure::CommandError;
use crate::hub::DryRun;

/// Says how a set selects its clusters, in words that follow its name.
pub fn selects(selector: &ManagedClusterSelector) -> String {
    Selects::of(selector).words()
}

fn done(changed: bool, line: String, dry_run: DryRun, notes: Vec<String>) -> Done {
    let suffix = if changed { dry_run.suffix() } else { "" };
    Done {
        lines: vec![format!("{line}{suffix}")],
        notes,
    }
}

// === impl Hub ===

impl Hub {
    /// Puts a cluster into a set, as `berth clusterset set` does. With `dry_run` the hub and its gate decide, and nothing is stored.
    ///
    /// # Errors
    /// The cluster or the set does not exist, the set selects its clusters by other labels, or the hub or its gate refuses.
    pub async fn move_to_set(
        &self,
        cluster: &str,
        set: &str,
        dry_run: bool,
    ) -> Result<Done, Failure> {
        let dry_run = DryRun::of(dry_run);
        match existing(&self.0, set).await {
            Ok(found) => {
                if let Some(why) = unfit(&found) {
                    return Err(CommandError::Refused(why).into());
                }
            }
            // A user who may move clusters need not be able to read the set.
            Err(failure) if failure.is_forbidden() => {}
            Err(failure) => return Err(failure.into()),
        }
        let moved = move_one(&self.0, cluster, set, dry_run, None).await?;
        let Some((changed, line)) = moved else {
            let resource = "managedclusters.cluster.open-cluster-management.io";
            return Err(CommandError::no_such(resource, cluster, []).into());
        };
        Ok(done(changed, line, dry_run, Vec::new()))
    }

    /// Binds a set to a namespace, as `berth clusterset bind` does. With `dry_run` the hub and its gate decide, and nothing is stored.
    ///
    /// # Errors
    /// The set or the namespace does not exist, or the hub or its gate refuses.
    pub async fn bind(&self, set: &str, namespace: &str, dry_run: bool) -> Result<Done, Failure> {
        let dry_run = DryRun::of(dry_run);
        let mut notes = Vec::new();
        let bound = bind_one(&self.0, set, namespace, dry_run, |note| notes.push(note)).await?;
        let line = match bound {
            true => format!("Clusterset {set} is bound to Namespace {namespace}"),
            false => format!("Clusterset {set} is already bound to Namespace {namespace}"),
        };
        Ok(done(bound, line, dry_run, notes))
    }

    /// Removes the binding of a set from a namespace, as `berth clusterset unbind` does. With `dry_run` nothing is removed.
    ///
    /// # Errors
    /// Those of the hub.
    pub async fn unbind(&self, set: &str, namespace: &str, dry_run: bool) -> Result<Done, Failure> {
        let dry_run = DryRun::of(dry_run);
        let removed = unbind_one(&self.0, set, namespace, dry_run).await?;
        let line = match removed {
            true => format!("Clusterset {set} is unbound from Namespace {namespace}"),
            false => format!("Clusterset {set} was not bound to Namespace {namespace}"),
        };
        Ok(done(removed, line, dry_run, Vec::new()))
    }
}
