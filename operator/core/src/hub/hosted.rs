//! A hub that is another cluster than the one on which its components run: mode Hosted.
//!
//! Here, in the namespace of the ClusterManager's name, are the Deployments and the credentials of their accounts on the hub; on the hub is
//! everything else, where it is in mode Default, too. OCM's operator uses the namespace of the ClusterManager's name on the hub as well.

use std::sync::LazyLock;

use berth_manifests::values::HubValues;
use berth_manifests::{HUB_NAMESPACE, Hub, files, is_converted};
use serde_json::{Value, json};

use super::place::Hosted;
use super::render::{GATE, Objects};
use crate::decision::Store;
use crate::deployments::container;
use crate::names::{CLUSTER_MANAGER_UID, HUB_SERVER};
use crate::objects::{Id, Kind};
use crate::pull::PULL_SECRET;

/// Where pods have the kubeconfig of the hub.
const MOUNTED: &str = "/var/run/secrets/hub";

/// Where pods have the token of their account on the hub.
pub const TOKEN_FILE: &str = "/var/run/secrets/hub/token";

/// What decides about such a hub beside its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosting<'a> {
    /// The components have credentials for the hub.
    pub has_credentials: bool,
    /// The API server of the hub.
    pub server: &'a str,
}

/// Returns whether an object of a ClusterManager with a hub elsewhere is on this cluster. `name`: of the ClusterManager.
#[must_use]
pub fn is_here(id: &Id, name: &str) -> bool {
    id.namespace == name
}

/// The kinds of its objects that are on this cluster, and have the label.
pub const KINDS_HERE: [Kind; 3] = [
    Kind::Deployment,
    Kind::DisruptionBudget,
    Kind::NetworkPolicy,
];

/// The kinds of its objects on the hub that have the label, each with its namespace.
pub fn kinds_there() -> impl Iterator<Item = (Kind, &'static str)> {
    let kinds = Kind::ALL.into_iter();
    // Secrets are looked at by their names.
    let kinds = kinds.filter(|it| !KINDS_HERE.contains(it) && *it != Kind::Secret);
    kinds.map(|kind| match kind.is_cluster_scoped() {
        true => (kind, ""),
        false => (kind, HUB_NAMESPACE),
    })
}

/// The Secrets of a ClusterManager with a hub elsewhere, on both clusters. `name`: of the ClusterManager.
pub fn secrets(name: &str) -> Vec<Id> {
    let id = |namespace: &str, name: &str| Id {
        kind: Kind::Secret,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let certificates = files::CERTIFICATES.documents();
    let certificates = certificates.first().and_then(Id::of);
    let tokens = accounts().map(|it| id(name, &secret_of(it)));
    let copy = id(name, PULL_SECRET);
    certificates
        .into_iter()
        .chain(tokens)
        .chain([copy])
        .collect()
}

/// The names of the accounts of the components on the hub.
pub fn accounts() -> impl Iterator<Item = &'static str> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let hub = Hub::with(&HubValues::default(), "");
        let pods = hub
            .workloads
            .iter()
            .map(|it| &it["spec"]["template"]["spec"]);
        let names = pods.filter_map(|it| it["serviceAccountName"].as_str());
        names.map(str::to_owned).collect()
    });
    NAMES.iter().map(|it| &**it)
}

/// The Secret with the token of an account.
#[must_use]
pub fn secret_of(account: &str) -> String {
    format!("{account}-kubeconfig")
}

/// Another ClusterManager that has the hub: also one of the same name, on another cluster or on the hub itself. `uid`: of this one.
pub(super) fn rival<'a>(uid: Option<&str>, stored: &'a Store) -> Option<&'a str> {
    let service = Id {
        kind: Kind::Service,
        namespace: HUB_NAMESPACE.to_owned(),
        name: GATE.to_owned(),
    };
    let service = stored.get(&service)?;
    let owner = service.created_by.as_deref()?;
    let of = service.object()["metadata"]["annotations"][CLUSTER_MANAGER_UID].take();
    (of.as_str() != uid).then_some(owner)
}

/// Has the components run on this cluster, and the hub call the gate at its address.
pub(super) fn host(objects: &mut Objects, hosted: &Hosted) {
    for deployment in &mut objects.workloads {
        deployment["metadata"]["namespace"] = json!(hosted.namespace);
        let template = &mut deployment["spec"]["template"]["metadata"];
        template["annotations"][HUB_SERVER] = json!(hosted.server);
        let pods = &mut deployment["spec"]["template"]["spec"];
        let account = pods
            .as_object_mut()
            .and_then(|it| it.remove("serviceAccountName"));
        let account = account.unwrap_or_default();
        pods["automountServiceAccountToken"] = json!(false);
        let secret = secret_of(account.as_str().unwrap_or_default());
        push(
            &mut pods["volumes"],
            json!({"name": "hub", "secret": {"secretName": secret}}),
        );
        let container = container(deployment);
        let mount = json!({"name": "hub", "mountPath": MOUNTED, "readOnly": true});
        push(&mut container["volumeMounts"], mount);
        push(
            &mut container["args"],
            json!(format!("--kubeconfig={MOUNTED}/kubeconfig")),
        );
    }
    for object in &mut objects.foundation {
        match Kind::of(object) {
            Some(kind) if KINDS_HERE.contains(&kind) => {
                object["metadata"]["namespace"] = json!(hosted.namespace);
            }
            // API servers call the address as it is, also if it is not a name but numbers.
            Some(Kind::Service) => {
                object["spec"] = json!({"type": "ExternalName", "externalName": hosted.address});
                object["metadata"]["annotations"][CLUSTER_MANAGER_UID] = json!(hosted.uid);
            }
            _ => {}
        }
    }
    for guard in &mut objects.guards {
        for webhook in guard["webhooks"].as_array_mut().into_iter().flatten() {
            webhook["clientConfig"]["service"]["port"] = json!(hosted.port);
        }
    }
    for definition in objects.definitions.iter_mut().filter(|it| is_converted(it)) {
        let client = &mut definition["spec"]["conversion"]["webhook"]["clientConfig"];
        client["service"]["port"] = json!(hosted.port);
    }
}

fn push(list: &mut Value, element: Value) {
    match list.as_array_mut() {
        Some(list) => list.push(element),
        None => *list = json!([element]),
    }
}
