//! Reads what placements depend on, from a hub or from files.
//!
//! Clusters, sets and bindings are needed. Without the right to read PlacementDecisions of other namespaces or AddOnPlacementScores, the
//! scores are incomplete: the command goes on, and says so.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use berth_api::placement::{PrioritizerMode, ScoreType};
use berth_api::{Placement, groups};
use berth_placement_core::{Inventory, Source};
use berth_rules::display::Lines;
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::Value;

use crate::failure::CommandError;
use crate::hub::{HubArgs, HubConnection, NamespaceArgs};

/// The Lease of the placement controller, which OCM's controller uses as well.
const LEASE: (&str, &str) = ("open-cluster-management-hub", "placement-lock");

/// Where the objects come from.
pub(super) enum Origin {
    /// A hub.
    Hub(HubConnection),
    /// Files, which were read.
    Files(Inventory),
}

/// Flags that say where the objects come from.
#[derive(Debug, clap::Args)]
pub(super) struct OriginArgs {
    /// Read the objects from a YAML or JSON file, or a folder of such files, instead of a hub (repeatable): Placements,
    /// PlacementDecisions, ManagedClusters, sets, bindings and AddOnPlacementScores
    #[arg(long, value_name = "PATH")]
    hub_files: Vec<PathBuf>,
    /// Feature gates of the placement controller, as Gate=true,Gate=false: PlacementPreferNoSelect (off), PlacementScores (off),
    /// PlacementSortBy (off), PlacementSpreadPolicy (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    #[command(flatten)]
    hub: HubArgs,
}

/// What a placement reads besides clusters, sets and bindings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// CEL expressions, which read whole clusters.
    cel: bool,
    /// AddOnPlacementScores.
    scores: bool,
    /// The PlacementDecisions of all placements.
    balance: bool,
}

// === impl OriginArgs ===

impl OriginArgs {
    pub(super) fn feature_gates(&self) -> &[String] {
        &self.feature_gates
    }

    /// Returns the namespace of the flag, or that of the kubeconfig's context if a hub is read, or `default`.
    pub(super) fn namespace(&self, flag: &NamespaceArgs) -> String {
        match self.hub_files.is_empty() {
            true => flag.of(&self.hub),
            false => flag.without_a_hub(),
        }
    }

    /// Reads the files, or connects to the hub.
    pub(super) async fn open(&self) -> anyhow::Result<Origin> {
        if self.hub_files.is_empty() {
            return Ok(Origin::Hub(HubConnection::of(&self.hub).await?));
        }
        if self.hub.any() {
            anyhow::bail!("--hub-files reads no hub: leave out the flags of the hub");
        }
        let mut inventory = Inventory {
            keeps_whole_clusters: true,
            ..Inventory::default()
        };
        for (at, mut object) in berth_review::objects(&self.hub_files)? {
            berth_review::drop_nulls(&mut object);
            let Some(source) = Source::of(&object) else {
                continue;
            };
            if object["metadata"]["name"]
                .as_str()
                .is_none_or(str::is_empty)
            {
                anyhow::bail!("{at}: metadata.name: a {} needs one", source.kind());
            }
            inventory.add(source, &object);
        }
        Ok(Origin::Files(inventory))
    }
}

// === impl Origin ===

