//! `berth create placement`: clusteradm's flags, and flags for the rest of the spec.

mod flags;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use berth_api::placement::{
    ClusterCelSelector, ClusterClaimSelector, ClusterPredicate, ClusterSelector, DecisionGroup,
    DecisionStrategy, GroupStrategy, PlacementSpec, PrioritizerConfig, PrioritizerMode,
    PrioritizerPolicy, Toleration,
};
use berth_api::{ManagedClusterSetBinding, Placement, PlacementDecision, groups, labels, names};
use berth_placement_core::{Rules, Settings};
use clap_complete::engine::ArgValueCandidates;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Map, Value, json};

use super::text::first;
use crate::complete;
use crate::failure::CommandError;
use crate::flags::{DocumentArgs, DocumentFormat, DryRunArgs};
use crate::hub::{DryRun, Filter, HubArgs, HubConnection, NamespaceArgs, Wait, wait};
use crate::print::{plain, print_one_json, print_one_yaml};
use crate::retry::deciding_again;

const EXAMPLES: &str = "\
Examples:
  # All clusters of the sets that are bound to the namespace
  berth create placement everywhere -n team-a

  # Two clusters with this label, and say which
  berth create placement app -n team-a --count 2 -l region=eu --wait

  # A manifest for a repository
  berth create placement app -n team-a --clustersets prod -l region=eu --dry-run=client -o yaml

  # Stay on a cluster that is unreachable for 5 minutes; prefer clusters with much CPU; a first group for rollouts
  berth create placement app --tolerations cluster.open-cluster-management.io/unreachable@300 \\
      --prioritizers BuiltIn:Steady:3,BuiltIn:ResourceAllocatableCPU:2 --groups canary:tier=test --clusters-per-group 25%";

/// How often the status is read with `--wait`.
const PAUSE: Duration = Duration::from_millis(200);

/// Create a placement: which clusters a workload goes to
///
/// The command line of 'clusteradm create placement' works. The namespace needs a bound set: see 'berth clusterset bind'.
/// 'berth placement explain' says which clusters it selects, and why.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("dry_run", |arg| {
    arg.help("Write nothing: 'client' checks the flags, 'server' also has the hub check the object")
}))]
#[command(mut_arg("output", |arg| arg.help("Print the Placement as json or yaml")))]
pub(crate) struct Args {
    /// Name of the Placement
    #[arg(value_name = "NAME", value_parser = flags::name)]
    name: String,
    #[command(flatten)]
    namespace: NamespaceArgs,
    /// Select from these sets only [default: all that are bound to the namespace]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', add = ArgValueCandidates::new(complete::sets))]
    clustersets: Vec<String>,
    /// Number of clusters; 0 means all
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..), default_value_t = 0, hide_default_value = true)]
    count: i32,
    /// Clusters that match one of these label selectors, as in clusteradm. A comma separates selectors
    #[arg(long, value_name = "SELECTOR,...", value_parser = flags::alternatives, conflicts_with_all = ["selector", "claim_selector", "cel"])]
    label_selectors: Vec<Vec<LabelSelector>>,
    /// Clusters that match this label selector, in kubectl's syntax, and also --claim-selector and --cel. A comma means 'and'
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = flags::selector)]
    selector: Option<LabelSelector>,
    /// Clusters whose ClusterClaims match this selector, in the same syntax
    #[arg(long, value_name = "SELECTOR", value_parser = flags::claims)]
    claim_selector: Option<ClusterClaimSelector>,
    /// Clusters for which this CEL expression on managedCluster is true (repeatable)
    #[arg(long, value_name = "EXPRESSION")]
    cel: Vec<String>,
    /// Prioritizers with their weights: BuiltIn:NAME:WEIGHT or AddOn:RESOURCE:SCORE:WEIGHT
    #[arg(long, value_name = "PRIORITIZER,...", value_delimiter = ',', value_parser = flags::prioritizer)]
    prioritizers: Vec<PrioritizerConfig>,
    /// Use the given prioritizers only, without Balance and Steady
    #[arg(long, requires = "prioritizers")]
    exact: bool,
    /// Tolerated taints: KEY[=VALUE][:EFFECT][@SECONDS]. Without =VALUE any value, without @SECONDS for ever
    #[arg(long, value_name = "TOLERATION,...", value_delimiter = ',', value_parser = flags::toleration)]
    tolerations: Vec<Toleration>,
    /// Groups of clusters for rollouts, in their order: NAME:LABEL_SELECTOR (repeatable)
    #[arg(long, value_name = "GROUP", value_parser = flags::group)]
    groups: Vec<DecisionGroup>,
    /// The most clusters in a group: a number, or a percentage such as 25%
    #[arg(long, value_name = "NUMBER|PERCENT", value_parser = flags::size)]
    clusters_per_group: Option<IntOrString>,
    /// Replace the spec of an existing Placement
    #[arg(long)]
    overwrite: bool,
    /// Wait until the controller has decided, and say which clusters are selected
    #[arg(long)]
    wait: bool,
    /// Timeout of --wait
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "30s", requires = "wait")]
    timeout: Wait,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: DocumentArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// A flag is invalid, the placement exists, or the hub cannot be used.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let namespace = &*args.namespace.of(&args.hub);
    let object = args.object(namespace)?;
    let name = args.name.as_str();
    let title = format!("Placement {name} in namespace {namespace}");
    let suffix = args.dry_run.mode.suffix();
    if args.dry_run.mode == DryRun::Client {
        // No hub is needed to print a manifest.
        return finish(args, &object, &format!("{title} would be created{suffix}"));
    }
    let hub = HubConnection::of(&args.hub).await?;
    let created = hub.create::<Placement>(Some(namespace), &object, args.dry_run.mode);
    let (written, line) = match created.await {
        Ok(written) => (written, format!("{title} is created{suffix}")),
        Err(failure) if failure.is_already_there() && args.overwrite => {
            let written = overwrite(&hub, args, namespace, &object["spec"]).await?;
            (written, format!("{title} is replaced{suffix}"))
        }
        Err(failure) if failure.is_already_there() => {
            anyhow::bail!("{title} already exists: --overwrite replaces its spec")
        }
        Err(failure) => return Err(failure.into()),
    };
    let code = finish(args, &written, &line)?;
    if args.dry_run.mode == DryRun::None {
        unbound(&hub, args, namespace).await;
        if args.wait {
            let generation = written["metadata"]["uid"].as_str().unwrap_or_default();
            return report(&hub, args, namespace, generation).await;
        }
    }
    Ok(code)
}

