//! `berth accept`: which clusters and CSRs it accepts, and what it prints.

mod outcomes;
mod requesters;
mod waiting;

use std::ops::Deref;

use jiff::Timestamp;
use rcgen::PublicKeyData;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::house::{CLUSTERS, House};
use berth_testkit::cluster::{Cluster, Person, fresh, rule};
use berth_testkit::csr::Csr;

const GATE: &str = "register.open-cluster-management.io";

pub fn cluster_path(name: &str) -> String {
    format!("{CLUSTERS}/{name}")
}

/// Somebody with a bootstrap token for registering clusters; as far as the hub can tell.
pub async fn bootstrap<C: Deref<Target = Cluster>>(house: &House<C>) -> Person {
    let user = format!("system:bootstrap:{}", fresh("token"));
    let groups = ["system:bootstrappers:managedcluster"];
    let person = house.cluster.user(&user, &groups).await;
    may_send(house, &person).await;
    person
}

async fn may_send<C: Deref<Target = Cluster>>(house: &House<C>, person: &Person) {
    let requests = &["certificatesigningrequests"];
    let rule = rule(&["create"], "certificates.k8s.io", requests, &[]);
    house.cluster.grant(person, &[rule]).await;
}

/// The agent reports that it has joined.
pub async fn joins<C: Deref<Target = Cluster>>(house: &House<C>, name: &str) {
    let path = cluster_path(name);
    loop {
        let object = house.admin.get(&path).await.unwrap().ok().clone();
        let mut conditions = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        conditions.push(json!({
            "type": "ManagedClusterJoined", "status": "True", "reason": "ManagedClusterJoined",
            "message": "", "lastTransitionTime": Timestamp::now(),
        }));
        let patch = json!({
            "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
            "status": {"conditions": conditions},
        });
        let path = format!("{path}/status");
        let answer = house.admin.merge(&path, &patch).await.unwrap();
        if answer.code == 200 {
            return;
        }
        assert_eq!(answer.code, 409, "{answer:?}");
    }
}

async fn object<C: Deref<Target = Cluster>>(house: &House<C>, path: &str) -> Value {
    house.admin.get(path).await.unwrap().ok().clone()
}

/// The fingerprint of the key, as openssl tells it.
fn fingerprint(csr: &Csr) -> String {
    let key = digest(&SHA256, &csr.key.subject_public_key_info());
    let digits: String = key
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("SHA256:{digits}")
}

/// Whether nobody has decided about the CSR.
async fn is_pending<C: Deref<Target = Cluster>>(house: &House<C>, csr: &Csr) -> bool {
    object(house, &csr.path()).await["status"]["conditions"].is_null()
}

/// Whether the cluster is accepted.
pub async fn is_accepted<C: Deref<Target = Cluster>>(house: &House<C>, name: &str) -> bool {
    object(house, &cluster_path(name)).await["spec"]["hubAcceptsClient"] == true
}
