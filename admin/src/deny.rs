//! `berth deny`: turns clusters out.
//!
//! The hub then takes back what it gave the clusters' agents. What that is, and what stays, is told first.
//!
//! A denial is noted on the ManagedCluster ([`labels::DENIED_ON`]): a cluster that waits to be accepted has nothing else that
//! would keep the hub from accepting it by itself later (`ManagedClusterAutoApproval`).

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::{ManagedCluster, conditions, labels, room};
use berth_lifecycle_core::facts::{Cluster, Standing};
use berth_rules::display::ShellWord;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::accept::target::{no_such, requests_of};
use crate::ask::{confirmed, somebody_is_there};
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::retry::deciding_again;
use crate::targets::ClusterNames;

/// Turn clusters out: they are not accepted any more, and their agents lose their rights on the hub
///
/// On a terminal it asks first. Elsewhere it does nothing without --yes. The ManagedClusters stay, and nothing that was
/// deployed is deleted; 'berth accept' lets the clusters in again.
///
/// A cluster that was never accepted can be turned out, too: then the hub does not accept it by itself later
/// (ManagedClusterAutoApproval).
///
/// While ManifestWorks are left in a cluster's namespace, its agent keeps the right to work on them, so that it can take down
/// what they made. With --now it loses that right at once. Then this stays behind: what the ManifestWorks made stays on the
/// cluster, its agent can neither update nor remove it any more, and the ManifestWorks keep their finalizers: a ManagedCluster
/// that is deleted waits for them until somebody takes the finalizers off.
///
/// A ManagedCluster may be as large as the hub stores objects, so that not even its denial fits. Then the command first takes
/// off what the agent wrote (claims, annotations, what it reports), and says what it took off.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Turn out c1
  berth deny c1

  # Turn out c1 and c2 without being asked
  berth deny --clusters c1,c2 --yes

  # Turn out c1, and take from its agent the right to its ManifestWorks as well
  berth deny c1 --now

  # See what would be revoked, and whether the hub lets you
  berth deny c1 --dry-run=server")]
