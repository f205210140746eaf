//! `berth unjoin`: removes the agent from a managed cluster.
//!
//! The agent's rights go before its Secrets, so that an agent that still runs cannot write them again. The aggregated role goes before
//! its parts: when a part goes, Kubernetes applies the aggregated role, which would create it anew. What ManifestWorks deployed
//! stays, so the command refuses while there are any, as clusteradm does. It does not touch the hub.

mod left;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_manifests::{Manifest, files};
use berth_rules::display::{Lines, first_of};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use serde_json::{Value, json};

use crate::failure::CommandError;
use crate::flags::DryRunArgs;
use crate::hub::{ClusterArgs, DryRun, HubConnection, title};
use crate::join::objects::{
    BOOTSTRAP_SECRET, DEPLOYMENT, HUB_SECRET, NAMESPACE, cluster_in, cluster_of,
};
use crate::join::place::klusterlet;
use left::Left;

/// The Secret with a request in progress.
const PENDING_SECRET: &str = "hub-kubeconfig-secret-pending";
/// The Secret with the names of the Secrets that the agent has made for add-ons.
const ADDONS_SECRET: &str = "hub-kubeconfig-secret-addons";
/// The Secret with the certificates for the other hubs.
const HUBS_SECRET: &str = "hub-kubeconfig-secret-hubs";
/// The Leases that elect the agent: for the registration, for ManifestWorks, and for both in one process.
const LEASES: [&str; 3] = [
    "registration-agent-lock",
    "work-agent-lock",
    "klusterlet-agent-lock",
];
/// The label of a namespace that `berth join` created.
const COMPONENT: &str = "berth.open-cluster-management.io/component";

/// Leave the hub: remove the agent from this cluster
///
/// Run it at the managed cluster. It removes what 'berth join' installed: the agent, its account and permissions, its credentials for
/// the hub, and the namespace open-cluster-management-agent. The CRD of AppliedManifestWorks goes last, and only if none is left. The CRD
/// of ClusterClaims stays, and so do the ClusterClaims.
///
/// As long as the hub's ManifestWorks are applied to this cluster, the command refuses: nobody would remove what they deployed. Delete
/// the ManifestWorks on the hub first. --force leaves everything that they deployed on the cluster, and shows it.
///
/// The hub is not told. There, the cluster becomes Unknown after some minutes. To remove it, run on the hub: berth delete cluster NAME
#[derive(Debug, clap::Args)]
#[command(mut_arg("dry_run", |arg| {
    arg.help("Remove nothing: 'client' shows what would be removed, 'server' also has the API server check each deletion")
}))]
#[command(after_help = "\
Examples:
  # Show what would be removed
  berth unjoin --dry-run

  # The same, as the API server decides about each deletion
  berth unjoin --dry-run=server

  # Remove the agent of c1
  berth unjoin --cluster-name c1")]
