//! `berth get token`.

use serde_json::json;

use crate::house::{CLUSTERS, House};
use crate::join::Printed;
use berth_testkit::cluster::{Credentials, fresh, rule};

#[tokio::test]
async fn a_token_may_register_clusters_and_nothing_else() {
    let house = House::shared().await;
    let output = house.berth("get token --cluster-name c1").await;
    let lines: Vec<&str> = output.ok().lines().collect();
    let token = lines[0].strip_prefix("token=").unwrap();
    assert_eq!(lines[1], "please log on spoke and run:");
    // Clients without credentials cannot read the ConfigMap of these hubs, so the command has the CA itself.
    let url = house.cluster.url();
    let start = format!("berth join --hub-token {token} --hub-apiserver {url} --ca-data ");
    assert!(
        lines[2].starts_with(&start) && lines[2].ends_with(" --cluster-name c1"),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("Note: the token expires at "),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains(&format!("managed clusters may not reach the hub at {url}")),
        "{output:?}"
    );
    assert!(!output.stderr.contains(token), "{output:?}");
    for path in [
        "/api/v1/namespaces/open-cluster-management/serviceaccounts/agent-registration-bootstrap",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:bootstrap",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/open-cluster-management:bootstrap:agent-registration",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/open-cluster-management:bootstrap:managedcluster",
    ] {
        house.admin.get(path).await.unwrap().ok();
    }
    // A second token changes nothing.
    let output = house
        .berth("get token --hub-apiserver https://hub.example.com/ --image r.example.com/berth:v1")
        .await;
    for words in [
        " --hub-apiserver https://hub.example.com --ca-data ",
        " --image r.example.com/berth:v1 ",
    ] {
        assert!(output.ok().contains(words), "{output:?}");
    }
    assert!(
        !output.stderr.contains("created") && !output.stderr.contains("may not reach"),
        "{output:?}"
    );

    let user = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
    let agent = house
        .cluster
        .person(user, &Credentials::Token(token.to_owned()))
        .await;
    let name = fresh("registers");
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": name},
    });
    agent.post(CLUSTERS, &object).await.unwrap().ok();
    let accept = json!({"spec": {"hubAcceptsClient": true}});
    let answer = agent
        .merge(&format!("{CLUSTERS}/{name}"), &accept)
        .await
        .unwrap();
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (403, &json!("Forbidden"))
    );
    let answer = agent
        .get("/api/v1/namespaces/kube-system/secrets")
        .await
        .unwrap();
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (403, &json!("Forbidden"))
    );
}

#[tokio::test]
async fn a_program_reads_json() {
    let house = House::shared().await;
    let Printed(printed) = Printed::of(&house).await;
    assert_eq!(printed["hub-apiserver"], json!(house.cluster.url()));
    assert!(printed["ca-hash"].as_str().unwrap().starts_with("SHA256:"));
    assert!(printed["ca-data"].is_string() && printed["expires"].is_string());
    assert!(printed["hub-token"].is_string());
}

#[tokio::test]
async fn a_bootstrap_token_that_the_api_server_does_not_accept_is_taken_back() {
    let house = House::shared().await;
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let output = house.berth("get token --use-bootstrap-token").await;
    assert!(output.failed().contains(
        "the API server of the hub does not accept bootstrap tokens; the Secret was deleted again: omit --use-bootstrap-token, or \
         start the API server with --enable-bootstrap-token-auth"
    ), "{output:?}");
    let left = house.admin.get(secrets).await.unwrap();
    assert!(
        !left.ok().to_string().contains("bootstrap-token-"),
        "{left:?}"
    );
}

