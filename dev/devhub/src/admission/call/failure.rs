//! What went wrong on a connection, in the words of Go's network packages, which are what a user of kube-apiserver sees.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use jiff::Timestamp;
use rustls::CertificateError as C;
use rustls::pki_types::{ServerName, UnixTime};

use super::connection::Connection;

pub(super) const UNKNOWN_AUTHORITY: &str =
    "tls: failed to verify certificate: x509: certificate signed by unknown authority";

/// A host that has no address.
pub(super) fn of_lookup(host: &str, error: &io::Error) -> String {
    tracing::debug!(host, %error, "lookup failed");
    format!("dial tcp: lookup {host}: no such host")
}

/// What comes after `dial tcp ADDRESS: `.
pub(super) fn of_connect(error: &io::Error) -> String {
    use io::ErrorKind as K;
    match error.kind() {
        K::ConnectionRefused => "connect: connection refused".to_owned(),
        K::ConnectionReset => "connect: connection reset by peer".to_owned(),
        K::TimedOut => "connect: connection timed out".to_owned(),
        K::HostUnreachable => "connect: no route to host".to_owned(),
        K::NetworkUnreachable => "connect: network is unreachable".to_owned(),
        _ => format!("connect: {}", error.to_string().to_lowercase()),
    }
}

/// A TLS handshake.
pub(super) fn of_handshake(error: &io::Error, addresses: (SocketAddr, SocketAddr)) -> String {
    let tls = error.get_ref();
    match tls.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => of_tls(error),
        None => of_io(error, addresses),
    }
}

/// A request, before its response's head was there, or a body.
pub(super) fn of_http(error: &hyper::Error, connection: &Connection) -> String {
    if error.is_parse() {
        return format!(
            "net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error}"
        );
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return "EOF".to_owned();
    }
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(error) => of_handshake(error, connection.addresses),
        None => error.to_string(),
    }
}

fn of_io(error: &io::Error, (local, peer): (SocketAddr, SocketAddr)) -> String {
    use io::ErrorKind as K;
    match error.kind() {
        K::UnexpectedEof => "EOF".to_owned(),
        K::ConnectionReset => format!("read tcp {local}->{peer}: read: connection reset by peer"),
        K::BrokenPipe => format!("write tcp {local}->{peer}: write: broken pipe"),
        _ => error.to_string(),
    }
}

fn of_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => {
            format!("tls: failed to verify certificate: {}", of_certificate(why))
        }
        rustls::Error::AlertReceived(alert) => {
            format!("remote error: tls: {}", spaced(&format!("{alert:?}")))
        }
        rustls::Error::InvalidMessage(_) => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        rustls::Error::PeerIncompatible(_) => {
            "remote error: tls: protocol version not supported".to_owned()
        }
        other => format!("tls: {other}"),
    }
}

fn of_certificate(why: &C) -> String {
    let expired = "x509: certificate has expired or is not yet valid";
    match why {
        // A bad signature is that of an authority of the same name.
        C::UnknownIssuer | C::BadSignature => {
            "x509: certificate signed by unknown authority".to_owned()
        }
        C::ExpiredContext { time, not_after } => {
            let (now, then) = (date(time), date(not_after));
            format!("{expired}: current time {now} is after {then}")
        }
        C::NotValidYetContext { time, not_before } => {
            let (now, then) = (date(time), date(not_before));
            format!("{expired}: current time {now} is before {then}")
        }
        C::Expired | C::NotValidYet => expired.to_owned(),
        C::NotValidForNameContext {
            expected,
            presented,
        } => of_name(expected, presented),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            "x509: certificate specifies an incompatible key usage".to_owned()
        }
        C::UnhandledCriticalExtension => "x509: unhandled critical extension".to_owned(),
        C::BadEncoding => "x509: malformed certificate".to_owned(),
        C::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "x509: certificate of an authority is used as a server's, which devhub refuses"
                .to_owned()
        }
        other => format!("x509: {other}"),
    }
}

fn of_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    // `DnsName("a")` and `IpAddress(1.2.3.4)`
    let inside = |name: &str, sort: &str| {
        let rest = name.strip_prefix(sort)?.strip_prefix('(')?;
        let rest = rest.strip_suffix(')')?;
        Some(rest.trim_matches('"').to_owned())
    };
    let names = |sort| presented.iter().filter_map(move |name| inside(name, sort));
    let wanted = expected.to_str();
    if matches!(expected, ServerName::IpAddress(_)) {
        let valid: Vec<_> = names("IpAddress").collect();
        if valid.is_empty() {
            return format!(
                "x509: cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
            );
        }
        return format!(
            "x509: certificate is valid for {}, not {wanted}",
            valid.join(", ")
        );
    }
    let valid: Vec<_> = names("DnsName").collect();
    if valid.is_empty() {
        return format!(
            "x509: certificate is not valid for any names, but wanted to match {wanted}"
        );
    }
    format!(
        "x509: certificate is valid for {}, not {wanted}",
        valid.join(", ")
    )
}

fn date(time: &UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).ok();
    let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    at.map(crate::object::time).unwrap_or_default()
}

/// `HandshakeFailure` as `handshake failure`
fn spaced(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_refused_in_gos_words() {
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let name = |name: &'static str| ServerName::try_from(name).expect("a name");
        let other_name = |expected, presented: &[&str]| C::NotValidForNameContext {
            expected: name(expected),
            presented: presented.iter().map(|&name| name.to_owned()).collect(),
        };
        let rows = [
            (
                C::UnknownIssuer,
                "x509: certificate signed by unknown authority",
            ),
            (
                C::ExpiredContext {
                    time: at(86_400),
                    not_after: at(0),
                },
                "x509: certificate has expired or is not yet valid: current time 1970-01-02T00:00:00Z is after 1970-01-01T00:00:00Z",
            ),
            (
                other_name(
                    "c.ns.svc",
                    &["DnsName(\"a\")", "DnsName(\"b\")", "IpAddress(1.2.3.4)"],
                ),
                "x509: certificate is valid for a, b, not c.ns.svc",
            ),
            (
                other_name("c.ns.svc", &[]),
                "x509: certificate is not valid for any names, but wanted to match c.ns.svc",
            ),
            (
                other_name("127.0.0.1", &["DnsName(\"a\")"]),
                "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
            ),
            (
                other_name("127.0.0.1", &["IpAddress(1.2.3.4)"]),
                "x509: certificate is valid for 1.2.3.4, not 127.0.0.1",
            ),
        ];
        for (error, expected) in rows {
            assert_eq!(of_certificate(&error), expected);
        }
    }

    #[test]
    fn alerts_are_spelled_out() {
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::HandshakeFailure);
        assert_eq!(of_tls(&alert), "remote error: tls: handshake failure");
    }
}
