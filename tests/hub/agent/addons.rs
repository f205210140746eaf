//! Certificates and health of add-ons.

mod changes;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::csr::{Csr, Usage};
use berth_certs::issue::Authority;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use berth_testkit::cluster::AsAdmin;
use berth_testkit::{eventually, when};

use super::world::{World, text};
use crate::lifecycle::hub::{CSRS, condition};

const SIGNER: &str = "example.com/addons";

impl World {
    /// Creates an add-on with this install namespace and these registrations. Returns its path on the hub.
    async fn addon(&self, name: &str, namespace: &str, registrations: Value) -> String {
        let metadata = json!({"finalizers": ["example.com/held"]});
        let path = self.hub.addon(&self.name, name, metadata).await;
        let status = json!({"namespace": namespace, "registrations": registrations});
        self.hub
            .patch(&format!("{path}/status"), json!({ "status": status }))
            .await;
        path
    }

    /// Creates a namespace on the managed cluster.
    async fn namespace(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let created = self.managed.post("/api/v1/namespaces", &object).await;
        assert_eq!(created.unwrap().code, 201);
    }

    /// Waits until a condition of an add-on has this status and reason, and returns its message.
    async fn addon_is(&self, addon: &str, type_: &str, status: &str, reason: &str) -> String {
        let what = format!("{type_}={status} ({reason})");
        let object = self.hub.once(addon, &what, |it| {
            condition(it, type_).is_some_and(|it| it["status"] == status && it["reason"] == reason)
        });
        let message = condition(&object.await, type_).unwrap()["message"].clone();
        message.as_str().unwrap().to_owned()
    }

    /// Waits for a CSR of an add-on for this signer that is not answered, and returns it.
    async fn pending_of(&self, addon: &str, signer: &str) -> Value {
        eventually("a pending CSR of the add-on", async || {
            let mut csrs = self.csrs().await;
            csrs.retain(|it| {
                it["metadata"]["labels"]["open-cluster-management.io/addon-name"] == addon
                    && it["spec"]["signerName"] == signer
                    && it["status"]["conditions"].is_null()
            });
            csrs.pop().ok_or("none")
        })
        .await
    }

    /// Signs a CSR, as the signer of an add-on does.
    async fn sign(&self, csr: &Value) {
        let pem = STANDARD.decode(csr["spec"]["request"].as_str().unwrap());
        let request = Csr::from_pem(&pem.unwrap()).unwrap();
        let hour = Duration::from_secs(3600);
        let now = Timestamp::now();
        let authority = Authority::new("signer of add-ons", 2 * hour, now).unwrap();
        let usages = [
            Usage::DigitalSignature,
            Usage::KeyEncipherment,
            Usage::ClientAuth,
        ];
        let signed = authority.sign(&request, &usages, hour, now).unwrap();
        let path = format!("{CSRS}/{}", csr["metadata"]["name"].as_str().unwrap());
        let mut object = self.hub.get(&path).await.body;
        object["status"]["certificate"] = json!(STANDARD.encode(signed));
        let answer = self.hub.admin.put(&format!("{path}/status"), &object).await;
        assert_eq!(answer.unwrap().code, 200);
    }

