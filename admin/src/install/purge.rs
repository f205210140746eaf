//! `berth uninstall --purge`: removes Berth from a hub, and the fleet with it.
//!
//! # Guarantees
//! - Nothing is changed before the user has typed the name of the hub.
//! - Controllers and gate run until the objects are gone whose finalizers they remove. A hub without a running controller is refused
//!   as long as such objects exist.
//! - No finalizer is removed here. At the timeout the command names the objects that wait, and what it has not removed stays.
//! - It can be run again, also after an interruption: each step reads what is left.
//!
//! # Order
//! 1. The rights of bootstrap tokens: an agent that lost its ManagedCluster would register again.
//! 2. ManifestWorkReplicaSets and ManagedClusters. The controllers delete add-ons and ManifestWorks of a cluster in their order, which
//!    an add-on's own controller would otherwise create anew.
//! 3. ManifestWorks in other namespaces.
//! 4. The CustomResourceDefinitions whose objects the gate converts, and with them these objects: add-ons.
//! 5. Registrations, Deployments and the rest of what `berth init` installed. The controller would create the default sets anew.
//! 6. The other CustomResourceDefinitions, and with them all other objects of their kinds.

mod confirm;
mod fleet;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use berth_manifests::{HUB_NAMESPACE, Manifest, files, is_converted};
use berth_rules::display::Lines;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::Value;
use tokio::time::Instant;

use self::fleet::{FleetKind, FleetObject, kinds, lines, waiting};
use super::components;
use crate::doctor::{CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection, title};
use crate::progress::Progress;

/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// The kinds with finalizers that only the controllers remove. The order is that of their deletion.
const CONTROLLED: [&str; 2] = ["ManifestWorkReplicaSet", "ManagedCluster"];
/// The kind with finalizers that agents remove.
const WORKS: &str = "ManifestWork";
/// The target of the wait for these kinds.
const FLEET: &str = "the fleet";

/// What the flags say.
pub(super) struct Purge<'a> {
    pub(super) confirm: Option<&'a str>,
    pub(super) timeout: Duration,
    pub(super) dry_run: DryRun,
    pub(super) hub: &'a HubArgs,
}

/// A purge that the user has confirmed.
struct Confirmed<'a> {
    hub: &'a HubConnection,
    kinds: Vec<FleetKind>,
    dry_run: DryRun,
    timeout: Duration,
    deadline: Instant,
    progress: Progress,
}

// === impl Purge ===

impl Purge<'_> {
    /// Runs the command.
    ///
    /// # Errors
    /// The hub cannot be used, what runs there is not of this command, no controller runs that could remove finalizers, an object cannot
    /// be deleted, or the time is over.
    pub(super) async fn run(&self) -> anyhow::Result<ExitCode> {
        let name = confirm::name(self.hub)?;
        if self.dry_run == DryRun::None
            && let Err(why) = confirm::check(self.confirm, &name)
        {
            writeln!(io::stderr(), "Error: {why}. Nothing was changed.")?;
            return Ok(ExitCode::from(2));
        }
        let hub = HubConnection::of(self.hub).await?;
        components::check(&hub).await?;
        let kinds = kinds();
        let mut counts = Vec::new();
        let mut held = 0;
        for kind in &kinds {
            let objects = kind.list(&hub).await?;
            if CONTROLLED.contains(&kind.kind.as_str()) {
                held += objects.iter().filter(|it| it.is_held()).count();
            }
            counts.push((kind, objects.len()));
        }
        if held > 0 {
            check_controller(&hub, held).await?;
        }
        if self.dry_run == DryRun::None
            && self.confirm.is_none()
            && !confirm::asked(&hub, &counts, &name)?
        {
            let why = format!("Error: that is not {name:?}. Nothing was changed.");
            writeln!(io::stderr(), "{why}")?;
            return Ok(ExitCode::from(2));
        }
        let confirmed = Confirmed {
            hub: &hub,
            kinds,
            dry_run: self.dry_run,
            timeout: self.timeout,
            deadline: Instant::now() + self.timeout,
            progress: Progress::new(false, self.timeout),
        };
        if confirmed.carry_out().await? == 0 {
            writeln!(
                io::stdout(),
                "Neither Berth nor a fleet is there: nothing was removed"
            )?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.dry_run != DryRun::None {
            writeln!(io::stderr(), "Nothing was changed.")?;
        }
        writeln!(io::stdout(), "{WHAT_STAYS}")?;
        Ok(ExitCode::SUCCESS)
    }
}

