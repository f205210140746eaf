//! Versions of TLS, protocols over it, and client certificates.

use std::fs;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;

use berth_certs::issue::{Authority, Issued};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use rustls::ProtocolVersion::{self, TLSv1_2, TLSv1_3};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SupportedProtocolVersion};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use berth_testkit::in_process::{Client, HOUR, ask, connect};
use berth_testkit::reviews::{PATH, UID, text};
use berth_testkit::{Gate, post, response, send};

type Versions = &'static [&'static SupportedProtocolVersion];
static ONLY_1_2: Versions = &[&TLS12];
static ONLY_1_3: Versions = &[&TLS13];

fn address(gate: &Gate) -> SocketAddr {
    ([127, 0, 0, 1], gate.port).into()
}

fn client(gate: &Gate) -> Client {
    Client::trusting(&fs::read_to_string(gate.certs.path().join("ca.crt")).unwrap())
}

#[tokio::test]
async fn every_version_and_protocol_is_served() {
    let gate = Gate::with_files(&[]);
    for versions in [ONLY_1_2, ONLY_1_3, rustls::ALL_VERSIONS] {
        for (alpn, agreed) in [
            (&[][..], None),
            (&["http/1.1"], Some("http/1.1")),
            (&["h2"], Some("h2")),
            (&["http/1.1", "h2"], Some("h2")),
        ] {
            let client = Client {
                versions,
                alpn,
                ..client(&gate)
            };
            let stream = connect(address(&gate), client.config()).await.unwrap();
            let tls = stream.get_ref().1;
            let newest = if versions.contains(&&TLS13) {
                TLSv1_3
            } else {
                TLSv1_2
            };
            assert_eq!(tls.protocol_version(), Some(newest));
            assert_eq!(tls.alpn_protocol(), agreed.map(str::as_bytes), "{alpn:?}");
            let answer = if agreed == Some("h2") {
                let (mut sender, connection) = hyper::client::conn::http2::handshake(
                    TokioExecutor::new(),
                    TokioIo::new(stream),
                )
                .await
                .unwrap();
                tokio::spawn(connection);
                let mut request = post(&format!("https://localhost{PATH}"), text());
                request.headers_mut().remove("host");
                let (head, body) = sender.send_request(request).await.unwrap().into_parts();
                assert_eq!(head.status, 200);
                body.collect().await.unwrap().to_bytes()
            } else {
                send(stream, post(PATH, text())).await.into_body()
            };
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(
                (&response(&answer)["uid"], &response(&answer)["allowed"]),
                (&UID.into(), &true.into())
            );
        }
    }
}

#[tokio::test]
async fn no_other_protocol_is_agreed_on() {
    let gate = Gate::with_files(&[]);
    let client = Client {
        alpn: &["spdy/3"],
        ..client(&gate)
    };
    let error = connect(address(&gate), client.config()).await.unwrap_err();
    assert!(
        error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
}

#[tokio::test]
async fn the_lowest_version_can_be_raised() {
    let gate = Gate::with_files(&["--tls-min-version", "VersionTLS13"]);
    for (versions, version) in [(ONLY_1_2, None), (ONLY_1_3, Some(TLSv1_3))] {
        let client = Client {
            versions,
            ..client(&gate)
        };
        match connect(address(&gate), client.config()).await {
            Ok(stream) => assert_eq!(stream.get_ref().1.protocol_version(), version),
            Err(error) => {
                assert_eq!(version, None::<ProtocolVersion>);
                assert!(error.to_string().contains("ProtocolVersion"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn only_the_named_clients_of_the_ca_are_let_in() {
    let now = Timestamp::now();
    let authority = Authority::new("the API servers' authority", HOUR, now).unwrap();
    let stranger = Authority::new("a stranger", HOUR, now).unwrap();
    let folder = TempDir::new().unwrap();
    let ca_file = folder.path().join("client-ca.crt");
    fs::write(&ca_file, authority.certificate_pem()).unwrap();
    let ca_file = ca_file.to_str().unwrap();
    let issue = |authority: &Authority, name: &str, dns_names: &[&str]| -> Option<Issued> {
        Some(
            authority
                .client(name, &["system:masters"], dns_names, HOUR, now)
                .unwrap(),
        )
    };
    let named = Gate::with_files(&[
        "--client-ca-file",
        ca_file,
        "--client-names",
        "kube-apiserver,other",
    ]);
    let any = Gate::with_files(&["--client-ca-file", ca_file]);
    for (sentence, certificate, gets_in, gets_in_by_any_name) in [
        (
            "no certificate",
            None,
            Err("CertificateRequired"),
            Err("CertificateRequired"),
        ),
        (
            "another CA's",
            issue(&stranger, "kube-apiserver", &[]),
            Err("UnknownCA"),
            Err("UnknownCA"),
        ),
        (
            "another name",
            issue(&authority, "somebody", &["some.body"]),
            Err("CertificateUnknown"),
            Ok(()),
        ),
        (
            "a name that only begins like it",
            issue(&authority, "kube-apiserver2", &[]),
            Err("CertificateUnknown"),
            Ok(()),
        ),
        (
            "the common name",
            issue(&authority, "kube-apiserver", &[]),
            Ok(()),
            Ok(()),
        ),
        (
            "a DNS name",
            issue(&authority, "somebody", &["some.body", "other"]),
            Ok(()),
            Ok(()),
        ),
    ] {
        for (gate, expected) in [(&named, gets_in), (&any, gets_in_by_any_name)] {
            for versions in [ONLY_1_2, ONLY_1_3] {
                let client = Client {
                    versions,
                    certificate: certificate.clone(),
                    ..client(gate)
                };
                match expected {
                    Ok(()) => {
                        let answer = ask(address(gate), client.config(), post(PATH, text())).await;
                        assert_eq!(answer.unwrap().status(), 200, "{sentence}");
                    }
                    Err(alert) => {
                        let error = refused(address(gate), client.config()).await;
                        assert_eq!(error.kind(), ErrorKind::InvalidData, "{sentence}: {error}");
                        let alert = format!("received fatal alert: {alert}");
                        assert_eq!(error.to_string(), alert, "{sentence}");
                    }
                }
            }
        }
    }
}

/// Why a connection does not come about; with TLS 1.3, a client hears of it only after its part of the handshake.
async fn refused(address: SocketAddr, config: ClientConfig) -> Error {
    match connect(address, config).await {
        Err(error) => error,
        Ok(mut stream) => stream.read(&mut [0]).await.unwrap_err(),
    }
}
