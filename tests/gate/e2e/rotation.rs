//! The gate's certificate and its authority change while the gate is in use.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use berth_testkit::cluster::Cluster;
use berth_testkit::eventually;
use berth_testkit::guarded::{AS_FROM_AFAR, RunningGate, gates_kubeconfig, install, register};
use berth_testkit::writers::Writers;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_certificate_of_a_new_authority_fails_no_call() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let [old, new] = ["old", "new"].map(|name| leaf(&format!("{name} authority")));
    let certs = TempDir::new().unwrap();
    old.write_folder(certs.path()).unwrap();
    let gate = RunningGate::run(&gates_kubeconfig(&cluster).await, certs, &[]);
    let url = format!("https://{AS_FROM_AFAR}:{}", gate.port);
    register(&cluster, &url, &old.ca_pem).await;
    let mut load = Writers::start(&cluster).await;
    load.go_on(20).await;

    // First both authorities are believed.
    let both = format!("{}{}", old.ca_pem, new.ca_pem);
    register(&cluster, &url, &both).await;
    load.go_on(20).await;
    new.write_folder(gate.certs.path()).unwrap();
    wait_until_served(gate.port, &new).await;
    load.go_on(20).await;
    register(&cluster, &url, &new.ca_pem).await;
    load.go_on(20).await;
    load.stop().await;
}

fn leaf(authority: &str) -> Issued {
    let now = Timestamp::now();
    let authority = Authority::new(authority, HOUR, now).unwrap();
    authority
        .leaf(&[], &[AS_FROM_AFAR.into()], HOUR, now)
        .unwrap()
}

/// Connects until the gate shows a certificate of this authority.
async fn wait_until_served(port: u16, issued: &Issued) {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(issued.ca_pem.as_bytes());
    roots.add(authority.unwrap()).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    eventually("a handshake with the new certificate", async || {
        let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        let name = ServerName::from(IpAddr::from(AS_FROM_AFAR));
        connector.connect(name, tcp).await
    })
    .await;
}
