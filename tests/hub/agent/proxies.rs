//! Hubs behind a proxy, which the bootstrap kubeconfig names: `proxy-url`.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use berth_testkit::in_process::leaf;

use super::world::{World, text};

/// A proxy that opens tunnels to any address. It serves until the runtime of the test ends.
struct Proxy {
    url: String,
    /// How many tunnels it has opened.
    tunnels: Arc<AtomicUsize>,
}

impl Proxy {
    /// Starts it; with a certificate of this authority, it serves over TLS.
    async fn start(authority: Option<&Authority>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let scheme = if authority.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let tls = authority.map(acceptor);
        let tunnels = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tunnels);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (tls, count) = (tls.clone(), Arc::clone(&count));
                // The agent notices how a connection ends.
                tokio::spawn(async move {
                    match tls {
                        None => tunnel(client, &count).await,
                        Some(tls) => tunnel(tls.accept(client).await?, &count).await,
                    }
                });
            }
        });
        Self { url, tunnels }
    }
}

fn acceptor(authority: &Authority) -> TlsAcceptor {
    let issued = leaf(authority, Duration::from_secs(3600));
    let chain = CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect::<Result<_, _>>().unwrap(), key)
        .unwrap();
    Arc::new(config).into()
}

/// Reads a CONNECT request, and forwards bytes from then on.
async fn tunnel<S: AsyncRead + AsyncWrite + Unpin>(
    client: S,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    let mut client = BufStream::new(client);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        if client.read_line(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let mut words = request.split(' ');
    assert_eq!(words.next(), Some("CONNECT"), "{request}");
    let mut server = TcpStream::connect(words.next().unwrap_or_default()).await?;
    count.fetch_add(1, Ordering::Relaxed);
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    client.flush().await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// A cluster joins, and is managed, through the proxy alone.
async fn joins_through(world: &World, proxy: &Proxy) {
    let agent = world.joined(&[]).await;
    world.lease_lasts(1).await;
    let kubeconfig = text(&world.hub_secret().await, "kubeconfig");
    let named = format!("    proxy-url: {}\n", proxy.url);
    assert!(kubeconfig.contains(&named), "{kubeconfig}");
    assert!(proxy.tunnels.load(Ordering::Relaxed) > 1);
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_joins_through_an_http_proxy() {
    let world = World::new().await;
    let proxy = Proxy::start(None).await;
    world.change_bootstrap(|it| {
        it["clusters"][0]["cluster"]["proxy-url"] = json!(proxy.url);
    });
    joins_through(&world, &proxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_joins_through_an_https_proxy() {
    let world = World::new().await;
    let day = Duration::from_secs(24 * 3600);
    let authority = Authority::new("proxy", day, Timestamp::now()).unwrap();
    let proxy = Proxy::start(Some(&authority)).await;
    let bundle = format!(
        "{}{}",
        world.hub.cluster.ca_pem(),
        authority.certificate_pem()
    );
    world.change_bootstrap(|it| {
        let cluster = &mut it["clusters"][0]["cluster"];
        cluster["proxy-url"] = json!(proxy.url);
        cluster["certificate-authority-data"] = json!(STANDARD.encode(bundle));
    });
    joins_through(&world, &proxy).await;
}
