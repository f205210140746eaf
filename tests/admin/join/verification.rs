//! `berth join` and the hub: no token goes to a server that is not verified.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::house::House;
use crate::join::front::{Front, authority, key_of};
use crate::join::{IMAGE, OBJECTS, Printed, cluster_name};
use berth_testkit::berth;
use berth_testkit::cluster::{Output, finish, fresh};

const TOKEN: &str = "the-token-of-the-hub";

const BOOTSTRAP_TOKEN: &str = "abcdef.0123456789abcdef";

/// Runs `berth join` without a managed cluster.
async fn join(url: &str, token: &str, more: &[&str]) -> Output {
    let mut args = vec!["join", "--hub-apiserver", url, "--hub-token", token];
    args.extend(["--cluster-name", "c1", "--output-manifests"]);
    args.extend(["--image", IMAGE]);
    args.extend(more);
    finish(berth(&args), "").await
}

/// The error, which does not show the token.
#[track_caller]
fn error<'o>(output: &'o Output, token: &str) -> &'o str {
    let error = output.failed();
    assert!(
        !error.contains(token) && !output.stdout.contains(token),
        "{output:?}"
    );
    error
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_hub_is_verified_by_its_ca() {
    let house = House::shared().await;
    let (printed, folder) = (Printed::of(&house).await, TempDir::new().unwrap());
    let (url, token) = (house.cluster.url(), printed.token());
    let ours = write(&folder, "ca.crt", house.cluster.ca_pem());
    let output = join(&url, token, &["--ca-file", &ours]).await;
    assert!(output.ok().contains("kind: Deployment"), "{output:?}");
    assert!(
        output.stderr.contains(&format!(
            "the hub at {url} is verified by the CA in {ours}\n"
        )),
        "{output:?}"
    );

    let other = write(&folder, "other.crt", authority().certificate_pem());
    let output = join(&url, token, &["--ca-file", &other]).await;
    let words = format!(
        "the hub at {url} cannot be verified by the CA in {other}, so the token was not sent: "
    );
    assert!(error(&output, token).contains(&words), "{output:?}");
    assert!(
        output
            .stderr
            .contains("pass the CA of this hub: 'berth get token' on the hub prints it"),
        "{output:?}"
    );

    let output = join(&url, token, &[]).await;
    let words = format!(
        "the hub at {url} cannot be verified by the CAs of this machine, so the token was not sent: "
    );
    assert!(error(&output, token).contains(&words), "{output:?}");
    assert!(
        output
            .stderr
            .contains("name its CA by --ca-file or --ca-hash"),
        "{output:?}"
    );

    // Clients without credentials read nothing of this hub, and it does not show its CA.
    let hash = printed.0["ca-hash"].as_str().unwrap();
    let output = join(&url, token, &["--ca-hash", hash]).await;
    let words = "cannot be verified by --ca-hash: clients without credentials cannot read its ConfigMap kube-public/cluster-info";
    assert!(error(&output, token).contains(words), "{output:?}");

    for (flag, value, words) in [
        (
            "--ca-file",
            "/nowhere/ca.crt",
            "--ca-file /nowhere/ca.crt: ",
        ),
        (
            "--ca-file",
            &*write(&folder, "empty", ""),
            "no PEM certificate",
        ),
        ("--ca-data", "!", "--ca-data: not base64"),
        ("--ca-data", "aGVsbG8=", "no PEM certificate"),
    ] {
        let output = join(&url, token, &[flag, value]).await;
        assert!(error(&output, token).contains(words), "{output:?}");
    }
}

