//! The steps of an installation: checks, writes in their order, and waits.

use std::io::{self, Write};
use std::time::Duration;

use berth_api::groups;
use berth_manifests::{HUB_NAMESPACE, is_converted};
use berth_rules::display::Lines;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::core::response::Status;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::conversion;
use super::facts::{Facts, Standing};
use super::keep::is_ours;
use super::preview::{Change, Judge, Planned};
use super::refusals::refusals;
use super::rollout::{selector, waits_for};
use super::values::{Chosen, is_kept};
use crate::doctor::CONSOLE;
use crate::failure::CommandError;
use crate::hub::{DryRun, Filter, HubConnection, title};
use crate::progress::Progress;

/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// What is installed, and how.
pub(super) struct Installation<'a> {
    pub(super) hub: &'a HubConnection,
    pub(super) chosen: &'a Chosen,
    /// What was installed before, as far as it is known: objects that are no longer wanted go.
    pub(super) before: Option<&'a Chosen>,
    pub(super) dry_run: DryRun,
    pub(super) force: bool,
    pub(super) on_managed_cluster: bool,
    /// How long to wait for the whole. `None`: the command waits for nothing.
    pub(super) wait: Option<Duration>,
}

/// A moment to wait until, and what is shown meanwhile.
struct Waiting {
    deadline: Instant,
    limit: Duration,
    progress: Progress,
}

// === impl Installation ===

