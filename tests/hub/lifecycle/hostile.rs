//! Agents that resist their removal: whatever they write to their own ManagedCluster, they lose their rights.

use std::ops::Deref;

use serde_json::{Value, json};

use crate::lifecycle::agent::{Csr, user_of};
use crate::lifecycle::hub::{
    ACCEPTED, HubWithReconcilers, cluster_path, condition, config, owned_paths, rbac_path,
};
use berth_testkit::cluster::{AsAdmin, Cluster, Person, fresh};
use berth_testkit::filled::fill;

/// Times that the API server accepts, and our types do not.
const STRANGE_TIMES: [&str; 6] = [
    "9999-12-31T23:59:59Z",
    "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00-26:00",
    "2026-01-01T00:00:00x5Z",
    "2026-01-01T00:00:00.12345678901234567890Z",
    "2026-01-01T00:00:00ZTtail",
];
const READABLE: &str = "ManagedClusterReadable";

/// The agent adds a condition with this time to its own status.
async fn hides<C: Deref<Target = Cluster>>(
    hub: &HubWithReconcilers<C>,
    agent: &Person,
    name: &str,
    time: &str,
) {
    let path = cluster_path(name);
    loop {
        let object = agent.get(&path).await.unwrap().ok().clone();
        let mut conditions = object["status"]["conditions"].as_array().unwrap().clone();
        conditions.retain(|condition| condition["type"] != "Hidden");
        conditions.push(json!({
            "type": "Hidden", "status": "True", "reason": "R", "message": "", "lastTransitionTime": time,
        }));
        let patch = json!({
            "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
            "status": {"conditions": conditions},
        });
        let answer = agent
            .merge(&format!("{path}/status"), &patch)
            .await
            .unwrap();
        if answer.code == 200 {
            break;
        }
        assert_eq!(answer.code, 409, "{time}: {answer:?}");
    }
    let cluster = hub
        .condition(name, READABLE, "False", "UnreadableFields")
        .await;
    let message = condition(&cluster, READABLE).unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(message.contains("status.conditions["), "{message}");
    assert!(message.contains("].lastTransitionTime"), "{message}");
}

fn accept(accepts: bool) -> Value {
    json!({"spec": {"hubAcceptsClient": accepts}})
}

