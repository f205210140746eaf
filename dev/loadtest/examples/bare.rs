//! The lower bound for measurements of the gate: a TLS server with a constant response.
//!
//! It does only what every webhook with these libraries must do (tokio, rustls with ring, reading a request from a kept-alive connection,
//! writing a response): no hyper, no router, no JSON, no limits, no metrics. The difference to the gate is the gate's own cost.
//!
//! It speaks HTTP/1.1 with `Content-Length` bodies, as the API server does to webhooks; anything else closes the connection.
//! The TLS settings are the gate's (1.2 and 1.3, ring, default suites, no client certificates), except for ALPN: the gate offers `h2` and
//! `http/1.1`, this server only `http/1.1`, because it does not implement HTTP/2. It listens on the loopback interface only, and has no
//! timeouts.

use std::convert::Infallible;
use std::io::{ErrorKind, Write};
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The response to every review. Its uid is constant, too, so a client must accept any uid.
const ANSWER_BODY: &str = concat!(
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","#,
    r#""response":{"uid":"00000000-0000-0000-0000-000000000000","allowed":true,"status":{"code":200}}}"#
);

static ANSWER: LazyLock<Vec<u8>> = LazyLock::new(|| answer(""));
static LAST_ANSWER: LazyLock<Vec<u8>> = LazyLock::new(|| answer("connection: close\r\n"));

/// Maximum sizes of headers and body, as in the gate. A larger request closes the connection.
const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 7 << 20;

#[derive(Parser)]
#[command(
    name = "bare",
    about = "Answers every request over TLS with the same allowed AdmissionReview: the floor of what a webhook can cost",
    after_help = "\
Example:
  cargo run --release -p loadtest --example bare -- --port 9443 --certdir /tmp/certs
  listening on https://127.0.0.1:9443 pid 4711

Then, from another terminal (the uid is constant, so it is not to be checked):
  cargo run --release -p loadtest -- --url https://127.0.0.1:9443 \\
    --ca /tmp/certs/ca.crt --body review.json --any-uid --pid 4711"
)]
struct Args {
    /// Port on 127.0.0.1; 0 selects a free port, which is printed
    #[arg(long, default_value_t = 9443)]
    port: u16,

    /// Directory with tls.crt (the leaf first, then its chain) and tls.key
    #[arg(long, value_name = "DIR")]
    certdir: PathBuf,

    /// Worker threads [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

fn main() -> ExitCode {
    // `serve` returns only with an error.
    let Err(error) = run(&Args::parse());
    let _ = writeln!(std::io::stderr(), "Error: {error:#}");
    ExitCode::FAILURE
}

fn run(args: &Args) -> Result<Infallible> {
    let tls = tls_config(&args.certdir)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = args.threads {
        runtime.worker_threads(threads.get());
    }
    runtime
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(serve(args.port, TlsAcceptor::from(Arc::new(tls))))
}

async fn serve(port: u16, tls: TlsAcceptor) -> Result<Infallible> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| {
            format!("cannot listen on 127.0.0.1:{port}; --port 0 takes a free port")
        })?;
    let address = listener
        .local_addr()
        .context("the listener has no address")?;
    let pid = std::process::id();
    writeln!(
        std::io::stdout(),
        "listening on https://{address} pid {pid}"
    )
    .context("cannot print the address")?;

    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    let tls = tls.clone();
                    connections.spawn(async move {
                        if let Err(error) = converse(socket, tls).await {
                            // Continue to serve even if stderr is full or closed.
                            let _ = writeln!(std::io::stderr(), "{peer}: {error:#}");
                        }
                    });
                }
                // Probably out of file descriptors until connections end: wait, to prevent a busy loop.
                Err(error) => {
                    let _ = writeln!(std::io::stderr(), "cannot accept: {error}");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            },
            Some(ended) = connections.join_next() => ended.context("a connection's task panicked")?,
        }
    }
}

