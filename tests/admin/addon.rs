//! `berth addon`: clusteradm's commands, deletion without hooks, and explanations.

use std::fs;

use berth_manifests::addons_in_one_version;
use berth_testkit::cluster::{Private, fresh};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::house::{Berth, House};

const ADD_ONS: &str = "/apis/addon.open-cluster-management.io";
const GROUP: &str = "addon.open-cluster-management.io";

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: web}
data: {cluster: '{{CLUSTER_NAME}}'}
";

/// A hub with the kinds of add-ons, and a cluster with its namespace.
struct Hub {
    house: House<Private>,
    cluster: String,
    /// The name of an add-on.
    web: String,
    _berth: Berth,
}

impl Hub {
    async fn new() -> Self {
        // Without the hub's controller of add-ons: the tests write what it and other managers report.
        let (house, berth) = House::private_with(&["--controllers=*,-addon"]).await;
        house.cluster.apply(&addons_in_one_version()).await;
        let cluster = fresh("addon");
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}});
        house.cluster.apply(&[namespace]).await;
        house.managed_cluster(&cluster, &[]).await;
        Self {
            house,
            cluster,
            web: fresh("web"),
            _berth: berth,
        }
    }

    fn on_cluster(&self, name: &str) -> String {
        let cluster = &self.cluster;
        format!("{ADD_ONS}/v1beta1/namespaces/{cluster}/managedclusteraddons/{name}")
    }

    async fn get(&self, path: &str) -> Value {
        self.house.admin.get(path).await.unwrap().ok().clone()
    }

    /// Makes an add-on that a manager of its own deploys.
    async fn define(&self, name: &str, strategy: Value) {
        let object = json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterManagementAddOn",
            "metadata": {"name": name}, "spec": {"installStrategy": strategy},
        });
        let path = format!("{ADD_ONS}/v1beta1/clustermanagementaddons");
        self.house.admin.post(&path, &object).await.unwrap().ok();
    }

    async fn report(&self, name: &str, status: Value) {
        let path = format!("{}/status", self.on_cluster(name));
        let status = json!({"status": status});
        self.house.admin.merge(&path, &status).await.unwrap().ok();
    }

    /// Plays a transcript, with the cluster as `{c}`, the add-on as `{web}`, and the folder as `{dir}`.
    async fn plays(&self, folder: &TempDir, transcript: &str) {
        let stage = self.house.stage().with("c", &self.cluster);
        let stage = stage.with("web", &self.web);
        let stage = stage.with("dir", folder.path().to_str().unwrap());
        stage.plays(transcript).await;
    }
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