    /// Lets the agents of the cluster ask for tokens of these accounts, as the hub's part of an add-on does.
    async fn allow_tokens(&self, accounts: &[&str]) {
        let name = self.name.as_str();
        let group = "rbac.authorization.k8s.io";
        let role = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "tokens"},
            "rules": [{
                "apiGroups": [""], "resources": ["serviceaccounts/token"],
                "resourceNames": accounts, "verbs": ["create"],
            }],
        });
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "tokens"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "tokens"},
            "subjects": [{
                "apiGroup": group, "kind": "Group",
                "name": format!("system:open-cluster-management:{name}"),
            }],
        });
        let path = format!("/apis/{group}/v1/namespaces/{name}");
        self.hub.create(&format!("{path}/roles"), &role).await;
        let bindings = format!("{path}/rolebindings");
        self.hub.create(&bindings, &binding).await;
    }

    /// Creates an account on the hub, and says so in the status of the add-on.
    async fn account_is_ready(&self, addon: &str, account: &str) {
        let object =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}});
        let path = format!("/api/v1/namespaces/{}/serviceaccounts", self.name);
        let created = self.hub.create(&path, &object).await;
        let uid = created["metadata"]["uid"].as_str().unwrap();
        let mut conditions = self.hub.get(addon).await.body["status"]["conditions"].clone();
        let conditions = conditions.as_array_mut().unwrap();
        conditions.retain(|it| it["type"] != "TokenInfrastructureReady");
        conditions.push(json!({
            "type": "TokenInfrastructureReady", "status": "True", "reason": "Ready",
            "message": format!("account {account} (UID: {uid}) is ready"),
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }));
        let status = json!({"status": {"conditions": conditions}});
        self.hub.patch(&format!("{addon}/status"), status).await;
    }

    /// Waits until a Secret exists on the managed cluster with these keys, and returns it.
    async fn secret_with(&self, path: &str, keys: &[&str]) -> Value {
        self.on_managed(path, &format!("keys {keys:?}"), |it| {
            let found = it["data"].as_object().into_iter().flatten();
            found.map(|(key, _)| key.as_str()).eq(keys.iter().copied())
        })
        .await
    }
}

fn secret(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets/{name}")
}