impl Installation<'_> {
    /// Checks the hub, and returns what is to be done.
    ///
    /// # Errors
    /// Something is in the way. The error names all of it, each with the remedy. Nothing was changed.
    pub(super) async fn plan(&self) -> anyhow::Result<Vec<Planned>> {
        let mode = self.chosen.mode();
        let facts = Facts::of(self.hub, mode).await?;
        let mut refused = refusals(&facts, mode, self.on_managed_cluster);
        let mut plan = Vec::new();
        if refused.is_empty() {
            let objects = self.chosen.objects();
            let judge = Judge {
                hub: self.hub,
                namespace: facts.namespace == Standing::Present,
                force: self.force,
                dry_run: self.dry_run,
            };
            (plan, refused) = judge.all(&objects).await;
            if let Some(before) = self.before {
                let beyond = before.objects_beyond(&objects);
                let (gone, not_read) = judge.no_longer_wanted(&beyond).await;
                plan.extend(gone);
                refused.extend(not_read);
            }
        }
        if !refused.is_empty() {
            let why = refused.join("\n  ");
            return Err(CommandError::Refused(format!(
                "Berth is not installed on the hub at {}, and nothing was changed:\n  {why}",
                self.hub.server()
            ))
            .into());
        }
        if has_another_console(&facts, &plan) {
            writeln!(
                io::stderr(),
                "Note: deployment/{CONSOLE} stays as it is, with its image: the values do not have it. To take it over: berth init --console"
            )?;
        }
        let kubernetes = facts.version.map_or_else(String::new, |(major, minor)| {
            format!(" (Kubernetes {major}.{minor})")
        });
        writeln!(
            io::stderr(),
            "hub at {}{kubernetes}: mode {}, image {}",
            self.hub.server(),
            mode.name(),
            Lines(self.chosen.image())
        )?;
        let count = |is: fn(&Change) -> bool| plan.iter().filter(|it| is(&it.change)).count();
        writeln!(
            io::stderr(),
            "{} objects are new, {} change, {} stay as they are{}",
            count(|it| *it == Change::Created),
            count(|it| matches!(it, Change::Configured(_))),
            count(|it| !it.writes()),
            match count(|it| *it == Change::Removed) {
                0 => String::new(),
                gone => format!(", {gone} are deleted"),
            },
        )?;
        Ok(plan)
    }

    /// Prints what would be done.
    pub(super) fn show(&self, plan: &[Planned]) -> io::Result<()> {
        let suffix = self.dry_run.suffix();
        for planned in plan {
            self.tell(planned, suffix)?;
        }
        Ok(())
    }

    fn tell(&self, planned: &Planned, suffix: &str) -> io::Result<()> {
        let Planned {
            object,
            change,
            keeps,
            ..
        } = planned;
        let details = change.details();
        writeln!(
            io::stdout(),
            "{} {}{}{suffix}",
            title(object),
            change.word(),
            Lines(&details)
        )?;
        if !keeps.is_empty() {
            let kept = keeps.join(", ");
            writeln!(
                io::stderr(),
                "Note: {} keeps what was set there: {kept}",
                title(object)
            )?;
        }
        Ok(())
    }

    /// Writes what is to be done, in its order, and waits in between.
    ///
    /// # Errors
    /// A write is refused, or the time is over. What was written stays; the command can be run again.
    pub(super) async fn carry_out(&self, plan: &[Planned]) -> anyhow::Result<()> {
        let mut waiting = self.wait.map(Waiting::new);
        let of = |is: fn(&Value) -> bool| {
            let wanted = plan.iter().filter(|it| it.change != Change::Removed);
            wanted.filter(move |it| is(&it.object))
        };
        let gone = |guards: bool| {
            let gone = plan.iter().filter(|it| it.change == Change::Removed);
            gone.filter(move |it| is_guard(&it.object) == guards)
        };
        // Before what answers them.
        for planned in gone(true) {
            self.write(planned).await?;
        }
        let needs_no_gate = |it: &Value| is_definition(it) && !is_converted(it);
        for planned in of(needs_no_gate) {
            self.write(planned).await?;
        }
        if let Some(waiting) = &mut waiting {
            for planned in of(needs_no_gate) {
                waiting.until_served(self.hub, &planned.object).await?;
            }
        }
        let is_foundation =
            |it: &Value| !is_definition(it) && !is_workload(it) && !is_guard(it) && !is_kept(it);
        for planned in of(is_foundation) {
            self.write(planned).await?;
        }
        for planned in of(is_workload) {
            self.write(planned).await?;
        }
        if let Some(waiting) = &mut waiting {
            for planned in of(is_workload) {
                waiting.until_available(self.hub, &planned.object).await?;
                writeln!(io::stdout(), "{} is available", title(&planned.object))?;
            }
        }
        // Objects that are stored already can be read in the other version only while the gate answers.
        for planned in of(is_converted) {
            self.write(planned).await?;
        }
        for planned in of(is_guard) {
            self.write(planned).await?;
        }
        if let Some(waiting) = &mut waiting {
            for planned in of(is_converted) {
                waiting.until_converted(self.hub, &planned.object).await?;
            }
            for planned in of(is_guard) {
                waiting.until_trusted(self.hub, &planned.object).await?;
            }
            if of(is_guard).next().is_some() {
                waiting.until_in_force(self.hub).await?;
            }
        }
        for planned in gone(false) {
            self.write(planned).await?;
        }
        // Last: a command that runs again after an interruption must find the former values, to know what has to go.
        for planned in of(is_kept) {
            self.write(planned).await?;
        }
        Ok(())
    }

    async fn write(&self, planned: &Planned) -> anyhow::Result<()> {
        let Planned {
            object,
            change,
            force,
            ends_conversion,
            ..
        } = planned;
        if change.writes() {
            let written = match change {
                Change::Removed => self.hub.remove(object, DryRun::None).await.map(drop),
                _ if *ends_conversion => conversion::end(self.hub, object, DryRun::None)
                    .await
                    .map(drop),
                _ => self.hub.apply(object, *force).await.map(drop),
            };
            written.map_err(|failure| {
                CommandError::Refused(format!(
                    "{}: {failure}. What was written before stays; run the command again",
                    title(object)
                ))
            })?;
        }
        Ok(self.tell(planned, "")?)
    }
}

// === impl Waiting ===

impl Waiting {
    fn new(limit: Duration) -> Self {
        Self {
            deadline: Instant::now() + limit,
            limit,
            progress: Progress::new(false, limit),
        }
    }