#[tokio::test]
async fn an_add_on_is_created_of_manifests_enabled_and_disabled() {
    let hub = Hub::new().await;
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("web.yaml"), OBJECTS).unwrap();
    let broken = OBJECTS.replace("NAME}}", "NAME");
    fs::write(folder.path().join("broken.yaml"), broken).unwrap();
    let config = "\
apiVersion: addon.open-cluster-management.io/v1beta1
kind: AddOnDeploymentConfig
metadata: {name: web, namespace: default}
spec: {agentInstallNamespace: web}
";
    fs::write(folder.path().join("config.yaml"), config).unwrap();
    hub.plays(
        &folder,
        "\
$ berth addon create {web} -f {dir}/broken.yaml
Error: manifest 0 (ConfigMap \"web\"): unclosed {{ in data.cluster: }} is missing
? 1
$ berth addon create {web} -f {dir}/web.yaml --dry-run
AddOnTemplate {web}-0.0.1 is valid, and would be created (dry run)
ClusterManagementAddOn {web} is valid, and would be created (dry run)
$ berth addon create {web} -f {dir}/web.yaml --hub-registration --cluster-role-bind web --labels team=a
AddOnTemplate {web}-0.0.1 is created
ClusterManagementAddOn {web} is created
$ berth addon create {web} -f {dir}/web.yaml
Error: AddOnTemplate {web}-0.0.1: it already exists: --overwrite changes it
? 1
$ berth addon create {web} -f {dir}/web.yaml --version 0.0.2 --overwrite
AddOnTemplate {web}-0.0.2 is created
ClusterManagementAddOn {web} is changed
$ berth addon enable --names {web}x --clusters {c}
Error: enabling the unknown addon {web}x is not supported: there is no ClusterManagementAddOn of this name; did you mean \"{web}\"?
? 1
$ berth addon enable --names {web} --clusters {c} --annotate a=b --dry-run
Deploying {web} add-on to namespaces open-cluster-management-agent-addon of managed cluster: {c}. (dry run)
$ berth addon enable --names {web} --clusters {c} --config-file {dir}/config.yaml
Deploying {web} add-on to namespaces open-cluster-management-agent-addon of managed cluster: {c}.
$ berth addon enable {web} --clusters {c} --config-file {dir}/config.yaml
{web} add-on is already enabled in managed cluster: {c}.
$ berth addon enable {web} --cluster {c} -n agents --labels team=a
Deploying {web} add-on to namespaces agents of managed cluster: {c}.
",
    )
    .await;
    let template = hub
        .get(&format!(
            "{ADD_ONS}/v1alpha1/addontemplates/{}-0.0.1",
            hub.web
        ))
        .await;
    assert_eq!(
        template["spec"]["registration"],
        json!([{"type": "KubeClient", "kubeClient": {"hubPermissions": [
            {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "web"}},
        ]}}])
    );
    let management = format!("{ADD_ONS}/v1beta1/clustermanagementaddons/{}", hub.web);
    let management = hub.get(&management).await;
    let template = format!("{}-0.0.2", hub.web);
    assert_eq!(management["spec"]["defaultConfigs"][0]["name"], template);
    assert_eq!(management["metadata"]["labels"]["team"], "a");
    let on = hub.get(&hub.on_cluster(&hub.web)).await;
    assert_eq!(
        on["spec"]["configs"],
        json!([{"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "default", "name": "web"}])
    );
    let key = "addon.open-cluster-management.io/v1alpha1-install-namespace";
    assert_eq!(on["metadata"]["annotations"][key], "agents");
    assert_eq!(on["metadata"]["labels"]["team"], "a");

    let strategy = json!({"type": "Placements", "placements": [{"namespace": "n", "name": "p"}]});
    hub.define("placed", strategy).await;
    hub.plays(
        &folder,
        "\
$ berth addon enable placed --clusters {c}
Deploying placed add-on to namespaces open-cluster-management-agent-addon of managed cluster: {c}.
$ berth addon disable --names {web},nothing --clusters {c}
Undeploying {web} add-on in managed cluster: {c}.
nothing add-on not found in cluster: {c}.
$ berth addon disable --names placed
Error: without --clusters, add-ons are disabled on all clusters; without a terminal to confirm it on, add --yes
? 2
$ berth addon disable --names placed --yes
Undeploying placed add-on in managed cluster: {c}.
Note: placements install placed: it comes back on clusters that they select, unless the install strategy of ClusterManagementAddOn placed \
changes
$ berth addon disable --names placed --yes
placed add-on not found in any cluster.
",
    )
    .await;
}

#[tokio::test]
async fn an_add_on_goes_without_its_hooks_only_when_asked() {
    let hub = Hub::new().await;
    let folder = TempDir::new().unwrap();
    hub.define(&hub.web, json!({})).await;
    let hook = "addon.open-cluster-management.io/addon-pre-delete";
    let hosting = "addon.open-cluster-management.io/hosting-manifests-cleanup";
    let on = json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": hub.web, "namespace": hub.cluster, "finalizers": [hook, hosting]}, "spec": {},
    });
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "clean", "namespace": "web"}});
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": format!("addon-{}-pre-delete", hub.web), "namespace": hub.cluster},
        "spec": {"workload": {"manifests": [job]}},
    });
    hub.house.cluster.apply(&[on, work]).await;
    hub.plays(
        &folder,
        "\
$ berth addon delete {web}x --cluster {c} --yes
Error: managedclusteraddons.addon.open-cluster-management.io of cluster {c} \"{web}x\" not found; did you mean \"{web}\"?
? 1
$ berth addon delete {web} --cluster {c}
Error: a deletion removes what the add-on deployed on the cluster; without a terminal to confirm it on, add --yes
? 2
$ berth addon delete {web} --cluster {c} --skip-hooks --dry-run
add-on {web} of cluster {c} is being deleted without its hooks (dry run)
{web}: skips the hook Job web/clean of ManifestWork {c}/addon-{web}-pre-delete
",
    )
    .await;
    let stored = hub.get(&hub.on_cluster(&hub.web)).await;
    assert_eq!(stored["metadata"]["finalizers"], json!([hook, hosting]));
    assert_eq!(stored["metadata"].get("deletionTimestamp"), None);
    hub.plays(
        &folder,
        "\
$ berth addon delete {web} --cluster {c} --yes
add-on {web} of cluster {c} is being deleted
{web}: its hooks run on the cluster first; 'berth addon explain {web} --cluster {c}' shows how far they are
$ berth addon explain {web} --cluster {c}
Add-on {web} on cluster {c}
Manager:     its own; the hub's controller of add-ons installs and configures it; created by a user
Available:   not reported
Progressing: not reported
Namespace:   not reported
Permissions: not reported
Waits for:
- its hooks, which run before it is deleted: the manager has not reported them; 'berth addon delete --skip-hooks' lets them go
- finalizer addon.open-cluster-management.io/hosting-manifests-cleanup, which its owner removes
$ berth addon delete {web} --cluster {c} --skip-hooks --yes
add-on {web} of cluster {c} is being deleted without its hooks
{web}: skips the hook Job web/clean of ManifestWork {c}/addon-{web}-pre-delete
",
    )
    .await;
    let stored = hub.get(&hub.on_cluster(&hub.web)).await;
    assert_eq!(stored["metadata"]["finalizers"], json!([hosting]));
    hub.plays(
        &folder,
        "\
$ berth addon delete {web} --cluster {c} --skip-hooks --yes
add-on {web} of cluster {c} is being deleted without its hooks
{web}: no finalizer waits for hooks, so there is nothing to skip
",
    )
    .await;
    let patch = json!({"metadata": {"finalizers": null}});
    let path = hub.on_cluster(&hub.web);
    hub.house.admin.merge(&path, &patch).await.unwrap().ok();
}

