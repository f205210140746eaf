//! CSRs that an agent labelled for another cluster: OCM's agents create no more CSRs when ten have their label.

use serde_json::{Value, json};

use crate::lifecycle::hub::{HubWithReconcilers, account, config, rbac_path};
use berth_testkit::cluster::{AsAdmin, fresh};
use berth_testkit::csr::Csr;
use berth_testkit::{eventually, when};

const LABEL: &str = "open-cluster-management.io/cluster-name";
const EVENT: &str = "ManagedClusterCSRForeignLabel";

fn labels(csr: &Value) -> &Value {
    &csr["metadata"]["labels"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_the_label_of_another_cluster_than_its_agents_loses_it() {
    let mut hub = HubWithReconcilers::private(config()).await;
    let [name, victim] = ["attacker", "victim"].map(fresh);
    hub.accepted(&name).await;
    hub.accepted(&victim).await;
    let agent = hub.agent(&name, "agent1").await;
    let owner = hub.agent(&victim, "agent1").await;
    hub.may_send(&agent).await;
    hub.may_send(&owner).await;
    // They are there before the hub's reconcilers see them, in all states.
    hub.reconcilers.stop().await;
    let mut foreign = Vec::new();
    for state in ["Pending", "Approved", "Denied", "of another signer"] {
        let mut csr = Csr::new(&victim, "agent1");
        csr.body["metadata"]["labels"]["mine"] = json!("kept");
        if state == "of another signer" {
            csr.body["spec"]["signerName"] = json!("example.com/signer");
        }
        let csr = csr.sent_by(&agent).await;
        if ["Approved", "Denied"].contains(&state) {
            hub.decide(&csr, state).await;
        }
        foreign.push(csr);
    }
    let own = Csr::new(&name, "agent1").sent_by(&agent).await;
    let theirs = Csr::new(&victim, "agent1").sent_by(&owner).await;
    hub.restart(config()).await;
    for csr in &foreign {
        let object = hub
            .once(&csr.path(), "without the label", |object| {
                labels(object)[LABEL].is_null()
            })
            .await;
        assert_eq!(*labels(&object), json!({"mine": "kept"}));
        let event = hub.event("default", &csr.name, EVENT).await;
        let note = event["note"].as_str().unwrap();
        for words in [&*csr.name, &name, &victim, "lost the label"] {
            assert!(note.contains(words), "{words}: {note}");
        }
    }
    for (csr, label) in [(&own, &name), (&theirs, &victim)] {
        let object = hub.approved(csr).await;
        assert_eq!(labels(&object)[LABEL], **label);
    }
    hub.reconcilers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_hub_may_not_take_the_label_it_says_so_and_renews_on() {
    let mut hub = HubWithReconcilers::private(config()).await;
    // As OCM's account, which may not patch CSRs.
    let path = rbac_path("clusterroles/open-cluster-management:berth-registration:controller");
    let granted = hub.get(&path).await.body["rules"].clone();
    let mut rules = granted.clone();
    for rule in rules.as_array_mut().unwrap() {
        if rule["resources"] == json!(["certificatesigningrequests"]) {
            let verbs = rule["verbs"].as_array_mut().unwrap();
            verbs.retain(|verb| verb != "patch");
        }
    }
    hub.patch(&path, json!({"rules": rules})).await;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "group": "certificates.k8s.io", "resource": "certificatesigningrequests", "verb": "patch",
        }},
    });
    let account = account(&hub.cluster).await;
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    eventually("an account without the right to patch CSRs", async || {
        let answer = account.post(reviews, &review).await.unwrap();
        when(answer, |it| it.body["status"]["allowed"] != true)
    })
    .await;

    let [name, victim] = ["attacker", "victim"].map(fresh);
    hub.accepted(&victim).await;
    let agent = hub.agent(&name, "agent1").await;
    let owner = hub.agent(&victim, "agent1").await;
    hub.may_send(&agent).await;
    hub.may_send(&owner).await;
    let csr = Csr::new(&victim, "agent1").sent_by(&agent).await;
    let event = hub.event("default", &csr.name, EVENT).await;
    let note = event["note"].as_str().unwrap();
    for words in [
        &*csr.name,
        &name,
        &victim,
        "keeps the label",
        "may not patch",
    ] {
        assert!(note.contains(words), "{words}: {note}");
    }
    assert_eq!(event["type"], "Warning");
    let object = hub.get(&csr.path()).await.body;
    assert_eq!(labels(&object)[LABEL], *victim);
    let theirs = Csr::new(&victim, "agent1").sent_by(&owner).await;
    hub.approved(&theirs).await;
    assert_eq!(hub.events("default", &csr.name, EVENT).await.len(), 1);
    hub.reconcilers.stop().await;
    hub.patch(&path, json!({"rules": granted})).await;
}