/// Waits until the agent's only right is to read its ManagedCluster.
async fn is_turned_out<C: Deref<Target = Cluster>>(hub: &HubWithReconcilers<C>, name: &str) {
    hub.condition(name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    let paths = owned_paths(name);
    let role = hub.get(&paths[1]).await.body;
    assert_eq!(role["rules"].as_array().unwrap().len(), 1, "{role}");
    hub.gone(&paths[3]).await;
    hub.gone(&paths[4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_that_cannot_be_read_keeps_an_agent_nothing() {
    let hub = HubWithReconcilers::shared().await;
    for time in STRANGE_TIMES {
        let name = fresh("hidden");
        hub.accepted(&name).await;
        let agent = hub.agent(&name, "agent1").await;
        hides(&hub, &agent, &name, time).await;
        // Conditions of other writers still exist.
        hub.report_available(&name, "True").await;
        hub.once(&cluster_path(&name), "without taints", |object| {
            object["spec"]["taints"]
                .as_array()
                .is_none_or(Vec::is_empty)
        })
        .await;

        let csr = Csr::new(&name, "agent1").sent_by(&agent).await;
        let (kind, note) = hub.left(&csr).await;
        assert_eq!(kind, "Warning");
        assert!(
            note.contains("cannot be read: status.conditions["),
            "{note}"
        );

        hub.patch(&cluster_path(&name), accept(false)).await;
        is_turned_out(&hub, &name).await;
        hub.patch(&cluster_path(&name), accept(true)).await;
        hub.condition(&name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
        hub.delete(&cluster_path(&name)).await;
        hub.gone(&cluster_path(&name)).await;
        for path in &owned_paths(&name)[1..5] {
            assert_eq!(hub.get(path).await.code, 404, "{time}: {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_right_again_is_renewed() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("mended");
    hub.accepted(&name).await;
    let agent = hub.agent(&name, "agent1").await;
    hides(&hub, &agent, &name, STRANGE_TIMES[0]).await;
    let csr = Csr::new(&name, "agent1").sent_by(&agent).await;
    hub.left(&csr).await;
    hub.report(&name, "Hidden", "True", "R").await;
    hub.condition(&name, READABLE, "True", "AllFieldsReadable")
        .await;
    hub.issued(&csr, &user_of(&name, "agent1")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taint_that_cannot_be_read_does_not_hold_a_deleted_cluster() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("tainted");
    hub.accepted(&name).await;
    let path = cluster_path(&name);
    let mut finalizers = hub.get(&path).await.body["metadata"]["finalizers"].clone();
    finalizers
        .as_array_mut()
        .unwrap()
        .push(json!("example.com/hold"));
    hub.patch(&path, json!({"metadata": {"finalizers": finalizers}}))
        .await;
    hub.work(&name, "w", json!({"finalizers": ["example.com/agent"]}))
        .await;
    hub.delete(&path).await;
    let taint = json!({"key": "a", "effect": "NoSelect", "timeAdded": STRANGE_TIMES[0]});
    hub.patch(&path, json!({"spec": {"taints": [taint]}})).await;
    hub.condition(&name, READABLE, "False", "UnreadableFields")
        .await;
    hub.release(&format!("{}/w", crate::lifecycle::hub::works_path(&name)))
        .await;
    hub.once(&path, "let go", |object| {
        object["metadata"]["finalizers"] == json!(["example.com/hold"])
    })
    .await;
    hub.release(&path).await;
    hub.gone(&path).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_roles_of_all_agents_outlive_the_only_cluster_that_can_be_read() {
    let mut hub = HubWithReconcilers::private(config()).await;
    let name = fresh("only");
    hub.accepted(&name).await;
    let roles = ["registration", "work"].map(|role| {
        rbac_path(&format!(
            "clusterroles/open-cluster-management:managedcluster:{role}"
        ))
    });
    let before = hub.read(&roles).await;
    let agent = hub.agent(&name, "agent1").await;
    hides(&hub, &agent, &name, STRANGE_TIMES[0]).await;
    assert_eq!(hub.read(&roles).await, before);
    // Reconcilers that start now behave the same.
    hub.restart(config()).await;
    hub.patch(&cluster_path(&name), accept(false)).await;
    is_turned_out(&hub, &name).await;
    assert_eq!(hub.read(&roles).await, before);
    hub.delete(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
    hub.reconcilers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_object_is_turned_out_and_goes() {
    let mut hub = HubWithReconcilers::private(config()).await;
    let [denied, deleted] = ["denied", "deleted"].map(fresh);
    for name in [&denied, &deleted] {
        hub.accepted(name).await;
    }
    // The message of a waiting denial is longer than the message of an acceptance.
    let work = hub
        .work(&denied, "w", json!({"finalizers": ["example.com/agent"]}))
        .await;
    hub.reconcilers.stop().await;
    hub.patch(&cluster_path(&denied), accept(false)).await;
    hub.delete(&cluster_path(&deleted)).await;
    for name in [&denied, &deleted] {
        fill(&hub.admin, &cluster_path(name)).await;
    }
    hub.restart(config()).await;
    hub.once(&cluster_path(&denied), "denied", |object| {
        let condition = condition(object, ACCEPTED);
        condition.is_some_and(|it| it["message"].as_str().unwrap().starts_with("Denied"))
    })
    .await;
    let event = hub.event("default", &denied, "ManagedClusterTrimmed").await;
    let note = event["note"].as_str().unwrap();
    assert!(note.contains("status.clusterClaims"), "{note}");
    let cluster = hub.get(&cluster_path(&denied)).await.body;
    assert!(cluster["status"]["clusterClaims"].is_null());
    hub.delete(&work).await;
    hub.release(&work).await;
    is_turned_out(&hub, &denied).await;
    hub.gone(&cluster_path(&deleted)).await;
    hub.delete(&cluster_path(&denied)).await;
    hub.gone(&cluster_path(&denied)).await;
    hub.reconcilers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_holds_its_works_keeps_no_right_after_a_denial_now() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("now");
    hub.accepted(&name).await;
    let work = hub
        .work(&name, "w", json!({"finalizers": ["example.com/agent"]}))
        .await;
    let agent = hub.agent(&name, "agent1").await;
    agent.get(&work).await.unwrap().ok();
    hub.patch(&cluster_path(&name), accept(false)).await;
    let path = &owned_paths(&name)[4];
    hub.once(path, "being deleted", |binding| {
        binding["metadata"]["deletionTimestamp"].is_string()
    })
    .await;
    agent.get(&work).await.unwrap().ok();
    let now = json!({"metadata": {"annotations": {"open-cluster-management.io/deny-now": "true"}}});
    hub.patch(&cluster_path(&name), now).await;
    is_turned_out(&hub, &name).await;
    assert_eq!(hub.get(&work).await.code, 200);
    let answer = agent.get(&work).await.unwrap();
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (403, &json!("Forbidden"))
    );
    hub.release(&work).await;
}
