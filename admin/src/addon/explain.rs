//! `berth addon explain`.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_addons_core::explain::{Explanation, Facts, Work};
use berth_api::addon::{ClusterManagementAddOn, ManagedClusterAddOn};
use berth_api::{ManagedCluster, ManifestWork, labels};
use berth_rules::display::first_of;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::{addon_name, no_such};
use crate::complete;
use crate::failure::CommandError;
use crate::flags::{TableArgs, TableFormat};
use crate::hub::{Filter, HubArgs, HubConnection, namespace};
use crate::print::{Table, age, plain, print_one_json, print_one_yaml};

const EXAMPLES: &str = "\
Examples:
  # What does the add-on wait for?
  berth addon explain cluster-proxy --cluster cluster1

  # In a script
  berth addon explain cluster-proxy --cluster cluster1 -o json | jq -r '.waitsFor[]'

FROM says which object names a config: the ManagedClusterAddOn, a Placement in the install strategy of the ClusterManagementAddOn, or its
defaults. DESIRED and APPLIED are hashes of the config's spec. The command reads what manager and agents have reported, and nothing on the
cluster. What the user may not read is left out, with a warning.";

/// The characters of a hash in the text.
const SHORT_HASH: usize = 8;

/// Show what an add-on on a cluster waits for, and where its configs come from
///
/// Shows the manager of the add-on, its configs with their hashes, as whom its agent acts on the hub, its certificate requests, and its ManifestWorks with the objects that are not ready.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("output", |arg| {
    arg.help("Output format: table; yaml or json prints everything [default: table]")
}))]
pub struct Args {
    /// Name of the add-on
    #[arg(value_name = "NAME", value_parser = addon_name, add = ArgValueCandidates::new(complete::addons))]
    name: String,
    /// The cluster of the add-on
    #[arg(
        short,
        long,
        value_name = "CLUSTER",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    cluster: String,
    #[command(flatten)]
    output: TableArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// What was read for an add-on.
struct Gathered {
    on: ManagedClusterAddOn,
    add_on: Option<ClusterManagementAddOn>,
    cluster: Option<ManagedCluster>,
    works: Vec<ManifestWork>,
    bindings: Vec<RoleBinding>,
    requests: Vec<CertificateSigningRequest>,
    /// What could not be read.
    warnings: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// The add-on does not exist on the cluster, the hub cannot be used, or the output cannot be written.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let gathered = gather(&hub, &args.name, &args.cluster).await?;
    let explanation = Explanation::of(&Facts {
        on: &gathered.on,
        add_on: gathered.add_on.as_ref(),
        cluster: gathered.cluster.as_ref(),
        works: &gathered.works,
        bindings: &gathered.bindings,
        requests: &gathered.requests,
    });
    for warning in &gathered.warnings {
        writeln!(io::stderr(), "Warning: {}", plain(warning))?;
    }
    let mut out = io::stdout().lock();
    match args.output.format {
        TableFormat::Json => print_one_json(&mut out, &serde_json::to_value(&explanation)?)?,
        TableFormat::Yaml => print_one_yaml(&mut out, &serde_json::to_value(&explanation)?)?,
        TableFormat::Table => write(&mut out, &explanation, Timestamp::now())?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

async fn gather(hub: &HubConnection, name: &str, cluster: &str) -> Result<Gathered, CommandError> {
    let Some(on) = hub.get::<ManagedClusterAddOn>(Some(cluster), name).await? else {
        return Err(no_such(hub, name, cluster).await);
    };
    let mut warnings: Vec<String> = on.unreadable.into_iter().collect();
    let on = on.object;
    let of_addon = Filter::labels(format!("{}={name}", labels::ADDON_NAME));
    let of_cluster = Filter::labels(format!(
        "{}={name},{}={cluster}",
        labels::ADDON_NAME,
        labels::CLUSTER_NAME
    ));
    let annotations = on.metadata.annotations.as_ref();
    let hosting = annotations.and_then(|it| it.get(labels::ADDON_HOSTING_CLUSTER));
    let add_on = read(
        hub.get::<ClusterManagementAddOn>(None, name).await,
        &mut warnings,
    )
    .flatten();
    let stored = read(
        hub.get::<ManagedCluster>(None, cluster).await,
        &mut warnings,
    )
    .flatten();
    let mut works = list(hub, Some(cluster), &of_addon, &mut warnings).await;
    if let Some(hosting) = hosting.filter(|it| *it != cluster) {
        works.extend(list(hub, Some(hosting), &of_addon, &mut warnings).await);
    }
    Ok(Gathered {
        add_on: add_on.map(|it| it.object),
        cluster: stored.map(|it| it.object),
        works,
        bindings: list(hub, Some(cluster), &of_addon, &mut warnings).await,
        requests: list(hub, None, &of_cluster, &mut warnings).await,
        on,
        warnings,
    })
}

async fn list<K>(
    hub: &HubConnection,
    namespace: Option<&str>,
    filter: &Filter,
    warnings: &mut Vec<String>,
) -> Vec<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Default,
{
    let items = read(hub.list::<K>(namespace, filter).await, warnings);
    let items = items.into_iter().flatten();
    items.map(|it| it.object).collect()
}

/// What was read. Without it the rest is explained.
fn read<T>(read: Result<T, CommandError>, warnings: &mut Vec<String>) -> Option<T> {
    read.map_err(|failure| warnings.push(failure.to_string()))
        .ok()
}

fn write(out: &mut impl Write, it: &Explanation, now: Timestamp) -> io::Result<()> {
    writeln!(
        out,
        "Add-on {} on cluster {}",
        plain(&it.name),
        plain(&it.cluster)
    )?;
    let namespace = match it.namespace.as_str() {
        "" => "not reported",
        namespace => namespace,
    };
    for (name, value) in [
        ("Manager", it.manager.as_str()),
        ("Available", &it.available),
        ("Progressing", &it.progressing),
        ("Namespace", namespace),
        ("Permissions", &it.permissions),
    ] {
        writeln!(out, "{:<13}{}", format!("{name}:"), plain(value))?;
    }
    if !it.role_bindings.is_empty() {
        let bindings = first_of(&it.role_bindings, ", ");
        writeln!(out, "{:<13}{}", "Bindings:", plain(&bindings.to_string()))?;
    }
    match &it.waits_for[..] {
        [] => writeln!(out, "Waits for:   nothing")?,
        waits => {
            writeln!(out, "Waits for:")?;
            for wait in waits {
                writeln!(out, "- {}", plain(wait))?;
            }
        }
    }
    for table in [configs(it), registrations(it), requests(it, now), works(it)] {
        if !table.is_empty() {
            writeln!(out)?;
            table.write(out, true, &[])?;
        }
    }
    Ok(())
}

fn configs(it: &Explanation) -> Table {
    let mut table = Table::new(&["CONFIG", "NAME", "FROM", "DESIRED", "APPLIED", "STATE"]);
    let short = |hash: &str| match hash {
        "" => "-".to_owned(),
        hash => hash.chars().take(SHORT_HASH).collect(),
    };
    for it in &it.configs {
        table.row(vec![
            it.resource.clone(),
            it.name.clone(),
            it.from.clone(),
            short(&it.desired_hash),
            short(&it.applied_hash),
            it.state.to_owned(),
        ]);
    }
    table
}

fn registrations(it: &Explanation) -> Table {
    let mut table = Table::new(&["SIGNER", "DRIVER", "USER", "GROUPS"]);
    for it in &it.registrations {
        let or_dash = |text: &str| match text {
            "" => "-".to_owned(),
            text => text.to_owned(),
        };
        table.row(vec![
            it.signer.clone(),
            or_dash(&it.driver),
            or_dash(&it.user),
            or_dash(&it.groups.join(",")),
        ]);
    }
    table
}

fn requests(it: &Explanation, now: Timestamp) -> Table {
    let mut table = Table::new(&["CSR", "STATE", "AGE", "CERTIFICATE UNTIL", "SIGNER"]);
    for it in &it.requests {
        table.row(vec![
            it.name.clone(),
            it.state.as_str().to_owned(),
            age(it.created, now),
            it.not_after
                .map_or_else(|| "-".to_owned(), |it| it.to_string()),
            it.signer.clone(),
        ]);
    }
    table
}

fn works(it: &Explanation) -> Table {
    let mut table = Table::new(&["WORK", "APPLIED", "AVAILABLE", "NOT READY"]);
    let state = |status: &str| match status {
        "" => "Unknown".to_owned(),
        status => status.to_owned(),
    };
    for work in &it.works {
        table.row(vec![
            format!("{}/{}", work.cluster, work.name),
            state(&work.applied),
            state(&work.available),
            not_ready(work),
        ]);
    }
    table
}

fn not_ready(work: &Work) -> String {
    let objects: Vec<_> = work.not_ready.iter().map(|it| &it.object).collect();
    let more = match work.more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match objects.is_empty() {
        true => "-".to_owned(),
        false => format!("{}{more}", first_of(&objects, ", ")),
    }
}