fn client(user: &str) -> Value {
    json!({"type": "kubeClient", "kubeClient": {"subject": {"user": user, "groups": ["g"]}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_on_gets_its_certificates_and_loses_them_with_its_end() {
    let world = World::new().await;
    let agent = world.joined(&[]).await;
    let name = world.name.as_str();
    let namespace = format!("addons-of-{name}");
    let custom = json!({"type": "customSigner", "customSigner": {
        "signerName": SIGNER,
        "subject": {"user": "u", "groups": ["g"], "organizationUnits": ["o"]},
    }});
    let addon = world
        .addon("x", &namespace, json!([{"type": "kubeClient"}, custom]))
        .await;
    let words = world
        .addon_is(
            &addon,
            "ClusterCertificateRotated",
            "False",
            "ClientCertificateUpdateFailed",
        )
        .await;
    let wanted =
        format!("Failed to rotated client certificate namespace {namespace} does not exist");
    assert!(words.starts_with(&wanted), "{words}");
    world.namespace(&namespace).await;

    let csr = world
        .pending_of("x", "kubernetes.io/kube-apiserver-client")
        .await;
    let csr_name = csr["metadata"]["name"].as_str().unwrap();
    assert!(
        csr_name.starts_with(&format!("addon-{name}-x-")),
        "{csr_name}"
    );
    let pem = STANDARD.decode(csr["spec"]["request"].as_str().unwrap());
    let request = Csr::from_pem(&pem.unwrap()).unwrap();
    let group = format!("system:open-cluster-management:cluster:{name}:addon:x");
    assert_eq!(request.common_name(), format!("{group}:agent:x"));
    assert_eq!(request.organizations(), [group]);
    world.decide(&csr, "Approved").await;
    let other = world.pending_of("x", SIGNER).await;
    world.decide(&other, "Approved").await;
    world.sign(&other).await;

    let (own, custom) = (
        secret(&namespace, "x-hub-kubeconfig"),
        secret(&namespace, "x-example.com-addons-client-cert"),
    );
    let keys = ["cluster-name", "kubeconfig", "tls.crt", "tls.key"];
    let stored = world.secret_with(&own, &keys).await;
    assert_eq!(text(&stored, "cluster-name"), name);
    let hub_secret = world.hub_secret().await;
    assert_eq!(text(&stored, "kubeconfig"), text(&hub_secret, "kubeconfig"));
    let keys = ["cluster-name", "tls.crt", "tls.key"];
    world.secret_with(&custom, &keys).await;
    world
        .addon_is(
            &addon,
            "ClusterCertificateRotated",
            "True",
            "ClientCertificateUpdated",
        )
        .await;
    world
        .hub
        .once(&addon, "the driver", |it| {
            it["status"]["registrations"][0]["kubeClient"]["driver"] == "csr"
        })
        .await;
    for path in [&own, &custom] {
        world.managed.gone(&format!("{path}-pending")).await;
    }

    // A restarted agent asks for nothing. While the add-on is being deleted, it keeps its Secrets.
    drop(agent);
    let before = world.csrs().await.len();
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    world.hub.delete(&addon).await;
    let none = json!({"status": {"registrations": null}});
    world.hub.patch(&format!("{addon}/status"), none).await;
    world
        .addon_is(
            &addon,
            "Available",
            "Unknown",
            "ManagedClusterAddOnLeaseNotFound",
        )
        .await;
    assert_eq!(world.csrs().await.len(), before);
    let after = world.managed.get(&own).await.unwrap();
    assert_eq!(after.ok()["data"], stored["data"]);

    // It goes while the agent is down.
    drop(agent);
    world.hub.release(&addon).await;
    world.hub.gone(&addon).await;
    let _agent = world.agent(&[]);
    for path in [&own, &custom] {
        world.managed.gone(path).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_subject_gets_another_certificate() {
    let world = World::new().await;
    let agent = world.joined(&[]).await;
    let namespace = world.namespace.clone();
    let addon = world.addon("x", &namespace, json!([client("u1")])).await;
    let status = format!("{addon}/status");
    let kube = "kubernetes.io/kube-apiserver-client";
    let csr = world.pending_of("x", kube).await;
    world.decide(&csr, "Approved").await;
    let path = secret(&namespace, "x-hub-kubeconfig");
    let first = world
        .on_managed(&path, "a certificate", |it| {
            !it["data"]["tls.crt"].is_null()
        })
        .await;

    // The agent is killed while it waits for the answer to the next one.
    let registrations = |user: &str| json!({"status": {"registrations": [client(user)]}});
    world.hub.patch(&status, registrations("u2")).await;
    world.managed.gone(&path).await;
    world.pending_of("x", kube).await;
    drop(agent);
    world.hub.patch(&status, registrations("u3")).await;
    let mut agent = world.agent(&[]);
    let csr = eventually("a CSR for the third subject", async || {
        let csr = world.pending_of("x", kube).await;
        let pem = STANDARD.decode(csr["spec"]["request"].as_str().unwrap());
        let request = Csr::from_pem(&pem.unwrap()).unwrap();
        match request.common_name() {
            "u3" => Ok(csr),
            other => {
                world.decide(&csr, "Denied").await;
                Err(other.to_owned())
            }
        }
    })
    .await;
    world.decide(&csr, "Approved").await;
    let third = world
        .on_managed(&path, "a certificate", |it| {
            !it["data"]["tls.crt"].is_null()
        })
        .await;
    assert_ne!(third["data"]["tls.key"], first["data"]["tls.key"]);
    agent
        .logs(|line| line["message"] == "the certificate of an add-on is saved")
        .await;

    // Without an end of the finalizer it is gone at once.
    world.hub.release(&addon).await;
    world.hub.delete(&addon).await;
    world.managed.gone(&path).await;
}

/// Each subject needs a request of its own, and nobody answers them.
#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_changes_again_and_again_leaves_ten_requests() {
    let world = World::new().await;
    let _agent = world.joined(&[]).await;
    let addon = world.addon("x", &world.namespace, json!([])).await;
    let label = "open-cluster-management.io/addon-name";
    let requests = async || {
        let mut csrs = world.csrs().await;
        csrs.retain(|it| it["metadata"]["labels"][label] == "x");
        csrs.len()
    };
    let subject = async |number: usize, more: Value| {
        let mut registrations = vec![client(&format!("u{number}"))];
        registrations.extend(more.as_array().cloned().unwrap_or_default());
        let status = json!({"status": {"registrations": registrations}});
        world.hub.patch(&format!("{addon}/status"), status).await;
    };
    for number in 1..=10 {
        subject(number, json!([])).await;
        eventually(&format!("{number} requests"), async || {
            when(requests().await, |it| *it == number)
        })
        .await;
    }
    subject(11, json!([])).await;
    let words = "Stop creating csr since there are too many csr created already on hub";
    world
        .hub
        .once(&addon, words, |it| {
            condition(it, "ClusterCertificateRotated").is_some_and(|it| it["message"] == words)
        })
        .await;
    assert_eq!(requests().await, 10);
    // Those for another signer are others.
    let custom = json!([{"type": "customSigner", "customSigner": {"signerName": SIGNER}}]);
    subject(12, custom).await;
    world.pending_of("x", SIGNER).await;
    assert_eq!(requests().await, 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tokens_an_add_on_gets_one_of_its_account() {
    let world = World::new().await;
    let _agent = world
        .joined(&["--addon-kubeclient-registration-auth=token"])
        .await;
    let (name, namespace) = (world.name.as_str(), world.namespace.clone());
    let addon = world
        .addon("x", &namespace, json!([{"type": "kubeClient"}]))
        .await;
    let client = json!({
        "driver": "token",
        "subject": {"user": format!("system:serviceaccount:{name}:x-agent")},
    });
    world
        .hub
        .once(&addon, "the driver", |it| {
            it["status"]["registrations"][0]["kubeClient"] == client
        })
        .await;
    let words = world
        .addon_is(&addon, "TokenRefreshed", "False", "TokenCreationFailed")
        .await;
    let wanted = "Failed to create token: condition TokenInfrastructureReady";
    assert!(words.starts_with(wanted), "{words}");

    world.allow_tokens(&["x-agent"]).await;
    world.account_is_ready(&addon, "x-agent").await;
    let path = secret(&namespace, "x-hub-kubeconfig");
    let first = world
        .secret_with(&path, &["cluster-name", "kubeconfig", "token"])
        .await;
    let kubeconfig = text(&first, "kubeconfig");
    assert!(
        kubeconfig.ends_with("    tokenFile: token\n"),
        "{kubeconfig}"
    );
    let words = world
        .addon_is(&addon, "TokenRefreshed", "True", "AddonTokenRefreshed")
        .await;
    let wanted = "Addon token refreshed, expires at ";
    assert!(words.starts_with(wanted), "{words}");

    // The hub has made another account of the same name.
    let account = format!("/api/v1/namespaces/{name}/serviceaccounts/x-agent");
    world.hub.delete(&account).await;
    world.hub.gone(&account).await;
    world.account_is_ready(&addon, "x-agent").await;
    world
        .on_managed(&path, "another token", |it| {
            it["data"]["token"] != first["data"]["token"]
        })
        .await;
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_ons_health_follows_its_lease() {
    let world = World::new().await;
    let _agent = world.joined(&[]).await;
    let namespace = world.namespace.clone();
    let addon = world.addon("x", &namespace, json!([])).await;
    let available = async |status: &str, reason: &str| {
        world.addon_is(&addon, "Available", status, reason).await
    };
    let words = available("Unknown", "ManagedClusterAddOnLeaseNotFound").await;
    assert_eq!(words, "The status of x add-on is unknown.");

    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "x"}, "spec": {},
    });
    let created = world.managed.post(&leases, &lease).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let words = available("False", "ManagedClusterAddOnLeaseUpdateStopped").await;
    assert_eq!(words, "x add-on is not available.");

    let renewed = async |at: Timestamp| {
        let time = at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let patch = json!({"spec": {"renewTime": time}});
        let patched = world.managed.merge(&format!("{leases}/x"), &patch).await;
        assert_eq!(patched.unwrap().code, 200);
    };
    renewed(Timestamp::now()).await;
    let words = available("True", "ManagedClusterAddOnLeaseUpdated").await;
    assert_eq!(words, "x add-on is available.");
    // A renewal counts for five minutes: this one for two more seconds.
    renewed(Timestamp::now() - SignedDuration::from_secs(298)).await;
    available("False", "ManagedClusterAddOnLeaseUpdateStopped").await;

    // Another controller reports it.
    let customized = json!({"status": {"healthCheck": {"mode": "Customized"}}});
    let stored = world
        .hub
        .patch(&format!("{addon}/status"), customized)
        .await;
    renewed(Timestamp::now()).await;
    let other = world.addon("y", &namespace, json!([])).await;
    world
        .addon_is(
            &other,
            "Available",
            "Unknown",
            "ManagedClusterAddOnLeaseNotFound",
        )
        .await;
    let now = world.hub.get(&addon).await.body;
    assert_eq!(now["status"]["conditions"], stored["status"]["conditions"]);
}
