//! A hub that is another cluster than that of its operator and its components: mode Hosted.
//!
//! The operator has the documented rights on both, and no others.

use base64::prelude::{BASE64_STANDARD, Engine};
use tempfile::TempDir;

use super::*;

const FLEET: &str = "/apis/operator.open-cluster-management.io/v1/clustermanagers/fleet";
/// The namespace of the components: it has the name of the ClusterManager.
const SPACE: &str = "/api/v1/namespaces/fleet";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/fleet/deployments";
const SECRET: &str = "external-hub-kubeconfig";
/// A role of the components on the hub.
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:berth-registration:webhook";

/// The binding of the operator on the hub.
const BINDING: &str =
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/open-cluster-management:berth-operator";

/// The cluster of the operator and of the components, and the hub.
struct Hosted {
    hosting: Cluster,
    admin: Person,
    hub: HubNode,
    files: TempDir,
}

// === impl Hosted ===

impl Hosted {
    async fn new() -> Self {
        let hosting = Cluster::start().await;
        let manifests = [
            files::CRD_CLUSTER_MANAGERS,
            files::OPERATOR_NAMESPACES,
            files::OPERATOR_ACCOUNT,
            files::OPERATOR_ROLE,
        ];
        hosting.apply_manifests(&manifests.map(|it| it.path)).await;
        let admin = hosting.admin().await;
        once(&admin, MANAGERS, "the CRD is served", |_| true).await;
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleet"}});
        let mut objects = vec![space];
        for mut object in files::OPERATOR_HOSTING_ROLE.documents() {
            object["metadata"]["namespace"] = json!("fleet");
            objects.push(object);
        }
        hosting.apply(&objects).await;
        Self {
            hosting,
            admin,
            hub: HubNode::start().await,
            files: TempDir::new().unwrap(),
        }
    }

    fn spec(&self) -> Value {
        // The port of the Service, which leads to the gate: a hub for development knows no other.
        let gate = json!({"address": "127.0.0.1", "port": 9443});
        json!({"deployOption": {"mode": "Hosted", "hosted": {"registrationWebhookConfiguration": gate}}})
    }