impl Origin {
    /// Returns the placement of this name.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub(super) async fn placement(&self, namespace: &str, name: &str) -> anyhow::Result<Placement> {
        let found = self.find(namespace, name).await?;
        if let Some(found) = found {
            return Ok(found);
        }
        let resource = format!("{}.{}", groups::PLACEMENTS, groups::CLUSTER);
        let names = match self {
            Self::Hub(hub) => hub
                .names::<Placement>(Some(namespace))
                .await
                .unwrap_or_default(),
            Self::Files(inventory) => inventory
                .placements
                .keys()
                .filter(|(it, _)| it == namespace)
                .map(|(_, name)| name.clone())
                .collect(),
        };
        let failure = CommandError::no_such(&resource, name, names.iter().map(String::as_str));
        anyhow::bail!("{failure} (in namespace {namespace:?}; -n names another one)")
    }

    /// Returns the placement of this name, if it exists.
    pub(super) async fn find(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Option<Placement>> {
        match self {
            Self::Files(inventory) => {
                let key = (namespace.to_owned(), name.to_owned());
                Ok(inventory.placements.get(&key).cloned())
            }
            Self::Hub(hub) => {
                let Some(item) = hub.get::<Placement>(Some(namespace), name).await? else {
                    return Ok(None);
                };
                match item.unreadable {
                    None => Ok(Some(item.object)),
                    Some(why) => {
                        anyhow::bail!("Placement {namespace}/{name} cannot be read: {why}")
                    }
                }
            }
        }
    }

    /// Reads what placements of these namespaces depend on.
    pub(super) async fn inventory(
        self,
        namespaces: &[&str],
        needs: Needs,
    ) -> anyhow::Result<Inventory> {
        match self {
            Self::Files(inventory) => {
                warn_of_unreadable(&inventory);
                Ok(inventory)
            }
            Self::Hub(hub) => {
                let (inventory, notes) = read(&hub, namespaces, needs).await?;
                for note in notes {
                    // An error of standard error does not stop the command.
                    let _ = writeln!(io::stderr(), "Warning: {}", Lines(&note));
                }
                warn_of_unreadable(&inventory);
                Ok(inventory)
            }
        }
    }
}

/// Reads what placements of these namespaces depend on. Also returns what is missing because of the user's rights.
pub(crate) async fn read(
    hub: &HubConnection,
    namespaces: &[&str],
    needs: Needs,
) -> Result<(Inventory, Vec<String>), CommandError> {
    let mut notes = Vec::new();
    let whole = needs.cel;
    let (clusters, sets) = futures::join!(
        list(hub, Source::Cluster, None, whole),
        list(hub, Source::Set, None, false)
    );
    let mut inventory = needed(Source::Cluster, clusters)?;
    inventory.merge(needed(Source::Set, sets)?);
    for namespace in namespaces {
        let bindings = list(hub, Source::Binding, Some(namespace), false).await;
        inventory.merge(needed(Source::Binding, bindings)?);
    }
    let everywhere = match needs.balance {
        true => Some(list(hub, Source::Decision, None, false).await),
        false => None,
    };
    match everywhere {
        Some(Ok(decisions)) => inventory.merge(decisions),
        other => {
            for namespace in namespaces {
                let own = list(hub, Source::Decision, Some(namespace), false).await;
                inventory.merge(needed(Source::Decision, own)?);
            }
            if let Some(Err(why)) = other {
                notes.push(format!(
                    "without the decisions of other namespaces, scores of Balance can differ from the controller's: {why}"
                ));
            }
        }
    }
    if needs.scores {
        match list(hub, Source::Scores, None, false).await {
            Ok(scores) => inventory.merge(scores),
            Err(why) => notes.push(format!(
                "AddOnPlacementScores cannot be read, so scores count as missing: {why}"
            )),
        }
    }
    Ok((inventory, notes))
}

/// Reads the placements whose PlacementDecisions list one of these clusters, and what they depend on. Also returns what is missing because of
/// the user's rights.
pub(crate) async fn placements_of(
    hub: &HubConnection,
    clusters: &[String],
) -> Result<(Inventory, Vec<String>), CommandError> {
    let (decisions, placements) = futures::join!(
        list(hub, Source::Decision, None, false),
        list(hub, Source::Placement, None, false)
    );
    let decisions = needed(Source::Decision, decisions)?;
    let mut placements = needed(Source::Placement, placements)?;
    let of_clusters = decisions.decisions.values().filter(|it| {
        let listed = &it.listed.clusters;
        listed.iter().any(|it| clusters.contains(it))
    });
    let keys: BTreeSet<(String, String)> = of_clusters
        .map(|it| {
            let placement = it.listed.placement.clone().unwrap_or_default();
            (it.listed.namespace.clone(), placement)
        })
        .collect();
    placements.placements.retain(|key, _| keys.contains(key));
    let namespaces: BTreeSet<&str> = keys.iter().map(|(it, _)| it.as_str()).collect();
    let namespaces: Vec<&str> = namespaces.into_iter().collect();
    let needs = placements.placements.values().map(Needs::of);
    let needs = needs.fold(Needs::default(), Needs::and);
    let (mut inventory, notes) = read(hub, &namespaces, needs).await?;
    inventory.merge(placements);
    Ok((inventory, notes))
}

