//! `berth init --operator`: an operator, and the ClusterManager by which it installs the hub.

use std::io::{self, Write};
use std::time::Duration;

use berth_manifests::{HUB_NAMESPACE, Manifest, files};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::facts::cluster_manager;
use super::keep::is_ours;
use crate::doctor::CONTROLLER;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, title, unchecked};
use crate::join::objects::image_in;
use crate::progress::Progress;

/// The name of the ClusterManager, which is that of clusteradm.
const MANAGER: &str = "cluster-manager";

/// What the operator is made of.
const OPERATOR: [Manifest; 5] = [
    files::CRD_CLUSTER_MANAGERS,
    files::OPERATOR_NAMESPACES,
    files::OPERATOR_ACCOUNT,
    files::OPERATOR_ROLE,
    files::OPERATOR,
];

/// The namespace of operators, the Deployment of Berth's, and that of OCM's.
const OPERATORS: &str = "open-cluster-management";
const BERTHS_OPERATOR: &str = "berth-operator";
const OCMS_OPERATOR: &str = "cluster-manager";

/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// An operator to install.
pub(super) struct Operator<'a> {
    pub(super) hub: &'a HubConnection,
    pub(super) force: bool,
}

/// Returns the objects, in the order in which they are applied. The hub gets the image of the operator.
pub(super) fn objects(image: &str) -> Vec<Value> {
    let mut objects: Vec<_> = OPERATOR.iter().flat_map(Manifest::documents).collect();
    for object in objects.iter_mut().filter(|it| it["kind"] == "Deployment") {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    }
    objects.push(json!({
        "apiVersion": "operator.open-cluster-management.io/v1", "kind": "ClusterManager",
        "metadata": {"name": MANAGER}, "spec": {},
    }));
    objects
}

// === impl Operator ===

impl Operator<'_> {
    /// Checks that nothing else is installed.
    ///
    /// # Errors
    /// There is another ClusterManager, or a hub without an operator.
    pub(super) async fn check(&self) -> Result<(), CommandError> {
        if self.deployment(OCMS_OPERATOR).await?.is_some() {
            return Err(CommandError::Refused(format!(
                "OCM's operator is installed here, and carries out ClusterManagers: remove Deployment {OPERATORS}/{OCMS_OPERATOR} first (docs/operator.md)"
            )));
        }
        if let Some(name) = cluster_manager(self.hub).await?.filter(|it| it != MANAGER) {
            return Err(CommandError::Refused(format!(
                "this hub has the ClusterManager {name}: an operator carries it out already"
            )));
        }
        let within = Some(HUB_NAMESPACE);
        let controller = self.hub.get_value::<Deployment>(within, CONTROLLER).await?;
        match controller.is_some_and(|it| is_ours(&it)) {
            true => Err(CommandError::Refused(
                "Berth runs here without an operator; remove it first, the clusters stay: berth uninstall".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Returns the image of an operator that is already installed.
    ///
    /// # Errors
    /// Its Deployment cannot be read.
    pub(super) async fn image(&self) -> Result<Option<String>, CommandError> {
        let found = self.deployment(BERTHS_OPERATOR).await?;
        Ok(found.as_ref().and_then(image_in).map(str::to_owned))
    }

    async fn deployment(&self, name: &str) -> Result<Option<Value>, CommandError> {
        self.hub
            .get_value::<Deployment>(Some(OPERATORS), name)
            .await
    }

    /// Shows what would be done; with [`DryRun::Server`] as the API server decides about each object.
    ///
    /// # Errors
    /// The API server refuses an object.
    pub(super) async fn show(&self, objects: &[Value], dry_run: DryRun) -> anyhow::Result<()> {
        let suffix = dry_run.suffix();
        for object in objects {
            let line = match dry_run {
                DryRun::Server => match self.hub.try_to_apply(object, self.force).await {
                    Ok(Some(applied)) => format!("{} {}", title(object), applied.word()),
                    Ok(None) => unchecked(object),
                    // Its definition comes with the operator.
                    Err(CommandError::NoHub { .. }) => format!(
                        "{} not checked: its CustomResourceDefinition does not exist yet",
                        title(object)
                    ),
                    Err(failure) => return Err(failure.into()),
                },
                _ => format!("{} would be applied", title(object)),
            };
            writeln!(io::stdout(), "{line}{suffix}")?;
        }
        Ok(())
    }

    /// Applies the objects.
    ///
    /// # Errors
    /// The API server refuses an object.
    pub(super) async fn apply(&self, objects: &[Value]) -> anyhow::Result<()> {
        for object in objects {
            let applied = self.hub.apply_once_served(object, self.force).await;
            let applied = applied.map_err(CommandError::with_remedy)?;
            writeln!(io::stdout(), "{} {}", title(object), applied.word())?;
        }
        Ok(())
    }

    /// Waits until the operator has installed the hub.
    ///
    /// # Errors
    /// The time is over. The error says what is missing.
    pub(super) async fn wait(&self, limit: Duration) -> anyhow::Result<()> {
        let manager = objects("");
        let Some(manager) = manager.last() else {
            return Ok(());
        };
        let deadline = Instant::now() + limit;
        let mut progress = Progress::new(false, limit);
        loop {
            let stored = self.hub.stored(manager).await?.unwrap_or_default();
            let Some(missing) = missing(&stored) else {
                progress.clear();
                return Ok(());
            };
            progress.waits(MANAGER, &missing);
            if Instant::now() >= deadline {
                progress.clear();
                return Err(CommandError::Refused(format!(
                    "ClusterManager {MANAGER}: timed out after {limit:?}, waiting for {missing}; the operator goes on"
                ))
                .into());
            }
            progress.draw();
            tokio::time::sleep_until(deadline.min(Instant::now() + PERIOD)).await;
        }
    }
}

/// What a ClusterManager still waits for. `None`: its hub is there.
fn missing(manager: &Value) -> Option<String> {
    let conditions = manager["status"]["conditions"].as_array();
    let condition = |type_: &str| {
        let mut all = conditions.into_iter().flatten();
        all.find(|it| it["type"] == type_)
    };
    let generation = &manager["metadata"]["generation"];
    let applied = condition("Applied").filter(|it| it["observedGeneration"] == *generation);
    let Some(applied) = applied else {
        return Some("the operator to begin".to_owned());
    };
    let message = |it: &Value| it["message"].as_str().unwrap_or_default().to_owned();
    if applied["status"] != "True" {
        return Some(message(applied));
    }
    let progressing = condition("Progressing").filter(|it| it["status"] != "False");
    progressing.map(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_is_there_when_all_is_applied_and_nothing_progresses() {
        let manager = |applied: &str, progressing: &str| {
            json!({"metadata": {"generation": 2}, "status": {"conditions": [
                {"type": "Applied", "status": applied, "message": "a", "observedGeneration": 2},
                {"type": "Progressing", "status": progressing, "message": "p"},
            ]}})
        };
        let waits = |it: &str| Some(it.to_owned());
        assert_eq!(missing(&json!({})), waits("the operator to begin"));
        assert_eq!(missing(&manager("False", "False")), waits("a"));
        assert_eq!(missing(&manager("True", "True")), waits("p"));
        assert_eq!(missing(&manager("True", "False")), None);
    }

    #[test]
    fn the_operator_has_the_image() {
        let objects = objects("r/berth:v1");
        let deployment = objects
            .iter()
            .find(|it| it["kind"] == "Deployment")
            .unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "r/berth:v1");
        assert_eq!(objects.last().unwrap()["kind"], "ClusterManager");
    }
}
