//! `berth addon enable`: clusteradm's command line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use berth_api::addon::{
    AddOnConfig, ClusterManagementAddOn, DEFAULT_NAMESPACE, ManagedClusterAddOn,
};
use berth_api::{ManagedCluster, groups, labels};
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Map, Value, json};

use super::{AddonNames, pair, reference};
use crate::accept::target;
use crate::complete;
use crate::failure::{CommandError, or_nearest};
use crate::hub::{DryRun, HubArgs, HubConnection, namespace};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::retry::deciding_again;
use crate::targets::distinct;

/// Enable add-ons on clusters
///
/// The command line of 'clusteradm addon enable' works. It creates a ManagedClusterAddOn for each add-on and cluster. On one that exists, annotations, labels and configs are set; others stay.
///
/// Add-ons whose ClusterManagementAddOn names placements need no such command: the hub installs them on the clusters that the placements select.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth addon enable cluster-proxy --clusters cluster1,cluster2

  # With a config for these clusters
  berth addon enable --names cluster-proxy --clusters cluster1 --config-file config.yaml

The objects of --config-file are AddOnDeploymentConfigs with a namespace. They are applied, and named in spec.configs.")]
pub struct Args {
    #[command(flatten)]
    addons: AddonNames,
    /// Clusters on which the add-ons are enabled
    #[arg(
        long,
        visible_alias = "cluster",
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = namespace,
        required = true,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    clusters: Vec<String>,
    /// Namespace of the agents on the clusters, for add-ons that take it from there [default: open-cluster-management-agent-addon]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Annotations, as KEY=VALUE,...
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',', value_parser = pair)]
    annotate: Vec<(String, String)>,
    /// Labels, as KEY=VALUE,...
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',', value_parser = pair)]
    labels: Vec<(String, String)>,
    /// File with configs for the add-ons on these clusters
    #[arg(long, value_name = "FILE")]
    config_file: Option<PathBuf>,
    /// For clusteradm's command line, where it has no effect either.
    #[arg(long, hide = true)]
    output_file: Option<String>,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// What a ManagedClusterAddOn is to have.
struct Wanted {
    annotations: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    configs: Vec<AddOnConfig>,
}

/// Runs the command.
///
/// # Errors
/// The file or the hub cannot be used, or the output cannot be written.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let objects = match &args.config_file {
        Some(file) => berth_review::objects(&[file])?,
        None => Vec::new(),
    };
    let mut wanted = Wanted {
        annotations: args.annotate.iter().cloned().collect(),
        labels: args.labels.iter().cloned().collect(),
        configs: Vec::new(),
    };
    if let Some(namespace) = &args.namespace {
        let key = labels::ADDON_INSTALL_NAMESPACE.to_owned();
        wanted.annotations.insert(key, namespace.clone());
    }
    for (at, object) in &objects {
        match config(object) {
            Ok(config) => wanted.configs.push(config),
            Err(why) => bail!("--config-file: {at}: {why}"),
        }
    }
    let hub = HubConnection::of(&args.hub).await?;
    let dry_run = args.write.dry_run.mode;
    let mut outcomes = Outcomes::new(&args.write);
    let names = args.addons.each();
    for name in &names {
        is_known(&hub, name).await?;
    }
    for (_, object) in &objects {
        match dry_run {
            DryRun::None => drop(hub.apply(object, false).await?),
            DryRun::Server => drop(hub.apply_as_trial(object, false).await?),
            DryRun::Client => {}
        }
    }
    for cluster in distinct(&args.clusters) {
        match hub.get::<ManagedCluster>(None, cluster).await {
            Ok(None) => {
                let why = target::no_such(&hub, cluster).await;
                outcomes.failed(cluster, why)?;
                continue;
            }
            Err(failure) if !failure.is_forbidden() => {
                outcomes.failed(cluster, failure)?;
                continue;
            }
            Ok(Some(_)) | Err(_) => {}
        }
        for name in &names {
            let target = format!("{cluster}/{name}");
            match enable(&hub, name, cluster, &wanted, dry_run).await {
                Ok(true) => {
                    let namespace = args.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
                    let line = format!(
                        "Deploying {name} add-on to namespaces {namespace} of managed cluster: {cluster}."
                    );
                    outcomes.done(&target, line)?;
                }
                Ok(false) => {
                    let line =
                        format!("{name} add-on is already enabled in managed cluster: {cluster}.");
                    outcomes.unchanged(&target, line)?;
                }
                Err(failure) => outcomes.failed(&target, failure)?,
            }
        }
    }
    Ok(outcomes.end()?)
}

