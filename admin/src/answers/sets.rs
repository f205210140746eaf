//! Clusters that are labelled or moved into a set, and sets that are bound to a namespace or unbound.

use berth_api::cluster_set::ManagedClusterSelector;

use super::{Done, Failure, Hub};
use crate::cluster_change::change;
use crate::clusterset::{Selects, bind_one, due, existing, unbind_one, unfit};
use crate::failure::CommandError;
use crate::hub::DryRun;
use crate::label::{label_changes, label_due};

/// Says how a set selects its clusters, in words that follow its name.
pub fn selects(selector: &ManagedClusterSelector) -> String {
    Selects::of(selector).words()
}

fn done(changed: bool, line: String, dry_run: DryRun, notes: Vec<String>) -> Done {
    let suffix = if changed { dry_run.suffix() } else { "" };
    Done {
        lines: vec![format!("{line}{suffix}")],
        notes,
        offer: None,
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
        let moved = change(&self.0, cluster, None, dry_run, |object| {
            Ok(due(cluster, object, set))
        });
        let (changed, line) = moved.await?;
        Ok(done(changed, line, dry_run, Vec::new()))
    }

    /// Changes labels of a cluster, as `berth label --overwrite` does, by words such as `KEY=VALUE` and `KEY-`. With `dry_run` the hub and its
    /// gate decide, and nothing is stored.
    ///
    /// # Errors
    /// A word cannot be read, the label is not written by users, the cluster does not exist, or the hub or its gate refuses.
    pub async fn label(
        &self,
        cluster: &str,
        words: &[String],
        dry_run: bool,
    ) -> Result<Done, Failure> {
        let dry_run = DryRun::of(dry_run);
        let bad = |message: String| Failure {
            message,
            code: 422,
            reason: "Invalid".to_owned(),
        };
        let changes = label_changes(words).map_err(bad)?;
        let labelled = change(&self.0, cluster, None, dry_run, |object| {
            label_due(cluster, object, &changes, true)
        });
        let (changed, line) = labelled.await?;
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