/// Lists the objects of a kind.
async fn list(
    hub: &HubConnection,
    source: Source,
    namespace: Option<&str>,
    whole: bool,
) -> Result<Inventory, CommandError> {
    let empty = || Inventory {
        keeps_whole_clusters: whole,
        ..Inventory::default()
    };
    let mut inventory = empty();
    let mut take = |object: Option<Value>| match object {
        Some(object) => inventory.add(source, &object),
        None => inventory = empty(),
    };
    hub.each_at(source.path(namespace), &mut take).await?;
    Ok(inventory)
}

/// Adds to a refusal what is needed.
fn needed(
    source: Source,
    listed: Result<Inventory, CommandError>,
) -> Result<Inventory, CommandError> {
    listed.map_err(|failure| match failure.is_forbidden() {
        false => failure,
        true => CommandError::Refused(format!(
            "{failure}: placements are evaluated on all {resource}, so this command needs the verb list on {resource}.{}; ask an admin of the hub \
             for it, or evaluate files: berth placement explain --hub-files",
            groups::CLUSTER,
            resource = source.resource(),
        )),
    })
}

fn warn_of_unreadable(inventory: &Inventory) {
    for (object, why) in &inventory.unreadable {
        let line = format!("Warning: {object} is left out, since it cannot be read: {why}");
        let _ = writeln!(io::stderr(), "{}", Lines(&line));
    }
}

/// Describes what the Lease of the placement controller says about a placement that is not up to date.
pub(super) async fn controller(hub: &HubConnection, now: jiff::Timestamp) -> String {
    let (namespace, name) = LEASE;
    let lease = format!("the Lease {name} in namespace {namespace}");
    let item = match hub.get::<Lease>(Some(namespace), name).await {
        Ok(Some(item)) => item,
        Ok(None) => {
            return format!(
                "{lease} does not exist: is the placement controller installed? (berth placement controller)"
            );
        }
        Err(_) => {
            return "the placement controller has not caught up yet, or does not run".to_owned();
        }
    };
    let spec = item.object.spec.unwrap_or_default();
    let holder = spec.holder_identity.unwrap_or_default();
    let duration = i64::from(spec.lease_duration_seconds.unwrap_or(15));
    let renewed = spec.renew_time.map(|time| time.0);
    let silent = renewed.map_or(i64::MAX, |time| now.duration_since(time).as_secs());
    if holder.is_empty() {
        format!("{lease} has no holder: the placement controller does not run")
    } else if silent > duration {
        let age = crate::print::age(renewed, now);
        format!("the placement controller does not run: {holder:?} renewed {lease} {age} ago")
    } else {
        format!("the placement controller ({holder:?}) has not caught up yet: repeat the command")
    }
}

// === impl Needs ===

impl Needs {
    pub(crate) fn of(placement: &Placement) -> Self {
        let spec = &placement.spec;
        let cel = spec.predicates.iter().any(|it| {
            let selector = &it.required_cluster_selector.cel_selector;
            !selector.cel_expressions.is_empty()
        });
        let policy = &spec.prioritizer_policy;
        let mut configured = policy.configurations.iter();
        let coordinates = || {
            policy
                .configurations
                .iter()
                .filter_map(|it| it.score_coordinate.as_ref())
        };
        let add_on = coordinates().any(|it| it.r#type == ScoreType::AddOn);
        let balance = configured.any(|it| {
            let coordinate = it.score_coordinate.as_ref();
            coordinate.is_some_and(|it| it.built_in == "Balance")
        });
        Self {
            cel,
            // CEL expressions can read scores.
            scores: cel || add_on,
            balance: balance || policy.mode != PrioritizerMode::Exact,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            cel: self.cel || other.cel,
            scores: self.scores || other.scores,
            balance: self.balance || other.balance,
        }
    }
}
