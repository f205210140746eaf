//! Finds out if a webhook server runs that API servers trust by the registrations.

use std::net::IpAddr;
use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use berth_certs::managed::Policy;
use berth_certs::served::{Bundle, judge, seen_at};

/// The longest time for a try. An API server does not wait much longer.
const LONGEST: Duration = Duration::from_secs(2);

/// No server counts as trusted after this many tries: one may fail by chance.
const TRIES: usize = 2;

/// The pause between tries.
const BETWEEN: Duration = Duration::from_millis(300);

/// An address that API servers call, and the authorities that they trust there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Called {
    host: String,
    port: u16,
    /// PEM.
    bundle: Vec<u8>,
}

impl Called {
    /// Reads the clientConfig of a webhook. `None`: it names no address.
    pub(crate) fn new(client_config: &Value, bundle: &[u8]) -> Option<Self> {
        let service = &client_config["service"];
        let (host, port) = match client_config["url"].as_str() {
            Some(url) => {
                let url: http::Uri = url.parse().ok()?;
                let host = url.host()?.trim_start_matches('[').trim_end_matches(']');
                (host.to_owned(), url.port_u16().unwrap_or(443))
            }
            None => {
                let (name, namespace) = (service["name"].as_str()?, service["namespace"].as_str()?);
                let port = service["port"].as_u64().unwrap_or(443);
                (format!("{name}.{namespace}.svc"), port.try_into().ok()?)
            }
        };
        Some(Self {
            host,
            port,
            bundle: bundle.to_vec(),
        })
    }

    /// Returns true if our certificate has the name of this address.
    pub(crate) fn is_of(&self, policy: &Policy) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => policy.ip_addresses.contains(&address),
            Err(_) => policy.dns_names.contains(&self.host),
        }
    }

    /// Returns true if an API server would trust the server at this address. A name that cannot be resolved here counts as
    /// trusted: API servers may resolve it.
    async fn is_trusted(&self) -> bool {
        let Ok(bundle) = Bundle::from_pem(&self.bundle) else {
            return false;
        };
        let addresses = (self.host.as_str(), self.port);
        let attempt = async {
            if tokio::net::lookup_host(addresses).await.is_err() {
                return true;
            }
            let Ok(stream) = TcpStream::connect(addresses).await else {
                return false;
            };
            let Ok(chain) = seen_at(stream, &self.host).await else {
                return false;
            };
            let judgement = judge(&chain, &bundle, &self.host, Timestamp::now());
            judgement.objections.is_empty()
        };
        timeout(LONGEST, attempt).await.unwrap_or(false)
    }
}

/// Returns true if an API server would trust the server at one of these addresses.
pub(crate) async fn is_any_trusted(mut called: Vec<Called>) -> bool {
    called.dedup();
    for attempt in 0..TRIES {
        if attempt > 0 {
            sleep(BETWEEN).await;
        }
        let trusted = join_all(called.iter().map(Called::is_trusted)).await;
        if trusted.contains(&true) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_certs::issue::Authority;
    use rustls::ServerConfig;
    use rustls::crypto::ring::default_provider;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn authority() -> Authority {
        Authority::new("test authority", 24 * HOUR, Timestamp::now()).unwrap()
    }

    #[test]
    fn an_address_is_read_as_an_api_server_reads_it() {
        for (sentence, client_config, expected) in [
            (
                "a Service",
                json!({ "service": { "name": "gate", "namespace": "hub", "path": "/x" } }),
                Some(("gate.hub.svc", 443)),
            ),
            (
                "a Service's port",
                json!({ "service": { "name": "gate", "namespace": "hub", "port": 9443 } }),
                Some(("gate.hub.svc", 9443)),
            ),
            (
                "a URL",
                json!({ "url": "https://gate.example.com/x" }),
                Some(("gate.example.com", 443)),
            ),
            (
                "a URL with an address of IPv6",
                json!({ "url": "https://[::1]:9443/x" }),
                Some(("::1", 9443)),
            ),
            ("nothing", json!({}), None),
            (
                "no port",
                json!({ "service": { "name": "g", "namespace": "h", "port": 70000 } }),
                None,
            ),
        ] {
            let called = Called::new(&client_config, b"");
            let called = called.as_ref().map(|it| (it.host.as_str(), it.port));
            assert_eq!(called, expected, "{sentence}");
        }
    }

    /// Serves TLS with a certificate of this authority on a port of this host.
    async fn serves(authority: &Authority) -> u16 {
        let now = Timestamp::now();
        let leaf = authority.leaf(&[], &[[127, 0, 0, 1].into()], HOUR, now);
        let leaf = leaf.unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(leaf.certificate_pem.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(leaf.key_pem.as_bytes()).unwrap(),
            );
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
            while let Ok((tcp, _)) = listener.accept().await {
                let _ = acceptor.accept(tcp).await;
            }
        });
        port
    }

    #[tokio::test]
    async fn a_server_is_trusted_whose_certificate_the_bundle_verifies() {
        let (ours, others) = (authority(), authority());
        let port = serves(&ours).await;
        let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let nobody = free.local_addr().unwrap().port();
        drop(free);
        let called = |host: &str, port: u16, bundle: &str| Called {
            host: host.to_owned(),
            port,
            bundle: bundle.as_bytes().to_vec(),
        };
        let (ours, others) = (ours.certificate_pem(), others.certificate_pem());
        for (sentence, called, expected) in [
            ("its authority", vec![called("127.0.0.1", port, ours)], true),
            (
                "one of two",
                vec![
                    called("127.0.0.1", nobody, ours),
                    called("127.0.0.1", port, ours),
                ],
                true,
            ),
            (
                "another authority",
                vec![called("127.0.0.1", port, others)],
                false,
            ),
            ("another name", vec![called("localhost", port, ours)], false),
            ("no bundle", vec![called("127.0.0.1", port, "")], false),
            ("no server", vec![called("127.0.0.1", nobody, ours)], false),
            ("no address", vec![], false),
            (
                "a name that cannot be resolved here",
                vec![called("gate.hub.invalid", port, ours)],
                true,
            ),
        ] {
            assert_eq!(is_any_trusted(called).await, expected, "{sentence}");
        }
    }
}
