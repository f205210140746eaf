//! The connection to a hub: which kubeconfig, context and user a command uses, and its errors without a hub.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::json;
use tempfile::TempDir;

use crate::house::House;
use berth_testkit::cluster::{Cluster, Output, finish, fresh, rule};
use berth_testkit::{berth, eventually};

/// `berth` with nothing of the user's: no kubeconfig, and an empty home.
async fn alone(home: &TempDir, args: &[&str]) -> Output {
    let mut command = berth(args);
    command
        .env("HOME", home.path())
        .env_remove("KUBERNETES_SERVICE_HOST");
    finish(command, "").await
}

/// The kubeconfig of nobody at this server, in a file.
fn nobody_at(folder: &TempDir, server: &str) -> String {
    let path = folder.path().join("kubeconfig");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "hub", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "me"}}],
        "current-context": "hub",
    });
    fs::write(&path, config.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn without_a_kubeconfig_it_says_how_to_name_one() {
    let home = TempDir::new().unwrap();
    let output = alone(&home, &["get", "clusters"]).await;
    assert!(
        output
            .failed()
            .starts_with("Error: no kubeconfig: set --kubeconfig FILE or $KUBECONFIG"),
        "{output:?}"
    );
    let output = alone(
        &home,
        &["get", "clusters", "--kubeconfig", "/nowhere/at-all"],
    )
    .await;
    assert!(
        output
            .failed()
            .starts_with("Error: --kubeconfig /nowhere/at-all: "),
        "{output:?}"
    );
    fs::write(home.path().join("broken"), "clusters: 7").unwrap();
    let broken = home.path().join("broken");
    let output = alone(
        &home,
        &["get", "clusters", "--kubeconfig", broken.to_str().unwrap()],
    )
    .await;
    assert!(output.failed().contains("broken: "), "{output:?}");
}

#[tokio::test]
async fn the_home_of_the_user_and_several_files_are_found_as_kubectl_finds_them() {
    let house = House::shared().await;
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join(".kube")).unwrap();
    fs::copy(&house.admin.kubeconfig, home.path().join(".kube/config")).unwrap();
    alone(&home, &["get", "clustersets", "default"]).await.ok();

    let mut command = berth(&["get", "clustersets", "default"]);
    let files = ["/nowhere/at-all".into(), house.admin.kubeconfig.clone()];
    command.env("KUBECONFIG", std::env::join_paths(files).unwrap());
    finish(command, "").await.ok();
}

#[tokio::test]
async fn a_context_that_is_not_there_is_told_with_the_nearest() {
    let house = House::shared().await;
    house
        .stage()
        .plays(
            r#"
$ berth get clusters --context hubb
Error: the kubeconfig has no context "hubb"; did you mean "hub"?
? 1
$ berth --context nothing-like-it get clusters
Error: the kubeconfig has no context "nothing-like-it"
? 1
$ berth get clusters --as-group admins
Error: --as-group requires --as
? 1
"#,
        )
        .await;
}

#[tokio::test]
async fn flags_of_the_hub_are_taken_before_the_command_and_after_it() {
    let house = House::shared().await;
    let name = fresh("anywhere");
    house.managed_cluster(&name, &[]).await;
    for line in [
        format!("--context hub get clusters {name} -o name"),
        format!("get --context hub clusters {name} -o name"),
        format!("--context elsewhere get clusters {name} -o name --context hub"),
    ] {
        let output = house.berth(&line).await;
        let expected = format!("managedcluster.cluster.open-cluster-management.io/{name}\n");
        assert_eq!(output.ok(), expected, "{line}");
    }
}