/// Prints the object, or else a line.
fn finish(args: &Args, object: &Value, line: &str) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match args.output.format {
        None => writeln!(out, "{}", plain(line))?,
        Some(DocumentFormat::Json) => print_one_json(&mut out, object)?,
        Some(DocumentFormat::Yaml) => print_one_yaml(&mut out, object)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Replaces the spec, if the placement does not change in the meantime. Returns the placement.
async fn overwrite(
    hub: &HubConnection,
    args: &Args,
    namespace: &str,
    spec: &Value,
) -> Result<Value, CommandError> {
    let name = args.name.as_str();
    deciding_again(async || {
        let stored = hub.get_value::<Placement>(Some(namespace), name).await?;
        let stored = stored.unwrap_or_default();
        let patch = json!({
            "metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]},
            "spec": replacing(&stored["spec"], spec),
        });
        let patched = hub.merge::<Placement>(Some(namespace), name, None, patch, args.dry_run.mode);
        patched.await
    })
    .await
}

/// Returns the merge patch that makes `new` of `old`.
pub(crate) fn replacing(old: &Value, new: &Value) -> Value {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        return new.clone();
    };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        let old = before.get(name).unwrap_or(&Value::Null);
        patch.insert(name.clone(), replacing(old, value));
    }
    patch.into()
}

/// Prints a note if no set is bound that the placement can select from.
async fn unbound(hub: &HubConnection, args: &Args, namespace: &str) {
    let bound = hub.names::<ManagedClusterSetBinding>(Some(namespace)).await;
    // A user who may create placements need not be able to read bindings.
    let Ok(bound) = bound else { return };
    let missing: Vec<_> = (args.clustersets.iter())
        .filter(|set| !bound.contains(set))
        .cloned()
        .collect();
    let note = match (&missing[..], &bound[..]) {
        ([], []) => format!(
            "Note: no set is bound to namespace {namespace}, so no cluster is selected: berth clusterset bind SET --namespace {namespace}"
        ),
        ([], _) => return,
        ([set, ..], _) => format!(
            "Note: not bound to namespace {namespace}: {}: berth clusterset bind {set} --namespace {namespace}",
            first(&missing)
        ),
    };
    // An error of standard error does not stop the command.
    let _ = writeln!(io::stderr(), "{}", plain(&note));
}

