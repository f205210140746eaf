//! Messages about failed connections, in Go's words.

use std::error::Error;
use std::io;

use rustls::CertificateError as C;

pub(super) const UNKNOWN_AUTHORITY: &str =
    "tls: failed to verify certificate: x509: certificate signed by unknown authority";

/// A host that has no address.
pub(super) fn of_lookup(host: &str, error: &io::Error) -> String {
    tracing::debug!(host, %error, "lookup failed");
    format!("dial tcp: lookup {host}: no such host")
}

/// What comes after `dial tcp ADDRESS: `.
pub(super) fn of_connect(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        _ => format!("connect: {error}"),
    }
}

/// A TLS handshake.
pub(super) fn of_handshake(error: &io::Error) -> String {
    let tls = error.get_ref();
    match tls.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => of_tls(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => error.to_string(),
    }
}

/// A request, before its response's head was there, or a body.
pub(super) fn of_http(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return "EOF".to_owned();
    }
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(error) => of_handshake(error),
        None => error.to_string(),
    }
}

fn of_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(C::UnknownIssuer | C::BadSignature) => {
            // A bad signature is that of an authority of the same name.
            UNKNOWN_AUTHORITY.to_owned()
        }
        rustls::Error::InvalidCertificate(why) => {
            format!("tls: failed to verify certificate: x509: {why}")
        }
        other => format!("tls: {other}"),
    }
}
