//! A hub with gates behind one address, whose certificate a controller issues, renews and publishes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::managed::{Root, verifies};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::cluster::{Cluster, Person, Private, collection_of, fresh, path_of};
use crate::guarded::{
    AS_FROM_AFAR, RunningGate, gates_kubeconfig, install, managed_gate, registrations_with,
};
use crate::objects::cluster;
use crate::process::{Controller, scrape};
use crate::{eventually, when};

/// The namespace of the server.
pub const NAMESPACE: &str = "/api/v1/namespaces/open-cluster-management-hub";
/// The Secret with the certificate.
pub const SECRET: &str =
    "/api/v1/namespaces/open-cluster-management-hub/secrets/berth-webhook-certificates";
/// The Lease of the controller that keeps the certificate.
pub const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/berth-webhook-certificates";
/// The DNS name by which API servers call the gate.
pub const SERVICE: &str = "cluster-manager-registration-webhook.open-cluster-management-hub.svc";
/// The manifest of the rights of gates and controller on the Secret.
pub const ROLE: &str = "manifests/server/certificates-role.yaml";
/// The manifest of the empty Secret.
pub const MANIFEST: &str = "manifests/server/certificates.yaml";

/// A hub with registered gates behind one address.
pub struct World {
    /// The hub.
    pub hub: Private,
    /// An admin of the hub.
    pub admin: Person,
    /// The address of the gates.
    pub balancer: Balancer,
    /// The paths of the registrations.
    pub registrations: Vec<String>,
}

impl World {
    /// A hub without a certificate.
    pub async fn new() -> Self {
        Self::behind(Balancer::start().await).await
    }

    /// A hub without a certificate, and without a gate behind this address.
    pub async fn behind(balancer: Balancer) -> Self {
        let hub = Cluster::private().await;
        let admin = hub.admin().await;
        let mut registrations = registrations_with(|_| {});
        // Another test may have used it before.
        let paths: Vec<_> = registrations.iter().map(path_of).collect();
        for path in paths.iter().map(String::as_str).chain([SECRET, LEASE]) {
            let deleted = admin.delete(path).await.unwrap();
            assert!([200, 404].contains(&deleted.code), "{deleted:?}");
        }
        install(&hub).await;
        for registration in &mut registrations {
            for webhook in registration["webhooks"].as_array_mut().unwrap() {
                let config = &mut webhook["clientConfig"];
                let path = config["service"]["path"].as_str().unwrap();
                let port = balancer.port;
                *config = json!({ "url": format!("https://{AS_FROM_AFAR}:{port}{path}") });
            }
        }
        hub.apply(&registrations).await;
        Self {
            hub,
            admin,
            balancer,
            registrations: paths,
        }
    }

    /// Starts a controller that keeps the certificate.
    pub async fn keeper(&self, flags: &[&str]) -> Controller {
        let names = format!("--certificate-names={AS_FROM_AFAR}");
        let flags = [&["--keep-certificates", &names], flags].concat();
        Controller::start(&self.hub, &flags).await
    }

    /// The metrics of a controller.
    pub async fn metrics(&self, keeper: &Controller) -> String {
        scrape(&self.hub, keeper.port).await
    }

    /// A metric of a controller.
    pub async fn kept(&self, keeper: &Controller, name: &str) -> u64 {
        value(&self.metrics(keeper).await, name)
    }

    /// Restores the Secret from its manifest, as an admin does; deletes it first if its type differs.
    pub async fn put_back(&self) {
        let secret = self.admin.get(SECRET).await.unwrap();
        let wrong = secret.body["type"] != "Opaque" || secret.body["immutable"] == true;
        if secret.code == 200 && wrong {
            self.admin.delete(SECRET).await.unwrap().ok();
        }
        self.hub.apply_manifests(&[MANIFEST]).await;
    }

    /// Starts a gate, and waits until it serves.
    pub async fn gate(&self, flags: &[&str]) -> RunningGate {
        let kubeconfig = gates_kubeconfig(&self.hub).await;
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        // It blocks until the certificate exists.
        let gate = tokio::task::spawn_blocking(move || {
            let flags: Vec<_> = flags.iter().map(String::as_str).collect();
            managed_gate(&kubeconfig, &flags)
        });
        let gate = gate.await.unwrap();
        self.balancer.add(&gate);
        gate
    }

    /// The object at a path.
    pub async fn get(&self, path: &str) -> Value {
        self.admin.get(path).await.unwrap().body
    }

    /// The data of the Secret, decoded.
    pub async fn stored(&self, key: &str) -> String {
        let secret = self.get(SECRET).await;
        let data = secret["data"][key].as_str().unwrap_or_default();
        String::from_utf8(STANDARD.decode(data).unwrap()).unwrap()
    }

    /// The `caBundle` of each webhook.
    pub async fn bundles(&self) -> Vec<String> {
        let mut bundles = Vec::new();
        for path in &self.registrations {
            let registration = self.get(path).await;
            let bundle = registration["webhooks"][0]["clientConfig"]["caBundle"].as_str();
            let bundle = STANDARD.decode(bundle.unwrap_or_default()).unwrap();
            bundles.push(String::from_utf8(bundle).unwrap());
        }
        bundles
    }

    /// Checks that all registrations have the same bundle, and that it verifies the stored certificate.
    pub async fn is_verified(&self) -> bool {
        let bundles = self.bundles().await;
        let roots = Root::all_in(bundles[0].as_bytes());
        let leaf = self.stored("tls.crt").await;
        let names = [AS_FROM_AFAR.to_string(), SERVICE.to_owned()];
        let names = names.map(|name| name.try_into().unwrap());
        bundles.iter().all(|bundle| *bundle == bundles[0])
            && verifies(leaf.as_bytes(), &roots, &names, Timestamp::now())
    }

    /// Waits until that holds, and the API server calls the gate.
    pub async fn until_verified(&self) {
        eventually("one bundle that verifies the certificate", async || {
            if self.is_verified().await {
                return Ok(());
            }
            Err(self.bundles().await)
        })
        .await;
        let object = cluster(&fresh("probe"));
        let path = format!("{}?dryRun=All", collection_of(&object));
        eventually("a call of the gate", async || {
            let answer = self.admin.post(&path, &object).await.unwrap();
            when(answer, |it| it.code == 201)
        })
        .await;
    }

    /// Waits until the bundle of a registration is as before.
    pub async fn until_mended(&self, path: &str, bundle: &str) {
        eventually("the bundle as it was", async || {
            when(self.get(path).await, |registration| {
                registration["webhooks"][0]["clientConfig"]["caBundle"] == bundle
            })
        })
        .await;
    }

    /// Sets the bundle of the first webhook of a registration.
    pub async fn edit(&self, path: &str, bundle: &str) {
        let patch =
            json!([{ "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle }]);
        let patched = self
            .admin
            .send(
                http::Method::PATCH,
                path,
                "application/json-patch+json",
                patch.to_string(),
            )
            .await;
        patched.unwrap().ok();
    }
}

/// The value of a metric of a gate; the name includes the labels.
pub async fn metric(gate: &RunningGate, name: &str) -> u64 {
    value(&gate.metrics().await, name)
}

fn value(metrics: &str, name: &str) -> u64 {
    let line = metrics
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    line.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
}
