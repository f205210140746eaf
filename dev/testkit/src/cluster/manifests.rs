//! Applying manifests, and the paths of objects.

use berth_api::path::{group_version, object_path, version_path};
use berth_manifests::files;
use berth_manifests::webhooks::WEBHOOKS;
use serde_json::Value;

use super::{Cluster, Person};
use crate::{eventually, when};

/// The field manager.
const MANAGER: &str = "tests";

/// The CRDs.
pub const CRDS: [&str; 6] = [
    files::CRDS[0].path,
    files::CRDS[1].path,
    files::CRDS[2].path,
    files::PLACEMENT_CRDS[0].path,
    files::PLACEMENT_CRDS[1].path,
    files::PLACEMENT_CRDS[2].path,
];

/// The registrations of the gate's webhooks.
pub fn shipped_registrations() -> impl Iterator<Item = &'static str> {
    WEBHOOKS.iter().map(|webhook| webhook.manifest.path)
}

/// The documents of a YAML file of the repository.
pub fn documents_of(path: &str) -> Vec<Value> {
    let file = crate::repository(path);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut bytes = text.as_bytes();
    serde_saphyr::read::<_, Value>(&mut bytes)
        .map(|document| document.unwrap_or_else(|error| panic!("{path}: {error}")))
        .collect()
}

/// The resource of a kind, and true if its objects are namespaced.
pub fn kind_of(object: &Value) -> (&'static str, bool) {
    match object["kind"].as_str().unwrap() {
        "Namespace" => ("namespaces", false),
        "ConfigMap" => ("configmaps", true),
        "Secret" => ("secrets", true),
        "ServiceAccount" => ("serviceaccounts", true),
        "ClusterRole" => ("clusterroles", false),
        "ClusterRoleBinding" => ("clusterrolebindings", false),
        "Role" => ("roles", true),
        "RoleBinding" => ("rolebindings", true),
        "CustomResourceDefinition" => ("customresourcedefinitions", false),
        "MutatingWebhookConfiguration" => ("mutatingwebhookconfigurations", false),
        "ValidatingWebhookConfiguration" => ("validatingwebhookconfigurations", false),
        "ValidatingAdmissionPolicy" => ("validatingadmissionpolicies", false),
        "ValidatingAdmissionPolicyBinding" => ("validatingadmissionpolicybindings", false),
        "MutatingAdmissionPolicy" => ("mutatingadmissionpolicies", false),
        "MutatingAdmissionPolicyBinding" => ("mutatingadmissionpolicybindings", false),
        "ManagedCluster" => ("managedclusters", false),
        "CertificateSigningRequest" => ("certificatesigningrequests", false),
        "ManagedClusterSet" => ("managedclustersets", false),
        "ManagedClusterSetBinding" => ("managedclustersetbindings", true),
        "Placement" => ("placements", true),
        "ManifestWork" => ("manifestworks", true),
        "ManifestWorkReplicaSet" => ("manifestworkreplicasets", true),
        "ClusterManagementAddOn" => ("clustermanagementaddons", false),
        "ManagedClusterAddOn" => ("managedclusteraddons", true),
        "AddOnDeploymentConfig" => ("addondeploymentconfigs", true),
        "AddOnTemplate" => ("addontemplates", false),
        kind => panic!("no test has needed a {kind} yet"),
    }
}

/// The path of all objects of this one's kind and namespace.
pub fn collection_of(object: &Value) -> String {
    path_to(object, "")
}

/// The path of this object.
pub fn path_of(object: &Value) -> String {
    path_to(object, object["metadata"]["name"].as_str().unwrap())
}

fn path_to(object: &Value, name: &str) -> String {
    let (group, version) = group_version(object["apiVersion"].as_str().unwrap());
    let (resource, is_namespaced) = kind_of(object);
    let namespace = match &object["metadata"]["namespace"] {
        _ if !is_namespaced => "",
        Value::String(namespace) => namespace,
        _ => "default",
    };
    object_path((group, version, resource), namespace, name)
}

impl Cluster {
    /// Applies every object of these files of the repository, and returns when the hub serves the kinds that they define.
    pub async fn apply_manifests(&self, files: &[&str]) {
        let objects: Vec<Value> = files.iter().flat_map(|file| documents_of(file)).collect();
        self.apply(&objects).await;
    }

    /// Applies these objects, and returns when the hub serves the kinds that they define.
    pub async fn apply(&self, objects: &[Value]) {
        let admin = self.admin().await;
        for object in objects {
            let path = path_of(object);
            admin.apply_as(MANAGER, &path, object).await.unwrap().ok();
        }
        for object in objects {
            if object["kind"] == "CustomResourceDefinition" {
                served(&admin, object).await;
            }
        }
    }
}

/// Waits until a kind can be listed, is in discovery, and has a schema that kubectl finds.
async fn served(admin: &Person, definition: &Value) {
    let spec = &definition["spec"];
    let group = spec["group"].as_str().unwrap();
    let (plural, kind) = (&spec["names"]["plural"], &spec["names"]["kind"]);
    let versions = spec["versions"].as_array().unwrap();
    for version in versions.iter().filter(|it| it["served"] == true) {
        let version = version["name"].as_str().unwrap();
        let api = version_path(group, version);
        let wanted = [
            (format!("{api}/{}", plural.as_str().unwrap()), ""),
            (api, plural.as_str().unwrap()),
            ("/apis".to_owned(), group),
            (
                format!("/openapi/v3/apis/{group}/{version}"),
                kind.as_str().unwrap(),
            ),
        ];
        for (path, fragment) in wanted {
            eventually(&format!("{path} with {fragment:?}"), async || {
                let answer = admin.get(&path).await.unwrap();
                when(answer, |it| {
                    it.code == 200 && it.body.to_string().contains(fragment)
                })
            })
            .await;
        }
    }
}