/// The reference to a config of the file.
fn config(object: &Value) -> Result<AddOnConfig, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, api_version) = (text(&object["kind"]), text(&object["apiVersion"]));
    if kind != "AddOnDeploymentConfig" || !api_version.starts_with(groups::ADDON) {
        return Err(format!(
            "expected an AddOnDeploymentConfig, found kind {kind:?} of apiVersion {api_version:?}; create other configs with kubectl, \
             and name them in spec.configs of the ManagedClusterAddOn"
        ));
    }
    let metadata = &object["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    if namespace.is_empty() || name.is_empty() {
        return Err(
            "the AddOnDeploymentConfig needs metadata.namespace and metadata.name".to_owned(),
        );
    }
    Ok(reference(
        groups::ADDON_DEPLOYMENT_CONFIGS,
        &namespace,
        &name,
    ))
}

/// Checks that the hub knows the add-on.
async fn is_known(hub: &HubConnection, name: &str) -> Result<(), CommandError> {
    match hub.get::<ClusterManagementAddOn>(None, name).await {
        Ok(Some(_)) => Ok(()),
        // A user who may enable it need not be able to read it.
        Err(failure) if failure.is_forbidden() => Ok(()),
        Err(failure) => Err(failure),
        Ok(None) => {
            let names = hub.names::<ClusterManagementAddOn>(None).await;
            let names = names.unwrap_or_default();
            let near = or_nearest(name, names.iter().map(String::as_str));
            Err(CommandError::Refused(format!(
                "enabling the unknown addon {name} is not supported: there is no ClusterManagementAddOn of this name{near}"
            )))
        }
    }
}

/// Creates the add-on, or sets what it lacks. Returns false if it lacks nothing.
async fn enable(
    hub: &HubConnection,
    name: &str,
    cluster: &str,
    wanted: &Wanted,
    dry_run: DryRun,
) -> Result<bool, CommandError> {
    deciding_again(async || {
        let stored = hub.get::<ManagedClusterAddOn>(Some(cluster), name).await?;
        let Some(stored) = stored else {
            let object = wanted.object(name, cluster);
            let created = hub.create::<ManagedClusterAddOn>(Some(cluster), &object, dry_run);
            return created.await.map(|_| true);
        };
        let metadata = &stored.object.metadata;
        if metadata.deletion_timestamp.is_some() {
            return Err(CommandError::Refused(format!(
                "the add-on is being deleted: enable it when it is gone; 'berth addon explain {name} --cluster {cluster}' says what that \
                 waits for"
            )));
        }
        let Some(mut patch) = wanted.lacking(&stored.object) else {
            return Ok(false);
        };
        patch["metadata"]["resourceVersion"] = json!(metadata.resource_version);
        let patched = hub.merge::<ManagedClusterAddOn>(Some(cluster), name, None, patch, dry_run);
        patched.await.map(|_| true)
    })
    .await
}

// === impl Wanted ===

impl Wanted {
    fn object(&self, name: &str, cluster: &str) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1beta1", groups::ADDON),
            "kind": "ManagedClusterAddOn",
            "metadata": {"name": name, "namespace": cluster},
            "spec": {},
        });
        for (field, values) in [("annotations", &self.annotations), ("labels", &self.labels)] {
            if !values.is_empty() {
                object["metadata"][field] = json!(values);
            }
        }
        if !self.configs.is_empty() {
            object["spec"]["configs"] = json!(self.configs);
        }
        object
    }

    /// A patch with what the stored object lacks; `None` if it lacks nothing.
    fn lacking(&self, stored: &ManagedClusterAddOn) -> Option<Value> {
        let mut patch = json!({"metadata": {}});
        let mut is_empty = true;
        for (field, wanted, stored) in [
            (
                "annotations",
                &self.annotations,
                &stored.metadata.annotations,
            ),
            ("labels", &self.labels, &stored.metadata.labels),
        ] {
            let has = |key: &String| stored.as_ref().and_then(|it| it.get(key));
            let lacking = wanted
                .iter()
                .filter(|(key, value)| has(key) != Some(*value));
            let lacking: Map<_, _> = lacking
                .map(|(key, value)| (key.clone(), json!(value)))
                .collect();
            if !lacking.is_empty() {
                patch["metadata"][field] = Value::Object(lacking);
                is_empty = false;
            }
        }
        if !self.configs.is_empty() && stored.spec.configs != self.configs {
            patch["spec"] = json!({"configs": self.configs});
            is_empty = false;
        }
        (!is_empty).then_some(patch)
    }
}
