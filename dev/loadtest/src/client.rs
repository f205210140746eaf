//! A minimal client: one HTTP/1.1 request at a time over a kept-alive TLS connection.
//!
//! It must use little CPU, because it shares the machine with the server: a request's bytes are built once, and the response is parsed in
//! place. The server's certificate is always verified.

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

/// Maximum size of a response; admission responses are much smaller.
const MAX_RESPONSE: usize = 16 << 20;

/// The server to call.
pub(crate) struct Target {
    host: String,
    port: u16,
    authority: String,
    /// Path and query, if the address has one.
    path: Option<String>,
    server_name: ServerName<'static>,
    connector: TlsConnector,
    headers: Vec<u8>,
    /// The requests have a header that closes the connection after each response.
    close: bool,
}

/// One kept-alive connection.
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

/// A complete response.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// The connection cannot be used again: the server closes it, or the request asked for that.
    pub(crate) close: bool,
}

// === impl Target ===

impl Target {
    /// # Errors
    /// `url` is not an https URL, or `ca` holds no certificate.
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

    /// Returns the path of the address, if it has one.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Builds the bytes of a request. If the address has no path, the request goes to `path`, with the time limit in the query as from an
    /// API server.
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
    /// No server listens, or its certificate does not verify for this name.
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

/// The client side of the gate's settings: ring, TLS 1.2 and 1.3; HTTP/1.1 as the API server uses.
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
    // No resumption, as in Go's client and so in the API server.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

// === impl Connection ===

impl Connection {
    /// Sends a request and reads the response.
    ///
    /// # Errors
    /// The connection broke, or the response is not HTTP/1.1; the connection cannot be used again.
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
                .context("cannot read the response")?;
            ensure!(
                read > 0,
                "the server closed the connection after {} bytes of a response",
                self.buffer.len()
            );
            if let Some(mut answer) = parse(&self.buffer)? {
                answer.close |= target.close;
                return Ok(answer);
            }
            ensure!(
                self.buffer.len() <= MAX_RESPONSE,
                "the response exceeds {MAX_RESPONSE} bytes"
            );
        }
    }
}

/// Parses the response in `buffer`; `None` while it is incomplete.
fn parse(buffer: &[u8]) -> Result<Option<Answer>> {
    let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head =
        std::str::from_utf8(&buffer[..end]).context("the head of the response is not UTF-8")?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
        .ok_or_else(|| anyhow!("not an HTTP/1.1 response: {head:?}"))?;
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
        // Go's server sends chunks if the body exceeds its buffer of 2 KiB.
        (true, _) => match parse_chunks(rest)? {
            Some(parsed) => parsed,
            None => return Ok(None),
        },
        (false, Some(length)) => match rest.split_at_checked(length) {
            Some((body, after)) => (body.to_vec(), after),
            None => return Ok(None),
        },
        (false, None) => bail!("the response has neither Content-Length nor chunks"),
    };
    ensure!(
        after.is_empty(),
        "{} bytes follow the end of the response",
        after.len()
    );
    Ok(Some(Answer {
        status,
        body,
        close,
    }))
}

/// Parses a chunked body (RFC 9112 section 7.1) and returns it with the bytes after it; `None` while it is incomplete.
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
            size <= MAX_RESPONSE,
            "a chunk of {size} bytes exceeds {MAX_RESPONSE}"
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
            ("HTTP/1.0 200 OK\r\n\r\n", "not an HTTP/1.1 response"),
            ("HTTP/1.1 OK\r\n\r\n", "not an HTTP/1.1 response"),
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
