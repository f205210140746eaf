//! The requests of a cluster's agent to the hub.

use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Issued;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};

use crate::lifecycle::hub::{HubWithReconcilers, cluster_path, lease_path};
use berth_testkit::cluster::{AsAdmin, Cluster, Credentials, Person, rule};
pub use berth_testkit::csr::{Asked, Csr, groups_of, user_of};

impl<C: Deref<Target = Cluster>> HubWithReconcilers<C> {
    /// The agent renews its lease.
    pub async fn renew(&self, cluster: &str) {
        self.renew_at(cluster, Timestamp::now()).await;
    }

    /// The agent renews its lease with this time.
    pub async fn renew_at(&self, cluster: &str, time: Timestamp) {
        let spec = json!({"renewTime": MicroTime(time)});
        self.patch(&lease_path(cluster), json!({"spec": spec}))
            .await;
    }

    /// The agent reports the condition `Available`.
    pub async fn report_available(&self, cluster: &str, status: &str) {
        let reason = if status == "True" {
            "ManagedClusterAvailable"
        } else {
            "ManagedClusterKubeAPIServerUnavailable"
        };
        self.report(cluster, crate::lifecycle::hub::AVAILABLE, status, reason)
            .await;
    }

    /// The agent writes a condition as OCM's agent does: the whole list, with the resourceVersion.
    pub async fn report(&self, cluster: &str, type_: &str, status: &str, reason: &str) {
        let path = cluster_path(cluster);
        loop {
            let object = self.get(&path).await.body;
            let mut conditions = object["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            conditions.retain(|condition| condition["type"] != type_);
            conditions.push(json!({
                "type": type_, "status": status, "reason": reason, "message": "",
                "lastTransitionTime": Timestamp::now(),
            }));
            let patch = json!({
                "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
                "status": {"conditions": conditions},
            });
            let answer = self
                .admin
                .merge(&format!("{path}/status"), &patch)
                .await
                .unwrap();
            if answer.code == 200 {
                return;
            }
            assert_eq!(answer.code, 409, "{answer:?}");
        }
    }

    /// Waits until the hub has approved the CSR with OCM's message, and returns it.
    pub async fn approved(&self, csr: &Csr) -> Value {
        let object = self
            .once(&csr.path(), "decided", |object| {
                object["status"]["conditions"].is_array()
            })
            .await;
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let [approved] = &conditions[..] else {
            panic!("{object}")
        };
        let words = ["type", "status", "reason", "message"].map(|key| &approved[key]);
        assert_eq!(
            words,
            [
                "Approved",
                "True",
                "AutoApprovedByHubCSRApprovingController",
                "Auto approving Managed cluster agent certificate after SubjectAccessReview.",
            ]
        );
        object
    }

    /// An admin decides about a CSR as kubectl does: `Approved` or `Denied`.
    pub async fn decide(&self, csr: &Csr, type_: &str) {
        let path = csr.path();
        loop {
            let mut object = self.get(&path).await.body;
            object["status"]["conditions"] =
                json!([{"type": type_, "status": "True", "reason": "Kubectl", "message": ""}]);
            let answer = self.admin.put(&format!("{path}/approval"), &object).await;
            let answer = answer.unwrap();
            if answer.code == 200 {
                return;
            }
            assert_eq!(answer.code, 409, "{answer:?}");
        }
    }

    /// Waits for the Event that a CSR was not approved, and returns its type and its note.
    pub async fn left(&self, csr: &Csr) -> (String, String) {
        let event = self
            .event("default", &csr.name, "ManagedClusterCSRNotApproved")
            .await;
        let object = self.get(&csr.path()).await.body;
        assert!(object["status"]["conditions"].is_null(), "{object}");
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        (text("type"), text("note"))
    }

    /// Waits for the certificate of the CSR, and returns the agent with it.
    pub async fn issued(&self, csr: &Csr, user: &str) -> Person {
        let object = self
            .once(&csr.path(), "issued", |object| {
                object["status"]["certificate"].is_string()
            })
            .await;
        let certificate = object["status"]["certificate"].as_str().unwrap();
        let certificate = STANDARD.decode(certificate).unwrap();
        let credentials = Credentials::Certificate(Issued {
            certificate_pem: String::from_utf8(certificate).unwrap(),
            key_pem: csr.key.serialize_pem(),
            ca_pem: String::new(),
            not_before: Timestamp::MIN,
            not_after: Timestamp::MAX,
        });
        self.cluster.person(user, &credentials).await
    }

    /// The agent of a cluster, with a certificate without a CSR.
    pub async fn agent(&self, cluster: &str, agent: &str) -> Person {
        let groups = groups_of(cluster);
        let groups = groups.each_ref().map(String::as_str);
        self.cluster.user(&user_of(cluster, agent), &groups).await
    }

    /// Grants a user to create CSRs.
    pub async fn may_send(&self, person: &Person) {
        let group = "certificates.k8s.io";
        let requests = rule(
            &["create", "get"],
            group,
            &["certificatesigningrequests"],
            &[],
        );
        self.cluster.grant(person, &[requests]).await;
    }
}
