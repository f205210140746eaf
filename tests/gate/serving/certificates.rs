//! Certificates that change while the server runs, as the kubelet changes them.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;

use berth_certs::issue::Authority;
use berth_certs::serving::ReloadOutcome;
use jiff::Timestamp;
use tempfile::TempDir;

use berth_testkit::in_process::{Client, HOUR, Setup, connect, leaf, metric};
use berth_testkit::reviews::{PATH, text};
use berth_testkit::{Gate, berth, post, repository, response, send, where_to_serve};

const RELOADED: &str =
    r#"berth_serving_certificate_reloads_total{outcome="reloaded",part="certificate"}"#;
const FAILED: &str =
    r#"berth_serving_certificate_reloads_total{outcome="failed",part="certificate"}"#;
const NOT_AFTER: &str = "berth_serving_certificate_not_after_timestamp_seconds";

/// Makes these files the content of a volume, as the kubelet does: a folder of their own, to which one symlink is moved.
fn swap(volume: &Path, generation: &str, certificate: &str, key: &str) {
    let files = volume.join(generation);
    fs::create_dir(&files).unwrap();
    fs::write(files.join("tls.crt"), certificate).unwrap();
    fs::write(files.join("tls.key"), key).unwrap();
    symlink(generation, volume.join("..data_tmp")).unwrap();
    let former = fs::read_link(volume.join("..data")).ok();
    fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
    match former {
        Some(former) => fs::remove_dir_all(volume.join(former)).unwrap(),
        None => {
            for file in ["tls.crt", "tls.key"] {
                // As if there had been plain files before.
                let _ = fs::remove_file(volume.join(file));
                symlink(Path::new("..data").join(file), volume.join(file)).unwrap();
            }
        }
    }
}

/// The certificate that is served at an address, as PEM.
async fn served(address: SocketAddr, authority: &Authority) -> String {
    let client = Client::trusting(authority.certificate_pem());
    let stream = connect(address, client.config()).await.unwrap();
    let certificate = &stream.get_ref().1.peer_certificates().unwrap()[0];
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, certificate);
    let lines: Vec<_> = encoded
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

fn same(pem: &str, other: &str) -> bool {
    let lines = |pem: &str| pem.lines().map(str::trim).collect::<String>();
    lines(pem) == lines(other)
}

#[tokio::test]
async fn a_new_certificate_is_served_and_a_spoilt_one_is_not() {
    let server = Setup::default().start().await;
    let volume = server.certs.path();
    let [first, second] = [(); 2].map(|()| leaf(&server.authority, 2 * HOUR));
    let mut old_connection = server.connect().await;

    swap(volume, "..1", &first.certificate_pem, &first.key_pem);
    assert!(matches!(
        server.tls.reload_once(Timestamp::now()).certificate,
        ReloadOutcome::Reloaded { .. }
    ));
    assert!(same(
        &served(server.address, &server.authority).await,
        &first.certificate_pem
    ));
    assert_eq!(server.metric(RELOADED), 1.0);
    assert_eq!(server.metric(NOT_AFTER), first.not_after.as_second() as f64);
    assert_eq!(
        server.tls.reload_once(Timestamp::now()).certificate,
        ReloadOutcome::Unchanged
    );

    for (generation, certificate, key, problem) in [
        (
            "..2",
            "",
            &*second.key_pem,
            "tls.crt: the file holds no PEM certificate",
        ),
        (
            "..3",
            &*second.certificate_pem,
            "",
            "tls.key: the file holds no PEM private key",
        ),
        (
            "..4",
            &*first.certificate_pem,
            &*second.key_pem,
            "tls.key: the private key does not match",
        ),
    ] {
        swap(volume, generation, certificate, key);
        let ReloadOutcome::Failed { error } = server.tls.reload_once(Timestamp::now()).certificate
        else {
            panic!("{problem}")
        };
        assert!(
            error
                .to_string()
                .starts_with(&format!("{}/{problem}", volume.display())),
            "{error}"
        );
        assert!(same(
            &served(server.address, &server.authority).await,
            &first.certificate_pem
        ));
        assert_eq!(server.health("/readyz").await.status(), 200);
    }
    assert_eq!((server.metric(FAILED), server.metric(RELOADED)), (3.0, 1.0));

    swap(volume, "..5", &second.certificate_pem, &second.key_pem);
    server.tls.reload_once(Timestamp::now());
    assert!(same(
        &served(server.address, &server.authority).await,
        &second.certificate_pem
    ));
    assert_eq!(server.metric(RELOADED), 2.0);
    // Who was connected before all this stays so.
    assert!(old_connection.get_mut().1.wants_read());
    assert_eq!(send(old_connection, post(PATH, text())).await.status(), 200);
}

/// The same with the binary, at its own pace: it looks every ten seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_binary_follows_its_volume() {
    let authority = Authority::new("test", HOUR, Timestamp::now()).unwrap();
    let [first, second] = [(); 2].map(|()| leaf(&authority, HOUR));
    let start = || {
        let certs = TempDir::new().unwrap();
        swap(certs.path(), "..1", &first.certificate_pem, &first.key_pem);
        let mut command = berth(&["webhook-server", "--hub-files"]);
        command
            .arg(repository("examples/hub"))
            .args(where_to_serve(certs.path()));
        Gate::run(command, certs)
    };
    let address = |gate: &Gate| SocketAddr::from(([127, 0, 0, 1], gate.port));
    let (mut renewed, mut spoilt) = (start(), start());
    swap(
        renewed.certs.path(),
        "..2",
        &second.certificate_pem,
        &second.key_pem,
    );
    swap(spoilt.certs.path(), "..2", "spoilt", &second.key_pem);

    let told = renewed.logged(|line| line["message"] == "reloaded");
    assert_eq!(
        (&told["level"], &told["part"]),
        (&"INFO".into(), &"certificate".into())
    );
    assert!(same(
        &served(address(&renewed), &authority).await,
        &second.certificate_pem
    ));
    assert_eq!(metric(&renewed.metrics().await, RELOADED), 1.0);

    let told =
        spoilt.logged(|line| line["message"] == "not reloaded, the former one is still served");
    assert_eq!(
        (&told["level"], &told["part"]),
        (&"WARN".into(), &"certificate".into())
    );
    let file = spoilt.certs.path().join("tls.crt");
    let problem = format!("{}: the file holds no PEM certificate", file.display());
    assert!(
        told["error"].as_str().unwrap().starts_with(&problem),
        "{told}"
    );
    assert!(same(
        &served(address(&spoilt), &authority).await,
        &first.certificate_pem
    ));
    assert_eq!(metric(&spoilt.metrics().await, FAILED), 1.0);
    assert_eq!(
        spoilt.get(spoilt.health_port, "/readyz").await.status(),
        200
    );
    let client = Client::trusting(authority.certificate_pem());
    let stream = connect(address(&spoilt), client.config()).await.unwrap();
    let answer = send(stream, post(PATH, text())).await;
    assert_eq!(
        response(&serde_json::from_slice(answer.body()).unwrap())["allowed"],
        true
    );
}
