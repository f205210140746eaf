//! A restart of the agent writes nothing, although the API server fills in or drops fields of the manifests.

use berth_testkit::cluster::{Cluster, fresh};
use serde_json::{Value, json};

use super::custom::{definition, shelf};
use super::deployments::deployment;
use super::world::{APPLIED, WorkAgent, World};
use crate::lifecycle::proxy::{Asked, Proxy};

/// Ends the agent and starts another one, which compares the objects of a work and writes none of them.
pub async fn restart_writes_nothing(
    world: &World,
    recorded: &Proxy,
    agent: WorkAgent,
    work: &str,
    manifests: &[Value],
) -> WorkAgent {
    agent.kill().await;
    let before = recorded.writes().len();
    let agent = world.agent();
    // The report of one more manifest proves that the agent has compared all of them.
    let proof = fresh("proof");
    let all = [manifests, &[world.map(&proof, "1")]].concat();
    let each = "T".repeat(all.len());
    world.update(work, &all).await;
    world.reports(work, &each, &each).await;
    let writes = recorded.writes().split_off(before);
    let is_proof = |it: &&Asked| it.body["metadata"]["name"] == proof;
    assert_eq!(writes.iter().filter(is_proof).count(), 1);
    let others = writes.iter().filter(|it| !is_proof(it));
    let others = others.filter(|it| !it.path.starts_with(APPLIED));
    let others: Vec<_> = others.map(|it| (it.key(), &it.body)).collect();
    assert!(others.is_empty(), "{others:?}");
    agent
}

/// Creates a work with these manifests, and restarts the agent.
async fn are_not_written_again(world: &World, recorded: &Proxy, manifests: &[Value]) {
    let agent = world.agent();
    let each = "T".repeat(manifests.len());
    let work = fresh("restarted");
    world.create(&work, manifests).await;
    world.reports(&work, &each, &each).await;
    restart_writes_nothing(world, recorded, agent, &work, manifests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_with_empty_structs_and_a_field_reference_is_not_written_again() {
    let (world, recorded) = World::recorded().await;
    let mut app = deployment(&world, "app", 1);
    app["spec"]["strategy"] = json!({});
    let container = &mut app["spec"]["template"]["spec"]["containers"][0];
    container["resources"] = json!({});
    container["env"] = json!([{
        "name": "NODE",
        "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
    }]);
    are_not_written_again(&world, &recorded, &[app]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_resource_with_a_default_in_a_list_is_not_written_again() {
    let (world, recorded) = World::recorded().await;
    let books = json!([{"title": "Emma"}, {"title": "Nana", "lang": "fr"}]);
    let manifests = [definition(&world), shelf(&world, "a", books)];
    are_not_written_again(&world, &recorded, &manifests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateful_set_with_claims_is_not_written_again() {
    let cluster = Cluster::shared().await;
    if !cluster.only_real("devhub has no StatefulSets") {
        return;
    }
    let (world, recorded) = World::recorded().await;
    let mut set = deployment(&world, "db", 1);
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("db");
    set["spec"]["updateStrategy"] = json!({});
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }]);
    are_not_written_again(&world, &recorded, &[set]).await;
}