pub struct Args {
    /// Name of the cluster on the hub. If this cluster has joined under another name, nothing is removed
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    /// Also while ManifestWorks are applied to this cluster: what they deployed stays
    #[arg(long)]
    force: bool,
    // Flags of clusteradm: there is no operator, and nothing to write to a file.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    purge_operator: Option<bool>,
    #[arg(long, hide = true)]
    output_file: Option<String>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Runs the command.
///
/// # Errors
/// The managed cluster cannot be used, it has joined under another name, an operator runs its agent, ManifestWorks are applied, or an
/// object cannot be deleted.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.dry_run.mode;
    let cluster = HubConnection::of_cluster(&args.cluster).await?;
    let name = joined_as(&cluster).await?;
    check_name(args.cluster_name.as_deref(), name.as_deref())?;
    check_operator(&cluster).await?;
    check_works(&cluster, args.force, name.as_deref()).await?;
    let mut removed = 0;
    for object in parts() {
        removed += usize::from(remove(&cluster, &object, dry_run).await?);
    }
    removed += usize::from(remove_namespace(&cluster, dry_run).await?);
    if removed == 0 {
        writeln!(
            io::stdout(),
            "This cluster has no agent of Berth: nothing was removed"
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    remove_definition(&cluster, dry_run).await?;
    if dry_run != DryRun::None {
        writeln!(io::stderr(), "Nothing was changed.")?;
    } else {
        let name = name.as_deref().unwrap_or("NAME");
        writeln!(
            io::stdout(),
            "The agent is removed. The hub still has the cluster; on the hub, run: berth delete cluster {}",
            Lines(name)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the name under which this cluster has joined, or is to join.
async fn joined_as(cluster: &HubConnection) -> Result<Option<String>, CommandError> {
    let within = Some(NAMESPACE);
    let secret = cluster.get_value::<Secret>(within, HUB_SECRET).await?;
    if let Some(name) = secret.as_ref().and_then(cluster_of) {
        return Ok(Some(name));
    }
    let deployment = cluster.get_value::<Deployment>(within, DEPLOYMENT).await?;
    let name = deployment.as_ref().and_then(cluster_in);
    Ok(name.map(str::to_owned))
}

fn check_name(asked: Option<&str>, found: Option<&str>) -> Result<(), CommandError> {
    match (asked, found) {
        (Some(asked), Some(found)) if asked != found => Err(CommandError::Refused(format!(
            "this cluster has joined as {found}, not as {asked}: check --context and --kubeconfig"
        ))),
        _ => Ok(()),
    }
}

/// # Errors
/// An operator installed the agent, OCM's or Berth's. The Secrets have the same names, and that agent could not work without them.
async fn check_operator(cluster: &HubConnection) -> Result<(), CommandError> {
    let within = Some(NAMESPACE);
    if (cluster.get_value::<Deployment>(within, DEPLOYMENT).await?).is_some() {
        return Ok(());
    }
    match klusterlet(cluster).await? {
        None => Ok(()),
        Some(klusterlet) => Err(CommandError::Refused(format!(
            "an operator runs the agent of this cluster (Klusterlet {klusterlet}): kubectl delete klusterlet {klusterlet} removes it"
        ))),
    }
}

/// # Errors
/// ManifestWorks are applied to the cluster, and `force` is false.
async fn check_works(
    cluster: &HubConnection,
    force: bool,
    name: Option<&str>,
) -> Result<(), CommandError> {
    let left = Left::of(cluster).await?;
    if left.is_empty() {
        return Ok(());
    }
    if !force {
        return Err(left.refusal(name.unwrap_or("NAME")));
    }
    // An error of standard error does not stop the command.
    let _ = io::stderr().write_all(left.warning().as_bytes());
    Ok(())
}

/// What `berth join` and the agent create, in the order of its removal, without the namespace.
fn parts() -> Vec<Value> {
    let of = |manifest: &Manifest, kind: &str| {
        let documents = manifest.documents().into_iter();
        documents
            .filter(|it| it["kind"] == kind)
            .collect::<Vec<_>>()
    };
    let named = |version: &str, kind: &str, name: &str| {
        json!({
            "apiVersion": version, "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
        })
    };
    let mut parts = of(&files::AGENT, "Deployment");
    let rights = [
        &files::AGENT_ROLE,
        &files::AGENT_ADDONS,
        &files::AGENT_CLUSTER_ROLE,
        &files::AGENT_WORK_ROLE,
        &files::AGENT_WORK_EXECUTION,
        &files::AGENT_WORK_ADMIN,
        &files::AGENT_IMPERSONATION_ROLE,
    ];
    for kind in ["RoleBinding", "ClusterRoleBinding", "Role", "ClusterRole"] {
        parts.extend(rights.iter().flat_map(|manifest| of(manifest, kind)));
    }
    for secret in [
        BOOTSTRAP_SECRET,
        HUB_SECRET,
        PENDING_SECRET,
        ADDONS_SECRET,
        HUBS_SECRET,
    ] {
        parts.push(named("v1", "Secret", secret));
    }
    for lease in LEASES {
        parts.push(named("coordination.k8s.io/v1", "Lease", lease));
    }
    parts.extend(of(&files::AGENT_ACCOUNT, "ServiceAccount"));
    parts
}

/// Removes an object, and says so. Returns false if it does not exist.
async fn remove(cluster: &HubConnection, object: &Value, dry_run: DryRun) -> anyhow::Result<bool> {
    let removed = cluster.remove(object, dry_run).await?;
    if removed {
        let suffix = dry_run.suffix();
        writeln!(io::stdout(), "{} deleted{suffix}", title(object))?;
    }
    Ok(removed)
}

/// Removes the namespace, if it is Berth's and nothing else runs in it.
async fn remove_namespace(cluster: &HubConnection, dry_run: DryRun) -> anyhow::Result<bool> {
    let Some(namespace) = cluster.get_value::<Namespace>(None, NAMESPACE).await? else {
        return Ok(false);
    };
    if !namespace["metadata"]["deletionTimestamp"].is_null() {
        return Ok(false);
    }
    let others = cluster.names::<Deployment>(Some(NAMESPACE)).await?;
    let others: Vec<&str> = others
        .iter()
        .map(String::as_str)
        .filter(|it| *it != DEPLOYMENT)
        .collect();
    if namespace["metadata"]["labels"][COMPONENT] != "agent" || !others.is_empty() {
        let why = match &others[..] {
            [] => "'berth join' did not create it".to_owned(),
            others => format!("it has other Deployments: {}", first_of(others, ", ")),
        };
        writeln!(
            io::stderr(),
            "Note: namespace {NAMESPACE} stays: {}",
            Lines(&why)
        )?;
        return Ok(false);
    }
    let object = &files::AGENT_NAMESPACE.documents()[0];
    remove(cluster, object, dry_run).await
}

/// Removes the CustomResourceDefinition of AppliedManifestWorks, if none is left and no other agent uses it.
async fn remove_definition(cluster: &HubConnection, dry_run: DryRun) -> anyhow::Result<()> {
    let definition = &files::CRD_APPLIED_MANIFEST_WORKS.documents()[0];
    if !cluster.exists(definition).await? {
        return Ok(());
    }
    let used_by = match klusterlet(cluster).await? {
        Some(klusterlet) => Some(format!("Klusterlet {klusterlet} uses it")),
        // Read again: the agent may have created one meanwhile.
        None if !Left::of(cluster).await?.is_empty() => {
            Some("AppliedManifestWorks exist".to_owned())
        }
        None => None,
    };
    match used_by {
        None => remove(cluster, definition, dry_run).await.map(drop),
        Some(why) => {
            let note = format!("Note: {} stays: {}", title(definition), Lines(&why));
            Ok(writeln!(io::stderr(), "{note}")?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_go_before_secrets_and_nothing_of_join_is_forgotten() {
        let titles: Vec<String> = parts().iter().map(title).collect();
        assert_eq!(
            titles,
            [
                "deployment/berth-agent",
                "rolebinding/berth-agent",
                "rolebinding/berth-agent-addons",
                "clusterrolebinding/open-cluster-management:berth-agent",
                "clusterrolebinding/open-cluster-management:berth-agent-applied-works",
                "clusterrolebinding/open-cluster-management:berth-agent-work",
                "clusterrolebinding/open-cluster-management:berth-agent-work-execution-admin",
                "clusterrolebinding/open-cluster-management:berth-agent-work-impersonation",
                "role/berth-agent",
                "role/berth-agent-addons",
                "clusterrole/open-cluster-management:berth-agent",
                "clusterrole/open-cluster-management:berth-agent-applied-works",
                // Kubernetes applies the rules of an aggregated role again when a part of it goes: the role would be back.
                "clusterrole/open-cluster-management:berth-agent-work",
                "clusterrole/open-cluster-management:berth-agent-work-execution",
                "clusterrole/open-cluster-management:berth-agent-work-impersonation",
                "secret/bootstrap-hub-kubeconfig",
                "secret/hub-kubeconfig-secret",
                "secret/hub-kubeconfig-secret-pending",
                "secret/hub-kubeconfig-secret-addons",
                "secret/hub-kubeconfig-secret-hubs",
                "lease/registration-agent-lock",
                "lease/work-agent-lock",
                "lease/klusterlet-agent-lock",
                "serviceaccount/berth-agent",
            ]
        );
        let applied = files::AGENT_PARTS.iter().flat_map(Manifest::documents);
        for object in applied {
            let stays = ["CustomResourceDefinition", "Namespace"].map(Value::from);
            let title = title(&object);
            assert!(
                stays.contains(&object["kind"]) || titles.contains(&title),
                "{title}"
            );
        }
    }

    #[test]
    fn another_cluster_is_not_taken_apart() {
        assert!(check_name(None, Some("c1")).is_ok());
        assert!(check_name(Some("c1"), Some("c1")).is_ok());
        assert!(check_name(Some("c1"), None).is_ok());
        let failure = check_name(Some("c2"), Some("c1")).unwrap_err().to_string();
        assert!(
            failure.starts_with("this cluster has joined as c1, not as c2"),
            "{failure}"
        );
    }
}
