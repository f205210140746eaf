//! The agent itself, with the account and the Secret that `berth join` installed: from the token to the end.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_manifests::files;
use tempfile::TempDir;

use crate::accept::cluster_path;
use crate::house::House;
use crate::join::{Managed, NAMESPACE, Printed, cluster_name, works};
use berth_testkit::process::get_with;
use berth_testkit::shipped::token_in;
use berth_testkit::{Agent, eventually, when};

/// The agent's own permissions have to suffice: it runs as its account, with a kubeconfig in place of the pod's token.
#[tokio::test]
async fn a_cluster_joins_and_leaves() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let line = printed.command(&name);
    managed.types(&line).await.ok();

    let folder = TempDir::new().unwrap();
    let secret = managed.get("secrets/bootstrap-hub-kubeconfig").await;
    let kubeconfig = STANDARD.decode(secret["data"]["kubeconfig"].as_str().unwrap());
    let bootstrap = folder.path().join("kubeconfig");
    std::fs::write(&bootstrap, kubeconfig.unwrap()).unwrap();
    let account = managed
        .cluster
        .service_account("open-cluster-management-agent", "berth-agent")
        .await;
    // A real API server takes a moment to see new RBAC objects.
    let secret = format!("{NAMESPACE}/secrets/hub-kubeconfig-secret");
    eventually("the account's permissions", async || {
        when(account.get(&secret).await.unwrap(), |it| it.code == 404)
    })
    .await;
    let hub_files = folder.path().join("hub-kubeconfig");
    let flags = [
        "--cluster-name",
        &name,
        "--namespace",
        "open-cluster-management-agent",
        "--hub-kubeconfig-dir",
        hub_files.to_str().unwrap(),
    ];
    let mut agent = Agent::start(&account.kubeconfig, &bootstrap, &flags);
    let output = managed.types(&format!("{line} --wait")).await;
    let words =
        format!("managed cluster {name} waits to be accepted; on the hub: berth accept {name}\n");
    assert!(output.ok().ends_with(&words), "{output:?}");
    let waits = format!("{line} --wait=joined");
    let waiting = managed.types(&waits);
    let accept = format!("accept {name} --wait");
    let accepting = house.berth(&accept);
    let (output, accepted) = futures::join!(waiting, accepting);
    accepted.ok();
    let words = format!("managed cluster {name} has joined the hub");
    assert!(output.ok().contains(&words), "{output:?}");
    agent.is_managed().await;
    let secret = managed.get("secrets/hub-kubeconfig-secret").await;
    assert!(secret["data"]["tls.crt"].is_string(), "{secret}");
    assert!(
        managed
            .get("secrets/hub-kubeconfig-secret-pending")
            .await
            .is_null()
    );
    let metrics = scraped(&managed, &agent).await;
    for metric in [
        "berth_agent_waiting{reason=\"Managed\"} 1\n",
        "berth_agent_certificate_not_before_timestamp_seconds 1",
        "berth_agent_certificate_not_after_timestamp_seconds 1",
        "berth_agent_lease_renewals_total{result=\"success\"} ",
        "berth_agent_lease_renewed_timestamp_seconds 1",
        "berth_caches_primed 1\n",
        "berth_writes_total{code=\"200\",reconciler=\"status\",resource=\"managedclusters\",verb=\"patch\"} ",
    ] {
        assert!(metrics.contains(metric), "{metric}: {metrics}");
    }
    for line in agent.log() {
        let line = line.to_string();
        let lacks = line.contains("forbidden") && line.contains(&account.user);
        assert!(!lacks, "the agent lacks a permission: {line}");
        assert!(!line.contains(printed.token()), "{line}");
    }

    // Kubernetes' controllers add the rules of aggregated roles.
    if managed.cluster.has_background_work() {
        works::are_carried_out(&house, &managed, &account, &hub_files, &name).await;
    }
    let output = managed
        .types(&format!("berth unjoin --cluster-name {name}"))
        .await;
    assert!(
        output
            .ok()
            .contains("secret/hub-kubeconfig-secret deleted\n"),
        "{output:?}"
    );
    drop(agent);
    let delete = format!("delete cluster {name} --yes --wait");
    let output = house.berth(&delete).await;
    assert!(
        output
            .ok()
            .contains(&format!("managed cluster {name} is deleted\n")),
        "{output:?}"
    );
    let gone = house.admin.get(&cluster_path(&name)).await.unwrap();
    assert_eq!(gone.code, 404);
}

/// The metrics of the agent, as Prometheus reads them with `manifests/agent-monitoring`.
async fn scraped(managed: &Managed, agent: &Agent) -> String {
    let files = [
        files::AGENT_MONITORING_REVIEWS,
        files::AGENT_MONITORING_SCRAPER,
    ];
    let cluster = &managed.cluster;
    cluster.apply_manifests(&files.map(|it| it.path)).await;
    let account = cluster.service_account("open-cluster-management-agent", "berth-scraper");
    let token = token_in(&account.await.kubeconfig);
    // A real API server takes a moment to see new RBAC objects, and answers are cached for a moment.
    let (_, metrics) = eventually("the right to read metrics", async || {
        let answer = get_with(agent.port, "/metrics", Some(&token)).await;
        when(answer, |(code, _)| *code == 200)
    })
    .await;
    metrics
}
