//! The first certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::{get, scrape};

use super::world::{World, signed_by_another_hub, text};
use crate::lifecycle::hub::{CSRS, condition};

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_joins_as_with_ocms_agent() {
    let world = World::new().await;
    let agent = world
        .joined(&[
            "--agent-id=a1",
            "--spoke-external-server-urls=https://c1.example:6443",
            "--cluster-annotations=agent.open-cluster-management.io/x=y,other/z=1",
        ])
        .await;
    let name = world.name.as_str();

    let [csr] = &world.csrs().await[..] else {
        panic!("more than one CSR")
    };
    assert!(
        csr["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{name}-"))
    );
    assert_eq!(
        csr["spec"]["signerName"],
        "kubernetes.io/kube-apiserver-client"
    );
    assert_eq!(
        csr["spec"]["usages"],
        json!(["digital signature", "key encipherment", "client auth"])
    );

    let cluster = world
        .reported("a version", |it| !it["status"]["version"].is_null())
        .await;
    assert_eq!(
        cluster["metadata"]["annotations"]["agent.open-cluster-management.io/x"],
        "y"
    );
    assert_eq!(cluster["metadata"]["annotations"]["other/z"], Value::Null);
    let configs = &cluster["spec"]["managedClusterClientConfigs"];
    assert_eq!(configs[0]["url"], "https://c1.example:6443");
    assert!(configs[0]["caBundle"].is_string(), "{configs}");
    for (type_, reason, message) in [
        (
            "ManagedClusterJoined",
            "ManagedClusterJoined",
            "Managed cluster joined",
        ),
        (
            "ManagedClusterConditionAvailable",
            "ManagedClusterAvailable",
            "Managed cluster is available",
        ),
    ] {
        let condition = condition(&cluster, type_).unwrap();
        let words = ["status", "reason", "message"].map(|key| &condition[key]);
        assert_eq!(words, ["True", reason, message]);
    }

    let secret = world.hub_secret().await;
    let keys: Vec<_> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "agent-name",
            "cluster-name",
            "kubeconfig",
            "tls.crt",
            "tls.key"
        ]
    );
    assert_eq!(text(&secret, "cluster-name"), name);
    assert_eq!(text(&secret, "agent-name"), "a1");
    assert!(text(&secret, "tls.key").starts_with("-----BEGIN EC PRIVATE KEY-----"));
    for key in keys {
        assert_eq!(world.file(key), text(&secret, key).into_bytes(), "{key}");
    }
    world.forgets().await;

    let (code, text) = world.status();
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("Hub says:     accepted, joined, available; Lease renewed "),
        "{text}"
    );
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_agent_goes_on_with_the_same_request() {
    let world = World::new().await;
    // Each time a little later.
    for lines in [0, 1, 2, 3, 3, 3] {
        world.killed_after(lines).await;
    }
    world.agent(&[]).signal("KILL");
    let agent = world.agent(&[]);
    let csr = world.pending().await;
    drop(agent);
    world.decide(&csr, "Approved").await;
    for lines in [1, 2, 3, 3, 4, 4] {
        world.killed_after(lines).await;
    }
    world.accept(true).await;
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    let csrs = world.csrs().await;
    assert_eq!(csrs.len(), 1, "{csrs:#?}");
    world.forgets().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_while_the_agent_was_away_is_taken_up() {
    let world = World::new().await;
    let agent = world.agent(&[]);
    let csr = world.pending().await;
    drop(agent);
    world.decide(&csr, "Approved").await;
    world.accept(true).await;
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_waits_for_is_said_where_users_look() {
    let world = World::new().await;
    let mut agent = world.agent(&[]);
    let waiting = agent.waits("CSRPending").await;
    let remedy = format!("on the hub, run `berth accept {}`", world.name);
    assert!(waiting.ends_with(&remedy), "{waiting}");
    let note = world.event("CSRPending").await;
    assert!(note.ends_with(&remedy), "{note}");
    let (code, text) = world.status();
    assert_eq!(code, 1, "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("To do: ") && last.ends_with(&remedy),
        "{text}"
    );
    let (code, text) = get(agent.port, "/readyz?verbose").await;
    assert!(
        text.contains("[+]hub ok: waiting: CertificateSigningRequest ") && text.contains(&remedy),
        "{text}"
    );
    assert_eq!(
        code, 200,
        "a wait for a person is not a failure of the agent"
    );
    let metrics = scrape(world.hub.cluster, agent.port).await;
    assert!(
        metrics.contains("berth_agent_waiting{reason=\"CSRPending\"} 1"),
        "{metrics}"
    );
    let csr_created = "rest_client_requests_total{code=\"201\",host=\"";
    assert!(metrics.contains(csr_created), "{metrics}");

    let csr = world.pending().await;
    world.decide(&csr, "Denied").await;
    let denied = agent.waits("CSRDenied").await;
    assert!(denied.contains("is denied (by the test)"), "{denied}");
    world.event("CSRDenied").await;

    // A hub admin deletes the denied request: the agent asks again, with the same key.
    let path = format!("{CSRS}/{}", csr["metadata"]["name"].as_str().unwrap());
    world.hub.delete(&path).await;
    let again = world.pending().await;
    assert_eq!(again["metadata"]["name"], csr["metadata"]["name"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_agent_is_not_taken() {
    let world = World::new().await;
    let mut agent = world.agent(&[]);
    let csr = world.pending().await;
    // The signer leaves a request alone that has a certificate.
    let path = format!("{CSRS}/{}", csr["metadata"]["name"].as_str().unwrap());
    let [(_, certificate), _] = signed_by_another_hub("other", "a1");
    let mut object = world.hub.get(&path).await.body;
    object["status"]["certificate"] = json!(STANDARD.encode(certificate));
    let answer = world
        .hub
        .admin
        .put(&format!("{path}/status"), &object)
        .await;
    assert_eq!(answer.unwrap().code, 200);
    world.decide(&csr, "Approved").await;
    let waiting = agent.waits("CSRWrongCertificate").await;
    assert!(waiting.contains("does not belong to the key"), "{waiting}");
    let secret = world.secret("hub-kubeconfig-secret");
    assert_eq!(world.managed.get(&secret).await.unwrap().code, 404);
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_the_registration_leaves_its_lease_to_others() {
    let world = World::new().await;
    let works_only = ["--registration=false", "--work"];
    let flags = [&works_only[..], &["--disable-leader-election=false"]].concat();
    let agent = world.agent(&flags);
    let leases = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
        world.namespace
    );
    let lease = format!("{leases}/work-agent-lock");
    let is_held = |it: &Value| it["spec"]["holderIdentity"].is_string();
    world.on_managed(&lease, "held", is_held).await;
    let metrics = scrape(world.hub.cluster, agent.port).await;
    assert!(
        metrics.contains(r#"leader_election_master_status{name="work-agent-lock"} 1"#),
        "{metrics}"
    );
    assert!(!metrics.contains("registration-agent-lock"), "{metrics}");
    let lease = format!("{leases}/registration-agent-lock");
    assert_eq!(world.managed.get(&lease).await.unwrap().code, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_loses_its_lease_ends() {
    for (flags, name) in [
        (["--registration=false", "--work"], "work-agent-lock"),
        (
            ["--registration", "--work=false"],
            "registration-agent-lock",
        ),
    ] {
        let world = World::new().await;
        let elected = [
            "--disable-leader-election=false",
            "--leader-election-retry-period=1s",
        ];
        let mut agent = world.agent(&[&flags[..], &elected].concat());
        let lease = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{name}",
            world.namespace
        );
        let is_held = |it: &Value| it["spec"]["holderIdentity"].is_string();
        world.on_managed(&lease, "held", is_held).await;
        agent
            .logs(|line| line["message"] == "the agent begins")
            .await;
        let other = json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 1}});
        world.managed.merge(&lease, &other).await.unwrap().ok();
        let ended = agent.ended().await;
        assert_eq!(ended.code(), Some(0), "{name}: {:?}", agent.log());
    }
}