#[tokio::test]
async fn a_ca_is_fetched_from_the_hub_if_its_key_is_known() {
    let hub = authority();
    let front = Front::start(&hub, &hub).await;
    let output = join(&front.url, TOKEN, &["--ca-hash", &key_of(&hub)]).await;
    let manifests: Vec<Value> = serde_saphyr::from_multiple(output.ok()).unwrap();
    assert_eq!(manifests.len(), OBJECTS);
    let words = format!(
        "the hub at {} is verified by its CA with the key {}\n",
        front.url,
        key_of(&hub)
    );
    assert!(output.stderr.contains(&words), "{output:?}");
    assert!(!front.sent.lock().unwrap().is_empty());

    // Another key.
    let front = Front::start(&hub, &hub).await;
    let other = key_of(&authority());
    let output = join(&front.url, TOKEN, &["--ca-hash", &other]).await;
    let words = format!(
        "cannot be verified by --ca-hash: its CA has the key {}; check the hash",
        key_of(&hub)
    );
    assert!(error(&output, TOKEN).contains(&words), "{output:?}");
    assert_eq!(*front.sent.lock().unwrap(), [""; 0]);

    // No key: what the server claims is shown, and not believed.
    let output = join(&front.url, TOKEN, &[]).await;
    let words = format!(
        "the server at this address claims --ca-hash {}: use it only if the hub's admin confirms it",
        key_of(&hub)
    );
    assert!(error(&output, TOKEN).contains(&words), "{output:?}");
    assert_eq!(*front.sent.lock().unwrap(), [""; 0]);
}

/// It shows the hub's CA, which is no secret, and has a certificate of its own.
#[tokio::test]
async fn a_server_in_between_gets_no_token() {
    let (hub, attacker) = (authority(), authority());
    let front = Front::start(&attacker, &hub).await;
    for more in [&["--ca-hash", &*key_of(&hub)][..], &[]] {
        let output = join(&front.url, TOKEN, more).await;
        assert!(
            error(&output, TOKEN).contains("so the token was not sent: "),
            "{output:?}"
        );
    }
    // A bootstrap token, which did not sign what this server has.
    let output = join(&front.url, BOOTSTRAP_TOKEN, &[]).await;
    let words = "so the token was not sent: ";
    assert!(
        error(&output, BOOTSTRAP_TOKEN).contains(words),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("but did not sign that with the token"),
        "{output:?}"
    );
    assert_eq!(*front.sent.lock().unwrap(), [""; 0]);
}

/// The token is for the server that was verified, wherever it points to.
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (hub, folder) = (authority(), TempDir::new().unwrap());
    let other = Front::start(&hub, &hub).await;
    let front = Front::redirecting(&hub, &other.url).await;
    let ca = write(&folder, "ca.crt", hub.certificate_pem());
    let output = join(&front.url, TOKEN, &["--ca-file", &ca]).await;
    assert!(error(&output, TOKEN).contains("307"), "{output:?}");
    assert_eq!(front.sent.lock().unwrap().len(), 1);
    assert_eq!(*other.sent.lock().unwrap(), [""; 0]);
}