/// Responds to one request after another until the client closes the connection.
async fn converse(socket: TcpStream, tls: TlsAcceptor) -> Result<()> {
    socket.set_nodelay(true).context("cannot set TCP_NODELAY")?;
    let mut stream = tls.accept(socket).await.context("TLS handshake failed")?;
    let mut buffer = Vec::with_capacity(16 << 10);
    loop {
        let request = loop {
            if let Some(request) = parse_head(&buffer)?
                && buffer.len() >= request.length
            {
                break request;
            }
            match stream.read_buf(&mut buffer).await {
                Ok(0) if buffer.is_empty() => return Ok(()),
                Ok(0) => bail!("the client closed within a request"),
                Ok(_) => {}
                // Clients usually close without a TLS close, so do not report it.
                Err(error) if buffer.is_empty() && is_goodbye(error.kind()) => return Ok(()),
                Err(error) => return Err(error).context("cannot read a request"),
            }
        };
        buffer.drain(..request.length);
        stream
            .write_all(if request.close { &LAST_ANSWER } else { &ANSWER })
            .await
            .context("cannot write an answer")?;
        stream.flush().await.context("cannot write an answer")?;
        if request.close {
            return stream
                .shutdown()
                .await
                .context("cannot close the connection");
        }
    }
}

fn is_goodbye(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}

#[derive(Debug, PartialEq)]
struct Request {
    /// Bytes of the whole request, head and body.
    length: usize,
    /// The client asks to close the connection after the response.
    close: bool,
}

/// Finds the end of the request at the beginning of `buffer`; `None` while its head is incomplete.
///
/// # Errors
/// The request does not have exactly one `Content-Length`, or exceeds the gate's limits.
fn parse_head(buffer: &[u8]) -> Result<Option<Request>> {
    let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
        ensure!(
            buffer.len() <= MAX_HEAD,
            "the request's head exceeds {MAX_HEAD} bytes"
        );
        return Ok(None);
    };
    let head = std::str::from_utf8(&buffer[..end]).context("the request's head is not UTF-8")?;
    let (mut body, mut close) = (0, false);
    for line in head.split("\r\n").skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            bail!("a header line without a colon: {line:?}");
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            body = value
                .parse()
                .with_context(|| format!("Content-Length {value:?} is not a number"))?;
            ensure!(
                body <= MAX_BODY,
                "a body of {body} bytes exceeds {MAX_BODY}"
            );
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            bail!(
                "this server reads bodies with Content-Length only, not Transfer-Encoding {value:?}"
            );
        } else if name.eq_ignore_ascii_case("connection") {
            close = value.eq_ignore_ascii_case("close");
        }
    }
    Ok(Some(Request {
        length: end + 4 + body,
        close,
    }))
}

fn answer(more_headers: &str) -> Vec<u8> {
    let length = ANSWER_BODY.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more_headers}\r\n{ANSWER_BODY}"
    )
    .into_bytes()
}

fn tls_config(certdir: &Path) -> Result<ServerConfig> {
    let (certificate, key) = (certdir.join("tls.crt"), certdir.join("tls.key"));
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| {
            format!(
                "cannot read {}: --certdir must hold a PEM certificate tls.crt",
                certificate.display()
            )
        })?;
    let key_der = PrivateKeyDer::from_pem_file(&key).with_context(|| {
        format!(
            "cannot read {}: --certdir must hold a PEM private key tls.key",
            key.display()
        )
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])
        .context("ring lacks a TLS version")?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .with_context(|| {
            format!(
                "{} and {} are not a certificate and its key",
                certificate.display(),
                key.display()
            )
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_where_their_heads_say() {
        let rows: &[(&str, &str, Option<(usize, bool)>)] = &[
            ("nothing yet", "", None),
            ("half a head", "POST / HTTP/1.1\r\nHost: a\r\n", None),
            (
                "no body",
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                Some((27, false)),
            ),
            (
                "a body still to come",
                "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n",
                Some((49, false)),
            ),
            (
                "names in any case",
                "POST / HTTP/1.1\r\ncontent-length:1\r\n\r\nx",
                Some((38, false)),
            ),
            (
                "the client's last",
                "POST / HTTP/1.1\r\nConnection: close\r\n\r\n",
                Some((38, true)),
            ),
        ];
        for (case, buffer, expected) in rows {
            let expected = expected.map(|(length, close)| Request { length, close });
            assert_eq!(parse_head(buffer.as_bytes()).unwrap(), expected, "{case}");
        }
    }

    #[test]
    fn what_it_cannot_read_is_refused_with_the_reason() {
        let rows = [
            ("Transfer-Encoding: chunked", "Content-Length only"),
            ("Content-Length: many", "is not a number"),
            ("Content-Length: -1", "is not a number"),
            ("Content-Length: 7340033", "exceeds 7340032"),
            ("no header", "without a colon"),
        ];
        for (header, reason) in rows {
            let error =
                parse_head(format!("POST / HTTP/1.1\r\n{header}\r\n\r\n").as_bytes()).unwrap_err();
            assert!(format!("{error:#}").contains(reason), "{header}: {error:#}");
        }
    }
}
