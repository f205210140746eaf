//! The accounts of the manifests, with exactly the rights that the manifests give them.

use std::path::Path;

use berth_manifests::files;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Person, documents_of};

/// The namespace of the accounts.
pub const NAMESPACE: &str = "open-cluster-management-hub";
/// The gate's account.
pub const GATE: &str = "registration-webhook-sa";
/// The controller's account.
pub const CONTROLLER: &str = "berth-registration-controller-sa";

/// The manifests that matter to processes outside of the hub, which runs no Deployments.
pub const SERVER: [&str; 10] = [
    files::NAMESPACE.path,
    files::ACCOUNTS.path,
    files::GATE_ROLE.path,
    files::CERTIFICATES.path,
    files::CERTIFICATES_ROLE.path,
    files::CONTROLLER_ROLE.path,
    files::PLACEMENT_ROLE.path,
    files::WORK_ROLE.path,
    files::ADDON_ROLE.path,
    files::AGENT_ROLES.path,
];

/// Applies the accounts and rights of the default manifests, with separate accounts for gate and controller.
pub async fn install(cluster: &Cluster) {
    cluster.apply_manifests(&SERVER).await;
}

/// Applies those of `overlays/hub`: the gate's account has the controller's rights, too.
pub async fn install_hub(cluster: &Cluster) {
    let mut objects: Vec<_> = SERVER.iter().flat_map(|file| documents_of(file)).collect();
    objects.retain(|it| !(it["kind"] == "ServiceAccount" && it["metadata"]["name"] == CONTROLLER));
    for object in &mut objects {
        let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
        for subject in subjects.into_iter().flatten() {
            subject["name"] = json!(GATE);
        }
    }
    cluster.apply(&objects).await;
}

/// The account of the gate, and of `berth hub`.
pub async fn gate(cluster: &Cluster) -> Person {
    cluster.service_account(NAMESPACE, GATE).await
}

/// The account of the controller.
pub async fn controller(cluster: &Cluster) -> Person {
    cluster.service_account(NAMESPACE, CONTROLLER).await
}

/// A token with the right to read metrics, which `manifests/monitoring` grants Prometheus.
pub async fn scrapers_token(cluster: &Cluster) -> String {
    cluster
        .apply_manifests(&["manifests/monitoring/scraper.yaml"])
        .await;
    let scraper = cluster.service_account(NAMESPACE, "berth-scraper").await;
    token_in(&scraper.kubeconfig)
}

/// The token in a kubeconfig of these tests.
pub fn token_in(kubeconfig: &Path) -> String {
    let config: Value = serde_json::from_slice(&std::fs::read(kubeconfig).unwrap()).unwrap();
    let token = config["users"][0]["user"]["token"].as_str();
    token.unwrap_or_default().to_owned()
}