// === impl Confirmed ===

impl Confirmed<'_> {
    /// Takes all steps. Returns how many objects it deleted.
    async fn carry_out(mut self) -> anyhow::Result<usize> {
        let (hub, dry_run) = (self.hub, self.dry_run);
        let mut bootstrap: Vec<Value> = files::BOOTSTRAP
            .iter()
            .flat_map(Manifest::documents)
            .collect();
        bootstrap.retain(|it| it["kind"] != "Namespace");
        bootstrap.reverse();
        let mut removed = components::remove(hub, &bootstrap, dry_run).await?;
        removed += self.delete_fleet().await?;
        removed += self.delete_definitions(true).await?;
        let parts = components::existing(hub, false).await?;
        removed += components::remove(hub, &parts, dry_run).await?;
        components::remove_namespace(hub, dry_run).await?;
        removed += self.delete_definitions(false).await?;
        Ok(removed)
    }

    /// Deletes what has finalizers, while controllers and agents run, and waits until it is gone.
    async fn delete_fleet(&mut self) -> anyhow::Result<usize> {
        let of = |name: &str| self.kinds.iter().find(|it| it.kind == name).cloned();
        let controlled: Vec<FleetKind> = CONTROLLED.iter().filter_map(|it| of(it)).collect();
        let works = of(WORKS);
        let mut deleted = 0;
        loop {
            let mut left = Vec::new();
            for kind in &controlled {
                left.extend(self.delete(kind, &mut deleted).await?);
            }
            let clusters_are_gone = left.is_empty();
            // A dry run deletes no cluster, and shows all ManifestWorks.
            if let Some(works) = &works
                && (clusters_are_gone || self.dry_run != DryRun::None)
            {
                left.extend(self.delete(works, &mut deleted).await?);
            }
            if left.is_empty() || self.dry_run != DryRun::None {
                self.progress.ends(FLEET);
                self.progress.clear();
                return Ok(deleted);
            }
            if let Some(what) = waiting(&left) {
                self.progress.waits(FLEET, &what);
            }
            if Instant::now() >= self.deadline {
                // The clusters wait for them.
                if let Some(works) = works.as_ref().filter(|_| !clusters_are_gone) {
                    let of_works = works.list(self.hub).await?;
                    left.extend(of_works.into_iter().filter(FleetObject::is_ending));
                }
                let remedy = "The agents of the clusters remove the finalizers of ManifestWorks, and then the controllers remove the others. \
                              Berth still runs on this hub. Start the agents that do not run, and run the command again. If a cluster is gone \
                              for good, an admin has to remove the finalizers of its ManifestWorks.";
                return Err(self.late(&left, remedy).into());
            }
            self.pause().await;
        }
    }

    /// Deletes the definitions whose objects the gate converts, or the others, and waits until they are gone with all their objects.
    async fn delete_definitions(&mut self, converted: bool) -> anyhow::Result<usize> {
        let mut kinds = self.kinds.clone();
        kinds.retain(|it| is_converted(&it.definition) == converted);
        let definitions: Vec<Value> = kinds.iter().map(|it| it.definition.clone()).collect();
        let deleted = components::remove(self.hub, &definitions, self.dry_run).await?;
        if self.dry_run != DryRun::None {
            return Ok(deleted);
        }
        let berth = match converted {
            true => "Berth still runs on this hub",
            false => "Berth is removed from this hub",
        };
        for kind in &kinds {
            let target = title(&kind.definition);
            loop {
                match self.hub.exists(&kind.definition).await {
                    Ok(false) => break,
                    Ok(true) => {}
                    Err(failure) if failure.is_passing() => {
                        self.progress.waits(&target, &failure.to_string());
                    }
                    Err(failure) => return Err(failure.into()),
                }
                let left = self.list(kind).await?;
                let what = waiting(&left).unwrap_or_else(|| "the API server to end it".to_owned());
                self.progress.waits(&target, &what);
                if Instant::now() >= self.deadline {
                    let remedy = format!(
                        "{target} waits for them. {berth}. The clients that set these finalizers have to remove them, \
                         or an admin; then run the command again."
                    );
                    return Err(self.late(&left, &remedy).into());
                }
                self.pause().await;
            }
            self.progress.ends(&target);
        }
        self.progress.clear();
        Ok(deleted)
    }

    /// Deletes all objects of a kind, and prints a line for each. Returns what was there.
    async fn delete(
        &mut self,
        kind: &FleetKind,
        deleted: &mut usize,
    ) -> anyhow::Result<Vec<FleetObject>> {
        let objects = self.list(kind).await?;
        for object in kind.delete(self.hub, &objects, self.dry_run).await? {
            self.progress.clear();
            let line = format!("{} deleted{}", object.title(), self.dry_run.suffix());
            writeln!(io::stdout(), "{}", Lines(&line))?;
            *deleted += 1;
        }
        Ok(objects)
    }

    /// Lists the objects of a kind. The hub may be restarting; the deadline bounds the wait.
    async fn list(&mut self, kind: &FleetKind) -> Result<Vec<FleetObject>, CommandError> {
        loop {
            match kind.list(self.hub).await {
                Err(failure) if failure.is_passing() && Instant::now() < self.deadline => {
                    self.progress.waits(&kind.kind, &failure.to_string());
                    self.pause().await;
                }
                listed => {
                    self.progress.ends(&kind.kind);
                    return listed;
                }
            }
        }
    }

    fn late(&mut self, left: &[FleetObject], remedy: &str) -> CommandError {
        self.progress.clear();
        CommandError::Refused(format!(
            "timed out after {:?}; these objects are left:{}\n{remedy}",
            self.timeout,
            lines(left)
        ))
    }

    async fn pause(&mut self) {
        self.progress.draw();
        tokio::time::sleep_until(self.deadline.min(Instant::now() + PERIOD)).await;
    }
}

