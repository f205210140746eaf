//! A hub where gates are registered whose certificate a controller makes, renews and publishes, behind one address.

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

/// Where everything of the server is.
pub const NAMESPACE: &str = "/api/v1/namespaces/open-cluster-management-hub";
/// Holds the certificate.
pub const SECRET: &str =
    "/api/v1/namespaces/open-cluster-management-hub/secrets/berth-webhook-certificates";
/// Says which controller keeps it.
pub const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/berth-webhook-certificates";
/// The name that API servers call the gate by.
pub const SERVICE: &str = "cluster-manager-registration-webhook.open-cluster-management-hub.svc";
/// Lets gates read the Secret, and the controller fill it.
pub const ROLE: &str = "manifests/server/certificates-role.yaml";
/// Makes the empty Secret.
pub const MANIFEST: &str = "manifests/server/certificates.yaml";

/// A hub where gates are registered, behind one address.
pub struct World {
    /// The hub.
    pub hub: Private,
    /// May do everything there.
    pub admin: Person,
    /// The address of the gates.
    pub balancer: Balancer,
    /// The paths of the registrations.
    pub registrations: Vec<String>,
}

impl World {
    /// Without any certificate.
    pub async fn new() -> Self {
        Self::behind(Balancer::start().await).await
    }

    /// Without any certificate, and any gate behind this address.
    pub async fn behind(balancer: Balancer) -> Self {
        let hub = Cluster::private().await;
        let admin = hub.admin().await;
        let mut registrations = registrations_with(|_| {});
        // It may have been used before.
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

    /// A controller that keeps the certificate.
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

    /// Puts the Secret back as an admin does, by its manifest, and deletes what cannot be written to before.
    pub async fn put_back(&self) {
        let secret = self.admin.get(SECRET).await.unwrap();
        let wrong = secret.body["type"] != "Opaque" || secret.body["immutable"] == true;
        if secret.code == 200 && wrong {
            self.admin.delete(SECRET).await.unwrap().ok();
        }
        self.hub.apply_manifests(&[MANIFEST]).await;
    }

    /// A gate, which serves.
    pub async fn gate(&self, flags: &[&str]) -> RunningGate {
        let kubeconfig = gates_kubeconfig(&self.hub).await;
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        // It blocks until there is a certificate.
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

    /// What each webhook has.
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

    /// Every registration has the same bundle, and it verifies what is stored.
    pub async fn is_verified(&self) -> bool {
        let bundles = self.bundles().await;
        let roots = Root::all_in(bundles[0].as_bytes());
        let leaf = self.stored("tls.crt").await;
        let names = [AS_FROM_AFAR.to_string(), SERVICE.to_owned()];
        let names = names.map(|name| name.try_into().unwrap());
        bundles.iter().all(|bundle| *bundle == bundles[0])
            && verifies(leaf.as_bytes(), &roots, &names, Timestamp::now())
    }

    /// Waits for that, and until the gate is called.
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

    /// Waits until the bundle of a registration is what it was.
    pub async fn until_mended(&self, path: &str, bundle: &str) {
        eventually("the bundle as it was", async || {
            when(self.get(path).await, |registration| {
                registration["webhooks"][0]["clientConfig"]["caBundle"] == bundle
            })
        })
        .await;
    }

    /// Gives the first webhook of a registration this bundle.
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

/// The value of a metric of a gate, with its labels.
pub async fn metric(gate: &RunningGate, name: &str) -> u64 {
    value(&gate.metrics().await, name)
}

fn value(metrics: &str, name: &str) -> u64 {
    let line = metrics
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    line.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
}
