//! Whom the registrations have API servers call, and whether somebody there is believed.

use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use berth_certs::served::{Bundle, judge, seen_at};

/// How long one look takes at most. An API server does not wait much longer.
const LONGEST: Duration = Duration::from_secs(2);

/// One look may go wrong: nobody is there if so many find nobody.
const LOOKS: usize = 2;
const BETWEEN: Duration = Duration::from_millis(300);

/// An address that API servers call, and what they believe there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Called {
    host: String,
    port: u16,
    /// PEM.
    bundle: Vec<u8>,
}

impl Called {
    /// By the clientConfig of a webhook. None: nothing that we could call.
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

    /// Whether somebody answers there whom an API server would believe. Where nothing is known of the address, there may be.
    async fn is_believed(&self) -> bool {
        let Ok(bundle) = Bundle::from_pem(&self.bundle) else {
            return false;
        };
        let addresses = (self.host.as_str(), self.port);
        let look = async {
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
        timeout(LONGEST, look).await.unwrap_or(false)
    }
}

/// Whether somebody is believed at any of these.
pub(crate) async fn is_a_trusted_certificate_served(mut called: Vec<Called>) -> bool {
    called.dedup();
    for look in 0..LOOKS {
        if look > 0 {
            sleep(BETWEEN).await;
        }
        let believed = join_all(called.iter().map(Called::is_believed)).await;
        if believed.contains(&true) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
    use berth_certs::issue::Authority;

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
    async fn somebody_is_believed_who_shows_what_the_bundle_verifies() {
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
            (
                "nobody is there",
                vec![called("127.0.0.1", nobody, ours)],
                false,
            ),
            ("nobody is called", vec![], false),
            (
                "an address that nobody here knows",
                vec![called("gate.hub.invalid", port, ours)],
                true,
            ),
        ] {
            assert_eq!(
                is_a_trusted_certificate_served(called).await,
                expected,
                "{sentence}"
            );
        }
    }
}