/// # Errors
/// No controller runs that could remove finalizers.
async fn check_controller(hub: &HubConnection, held: usize) -> Result<(), CommandError> {
    for name in [CONTROLLER, WEBHOOK] {
        let within = Some(HUB_NAMESPACE);
        let deployment = hub.get_value::<Deployment>(within, name).await?;
        if deployment.is_some_and(|it| runs_the_controller(&it)) {
            return Ok(());
        }
    }
    Err(CommandError::Refused(format!(
        "no controller of Berth is available on this hub, and {held} ManagedClusters and ManifestWorkReplicaSets have finalizers that only \
         it removes: 'berth init' installs it; then run the command again. Nothing was changed"
    )))
}

/// Returns true if this Deployment has a replica with the controller: `berth controller`, or `berth hub`.
fn runs_the_controller(deployment: &Value) -> bool {
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    let available = deployment["status"]["availableReplicas"].as_u64();
    available.is_some_and(|it| it > 0) && ["controller", "hub"].iter().any(|it| args[0] == *it)
}

/// What a purge leaves.
const WHAT_STAYS: &str = "These stay: the namespaces of the clusters with what else is in them (kubectl get namespaces -l \
    open-cluster-management.io/cluster-name), the namespace open-cluster-management, and the agents: run 'berth unjoin' at each cluster.";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_controller_runs_where_a_replica_of_it_is_available() {
        let deployment = |args: Value, available: Value| {
            json!({
                "spec": {"template": {"spec": {"containers": [{"args": args}]}}}, "status": {"availableReplicas": available},
            })
        };
        for (sentence, args, available, expected) in [
            ("a controller", json!(["controller"]), json!(1), true),
            (
                "one process",
                json!(["hub", "--certificate-source=secret"]),
                json!(2),
                true,
            ),
            ("the gate alone", json!(["webhook-server"]), json!(3), false),
            (
                "no replica is available",
                json!(["controller"]),
                json!(0),
                false,
            ),
            (
                "nothing is reported",
                json!(["controller"]),
                Value::Null,
                false,
            ),
            ("no arguments", Value::Null, json!(1), false),
        ] {
            let deployment = deployment(args, available);
            assert_eq!(runs_the_controller(&deployment), expected, "{sentence}");
        }
    }

    #[test]
    fn what_is_deleted_in_order_is_defined_here() {
        let kinds = kinds();
        for name in CONTROLLED.iter().chain([&WORKS]) {
            assert!(kinds.iter().any(|it| it.kind == *name), "{name}");
        }
    }
}
