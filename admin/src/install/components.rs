//! The components of Berth on a hub: which exist, and their removal.

use std::io::{self, Write};

use berth_manifests::{HUB_NAMESPACE, Hub, Manifest, Mode, files};
use berth_rules::display::{Lines, first_of};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::Value;

use super::facts::cluster_manager;
use super::keep::{is_ours, is_run_by_helm};
use super::values::{Given, to_keep};
use crate::doctor::{CONSOLE, CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, title};

/// Checks that what runs on the hub is of `berth init`.
///
/// # Errors
/// What runs on the hub is not of `berth init`.
pub(super) async fn check(hub: &HubConnection) -> Result<(), CommandError> {
    if let Some(name) = cluster_manager(hub).await? {
        return Err(CommandError::Refused(format!(
            "an operator runs this hub (ClusterManager {name}): kubectl delete clustermanager {name} removes it (OCM's operator deletes all clusters with it)"
        )));
    }
    for name in [WEBHOOK, CONTROLLER] {
        let deployment = hub
            .get_value::<Deployment>(Some(HUB_NAMESPACE), name)
            .await?;
        let Some(deployment) = deployment else {
            continue;
        };
        if is_run_by_helm(&deployment) {
            return Err(CommandError::Refused(format!(
                "Deployment {name} belongs to a release of Helm: helm uninstall"
            )));
        }
        if !is_ours(&deployment) {
            return Err(CommandError::Refused(format!(
                "Deployment {name} does not run Berth, so its objects are not removed"
            )));
        }
    }
    Ok(())
}

/// Returns the components that exist, in the order of their removal, without the namespace. `fleet`: the shared roles of agents stay.
///
/// # Errors
/// An object cannot be read.
pub(super) async fn existing(hub: &HubConnection, fleet: bool) -> Result<Vec<Value>, CommandError> {
    let mut existing = Vec::new();
    for object in parts(fleet) {
        if hub.is_there(&object).await? {
            existing.push(object);
        }
    }
    Ok(existing)
}

/// Removes these objects, in their order, and prints a line for each. Returns how many there were.
///
/// # Errors
/// An object cannot be deleted. Those before it are.
pub(super) async fn remove(
    hub: &HubConnection,
    objects: &[Value],
    dry_run: DryRun,
) -> anyhow::Result<usize> {
    let mut removed = 0;
    for object in objects {
        if hub.remove(object, dry_run).await? {
            writeln!(
                io::stdout(),
                "{} deleted{}",
                title(object),
                dry_run.suffix()
            )?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The objects of all modes, in the order of their removal, without the namespace. `fleet`: there are clusters, whose agents need the two
/// shared roles.
fn parts(fleet: bool) -> Vec<Value> {
    let hubs = Mode::ALL.map(|mode| Hub::of(mode, ""));
    let shared = files::AGENT_ROLES.documents();
    let mut parts: Vec<Value> = Vec::new();
    let guards = hubs.iter().flat_map(|hub| &hub.guards);
    let console = files::CONSOLE.documents();
    let workloads = hubs.iter().flat_map(|hub| &hub.workloads);
    let workloads = workloads.chain(&console);
    let foundation = hubs.iter().flat_map(|hub| hub.foundation.iter().rev());
    let overlays = [
        &files::CONSOLE_SERVICE,
        &files::CONSOLE_IMPERSONATION_ROLE,
        &files::CONSOLE_ACCOUNT,
        &files::AUTO_APPROVAL_ROLE,
        &files::CLUSTER_PROFILES_ROLE,
        &files::SIG_PLACEMENT_DECISIONS_ROLE,
        &files::NETWORK_POLICIES,
        &files::CERT_MANAGER_CERTIFICATE,
    ];
    let overlays = overlays.iter().flat_map(|it| Manifest::documents(it));
    let overlays: Vec<Value> = overlays.chain([to_keep(&Given::new())]).collect();
    for object in guards.chain(workloads).chain(&overlays).chain(foundation) {
        let is_kept = object["kind"] == "Namespace" || fleet && shared.contains(object);
        let key = |it: &Value| (it["kind"].clone(), it["metadata"].clone());
        if !is_kept && !parts.iter().any(|it| key(it) == key(object)) {
            parts.push(object.clone());
        }
    }
    parts
}

/// Removes the namespace, if nothing else runs in it.
///
/// # Errors
/// The namespace or its Deployments cannot be read, or it cannot be deleted.
pub(super) async fn remove_namespace(hub: &HubConnection, dry_run: DryRun) -> anyhow::Result<()> {
    let namespace = hub.get_value::<Namespace>(None, HUB_NAMESPACE).await?;
    let Some(namespace) = namespace.filter(|it| it["metadata"]["deletionTimestamp"].is_null())
    else {
        return Ok(());
    };
    let others = hub.names::<Deployment>(Some(HUB_NAMESPACE)).await?;
    let ours = [WEBHOOK, CONTROLLER, CONSOLE];
    let others: Vec<&String> = others
        .iter()
        .filter(|it| !ours.contains(&it.as_str()))
        .collect();
    if !others.is_empty() {
        writeln!(
            io::stderr(),
            "Note: namespace {HUB_NAMESPACE} stays: it has other Deployments: {}",
            Lines(&first_of(others, ", "))
        )?;
        return Ok(());
    }
    let object = files::NAMESPACE.documents().swap_remove(0);
    if hub.remove(&object, dry_run).await? {
        writeln!(
            io::stdout(),
            "{} deleted{}",
            title(&namespace),
            dry_run.suffix()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_go_first_and_the_fleet_keeps_what_it_needs() {
        let titles = |fleet| -> Vec<String> { parts(fleet).iter().map(title).collect() };
        let all = titles(false);
        let last = |is: fn(&String) -> bool| all.iter().rposition(is).unwrap();
        let first = |is: fn(&String) -> bool| all.iter().position(is).unwrap();
        let is_guard =
            |it: &String| it.contains("webhookconfiguration/") || it.contains("admissionpolicy");
        assert!(last(is_guard) < first(|it| it.starts_with("deployment/")));
        assert!(
            last(|it| it.starts_with("deployment/"))
                < first(|it| it.starts_with("serviceaccount/"))
        );
        let shared = "clusterrole/open-cluster-management:managedcluster:work".to_owned();
        assert!(all.contains(&shared) && !titles(true).contains(&shared));
        let console = [
            "deployment/berth-console",
            "service/berth-console",
            "serviceaccount/berth-console-sa",
            "clusterrole/open-cluster-management:berth-console:impersonation",
            "clusterrolebinding/open-cluster-management:berth-console:impersonation",
        ];
        for title in console {
            assert!(all.iter().any(|it| it == title), "{title}: {all:?}");
        }
        for title in &all {
            assert!(!title.starts_with("customresourcedefinition/"), "{title}");
            assert!(!title.starts_with("namespace/"), "{title}");
        }
        for mode in Mode::ALL {
            for object in Hub::of(mode, "").objects() {
                let title = title(object);
                let stays = title.starts_with("customresourcedefinition/")
                    || title.starts_with("namespace/");
                assert!(stays || all.contains(&title), "{title}");
            }
        }
    }
}