/// So clusteradm's own command line works with bootstrap tokens.
#[tokio::test]
async fn a_hub_that_knows_the_bootstrap_token_is_verified_by_it() {
    let hub = authority();
    let front = Front::signed_with(&hub, &hub, BOOTSTRAP_TOKEN).await;
    let output = join(&front.url, BOOTSTRAP_TOKEN, &[]).await;
    output.ok();
    let words = format!(
        "the hub at {} is verified by its ConfigMap kube-public/cluster-info, which the token signed\n",
        front.url
    );
    assert!(output.stderr.contains(&words), "{output:?}");
    // The signature of another token, and a signature that a server in between passes on.
    let other = Front::signed_with(&hub, &hub, "abcdef.fedcba9876543210").await;
    let between = Front::signed_with(&authority(), &hub, BOOTSTRAP_TOKEN).await;
    for front in [other, between] {
        let output = join(&front.url, BOOTSTRAP_TOKEN, &[]).await;
        let words = "so the token was not sent: ";
        assert!(
            error(&output, BOOTSTRAP_TOKEN).contains(words),
            "{output:?}"
        );
        assert_eq!(*front.sent.lock().unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn an_address_that_the_certificate_does_not_name_is_refused() {
    let (hub, folder) = (authority(), TempDir::new().unwrap());
    let front = Front::start(&hub, &hub).await;
    let ca = write(&folder, "ca.crt", hub.certificate_pem());
    let url = front.url.replace("127.0.0.1", "localhost");
    let output = join(&url, TOKEN, &["--ca-file", &ca]).await;
    let words = "use an --hub-apiserver that the certificate names";
    assert!(error(&output, TOKEN).contains(words), "{output:?}");
    assert_eq!(*front.sent.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_token_that_cannot_register_clusters_is_refused() {
    let house = House::shared().await;
    let folder = TempDir::new().unwrap();
    let (url, ca) = (
        house.cluster.url(),
        write(&folder, "ca.crt", house.cluster.ca_pem()),
    );
    let output = join(&url, "no-token-of-this-hub", &["--ca-file", &ca]).await;
    let words = format!(
        "the hub at {url} does not accept the token: it has expired, was revoked, or is for another hub"
    );
    assert!(
        error(&output, "no-token-of-this-hub").contains(&words),
        "{output:?}"
    );

    let account = house
        .cluster
        .service_account("default", &fresh("powerless"))
        .await;
    let token = berth_testkit::shipped::token_in(Path::new(&account.kubeconfig));
    let output = join(&url, &token, &["--ca-file", &ca]).await;
    let words = "the token may not register a cluster: it needs create on managedclusters.cluster.open-cluster-management.io, create on \
                 certificatesigningrequests.certificates.k8s.io";
    assert!(error(&output, &token).contains(words), "{output:?}");

    for (token, words) in [("a b", "contains spaces"), ("", "is empty")] {
        let output = join(&url, token, &["--ca-file", &ca]).await;
        assert!(
            output
                .failed()
                .contains(&format!("Error: the hub token {words}")),
            "{output:?}"
        );
    }
}

#[tokio::test]
async fn clusteradms_command_line_is_understood() {
    let house = House::shared().await;
    let (printed, folder, name) = (
        Printed::of(&house).await,
        TempDir::new().unwrap(),
        cluster_name(),
    );
    let ca = write(&folder, "ca.crt", house.cluster.ca_pem());
    let (url, token) = (house.cluster.url(), printed.token());
    let args = [
        "join",
        "--hub-token",
        token,
        "--hub-apiserver",
        &url,
        "--cluster-name",
        &name,
        "--ca-file",
        &ca,
        "--mode",
        "default",
        "--singleton",
        "--image-registry",
        "quay.io/me",
        "--bundle-version",
        "v1",
        "--registration-auth",
        "csr",
        "--resource-qos-class",
        "BestEffort",
        "--klusterlet-annotation",
        "a=b",
        "--output-manifests",
    ];
    let output = finish(berth(&args), "").await;
    assert!(
        output.ok().contains("image: quay.io/me/berth:v1"),
        "{output:?}"
    );
    assert!(
        output
            .stdout
            .contains("--cluster-annotations=agent.open-cluster-management.io/a=b"),
        "{output:?}"
    );
    assert!(output.stderr.starts_with(
        "Warning: --singleton has no effect: the agent is one process\nWarning: --resource-qos-class has no effect: "
    ), "{output:?}");
    let output = join(&url, token, &["--mode", "hosted"]).await;
    assert!(
        error(&output, token).starts_with("Error: --mode hosted is not supported: "),
        "{output:?}"
    );
    for (more, words) in [
        (&["--hub-token-file", "f"][..], "cannot be used with"),
        (&["--ca-hash", "md5"], "64 hexadecimal digits"),
    ] {
        let output = join(&url, token, more).await;
        assert_eq!(output.code, 2, "{output:?}");
        assert!(
            output.stderr.contains(words) && !output.stderr.contains(token),
            "{output:?}"
        );
    }
    let output = join("http://hub", token, &[]).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("without TLS the hub cannot be verified"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_hub_that_is_away_is_told_by_its_address() {
    let folder = TempDir::new().unwrap();
    let ca = write(&folder, "ca.crt", authority().certificate_pem());
    // Nothing listens on port 1.
    let output = join("https://127.0.0.1:1", TOKEN, &["--ca-file", &ca]).await;
    let words = "Error: the hub at https://127.0.0.1:1 cannot be reached (get /version): ";
    assert!(error(&output, TOKEN).starts_with(words), "{output:?}");
}
