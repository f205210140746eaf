//! A client of just what is needed: one HTTP/1.1 request at a time over a kept-alive TLS connection.
//!
//! It must cost little, as it shares the machine with what it measures: a request's bytes are made once, the answer is
//! parsed in place. The server's certificate is always verified.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use http::{HeaderName, HeaderValue, Uri};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// More than this is not read: no admission answer comes near it.
const MAX_ANSWER: usize = 16 << 20;

/// Where to call.
pub(crate) struct Target {
    host: String,
    port: u16,
    authority: String,
    /// With its query, if the address has one.
    path: Option<String>,
    server_name: ServerName<'static>,
    connector: TlsConnector,
    headers: Vec<u8>,
    /// The requests themselves ask for the connection to be closed after each.
    close: bool,
}

/// One kept-alive connection.
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

/// An answer, read to its end.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// The connection is of no use after this answer: the server closes it, or was asked to.
    pub(crate) close: bool,
}

// === impl Target ===

impl Target {
    /// # Errors
    /// When `url` is not an https URL, or `ca` holds no certificate.
    pub(crate) fn new(
        url: &Uri,
        ca: &Path,
        server_name: Option<&str>,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Self> {
        let authority = match (url.scheme_str(), url.authority()) {
            (Some("https"), Some(authority)) => authority,
            _ => bail!("{url} is not of the form https://HOST:PORT or https://HOST:PORT/PATH"),
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let verified = server_name.unwrap_or(&host);
        let server_name = ServerName::try_from(verified.to_owned())
            .with_context(|| format!("{verified:?} is neither a DNS name nor an address"))?;
        let path = url.path_and_query().map(http::uri::PathAndQuery::as_str);
        let path = path.filter(|path| *path != "/").map(str::to_owned);
        let lines = headers
            .iter()
            .flat_map(|(name, value)| [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        Ok(Self {
            port: authority.port_u16().unwrap_or(443),
            authority: authority.to_string(),
            path,
            connector: TlsConnector::from(Arc::new(tls_config(ca)?)),
            host,
            server_name,
            headers: lines.flatten().copied().collect(),
            close: headers.iter().any(|(name, value)| {
                name == http::header::CONNECTION && value.as_bytes().eq_ignore_ascii_case(b"close")
            }),
        })
    }

    /// The path that the address names, if it names one.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The bytes of a request. Where the address names no path, it goes to `path`, with the time limit in its query as the
    /// API server says it.
    pub(crate) fn request(&self, path: &str, body: &[u8], limit: Duration) -> Vec<u8> {
        let own = format!("{path}?timeout={}s", limit.as_secs().max(1));
        let path = self.path.as_deref().unwrap_or(&own);
        let Self {
            authority, headers, ..
        } = self;
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: loadtest\r\nAccept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        )
        .into_bytes();
        request.extend(headers);
        request.extend(b"\r\n");
        request.extend(body);
        request
    }

    /// Opens a connection and finishes its handshake.
    ///
    /// # Errors
    /// When nobody listens, or the server's certificate is not one that the CA vouches for under this name.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        let Self { host, port, .. } = self;
        let socket = TcpStream::connect((host.as_str(), *port))
            .await
            .with_context(|| {
                format!("cannot connect to {host} port {port}; is the server running?")
            })?;
        socket.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let stream = self.connector.connect(self.server_name.clone(), socket).await.with_context(|| {
            format!(
                "TLS handshake with {host} port {port} failed; its certificate must be signed by the CA (--ca) and name \
                 {:?} (or what --server-name says)",
                self.server_name.to_str()
            )
        })?;
        Ok(Connection {
            stream,
            buffer: Vec::with_capacity(4 << 10),
        })
    }
}

/// The gate's own settings, seen from the other end: ring, TLS 1.2 and 1.3; HTTP/1.1 as the API server asks for.
fn tls_config(ca: &Path) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let unreadable = || {
        format!(
            "cannot read --ca {}: it must hold PEM certificates",
            ca.display()
        )
    };
    for certificate in CertificateDer::pem_file_iter(ca).with_context(unreadable)? {
        roots
            .add(certificate.with_context(unreadable)?)
            .with_context(unreadable)?;
    }
    ensure!(
        !roots.is_empty(),
        "--ca {} holds no PEM certificate",
        ca.display()
    );
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("ring lacks a TLS version")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // As Go's client, and so the API server, does by default: every handshake is a full one.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

// === impl Connection ===

impl Connection {
    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// When the connection breaks or what comes is not HTTP/1.1; the connection cannot be used afterwards.
    pub(crate) async fn call(&mut self, target: &Target, request: &[u8]) -> Result<Answer> {
        self.stream
            .write_all(request)
            .await
            .context("cannot send the request")?;
        self.stream
            .flush()
            .await
            .context("cannot send the request")?;
        self.buffer.clear();
        loop {
            let read = self
                .stream
                .read_buf(&mut self.buffer)
                .await
                .context("cannot read the answer")?;
            ensure!(
                read > 0,
                "the server closed the connection after {} bytes of an answer",
                self.buffer.len()
            );
            if let Some(mut answer) = parse(&self.buffer)? {
                answer.close |= target.close;
                return Ok(answer);
            }
            ensure!(
                self.buffer.len() <= MAX_ANSWER,
                "the answer exceeds {MAX_ANSWER} bytes"
            );
        }
    }
}

/// Reads the one answer that `buffer` holds; `None` while it is not all there.
fn parse(buffer: &[u8]) -> Result<Option<Answer>> {
    let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&buffer[..end]).context("the answer's head is not UTF-8")?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
        .ok_or_else(|| anyhow!("not an HTTP/1.1 answer: {head:?}"))?;
    let (mut length, mut chunked, mut close) = (None, false, false);
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| anyhow!("a header line without a colon: {line:?}"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            let stated: usize = value
                .parse()
                .with_context(|| format!("Content-Length {value:?} is not a number"))?;
            length = Some(stated);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            ensure!(
                value.eq_ignore_ascii_case("chunked"),
                "Transfer-Encoding {value:?} is not supported"
            );
            chunked = true;
        } else if name.eq_ignore_ascii_case("connection") {
            close = value.eq_ignore_ascii_case("close");
        }
    }