#[tokio::test]
async fn an_add_on_is_explained() {
    let hub = Hub::new().await;
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("web.yaml"), OBJECTS).unwrap();
    hub.plays(
        &folder,
        "\
$ berth addon create {web} -f {dir}/web.yaml
AddOnTemplate {web}-0.0.1 is created
ClusterManagementAddOn {web} is created
$ berth addon enable {web} --clusters {c}
Deploying {web} add-on to namespaces open-cluster-management-agent-addon of managed cluster: {c}.
",
    )
    .await;
    let config = json!({"name": format!("{}-0.0.1", hub.web), "specHash": "0123456789abcdef"});
    hub.report(
        &hub.web,
        json!({
            "namespace": "web",
            "configReferences": [{"group": GROUP, "resource": "addontemplates", "desiredConfig": config}],
            "registrations": [{"type": "kubeClient", "kubeClient": {"driver": "csr", "subject": {"user": "u", "groups": ["g", "h"]}}}],
            "conditions": [
                condition("Available", "Unknown", "WorkNotApplied", "manifestWork is not applied yet"),
                condition("RegistrationApplied", "True", "SetPermissionApplied", "Registration of the addon agent is configured"),
                condition("ManifestApplied", "True", "AddonManifestApplied", "applied"),
                condition("Progressing", "True", "Progressing", "progressing... work is not ready"),
            ],
        }),
    )
    .await;
    let labels = json!({"open-cluster-management.io/addon-name": hub.web});
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "deploy-0", "namespace": hub.cluster, "labels": labels},
        "spec": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "web"}},
        ]}},
    });
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "web", "namespace": hub.cluster, "labels": labels},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    });
    hub.house.cluster.apply(&[work, role]).await;
    let path = format!(
        "/apis/work.open-cluster-management.io/v1/namespaces/{}/manifestworks/deploy-0/status",
        hub.cluster
    );
    let status = json!({"status": {
        "conditions": [condition("Applied", "False", "R", ""), condition("Available", "False", "R", "")],
        "resourceStatus": {"manifests": [{
            "resourceMeta": {"kind": "ConfigMap", "namespace": "web", "name": "web", "ordinal": 0},
            "conditions": [condition("Applied", "False", "R", "namespace web not found")],
        }]},
    }});
    hub.house.admin.merge(&path, &status).await.unwrap().ok();
    hub.plays(
        &folder,
        "\
$ berth addon explain {web} --cluster {c}
Add-on {web} on cluster {c}
Manager:     the hub's controller of add-ons, by an AddOnTemplate; created by a user
Available:   Unknown (WorkNotApplied): manifestWork is not applied yet
Progressing: True (Progressing): progressing... work is not ready
Namespace:   web
Permissions: True (SetPermissionApplied): Registration of the addon agent is configured
Bindings:    web (ClusterRole view)
Waits for:
- the acceptance of ManagedCluster {c}: berth accept {c}
- ManifestWork {c}/deploy-0: ConfigMap web/web: namespace web not found

CONFIG[..]NAME[..]FROM[..]DESIRED    APPLIED   STATE
addontemplates.addon.open-cluster-management.io   {web}-0.0.1   default of ClusterManagementAddOn   01234567   -         not applied

SIGNER                                DRIVER   USER   GROUPS
kubernetes.io/kube-apiserver-client   csr      u      g,h

WORK[..]APPLIED   AVAILABLE   NOT READY
{c}/deploy-0   False     False       ConfigMap web/web
$ berth addon explain {web}x --cluster {c}
Error: managedclusteraddons.addon.open-cluster-management.io of cluster {c} \"{web}x\" not found; did you mean \"{web}\"?
? 1
",
    )
    .await;
    let line = format!(
        "addon explain {} --cluster {} -o json",
        hub.web, hub.cluster
    );
    let explained = hub.house.berth(&line).await;
    let explained: Value = serde_json::from_str(explained.ok()).unwrap();
    assert_eq!(explained["configs"][0]["desiredHash"], "0123456789abcdef");
    assert_eq!(explained["waitsFor"].as_array().unwrap().len(), 2);
    assert_eq!(
        explained["works"][0]["notReady"][0]["message"],
        "namespace web not found"
    );
}
