//! `berth deny`: ends the acceptance of clusters.
//!
//! The hub then revokes the rights of the clusters' agents. The command first prints what is revoked and what stays.
//!
//! The denial is recorded on the ManagedCluster ([`labels::DENIED_ON`]): for a pending cluster, only this record keeps the hub
//! from accepting it automatically later (`ManagedClusterAutoApproval`).

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::{ManagedCluster, conditions, labels, room};
use berth_lifecycle_core::facts::{Cluster, Standing};
use berth_rules::display::ShellWord;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::accept::target::{no_such, requests_of};
use crate::ask::{can_ask, confirmed};
use crate::failure::CommandError;
use crate::held::works;
use crate::hub::{DryRun, HubArgs, HubConnection};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::retry::deciding_again;
use crate::targets::ClusterNames;

/// Deny clusters: end their acceptance and revoke the rights of their agents
///
/// On a terminal the command asks first. Elsewhere it needs --yes. The ManagedClusters stay, and nothing that was deployed is
/// deleted; 'berth accept' accepts the clusters again.
///
/// A cluster that was never accepted can be denied as well: then the hub does not accept it automatically later
/// (ManagedClusterAutoApproval).
///
/// As long as ManifestWorks exist in a cluster's namespace, its agent keeps its rights on them, so that it can remove what they
/// deployed. --now revokes these rights immediately. Then everything that the ManifestWorks deployed stays on the cluster, and
/// the agent can neither update nor remove it. The ManifestWorks keep their finalizers, so the deletion of the ManagedCluster
/// waits until an admin removes these finalizers.
///
/// If a ManagedCluster is so large that the hub cannot store its denial, the command first removes what the agent wrote
/// (claims, annotations, status), and prints what it removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Deny c1
  berth deny c1

  # Deny c1 and c2 without a question
  berth deny --clusters c1,c2 --yes

  # Deny c1, and revoke the rights of its agent on ManifestWorks as well
  berth deny c1 --now

  # Show what would be revoked, and whether the hub allows it
  berth deny c1 --dry-run=server")]