    /// Looks again and again, until nothing is missing.
    ///
    /// # Errors
    /// The time is over. The error says what is missing.
    async fn until(
        &mut self,
        target: &str,
        mut missing: impl AsyncFnMut() -> Result<Option<String>, CommandError>,
    ) -> Result<(), CommandError> {
        loop {
            let missing = match missing().await {
                Ok(None) => break,
                Ok(Some(missing)) => missing,
                Err(failure) => format!("an answer of the hub: {failure}"),
            };
            self.progress.waits(target, &missing);
            if Instant::now() >= self.deadline {
                self.progress.clear();
                return Err(CommandError::Refused(format!(
                    "{target}: timed out after {:?}, waiting: {missing}. What was written stays; run the command again",
                    self.limit
                )));
            }
            self.progress.draw();
            tokio::time::sleep_until(self.deadline.min(Instant::now() + PERIOD)).await;
        }
        self.progress.ends(target);
        self.progress.clear();
        Ok(())
    }

    async fn until_served(
        &mut self,
        hub: &HubConnection,
        definition: &Value,
    ) -> Result<(), CommandError> {
        self.until(&title(definition), async || {
            let stored = hub.stored(definition).await?;
            Ok(stored.map_or_else(
                || Some("it does not exist".to_owned()),
                |it| not_served(&it),
            ))
        })
        .await
    }

    async fn until_available(
        &mut self,
        hub: &HubConnection,
        deployment: &Value,
    ) -> Result<(), CommandError> {
        let name = deployment["metadata"]["name"].as_str().unwrap_or_default();
        let within = Some(HUB_NAMESPACE);
        self.until(&title(deployment), async || {
            let Some(stored) = hub.get_value::<Deployment>(within, name).await? else {
                return Ok(Some("it does not exist".to_owned()));
            };
            if waits_for(&stored, &[]).is_none() {
                return Ok(None);
            }
            let pods = Filter::labels(selector(&stored));
            // Without the right to read pods, their words are missing.
            let pods = hub.list_values::<Pod>(within, &pods).await;
            Ok(waits_for(&stored, &pods.unwrap_or_default()))
        })
        .await
    }

    /// Until the controller, or cert-manager, has written the CA of the gate into a registration.
    async fn until_trusted(
        &mut self,
        hub: &HubConnection,
        guard: &Value,
    ) -> Result<(), CommandError> {
        if guard["webhooks"].is_null() {
            return Ok(());
        }
        self.until(&title(guard), async || {
            let stored = hub.stored(guard).await?;
            Ok(stored.map_or_else(
                || Some("it does not exist".to_owned()),
                |it| without_ca(&it).then(|| "the CA of the gate (caBundle)".to_owned()),
            ))
        })
        .await
    }

    /// Until an object can be written in the version in which it is not stored. It is not created: the write is a dry run.
    async fn until_converted(
        &mut self,
        hub: &HubConnection,
        definition: &Value,
    ) -> Result<(), CommandError> {
        self.until(&title(definition), async || {
            let Some(stored) = hub.stored(definition).await? else {
                return Ok(Some("it does not exist".to_owned()));
            };
            // A newer one may be converted by another webhook.
            if !conversion::is_by_the_gate(&stored) {
                return Ok(None);
            }
            let webhook = &stored["spec"]["conversion"]["webhook"];
            if has_no_bundle(webhook) {
                return Ok(Some("the CA of the gate (caBundle)".to_owned()));
            }
            let missing = not_served(&stored);
            let Some(probe) = conversion::Probe::of(&stored).filter(|_| missing.is_none()) else {
                return Ok(missing);
            };
            let tried = hub
                .try_to_create(
                    probe.resource,
                    probe.version,
                    probe.namespace,
                    &probe.object,
                )
                .await?;
            Ok(tried.outcome.err().and_then(|status| unconverted(&status)))
        })
        .await
    }

