//! Hubs that are incomplete when the controller starts, and its health and metrics there.

use berth_testkit::cluster::{CRDS, Cluster};
use berth_testkit::process::{Controller, get, get_with, install, install_server, scrape};
use berth_testkit::{eventually, shipped, when};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_that_are_not_there_yet_are_named_and_waited_for() {
    let cluster = Cluster::private().await;
    if !cluster.only_devhub("one hub for all has the kinds") {
        return;
    }
    install_server(&cluster).await;
    let mut controller = Controller::start(&cluster, &[]).await;
    controller.leads();
    let missing = [
        "[-]caches failed: registration: not listed yet: managedclusters, managedclustersetbindings, managedclustersets; ",
        "placement: not listed yet: addonplacementscores, managedclusters, managedclustersetbindings, managedclustersets, \
         placementdecisions, placements\n",
    ];
    let body = eventually("the kinds that are missing", async || {
        let (code, body) = get(controller.port, "/readyz").await;
        assert_eq!(code, 503, "{body}");
        when(body, |it| missing.iter().all(|part| it.contains(part)))
    })
    .await;
    assert!(body.contains("[+]leader-election ok\n"), "{body}");
    assert_eq!(
        get(controller.port, "/healthz").await,
        (200, "ok".to_owned())
    );
    cluster.apply_manifests(&CRDS).await;
    controller.is_ready().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_hub_it_lives_is_not_ready_and_ends_when_told_to() {
    // Nobody listens there.
    let cluster = Cluster::private().await;
    let person = cluster.person_at("http://127.0.0.1:1").await;
    let mut controller = Controller::with_kubeconfig(&person.kubeconfig, &[]);
    controller
        .logged(|line| line["message"] == "the Lease could not be read or written; trying again");
    let (code, body) = get(controller.port, "/readyz").await;
    assert_eq!(code, 503);
    assert!(
        body.contains(
            "[-]leader-election failed: registration: the Lease has not been read yet, or has no holder; placement: the Lease"
        ),
        "{body}"
    );
    for path in ["/healthz", "/livez"] {
        assert_eq!(get(controller.port, path).await, (200, "ok".to_owned()));
    }
    controller.signal("TERM");
    assert_eq!(controller.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_those_of_the_docs() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let mut controller = Controller::start(&cluster, &["--keep-certificates"]).await;
    // Who stands by is ready, too, and counts nothing.
    controller.leads();
    controller.is_ready().await;
    let metrics = scrape(&cluster, controller.port).await;
    // Counted when asked for, so that it is true from the beginning.
    assert!(metrics.contains("\nberth_caches_primed 1\n"), "{metrics}");
    let path = berth_testkit::repository("docs/metrics.md");
    let docs = std::fs::read_to_string(path).unwrap();
    for line in metrics.lines() {
        let Some(rest) = line.strip_prefix("# TYPE ") else {
            continue;
        };
        let (name, kind) = rest.split_once(' ').unwrap();
        let documented = docs.contains(&format!("| `{name}` | {kind} |"));
        assert!(documented || name.starts_with("process_"), "{name} {kind}");
    }
    assert!(metrics.contains("process_resident_memory_bytes"));
    assert_eq!(get(controller.port, "/nowhere").await.0, 404);
}

/// Metrics name clusters' states and the hub's health: whoever can reach the port may not read them for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_for_those_whom_the_hub_lets_read_them() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let controller = Controller::start(&cluster, &[]).await;
    let (code, body) = get(controller.port, "/metrics").await;
    assert_eq!(code, 401, "{body}");
    assert!(
        body.starts_with("Unauthorized: /metrics needs a bearer token"),
        "{body}"
    );
    let (code, body) = get_with(controller.port, "/metrics", Some("nonsense")).await;
    assert_eq!(code, 401, "{body}");
    // A user that the hub knows, without the right: the controller itself.
    let other = shipped::token_in(&shipped::controller(&cluster).await.kubeconfig);
    for _ in 0..2 {
        let (code, body) = get_with(controller.port, "/metrics", Some(&other)).await;
        assert_eq!(code, 403, "{body}");
        assert_eq!(
            body,
            "Forbidden: user \"system:serviceaccount:open-cluster-management-hub:berth-registration-controller-sa\" needs \
             verb \"get\" on the non-resource URL \"/metrics\"\n"
        );
    }
    let metrics = scrape(&cluster, controller.port).await;
    assert!(
        metrics.contains("leader_election_master_status{"),
        "{metrics}"
    );
    for path in ["/healthz", "/livez"] {
        assert_eq!(
            get(controller.port, path).await.0,
            200,
            "the kubelet has no token"
        );
    }
}