#[tokio::test]
async fn who_may_not_create_the_account_or_the_token_is_told() {
    let house = House::shared().await;
    house.berth("get token").await.ok();
    let user = house.cluster.user(&fresh("reader"), &[]).await;
    let output = house.berth_as(&user, "get token").await;
    let note =
        "Note: namespace/open-cluster-management was not created: namespaces is forbidden: User";
    assert!(output.failed().contains(note), "{output:?}");
    assert!(
        output
            .stderr
            .contains("Error: serviceaccounts \"agent-registration-bootstrap\" is forbidden: User"),
        "{output:?}"
    );
    // The account exists, so the permission to request its token is enough.
    let rules = [
        rule(
            &["create"],
            "",
            &["serviceaccounts/token"],
            &["agent-registration-bootstrap"],
        ),
        rule(
            &["get"],
            "cluster.open-cluster-management.io",
            &["managedclusters"],
            &[],
        ),
    ];
    house.cluster.grant(&user, &rules).await;
    let output = house.berth_as(&user, "get token").await;
    assert!(output.ok().starts_with("token="), "{output:?}");
    for line in [
        "get token --token-lifetime 9m",
        "get token --hub-apiserver http://hub",
    ] {
        let output = house.berth(line).await;
        assert_eq!(output.code, 2, "{output:?}");
    }
    let output = house.berth("get token --image //berth").await;
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.stderr.contains("is not the name of an image"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_dry_run_creates_nothing() {
    let (house, _berth) = House::private().await;
    let account =
        "/api/v1/namespaces/open-cluster-management/serviceaccounts/agent-registration-bootstrap";
    // A real hub may have been used by another test.
    let before = house.admin.get(account).await.unwrap().code;
    let output = house.berth("get token --dry-run").await;
    assert_eq!(output.ok(), "", "{output:?}");
    assert!(
        output
            .stderr
            .ends_with("Nothing was changed, and no token was requested.\n"),
        "{output:?}"
    );
    let created = "serviceaccount/agent-registration-bootstrap created (dry run)\n";
    assert_eq!(output.stderr.contains(created), before == 404, "{output:?}");

    let space = "/api/v1/namespaces/open-cluster-management";
    let space_exists = house.admin.get(space).await.unwrap().code == 200;
    let secrets = async || {
        let path = "/api/v1/namespaces/kube-system/secrets";
        let list = house.admin.get(path).await.unwrap();
        list.ok()["items"].as_array().unwrap().len()
    };
    let secrets_before = secrets().await;
    let output = house
        .berth("get token --use-bootstrap-token --dry-run=server")
        .await;
    assert_eq!(output.ok(), "", "{output:?}");
    for (words, expected) in [
        (
            "namespace/open-cluster-management created (server dry run)\n",
            !space_exists,
        ),
        (
            "serviceaccount/agent-registration-bootstrap not checked: namespace open-cluster-management does not exist yet (server dry run)\n",
            !space_exists,
        ),
        ("secret/bootstrap-token-", true),
    ] {
        assert_eq!(output.stderr.contains(words), expected, "{output:?}");
    }
    assert_eq!(house.admin.get(account).await.unwrap().code, before);
    assert_eq!(secrets().await, secrets_before);
    // The hub itself decides: without the right to write Secrets the dry run of the Secret fails, and so would the command.
    let user = house.cluster.user(&fresh("reader"), &[]).await;
    let reads = rule(&["get", "list"], "*", &["*"], &[]);
    house.cluster.grant(&user, &[reads]).await;
    let output = house
        .berth_as(&user, "get token --use-bootstrap-token --dry-run=server")
        .await;
    let words = "Error: secrets is forbidden: ";
    assert!(output.failed().contains(words), "{output:?}");
}

#[tokio::test]
async fn a_cluster_that_is_no_hub_has_no_token() {
    let cluster = berth_testkit::cluster::Cluster::private().await;
    if cluster.is_real() {
        // It may have been a hub in another test.
        return;
    }
    let output = cluster.admin().await.berth(&["get", "token"]).await;
    assert!(
        output
            .failed()
            .contains("so it is not a hub of Open Cluster Management"),
        "{output:?}"
    );
}
