//! An open loop with the real clock reports a server's stall of one second.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until};
use tokio_rustls::TlsAcceptor;

use crate::gate::{ca, certificates, runtime};
use crate::{loadtest, read};

/// Sends the same response to every request, but stalls for a second from `begins` on.
struct Stalling {
    port: u16,
    certs: TempDir,
    _runtime: Runtime,
}

const STALL: Duration = Duration::from_secs(1);

impl Stalling {
    /// The stall begins this long after the first connection.
    fn after(delay: Duration) -> Self {
        let certs = certificates();
        let file = |name: &str| certs.path().join(name);
        let chain = CertificateDer::pem_file_iter(file("tls.crt")).unwrap();
        let chain = chain.collect::<Result<_, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_file(file("tls.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let runtime = runtime();
        let listener = runtime
            .block_on(TcpListener::bind(("127.0.0.1", 0)))
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            let mut begins = None;
            while let Ok((socket, _)) = listener.accept().await {
                let begins = *begins.get_or_insert_with(|| Instant::now() + delay);
                tokio::spawn(serve(socket, tls.clone(), begins));
            }
        });
        Self {
            port,
            certs,
            _runtime: runtime,
        }
    }
}

async fn serve(socket: TcpStream, tls: TlsAcceptor, begins: Instant) -> io::Result<()> {
    let mut stream = tls.accept(socket).await?;
    let mut buffer = vec![0; 64 << 10];
    let body = r#"{"response":{"uid":"","allowed":true}}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    loop {
        let mut request = 0;
        // The recorded review ends with this text.
        while !buffer[..request].ends_with(b"}}") {
            match stream.read(&mut buffer[request..]).await? {
                0 => return Ok(()),
                read => request += read,
            }
        }
        let now = Instant::now();
        if begins <= now && now < begins + STALL {
            sleep_until(begins + STALL).await;
        }
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
}

#[test]
fn a_stall_shows_in_the_p99_of_an_open_loop_however_few_calls_it_meets() {
    let server = Stalling::after(Duration::from_secs(1));
    let (url, ca) = (
        format!("https://127.0.0.1:{}", server.port),
        ca(&server.certs),
    );
    let mut command = loadtest(
        "4",
        &["--url", &url, "--ca", &ca, "--any-uid", "--mix", "bind=1"],
    );
    let command = command.args(["-o", "json", "--rate", "100"]);
    let (code, report, said) = read(command.output().unwrap());
    assert_eq!(code, 0, "{report:#} {said}");
    assert_eq!(report["loop"], "open");
    assert_eq!(report["rate"], 100.0);
    // Of the 400 calls that were due, 100 waited, evenly between 0 and 1 s; three of them were on a connection.
    let at = |percentile: &str| report["latency_ms"][percentile].as_f64().unwrap();
    assert!(at("p99") > 900.0, "{report:#}");
    assert!(at("p90") > 500.0, "{report:#}");
    assert!(at("p50") < 500.0, "{report:#}");
    let reached = report["calls_per_second"].as_f64().unwrap();
    assert!((90.0..=105.0).contains(&reached), "{reached}: it caught up");
}