/// Waits until the controller has decided, and prints the selected clusters.
async fn report(
    hub: &HubConnection,
    args: &Args,
    namespace: &str,
    uid: &str,
) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let explain = format!("berth placement explain {name} -n {namespace}");
    let deadline = Instant::now() + args.timeout.0;
    loop {
        let Some(item) = hub.get::<Placement>(Some(namespace), name).await? else {
            anyhow::bail!("Placement {namespace}/{name} was deleted");
        };
        let is_this = item.object.metadata.uid.as_deref() == Some(uid);
        let status = item.object.status.filter(|_| is_this).unwrap_or_default();
        let satisfied = berth_api::conditions::condition_of(
            &status.conditions,
            berth_api::conditions::placement::SATISFIED,
        );
        if let Some(satisfied) = satisfied {
            let filter = Filter::labels(format!("{}={name}", labels::PLACEMENT));
            let decisions = hub.list::<PlacementDecision>(Some(namespace), &filter);
            let mut selected: Vec<String> = decisions
                .await?
                .iter()
                .flat_map(|it| it.object.status.iter().flat_map(|it| &it.decisions))
                .map(|it| it.cluster_name.clone())
                .collect();
            selected.sort_unstable();
            selected.dedup();
            // The status can be ahead of, or behind, the decisions.
            let number = usize::try_from(status.number_of_selected_clusters).unwrap_or_default();
            if number == selected.len() {
                let mut err = io::stderr();
                let names = first(&selected);
                let _ = writeln!(err, "It selects {number} clusters: {}", plain(&names));
                if satisfied.status != berth_api::conditions::TRUE {
                    let (reason, message) = (&satisfied.reason, plain(&satisfied.message));
                    let _ = writeln!(
                        err,
                        "It is not satisfied ({reason}): {message}; see: {explain}"
                    );
                }
                return Ok(ExitCode::SUCCESS);
            }
        }
        if Instant::now() >= deadline {
            anyhow::bail!(
                "the controller has not decided about Placement {namespace}/{name} in time: does it run? See: {explain}"
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}

// === impl Args ===

impl Args {
    /// The Placement of the flags.
    ///
    /// # Errors
    /// The controller would report it as misconfigured.
    fn object(&self, namespace: &str) -> anyhow::Result<Value> {
        let spec = self.spec();
        let mistakes = names::label_value(&self.name);
        if let Some(why) = mistakes.first() {
            anyhow::bail!("the name of a Placement must be a valid label value: {why}");
        }
        let placement = Placement::new(&self.name, spec);
        let rules = Rules::new(&placement, Settings::default());
        if let Some(mistake) = rules.misconfiguration() {
            anyhow::bail!("{}: {mistake}", mistake.field());
        }
        Ok(json!({
            "apiVersion": format!("{}/v1beta1", groups::CLUSTER),
            "kind": "Placement",
            "metadata": {"name": self.name, "namespace": namespace},
            "spec": placement.spec,
        }))
    }

    fn spec(&self) -> PlacementSpec {
        let predicate = |label_selector: LabelSelector| ClusterPredicate {
            required_cluster_selector: ClusterSelector {
                label_selector,
                ..ClusterSelector::default()
            },
        };
        let alternatives = self.label_selectors.iter().flatten().cloned();
        let mut predicates: Vec<_> = alternatives.map(predicate).collect();
        if self.selector.is_some() || self.claim_selector.is_some() || !self.cel.is_empty() {
            predicates.push(ClusterPredicate {
                required_cluster_selector: ClusterSelector {
                    label_selector: self.selector.clone().unwrap_or_default(),
                    claim_selector: self.claim_selector.clone().unwrap_or_default(),
                    cel_selector: ClusterCelSelector {
                        cel_expressions: self.cel.clone(),
                    },
                },
            });
        }
        PlacementSpec {
            cluster_sets: self.clustersets.clone(),
            number_of_clusters: (self.count > 0).then_some(self.count),
            predicates,
            prioritizer_policy: PrioritizerPolicy {
                configurations: self.prioritizers.clone(),
                mode: match self.exact {
                    true => PrioritizerMode::Exact,
                    false => PrioritizerMode::Additive,
                },
            },
            tolerations: self.tolerations.clone(),
            decision_strategy: DecisionStrategy {
                group_strategy: GroupStrategy {
                    clusters_per_decision_group: self.clusters_per_group.clone(),
                    decision_groups: self.groups.clone(),
                },
            },
            ..PlacementSpec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn spec(flags: &[&str]) -> Result<Value, String> {
        let words = ["create", "app"].iter().chain(flags);
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        let object = command
            .args
            .object("default")
            .map_err(|error| error.to_string())?;
        Ok(object["spec"].clone())
    }

    fn labels(selector: Value) -> Value {
        json!({"requiredClusterSelector": {"labelSelector": selector}})
    }

    #[test]
    fn the_flags_of_clusteradm_mean_the_same() {
        let eu = json!({"matchLabels": {"region": "eu"}});
        let us = json!({"matchLabels": {"region": "us"}});
        for (flags, expected) in [
            (&[][..], json!({})),
            (&["--count", "2"], json!({"numberOfClusters": 2})),
            (&["--count", "0"], json!({})),
            (
                &["--clustersets", "a,b"],
                json!({"clusterSets": ["a", "b"]}),
            ),
            (
                &["--label-selectors", "region=eu,region=us"],
                json!({"predicates": [labels(eu.clone()), labels(us.clone())]}),
            ),
            (
                &[
                    "--label-selectors",
                    "region=eu",
                    "--label-selectors",
                    "region=us",
                ],
                json!({"predicates": [labels(eu), labels(us)]}),
            ),
            (
                &["--prioritizers", "BuiltIn:Steady:3,AddOn:r:s:-1"],
                json!({"prioritizerPolicy": {"mode": "Additive", "configurations": [
                    {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 3},
                    {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}, "weight": -1},
                ]}}),
            ),
        ] {
            assert_eq!(spec(flags), Ok(expected), "{flags:?}");
        }
    }

    #[test]
    fn the_rest_of_the_spec_has_flags_of_our_own() {
        let made = spec(&[
            "-l",
            "region in (eu,us),!old",
            "--claim-selector",
            "cloud=x",
            "--cel",
            "true",
            "--tolerations",
            "a=b:NoSelect@60,c",
            "--groups",
            "canary:tier=test",
            "--clusters-per-group",
            "25%",
        ]);
        assert_eq!(
            made.unwrap(),
            json!({
                "predicates": [{"requiredClusterSelector": {
                    "labelSelector": {"matchExpressions": [
                        {"key": "region", "operator": "In", "values": ["eu", "us"]},
                        {"key": "old", "operator": "DoesNotExist"},
                    ]},
                    "claimSelector": {"matchExpressions": [{"key": "cloud", "operator": "In", "values": ["x"]}]},
                    "celSelector": {"celExpressions": ["true"]},
                }}],
                "tolerations": [
                    {"key": "a", "value": "b", "operator": "Equal", "effect": "NoSelect", "tolerationSeconds": 60},
                    {"key": "c", "operator": "Exists"},
                ],
                "decisionStrategy": {"groupStrategy": {
                    "clustersPerDecisionGroup": "25%",
                    "decisionGroups": [{"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"tier": "test"}}}}],
                }},
            })
        );
    }

    #[test]
    fn a_mistake_in_a_flag_is_an_error_before_anything_is_sent() {
        for (flags, words) in [
            (&["--count", "-1"][..], "-1 is not in 0.."),
            (&["--prioritizers", "Steady:3"], "BuiltIn:NAME:WEIGHT"),
            (
                &["--prioritizers", "BuiltIn:Stead:3"],
                "incorrect builtin prioritizer: Stead",
            ),
            (
                &["--prioritizers", "BuiltIn:Steady:11"],
                "between -10 and 10",
            ),
            (&["--cel", "1 +"], "celExpressions[0]: compilation failed"),
            (
                &["--tolerations", "a:Never"],
                "NoSelect, PreferNoSelect or NoSelectIfNew",
            ),
            (&["--clusters-per-group", "x"], "a percentage"),
            (&["--groups", "canary"], "NAME:LABEL_SELECTOR"),
            (&["--exact"], "--prioritizers"),
            (
                &["-l", "a=b", "--label-selectors", "c=d"],
                "cannot be used with",
            ),
        ] {
            let error = spec(flags).unwrap_err();
            assert!(error.contains(words), "{flags:?}: {error}");
        }
    }

    #[test]
    fn a_spec_is_replaced_as_a_whole() {
        let old = json!({"a": 1, "b": {"c": 1, "d": [1]}, "e": {"f": 1}});
        let new = json!({"b": {"d": [2]}, "g": 1});
        let mut patched = old.clone();
        json_patch::merge(&mut patched, &replacing(&old, &new));
        assert_eq!(patched, new);
    }
}