    let rest = &buffer[end + 4..];
    let (body, after) = match (chunked, length) {
        // Go's server sends so what is larger than its buffer of 2 KiB.
        (true, _) => match parse_chunks(rest)? {
            Some(parsed) => parsed,
            None => return Ok(None),
        },
        (false, Some(length)) => match rest.split_at_checked(length) {
            Some((body, after)) => (body.to_vec(), after),
            None => return Ok(None),
        },
        (false, None) => bail!("the answer has neither Content-Length nor chunks"),
    };
    ensure!(
        after.is_empty(),
        "{} bytes follow the answer that nobody asked for",
        after.len()
    );
    Ok(Some(Answer {
        status,
        body,
        close,
    }))
}

/// A chunked body and what follows it, see RFC 9112 section 7.1; `None` while it is not all there.
fn parse_chunks(mut rest: &[u8]) -> Result<Option<(Vec<u8>, &[u8])>> {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|window| window == b"\r\n") else {
            return Ok(None);
        };
        let line = std::str::from_utf8(&rest[..end]).context("a chunk's size is not UTF-8")?;
        let digits = line.split(';').next().unwrap_or(line).trim();
        let size = usize::from_str_radix(digits, 16)
            .with_context(|| format!("{line:?} is not a chunk's size"))?;
        ensure!(
            size <= MAX_ANSWER,
            "a chunk of {size} bytes exceeds {MAX_ANSWER}"
        );
        let Some((chunk, after)) = rest[end + 2..].split_at_checked(size) else {
            return Ok(None);
        };
        let Some((line_end, after)) = after.split_at_checked(2) else {
            return Ok(None);
        };
        ensure!(
            line_end == b"\r\n",
            "a chunk is not followed by a line end (trailers are not supported)"
        );
        if size == 0 {
            return Ok(Some((body, after)));
        }
        body.extend(chunk);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str, close: bool) -> Answer {
        Answer {
            status,
            body: body.into(),
            close,
        }
    }

    #[test]
    fn answers_are_read_whole_and_not_before() {
        let rows = [
            (
                "a stated length",
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
                answer(200, "hi", false),
            ),
            (
                "an empty body",
                "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
                answer(503, "", false),
            ),
            (
                "the server's last",
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
                answer(200, "x", true),
            ),
            (
                "chunks",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nA;ext=1\r\n0123456789\r\n0\r\n\r\n",
                answer(200, "hi0123456789", false),
            ),
        ];
        for (case, bytes, expected) in rows {
            for cut in 0..bytes.len() {
                assert_eq!(
                    parse(&bytes.as_bytes()[..cut]).unwrap(),
                    None,
                    "{case}, only {cut} bytes there"
                );
            }
            assert_eq!(parse(bytes.as_bytes()).unwrap(), Some(expected), "{case}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused_with_the_reason() {
        let rows = [
            ("HTTP/1.0 200 OK\r\n\r\n", "not an HTTP/1.1 answer"),
            ("HTTP/1.1 OK\r\n\r\n", "not an HTTP/1.1 answer"),
            (
                "HTTP/1.1 200 OK\r\n\r\n",
                "neither Content-Length nor chunks",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                "is not a number",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy",
                "1 bytes follow",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                "is not supported",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
                "is not a chunk's size",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
                "not followed by a line end",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                "exceeds",
            ),
        ];
        for (bytes, reason) in rows {
            let error = parse(bytes.as_bytes()).unwrap_err();
            assert!(
                format!("{error:#}").contains(reason),
                "{bytes:?}: {error:#}"
            );
        }
    }
}