    /// Until a ManagedCluster with a wrong name is refused. It is not created: the write is a dry run.
    async fn until_in_force(&mut self, hub: &HubConnection) -> Result<(), CommandError> {
        let cluster = json!({
            "apiVersion": format!("{}/v1", groups::CLUSTER), "kind": "ManagedCluster",
            "metadata": {"name": "not.a-label"},
        });
        self.until("the gate", async || {
            let resource = (groups::MANAGED_CLUSTERS, groups::CLUSTER);
            let tried = hub.try_to_create(resource, "v1", None, &cluster).await?;
            Ok(match tried.outcome {
                Ok(_) => Some("a wrong write to be refused".to_owned()),
                Err(status) => undecided(&status),
            })
        })
        .await
    }
}

/// Returns true if the hub has a console that is neither installed nor removed, such as one of `kubectl apply -k`.
fn has_another_console(facts: &Facts, plan: &[Planned]) -> bool {
    let is_console =
        |it: &Planned| is_workload(&it.object) && it.object["metadata"]["name"] == CONSOLE;
    facts.deployment(CONSOLE).is_some_and(is_ours) && !plan.iter().any(is_console)
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}

fn is_workload(object: &Value) -> bool {
    object["kind"] == "Deployment"
}

fn is_guard(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.starts_with("admissionregistration.k8s.io/")
}

/// Returns why the refusal of a wrong write shows nothing, or `None` if the gate or a policy refused it.
fn undecided(status: &Status) -> Option<String> {
    let is_decision = status.code < 500 && status.message.contains("denied");
    // Who installs a hub need not be allowed to create ManagedClusters.
    let is_no_right = status.code == 403 && !status.message.contains("denied");
    (!is_decision && !is_no_right).then(|| format!("its decision: {}", status.message))
}

/// Returns why an object could not be converted, or `None` if the API server came to another result. A hub may serve no other version.
fn unconverted(status: &Status) -> Option<String> {
    let is_undecided = status.code >= 500 || status.code == 429;
    is_undecided.then(|| format!("its conversion: {}", status.message))
}

fn not_served(definition: &Value) -> Option<String> {
    let conditions = definition["status"]["conditions"].as_array();
    let established = conditions
        .into_iter()
        .flatten()
        .any(|it| it["type"] == "Established" && it["status"] == "True");
    (!established).then(|| "the API server to serve it".to_owned())
}

fn without_ca(registration: &Value) -> bool {
    let webhooks = registration["webhooks"].as_array();
    webhooks.into_iter().flatten().any(has_no_bundle)
}

fn has_no_bundle(webhook: &Value) -> bool {
    let bundle = webhook["clientConfig"]["caBundle"].as_str();
    bundle.is_none_or(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_decision_shows_that_the_gate_decides() {
        let status = |code, message: &str| Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        };
        let denied = "admission webhook \"x\" denied the request: no label";
        assert_eq!(undecided(&status(400, denied)), None);
        let by_policy = "ValidatingAdmissionPolicy 'x' with binding 'x' denied request: no label";
        assert_eq!(undecided(&status(422, by_policy)), None);
        let no_right = "managedclusters.cluster.open-cluster-management.io is forbidden: User \"a\" cannot create";
        assert_eq!(undecided(&status(403, no_right)), None);
        let failed = "failed calling webhook \"x\": connection refused";
        assert!(undecided(&status(500, failed)).is_some());
    }

    #[test]
    fn only_a_failed_call_shows_that_the_gate_does_not_convert() {
        let status = |code, message: &str| Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        };
        let failed = "conversion webhook for addon.open-cluster-management.io/v1beta1, Kind=ManagedClusterAddOn failed: Post";
        assert!(unconverted(&status(500, failed)).is_some());
        assert!(unconverted(&status(429, "too many requests")).is_some());
        assert_eq!(unconverted(&status(403, "cannot create")), None);
        assert_eq!(unconverted(&status(404, "not found")), None);
    }

    #[test]
    fn a_registration_without_a_ca_is_not_trusted() {
        let registration = |bundle: Value| json!({"webhooks": [{"clientConfig": {"caBundle": "eA=="}}, {"clientConfig": {"caBundle": bundle}}]});
        assert!(without_ca(&registration(Value::Null)));
        assert!(without_ca(&registration(json!(""))));
        assert!(!without_ca(&registration(json!("eA=="))));
    }
}