pub struct Args {
    #[command(flatten)]
    names: ClusterNames,
    /// End the agents' right to work on ManifestWorks at once, too; also of clusters that were turned out before
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
/// Of output, and of a hub at which nothing can be done for any cluster.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.write.dry_run;
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !somebody_is_there() {
        let why = "Error: turning clusters out takes away their agents' rights, and nobody is there to be asked: add --yes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let mut accepted = Vec::new();
    for (index, name) in args.names.each().into_iter().enumerate() {
        match read(&hub, &name).await {
            Ok(cluster) if is_due(&cluster, args.now) => accepted.push((name, cluster)),
            Ok(_) => outcomes.unchanged(&name, not_set(&name))?,
            Err(failure) if index == 0 && is_of_the_hub(&failure) => return Err(failure.into()),
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    for (name, cluster) in &accepted {
        let effects = Effects {
            works: works(&hub, name).await,
            requests: requests(&hub, name).await,
            accepted: cluster.accepted,
            joined: cluster.condition_status(conditions::cluster::JOINED) == Some(conditions::TRUE),
            now: args.now,
        };
        for line in effects.told(name) {
            if asks {
                // Whoever is asked must know.
                writeln!(io::stderr(), "{line}")?;
            } else {
                outcomes.progress(&line);
            }
        }
    }
    if asks && !accepted.is_empty() {
        let question = match &accepted[..] {
            [(name, _)] => format!("Turn out managed cluster {name}?"),
            more => format!("Turn out these {} managed clusters?", more.len()),
        };
        if !confirmed(&question)? {
            writeln!(io::stderr(), "Nothing is changed.")?;
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
            outcomes.progress(&format!(
                "{name}: the ManagedCluster is as large as the hub stores objects: took off {what}"
            ));
        }
        match denied {
            Ok(true) if !was_accepted && !args.now => {
                let words = format!(
                    "noted the denial of managed cluster {name}: the hub does not accept it by itself"
                );
                outcomes.done(&name, words)?;
            }
            Ok(true) => {
                let now = if args.now { ", with effect now" } else { "" };
                let words =
                    format!("set hubAcceptsClient to false for managed cluster {name}{now}");
                outcomes.done(&name, words)?;
            }
            Ok(false) => outcomes.unchanged(&name, not_set(&name))?,
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    Ok(outcomes.end()?)
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

/// Whether there is something to deny, or a denial to note.
fn is_due(cluster: &Cluster, now: bool) -> bool {
    cluster.accepted || !cluster.denied || (now && !cluster.denied_now)
}

/// One cluster that is turned out.
struct Denial<'a> {
    hub: &'a HubConnection,
    name: &'a str,
    now: bool,
    dry_run: DryRun,
    /// What was taken off, as it was too large.
    spared: Vec<&'static str>,
}

// === impl Denial ===

impl Denial<'_> {
    /// False: it was denied already. `cluster`: as it was read.
    async fn carry_out(&mut self, cluster: Cluster) -> Result<bool, CommandError> {
        let mut at_first = Some(cluster);
        deciding_again(async || {
            let cluster = match at_first.take() {
                Some(cluster) => cluster,
                None => read(self.hub, self.name).await?,
            };
            if !is_due(&cluster, self.now) {
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
    }

    /// Takes off what the agent wrote, one thing after the other, until the denial fits. What is not in the status goes in
    /// the same write as the denial, so that an agent that writes on cannot get in between.
    async fn make_room(
        &mut self,
        mut denial: Value,
        too_large: CommandError,
    ) -> Result<(), CommandError> {
        let Some(item) = self.hub.get::<ManagedCluster>(None, self.name).await? else {
            return Err(no_such(self.hub, self.name).await);
        };
        // What is taken off makes another version of it. Nothing here depends on what it was before.
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

/// As Kubernetes writes times.
fn to_the_second(time: Timestamp) -> String {
    let seconds = Timestamp::from_second(time.as_second());
    seconds.unwrap_or(time).to_string()
}

/// Makes one merge patch of two. Where both say something, the first has it.
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

/// What there is in the cluster's namespace for its agent to do.
async fn works(hub: &HubConnection, name: &str) -> Result<usize, CommandError> {
    let path = format!(
        "/apis/work.open-cluster-management.io/v1/namespaces/{name}/manifestworks?limit=500"
    );
    match hub.metadata(&path).await {
        Ok(list) => {
            let more = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
            let here = list["items"].as_array().map_or(0, Vec::len);
            Ok(here.saturating_add(usize::try_from(more).unwrap_or(usize::MAX)))
        }
        // A hub without works.
        Err(CommandError::NoHub { .. }) => Ok(0),
        Err(failure) => Err(failure),
    }
}

/// The names of the CSRs that nobody has decided about.
async fn requests(hub: &HubConnection, name: &str) -> Result<Vec<String>, CommandError> {
    let requests = requests_of(hub, name).await?;
    Ok(requests
        .into_iter()
        .filter(|(_, standing)| *standing == Standing::Pending)
        .map(|(request, _)| request.name)
        .collect())
}

/// What a denial does to a cluster, and what it leaves.
struct Effects {
    works: Result<usize, CommandError>,
    requests: Result<Vec<String>, CommandError>,
    /// If not, the agent has no rights that it could lose.
    accepted: bool,
    joined: bool,
    now: bool,
}

// === impl Effects ===

impl Effects {
    fn told(&self, name: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.accepted || self.now {
            lines.push(format!(
                "{name}: its agent loses its rights: the role bindings in namespace {name:?}, and all of ClusterRole \
                 \"open-cluster-management:managedcluster:{name}\" but to see its ManagedCluster"
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
                    "its agent loses the right to work on them at once; they keep their finalizers, and what they made stays \
                     on the cluster"
                } else {
                    "until they are deleted, its agent keeps the right to work on them"
                };
                lines.push(format!("{name}: {works} in namespace {name:?}: {right}"));
            }
            Err(_) if self.now => {}
            Err(why) => lines.push(format!(
                "{name}: whether there are ManifestWorks, on which its agent keeps the right to work, is not known: {why}"
            )),
        }
        if self.joined && (self.accepted || self.now) {
            lines.push(format!(
                "{name}: the certificate of its agent stays valid until it ends, but gives no rights any more; the hub \
                 does not renew it"
            ));
        }
        match &self.requests {
            Ok(requests) => {
                for request in requests.iter().take(10) {
                    let request = ShellWord(request);
                    lines.push(format!(
                        "{name}: CSR {request} is pending, and stays so; to deny it: kubectl certificate deny {request}"
                    ));
                }
                if requests.len() > 10 {
                    let more = requests.len() - 10;
                    lines.push(format!("{name}: {more} more CSRs are pending"));
                }
            }
            Err(why) => lines.push(format!(
                "{name}: whether CSRs are pending is not known: {why}"
            )),
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
        effects.told("c1").join("\n")
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
                "is not known: no",
            ),
            (told(Ok(0), &[], true), "stays valid until it ends"),
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