    /// Gives the operator a kubeconfig of the hub.
    async fn prepares(&self) {
        let cluster = &self.hub.cluster;
        let manifests = [
            files::OPERATOR_NAMESPACES,
            files::OPERATOR_ACCOUNT,
            files::OPERATOR_ROLE,
            files::OPERATOR_TOKENS_ROLE,
        ];
        cluster.apply_manifests(&manifests.map(|it| it.path)).await;
        let account = cluster.service_account("open-cluster-management", "berth-operator");
        let kubeconfig = std::fs::read(account.await.kubeconfig).unwrap();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET},
            "data": {"kubeconfig": BASE64_STANDARD.encode(kubeconfig)},
        });
        let path = format!("{SPACE}/secrets");
        self.admin.post(&path, &secret).await.unwrap().ok();
    }

    async fn said(&self, condition: (&str, &str, &str)) -> String {
        said_by(&self.admin, FLEET, condition).await
    }

    /// Runs a component as its Deployment says, with the credentials that the operator has made, and reports that it does.
    async fn runs(&self, name: &str, more: &[&str]) -> Operator {
        let path = format!("{DEPLOYMENTS}/fleet-registration-{name}");
        let deployment = once(&self.admin, &path, "it is there", |_| true).await;
        let pods = &deployment["spec"]["template"]["spec"];
        assert!(pods["serviceAccountName"].is_null(), "{pods}");
        let secret = pods["volumes"][0]["secret"]["secretName"].as_str().unwrap();
        let secret = self.admin.get(&format!("{SPACE}/secrets/{secret}")).await;
        let secret = secret.unwrap();
        let value = |key: &str| {
            let value = secret.ok()["data"][key].as_str().unwrap();
            String::from_utf8(BASE64_STANDARD.decode(value).unwrap()).unwrap()
        };
        let token = self.files.path().join(format!("{name}.token"));
        std::fs::write(&token, value("token")).unwrap();
        let kubeconfig =
            value("kubeconfig").replace("/var/run/secrets/hub/token", token.to_str().unwrap());
        let file = self.files.path().join(name);
        std::fs::write(&file, kubeconfig).unwrap();
        let args = pods["containers"][0]["args"].as_array().unwrap();
        let args = args.iter().map(|it| it.as_str().unwrap());
        let args =
            args.map(|it| it.replace("/var/run/secrets/hub/kubeconfig", file.to_str().unwrap()));
        let args: Vec<String> = args.collect();
        let args: Vec<&str> = args.iter().map(|it| &**it).collect();
        let mut command = berth(&args);
        command.args(["--log-format", "json"]).args(more);
        let component = Operator::run(command);
        let count = &deployment["spec"]["replicas"];
        let status = json!({"status": {
            "observedGeneration": deployment["metadata"]["generation"], "replicas": count, "updatedReplicas": count,
            "readyReplicas": count, "availableReplicas": count,
        }});
        let path = format!("{path}/status");
        self.admin.merge(&path, &status).await.unwrap().ok();
        component
    }

    /// Runs the controller and the gate.
    async fn components(&self) -> [Operator; 2] {
        let port = self.hub.port().to_string();
        let at = [
            "--bind-address",
            "127.0.0.1",
            "--port",
            &port,
            "--metrics-port",
            "auto",
            "--health-probe-port",
            "auto",
        ];
        [
            self.runs("controller", &["--listen", "127.0.0.1:auto"])
                .await,
            self.runs("webhook", &at).await,
        ]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_is_installed_from_another_cluster_kept_and_removed() {
    let hosted = Hosted::new().await;
    let (admin, hub) = (&hosted.admin, &hosted.hub.admin);
    let operator = Operator::start(&hosted.hosting).await;
    create(admin, "fleet", hosted.spec()).await.ok();
    let unreachable = hosted.said(("Applied", "False", "HubUnreachable")).await;
    assert_eq!(
        unreachable,
        "secret fleet/external-hub-kubeconfig does not exist; create it with a kubeconfig of the hub in the key kubeconfig"
    );

    migrating::before(&hosted.hub.cluster, hub, 1).await;
    hosted.prepares().await;
    let _components = hosted.components().await;
    hosted
        .said(("Progressing", "False", "ClusterManagerUpToDate"))
        .await;
    hosted
        .said(("Applied", "True", "ClusterManagerApplied"))
        .await;
    hosted
        .said(("HubRegistrationDegraded", "False", "RegistrationFunctional"))
        .await;

    migrating::after(hub, 1).await;

    // The gate decides on the hub, and nothing of the hub is here.
    let (path, cluster) = managed_cluster("elsewhere");
    let clusters = path.rsplit_once('/').unwrap().0;
    eventually("the gate fills in", async || {
        hub.post(clusters, &cluster).await.unwrap();
        let stored = hub.get(&path).await.unwrap();
        let set =
            stored.body["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"]
                .clone();
        when(set, |it| it == "default")
    })
    .await;
    let (_, invalid) = managed_cluster("a.b");
    assert_eq!(hub.post(clusters, &invalid).await.unwrap().code, 400);
    assert_eq!(admin.get(clusters).await.unwrap().code, 404);
    assert_eq!(admin.get(ROLE).await.unwrap().code, 404);

    let info = admin.berth(&["get", "hub-info"]).await;
    let fleet =
        "Components of ClusterManager fleet, mode Hosted:\n  fleet-registration-controller:";
    assert!(info.ok().contains(fleet), "{info:?}");

    // The doctor finds all of it on the hub, but for a cluster that nobody has accepted.
    let doctor = hub.berth(&["doctor", "-v"]).await;
    let lines = doctor.ok().lines();
    let trouble: Vec<_> = lines
        .filter(|it| !it.starts_with("ok ") && !it.starts_with("  ") && !it.is_empty())
        .collect();
    assert_eq!(
        trouble,
        ["WARNING pending-clusters: managedcluster/elsewhere"]
    );

    // What is changed is put back on both clusters, and nothing else is written.
    let paths = related_to(admin, FLEET).await;
    let (here, there): (Vec<_>, Vec<_>) = paths.into_iter().partition(|it| it.contains("/fleet/"));
    assert_eq!(here.len(), 3, "{here:#?}");
    let before = (
        versions_of(admin, here.clone()).await,
        versions_of(hub, there.clone()).await,
    );
    drop(operator);
    hub.delete(ROLE).await.unwrap().ok();
    let operator = Operator::start(&hosted.hosting).await;
    once(hub, ROLE, "it is put back", |_| true).await;
    hosted
        .said(("Applied", "True", "ClusterManagerApplied"))
        .await;
    let after = (
        versions_of(admin, here).await,
        versions_of(hub, there).await,
    );
    assert_eq!(after.0, before.0);
    let changed = after.1.iter().filter(|it| !before.1.contains(it));
    assert_eq!(changed.count(), 1, "{after:#?}");

    // Neither another one nor another mode takes it away.
    let mode = |mode: &str| json!({"spec": {"deployOption": {"mode": mode}}});
    admin.merge(FLEET, &mode("Default")).await.unwrap().ok();
    let changed = hosted.said(("Applied", "False", "ModeChanged")).await;
    assert!(changed.contains("set Hosted again"), "{changed}");
    admin.merge(FLEET, &mode("Hosted")).await.unwrap().ok();
    hosted
        .said(("Applied", "True", "ClusterManagerApplied"))
        .await;

    // A permission that is missing is named, with what helps.
    hub.delete(BINDING).await.unwrap().ok();
    let look = |when: &str| json!({"metadata": {"annotations": {"look": when}}});
    admin.merge(FLEET, &look("now")).await.unwrap().ok();
    let forbidden = hosted.said(("Applied", "False", "HubUnreachable")).await;
    assert!(
        forbidden.ends_with(": apply manifests/overlays/hosted-hub there"),
        "{forbidden}"
    );
    let role = files::OPERATOR_ROLE.path;
    hosted.hub.cluster.apply_manifests(&[role]).await;
    admin.merge(FLEET, &look("again")).await.unwrap().ok();
    hosted
        .said(("Applied", "True", "ClusterManagerApplied"))
        .await;

    // The fleet stays.
    admin.delete(FLEET).await.unwrap().ok();
    gone(admin, FLEET).await;
    assert_eq!(hub.get(ROLE).await.unwrap().code, 404);
    assert_eq!(hub.get(&path).await.unwrap().code, 200);
    let deployments = admin.get(DEPLOYMENTS).await.unwrap();
    assert_eq!(deployments.ok()["items"], json!([]));
    let secrets = admin.get(&format!("{SPACE}/secrets")).await.unwrap();
    let secrets = secrets.ok()["items"].as_array().unwrap().iter();
    let secrets: Vec<_> = secrets.map(|it| it["metadata"]["name"].clone()).collect();
    assert_eq!(secrets, [SECRET]);
    drop(operator);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_has_written_nothing_to_its_hub_goes_at_once() {
    let hosted = Hosted::new().await;
    let _operator = Operator::start(&hosted.hosting).await;
    create(&hosted.admin, "fleet", hosted.spec()).await.ok();
    hosted.said(("Applied", "False", "HubUnreachable")).await;
    hosted.admin.delete(FLEET).await.unwrap().ok();
    gone(&hosted.admin, FLEET).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_of_this_cluster_stays_where_it_is_and_can_be_removed() {
    let (node, _operator) = installed(json!({})).await;
    let admin = &node.admin;
    let gate = json!({"address": "gate.example.com"});
    let hosted = json!({"mode": "Hosted", "hosted": {"registrationWebhookConfiguration": gate}});
    let patch = json!({"spec": {"deployOption": hosted}});
    admin.merge(MANAGER, &patch).await.unwrap().ok();
    let changed = said(admin, ("Applied", "False", "ModeChanged")).await;
    assert!(changed.contains("set Default again"), "{changed}");
    // The next one does not get it.
    create(admin, "second", json!({})).await.ok();
    let second = format!("{MANAGERS}/second");
    said_by(
        admin,
        &second,
        ("Applied", "False", "AnotherClusterManager"),
    )
    .await;
    admin.delete(&second).await.unwrap().ok();
    admin.delete(MANAGER).await.unwrap().ok();
    gone(admin, MANAGER).await;
    let account =
        "/api/v1/namespaces/open-cluster-management-hub/serviceaccounts/registration-webhook-sa";
    assert_eq!(admin.get(account).await.unwrap().code, 404);
}