#[tokio::test]
async fn flags_of_the_hub_before_a_server_are_refused() {
    let house = House::shared().await;
    let output = house.berth("--context hub webhook-server").await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("write the flags of this command after it"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_person_acts_as_somebody_else() {
    let house = House::shared().await;
    let user = fresh("nobody");
    let output = house
        .berth(&format!("get clusters --as {user} --as-group some"))
        .await;
    let expected = format!(
        "Error: managedclusters.cluster.open-cluster-management.io is forbidden: User \"{user}\" cannot list resource \
         \"managedclusters\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)\n"
    );
    assert_eq!(output.failed(), expected);
    // Who may not act as others is told that.
    let may_read = [rule(
        &["list"],
        "cluster.open-cluster-management.io",
        &["managedclusters"],
        &[],
    )];
    let dev = house.developer(&fresh("dev"), &may_read).await;
    let output = house
        .berth_as(&dev, &format!("get clusters --as {user}"))
        .await;
    assert!(output.failed().contains("cannot impersonate"), "{output:?}");
}

#[tokio::test]
async fn a_cluster_that_is_no_hub_lacks_an_api_that_is_named() {
    let cluster = Cluster::private().await;
    if !cluster.only_devhub("a real one that is lent may have been a hub before") {
        return;
    }
    let admin = cluster.admin().await;
    let output = admin.berth(&["get", "clusters"]).await;
    assert_eq!(
        output.failed(),
        "Error: the API server does not serve managedclusters.cluster.open-cluster-management.io in \
         cluster.open-cluster-management.io/v1, so it is not a hub of Open Cluster Management: check --context and \
         --kubeconfig, or install the CRDs\n"
    );
}

#[tokio::test]
async fn a_hub_that_is_not_there_or_hangs_is_told_in_time() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let kubeconfig = nobody_at(&folder, &server);
    // It accepts connections, and never answers.
    let args = [
        "get",
        "clusters",
        "--kubeconfig",
        &kubeconfig,
        "--request-timeout",
        "200ms",
    ];
    let output = alone(&folder, &args).await;
    assert_eq!(
        output.failed(),
        format!(
            "Error: the hub at {server} did not answer in 200ms (list \
             managedclusters.cluster.open-cluster-management.io); --request-timeout sets how long to wait\n"
        )
    );
    drop(listener);
    let output = alone(&folder, &["get", "clusters", "--kubeconfig", &kubeconfig]).await;
    assert!(
        output
            .failed()
            .starts_with(&format!("Error: the hub at {server} cannot be reached ")),
        "{output:?}"
    );
    assert!(output.stderr.contains("refused"), "{output:?}");
}

#[tokio::test]
async fn the_warnings_of_a_refusal_are_shown_before_it() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            connection.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        let status = json!({"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": "no"});
        let (body, head) = (
            status.to_string(),
            "HTTP/1.1 403 Forbidden\r\nConnection: close",
        );
        let warning = r#"299 - "this account ends tomorrow""#;
        let length = body.len();
        write!(
            connection,
            "{head}\r\nWarning: {warning}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    let kubeconfig = nobody_at(&folder, &server);
    let output = alone(&folder, &["get", "clusters", "--kubeconfig", &kubeconfig]).await;
    assert_eq!(
        output.failed(),
        "Warning: this account ends tomorrow\nError: no (Forbidden)\n"
    );
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let house = House::shared().await;
    let label = fresh("pipe");
    for index in 0..3 {
        house
            .managed_cluster(&format!("{label}-{index}"), &[("test", &label)])
            .await;
    }
    let selector = format!("test={label}");
    let mut command = house
        .admin
        .berth_command(&["get", "clusters", "--watch", "-l", &selector]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"NAME");
    // The other end is closed now; the next row that changes cannot be written.
    let path = format!("{}/{label}-0", crate::house::CLUSTERS);
    let mut accept = false;
    eventually("the end of a command whose reader is gone", async || {
        if child.try_wait().unwrap().is_some() {
            return Ok(());
        }
        accept = !accept;
        let patch = json!({"spec": {"hubAcceptsClient": accept}});
        house.admin.merge(&path, &patch).await.unwrap().ok();
        Err("it still runs")
    })
    .await;
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// kubectl's connection flags: a pipeline needs no kubeconfig.
#[tokio::test]
async fn a_server_a_ca_and_a_token_are_enough() {
    let house = House::shared().await;
    let home = TempDir::new().unwrap();
    let account = house.cluster.service_account("default", "default").await;
    let lists = rule(
        &["get", "list"],
        "cluster.open-cluster-management.io",
        &["managedclusters"],
        &[],
    );
    house.cluster.grant(&account, &[lists]).await;
    let ca = home.path().join("ca.crt");
    fs::write(&ca, house.cluster.ca_pem()).unwrap();
    let token = berth_testkit::shipped::token_in(&account.kubeconfig);
    let url = house.cluster.url();
    let line = [
        "get",
        "clusters",
        "--server",
        &url,
        "--token",
        &token,
        "--certificate-authority",
        ca.to_str().unwrap(),
    ];
    let output = alone(&home, &line).await;
    output.ok();
    let output = alone(&home, &line[..6]).await;
    let error = output.failed();
    assert!(
        error.contains("cannot be reached") && !error.contains(&token),
        "{error}"
    );
    let unverified = [&line[..6], &["--insecure-skip-tls-verify"]].concat();
    alone(&home, &unverified).await.ok();
    let line = ["get", "clusters", "--server", &url, "--client-key", "f"];
    let output = alone(&home, &line).await;
    let words = "--client-certificate and --client-key require each other";
    assert!(output.failed().contains(words), "{output:?}");
}

#[tokio::test]
async fn the_namespace_is_that_of_the_context() {
    let house = House::shared().await;
    let space = fresh("team");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
    let made = house.admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    let set = fresh("set");
    house.berth(&format!("create clusterset {set}")).await.ok();
    let folder = TempDir::new().unwrap();
    let own = fs::read(&house.admin.kubeconfig).unwrap();
    let mut config: serde_json::Value = serde_json::from_slice(&own).unwrap();
    config["contexts"][0]["context"]["namespace"] = json!(space);
    let path = folder.path().join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    let mut command = berth(&["clusterset", "bind", &set]);
    command.env("KUBECONFIG", &path);
    let output = finish(command, "").await;
    let words = format!("Clusterset {set} is bound to Namespace {space}");
    assert!(output.ok().contains(&words), "{output:?}");
}