pub struct Args {
    #[command(flatten)]
    names: ClusterNames,
    /// Also revoke the agents' rights on ManifestWorks immediately; works for clusters that are already denied, too
    #[arg(long)]
    now: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// Those of the output, and those of the hub that concern all clusters.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.write.dry_run.mode;
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: a denial revokes the rights of the clusters' agents; without a terminal to confirm it on, add --yes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let mut accepted = Vec::new();
    for (index, name) in args.names.each().into_iter().enumerate() {
        match read(&hub, &name).await {
            Ok(cluster) if cluster.can_be_denied(args.now) => accepted.push((name, cluster)),
            Ok(_) => outcomes.unchanged(&name, not_set(&name))?,
            Err(failure) if index == 0 && is_of_the_hub(&failure) => return Err(failure.into()),
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    for (name, cluster) in &accepted {
        let effects = Effects::of(&hub, name, cluster, args.now).await;
        for line in effects.lines(name) {
            if asks {
                // The user has to know this before the question.
                writeln!(io::stderr(), "{line}")?;
            } else {
                outcomes.progress(&line);
            }
        }
    }
    if asks && !accepted.is_empty() {
        let question = match &accepted[..] {
            [(name, _)] => format!("Deny managed cluster {name}?"),
            more => format!("Deny these {} managed clusters?", more.len()),
        };
        if !confirmed(&question)? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    for (name, cluster) in accepted {
        let mut denial = Denial {
            hub: &hub,
            name: &name,
            now: args.now,
            dry_run,
            spared: Vec::new(),
        };
        let was_accepted = cluster.accepted;
        let denied = denial.carry_out(cluster).await;
        for what in denial.spared {
            outcomes.progress(&removed(&name, what));
        }
        match denied {
            Ok(true) => outcomes.done(&name, written(&name, was_accepted, args.now))?,
            Ok(false) => outcomes.unchanged(&name, not_set(&name))?,
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// A cluster that was denied, or would have been without a dry run.
pub(crate) struct Denied {
    /// What was written; the reason if nothing was to be written.
    pub(crate) line: String,
    /// What the denial revokes, and what it leaves.
    pub(crate) effects: Vec<String>,
}

/// Denies one cluster as the command does, and prints nothing. `now`: `--now`.
///
/// # Errors
/// Those of the hub.
pub(crate) async fn deny_one(
    hub: &HubConnection,
    name: &str,
    now: bool,
    dry_run: DryRun,
) -> Result<Denied, CommandError> {
    let cluster = read(hub, name).await?;
    if !cluster.can_be_denied(now) {
        return Ok(Denied {
            line: not_set(name),
            effects: Vec::new(),
        });
    }
    let effects = Effects::of(hub, name, &cluster, now).await;
    let was_accepted = cluster.accepted;
    let mut denial = Denial {
        hub,
        name,
        now,
        dry_run,
        spared: Vec::new(),
    };
    let line = match denial.carry_out(cluster).await? {
        true => format!("{}{}", written(name, was_accepted, now), dry_run.suffix()),
        false => not_set(name),
    };
    let mut effects = effects.lines(name);
    effects.extend(denial.spared.iter().map(|what| removed(name, what)));
    Ok(Denied { line, effects })
}

fn written(name: &str, was_accepted: bool, now: bool) -> String {
    match (was_accepted, now) {
        (false, false) => format!(
            "recorded the denial of managed cluster {name}: the hub does not accept it automatically"
        ),
        (_, true) => format!(
            "set hubAcceptsClient to false for managed cluster {name}, effective immediately"
        ),
        (true, false) => format!("set hubAcceptsClient to false for managed cluster {name}"),
    }
}

fn removed(name: &str, what: &str) -> String {
    format!("{name}: the ManagedCluster is at the size limit of the hub: removed {what}")
}

fn not_set(name: &str) -> String {
    format!("hubAcceptsClient is not set for managed cluster {name}")
}

fn is_of_the_hub(failure: &CommandError) -> bool {
    failure.is_passing() || matches!(failure, CommandError::NoHub { .. })
}

async fn read(hub: &HubConnection, name: &str) -> Result<Cluster, CommandError> {
    match hub.get::<ManagedCluster>(None, name).await? {
        None => Err(no_such(hub, name).await),
        Some(item) => match item.unreadable {
            Some(why) => Err(CommandError::Unreadable(why)),
            None => Ok(Cluster::from(item.object)),
        },
    }
}

/// The denial of one cluster.
struct Denial<'a> {
    hub: &'a HubConnection,
    name: &'a str,
    now: bool,
    dry_run: DryRun,
    /// What was removed to make room.
    spared: Vec<&'static str>,
}

// === impl Denial ===

impl Denial<'_> {
    /// Writes the denial of the cluster, which the caller has read. Returns false if it was already denied.
    async fn carry_out(&mut self, cluster: Cluster) -> Result<bool, CommandError> {
        let mut already_read = Some(cluster);
        deciding_again(async || {
            let cluster = match already_read.take() {
                Some(cluster) => cluster,
                None => read(self.hub, self.name).await?,
            };
            if !cluster.can_be_denied(self.now) {
                return Ok(false);
            }
            let mut annotations = json!({});
            if !cluster.denied {
                annotations[labels::DENIED_ON] = json!(to_the_second(Timestamp::now()));
            }
            if self.now {
                annotations[labels::DENY_NOW] = json!("true");
            }
            let patch = json!({
                "metadata": {
                    "resourceVersion": cluster.resource_version,
                    "annotations": annotations,
                },
                "spec": {"hubAcceptsClient": false},
            });
            match self.write(None, patch.clone()).await {
                Err(failure) if failure.is_too_large() => self.make_room(patch, failure).await?,
                written => written?,
            }
            Ok(true)
        })
        .await
    }

    async fn write(&self, subresource: Option<&str>, patch: Value) -> Result<(), CommandError> {
        self.hub
            .merge::<ManagedCluster>(None, self.name, subresource, patch, self.dry_run)
            .await
            .map(drop)
    }

    /// Removes what the agent wrote, field by field, until the denial fits. Fields outside of the status are removed by the
    /// same write as the denial, so an agent that keeps writing cannot interfere.
    async fn make_room(
        &mut self,
        mut denial: Value,
        too_large: CommandError,
    ) -> Result<(), CommandError> {
        let Some(item) = self.hub.get::<ManagedCluster>(None, self.name).await? else {
            return Err(no_such(self.hub, self.name).await);
        };
        // Each removal changes the resourceVersion. The denial does not depend on the earlier state.
        if let Some(metadata) = denial["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        let mut last = too_large;
        let mut with_it = Vec::new();
        for spare in room::spares(&item.value) {
            if spare.subresource.is_none() {
                add(&mut denial, spare.patch);
                with_it.push(spare.what);
            } else if let Err(failure) = self.write(spare.subresource, spare.patch).await {
                last = failure;
                continue;
            } else {
                self.spared.push(spare.what);
            }
            match self.write(None, denial.clone()).await {
                Err(failure) if failure.is_too_large() => last = failure,
                Err(failure) => return Err(failure),
                Ok(()) => {
                    self.spared.append(&mut with_it);
                    return Ok(());
                }
            }
        }
        Err(last)
    }
}

/// Formats a time as Kubernetes does: without fractions of a second.
fn to_the_second(time: Timestamp) -> String {
    let seconds = Timestamp::from_second(time.as_second());
    seconds.unwrap_or(time).to_string()
}

/// Adds a merge patch to another one. Where both set a field, the first one wins.
fn add(patch: &mut Value, other: Value) {
    let (Some(fields), Value::Object(more)) = (patch.as_object_mut(), other) else {
        return;
    };
    for (key, value) in more {
        match fields.get_mut(&key) {
            Some(there) => add(there, value),
            None => {
                fields.insert(key, value);
            }
        }
    }
}

/// Returns the names of the pending CSRs.
async fn requests(hub: &HubConnection, name: &str) -> Result<Vec<String>, CommandError> {
    let requests = requests_of(hub, name).await?;
    Ok(requests
        .into_iter()
        .filter(|(_, standing)| *standing == Standing::Pending)
        .map(|(request, _)| request.name)
        .collect())
}

/// What a denial revokes, and what it leaves.
struct Effects {
    works: Result<usize, CommandError>,
    requests: Result<Vec<String>, CommandError>,
    /// If false, the agent has no rights to lose.
    accepted: bool,
    joined: bool,
    now: bool,
}

// === impl Effects ===

impl Effects {
    async fn of(hub: &HubConnection, name: &str, cluster: &Cluster, now: bool) -> Self {
        Self {
            works: works(hub, name).await,
            requests: requests(hub, name).await,
            accepted: cluster.accepted,
            joined: cluster.condition_status(conditions::cluster::JOINED) == Some(conditions::TRUE),
            now,
        }
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.accepted || self.now {
            lines.push(format!(
                "{name}: its agent loses its rights: the role bindings in namespace {name:?}, and every right of ClusterRole \
                 \"open-cluster-management:managedcluster:{name}\" except reading its ManagedCluster"
            ));
        }
        match &self.works {
            _ if !self.accepted && !self.now => {}
            Ok(0) => {}
            Ok(count) => {
                let works = match count {
                    1 => "1 ManifestWork is".to_owned(),
                    count => format!("{count} ManifestWorks are"),
                };
                let right = if self.now {
                    "its agent loses its rights on them immediately; they keep their finalizers, and what they deployed \
                     stays on the cluster"
                } else {
                    "its agent keeps its rights on them until they are deleted"
                };
                lines.push(format!("{name}: {works} in namespace {name:?}: {right}"));
            }
            Err(_) if self.now => {}
            Err(why) => lines.push(format!(
                "{name}: ManifestWorks, on which its agent would keep its rights, cannot be counted: {why}"
            )),
        }
        if self.joined && (self.accepted || self.now) {
            lines.push(format!(
                "{name}: the certificate of its agent stays valid until it expires, but has no rights; the hub does not \
                 renew it"
            ));
        }
        match &self.requests {
            Ok(requests) => {
                for request in requests.iter().take(10) {
                    let request = ShellWord(request);
                    lines.push(format!(
                        "{name}: CSR {request} stays pending; to deny it: kubectl certificate deny {request}"
                    ));
                }
                if requests.len() > 10 {
                    let more = requests.len() - 10;
                    lines.push(format!("{name}: {more} more CSRs are pending"));
                }
            }
            Err(why) => lines.push(format!("{name}: pending CSRs cannot be listed: {why}")),
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(works: Result<usize, CommandError>, requests: &[&str], joined: bool) -> String {
        let effects = Effects {
            works,
            requests: Ok(requests.iter().map(|it| (*it).to_owned()).collect()),
            accepted: true,
            joined,
            now: false,
        };
        effects.lines("c1").join("\n")
    }

    #[test]
    fn what_is_revoked_and_what_stays_is_told() {
        let bare = told(Ok(0), &[], false);
        assert!(bare.starts_with("c1: its agent loses its rights"), "{bare}");
        assert_eq!(bare.lines().count(), 1, "{bare}");
        let rows = [
            (
                told(Ok(1), &[], false),
                "1 ManifestWork is in namespace \"c1\"",
            ),
            (told(Ok(3), &[], false), "3 ManifestWorks are in"),
            (
                told(Err(CommandError::Config("no".into())), &[], false),
                "cannot be counted: no",
            ),
            (told(Ok(0), &[], true), "stays valid until it expires"),
            (
                told(Ok(0), &["c1-x; reboot"], false),
                "kubectl certificate deny 'c1-x; reboot'",
            ),
            (told(Ok(0), &["x"; 12], false), "2 more CSRs are pending"),
        ];
        for (told, words) in rows {
            assert!(told.contains(words), "{told}");
        }
    }
}
