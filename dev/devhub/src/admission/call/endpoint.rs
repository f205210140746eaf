//! The address of a webhook, and the certificates that it is verified with.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Uri;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::connection::{Connection, Driver};
use super::failure;
use crate::options::Services;

/// The place of a webhook, ready for connections.
#[derive(Debug)]
pub(in crate::admission) struct Endpoint {
    /// Host and port, as URLs in messages show them.
    pub(super) authority: String,
    /// Begins with a slash, has no query.
    pub(super) path: String,
    place: Place,
    name: ServerName<'static>,
    /// `None` if no certificate is trusted.
    tls: Option<Arc<ClientConfig>>,
    identity: Identity,
}

#[derive(Debug)]
enum Place {
    /// Where a Service is, the hub's options say.
    Service {
        namespace: String,
        name: String,
        port: u16,
    },
    Host {
        host: String,
        port: u16,
    },
}

/// What connections are for: those of one identity are as good as each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    authority: Arc<str>,
    ca_bundle: Arc<[u8]>,
}

impl Endpoint {
    /// A Service.
    ///
    /// # Errors
    /// What kube-apiserver says when it makes a client for it.
    pub(in crate::admission) fn service(
        namespace: &str,
        name: &str,
        port: Option<i32>,
        path: Option<&str>,
        ca_bundle: &[u8],
    ) -> Result<Self, String> {
        let port = match port {
            None | Some(0) => 443,
            Some(port) => {
                u16::try_from(port).map_err(|_| format!("invalid service port {port}"))?
            }
        };
        let host = format!("{name}.{namespace}.svc");
        let place = Place::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        };
        let authority = format!("{host}:{port}");
        Self::new(authority, &host, path.unwrap_or_default(), place, ca_bundle)
    }

    /// A URL.
    ///
    /// # Errors
    /// As [`Endpoint::service`].
    pub(in crate::admission) fn url(url: &str, ca_bundle: &[u8]) -> Result<Self, String> {
        let unparsable = |why: &str| format!("Unparsable URL: parse {url:?}: {why}");
        let uri: Uri = url
            .parse()
            .map_err(|error: http::uri::InvalidUri| unparsable(&error.to_string()))?;
        if uri.scheme_str() != Some("https") {
            return Err(unparsable("not https"));
        }
        let host = uri.host().unwrap_or_default();
        // Brackets are the URL's, not the address's.
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let bare = bare.unwrap_or(host);
        let (authority, port) = match uri.port_u16() {
            Some(port) => (format!("{host}:{port}"), port),
            None => (host.to_owned(), 443),
        };
        let place = Place::Host {
            host: bare.to_owned(),
            port,
        };
        Self::new(authority, bare, uri.path(), place, ca_bundle)
    }

    fn new(
        authority: String,
        server_name: &str,
        path: &str,
        place: Place,
        ca_bundle: &[u8],
    ) -> Result<Self, String> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| format!("{server_name:?} is no name of a server"))?;
        let path = format!("/{}", path.trim_matches('/'));
        // So that a call cannot fail for it.
        let _: Uri = path
            .parse()
            .map_err(|_| format!("{path:?} is no path of a URL"))?;
        let identity = Identity {
            authority: Arc::from(authority.as_str()),
            ca_bundle: Arc::from(ca_bundle),
        };
        Ok(Self {
            authority,
            path,
            place,
            name,
            tls: trust(ca_bundle)?,
            identity,
        })
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn host_header(&self) -> &str {
        self.authority
            .strip_suffix(":443")
            .filter(|_| matches!(self.place, Place::Host { .. }))
            .unwrap_or(&self.authority)
    }

    /// A new connection.
    pub(super) async fn connect(
        &self,
        services: &Services,
    ) -> Result<(Connection, Driver), String> {
        let addresses = self.addresses(services).await?;
        Connection::open(&addresses, self.name.clone(), self.tls.as_ref()).await
    }

    async fn addresses(&self, services: &Services) -> Result<Vec<SocketAddr>, String> {
        match &self.place {
            Place::Service {
                namespace,
                name,
                port,
            } => {
                let key = (namespace.clone(), name.clone(), *port);
                if let Some(address) = services.get(&key) {
                    return Ok(vec![*address]);
                }
                let is_known = services.keys().any(|(its_namespace, its_name, _)| {
                    its_namespace == namespace && its_name == name
                });
                Err(if is_known {
                    format!("no service port {port} found for service {name:?}")
                } else {
                    format!("service {name:?} not found")
                })
            }
            Place::Host { host, port } => {
                let found = tokio::net::lookup_host((host.as_str(), *port)).await;
                let found: Vec<_> = match found {
                    Ok(found) => found.collect(),
                    Err(error) => return Err(failure::of_lookup(host, &error)),
                };
                if found.is_empty() {
                    return Err(format!("dial tcp: lookup {host}: no such host"));
                }
                Ok(found)
            }
        }
    }
}

/// TLS that trusts only these certificates.
fn trust(ca_bundle: &[u8]) -> Result<Option<Arc<ClientConfig>>, String> {
    if ca_bundle.is_empty() {
        return Ok(None);
    }
    // What is no certificate is passed over, as Go does.
    let certificates = CertificateDer::pem_slice_iter(ca_bundle).flatten();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(
            "unable to load root certificates: unable to parse bytes as PEM block".to_owned(),
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use berth_certs::issue::Authority;
    use jiff::Timestamp;
    use std::time::Duration;

    use super::*;

    #[test]
    fn urls_are_read_as_go_reads_them() {
        let rows = [
            (
                "https://127.0.0.1:9443/a/b",
                "127.0.0.1:9443",
                "/a/b",
                "127.0.0.1:9443",
            ),
            ("https://example.com", "example.com", "/", "example.com"),
            ("https://example.com/a/", "example.com", "/a", "example.com"),
            ("https://[::1]:8443/a", "[::1]:8443", "/a", "[::1]:8443"),
            (
                "https://example.com:443/a",
                "example.com:443",
                "/a",
                "example.com",
            ),
        ];
        for (url, authority, path, host) in rows {
            let endpoint = Endpoint::url(url, b"").expect(url);
            assert_eq!(endpoint.authority, authority, "{url}");
            assert_eq!(endpoint.path, path, "{url}");
            assert_eq!(endpoint.host_header(), host, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_called_says_why() {
        let rows = [
            (
                Endpoint::url("http://example.com", b""),
                "Unparsable URL: parse \"http://example.com\": not https",
            ),
            (
                Endpoint::url("https://exa mple", b""),
                "Unparsable URL: parse \"https://exa mple\": invalid uri character",
            ),
            (
                Endpoint::service("ns", "svc", Some(70_000), None, b""),
                "invalid service port 70000",
            ),
            (
                Endpoint::service("ns", "svc", None, None, b"no certificate"),
                "unable to load root certificates: unable to parse bytes as PEM block",
            ),
        ];
        for (endpoint, expected) in rows {
            assert_eq!(endpoint.expect_err(expected), expected);
        }
    }

    #[test]
    fn a_service_has_the_name_of_its_dns_entry_and_a_default_port() {
        let endpoint = Endpoint::service("ns", "svc", None, Some("/x"), b"").expect("it is fine");
        assert_eq!(endpoint.authority, "svc.ns.svc:443");
        assert_eq!(
            endpoint.name,
            ServerName::try_from("svc.ns.svc").expect("a name")
        );
        assert_eq!(endpoint.host_header(), "svc.ns.svc:443");
    }

    #[test]
    fn another_bundle_is_another_identity() {
        let bundle = |name| {
            let authority = Authority::new(name, Duration::from_secs(60), Timestamp::now());
            authority.expect("made").certificate_pem().to_owned()
        };
        let (one, other) = (bundle("one"), bundle("other"));
        let endpoint = |ca: &str| Endpoint::service("ns", "svc", None, None, ca.as_bytes());
        let identity = |ca: &str| endpoint(ca).expect("it is fine").identity;
        assert_eq!(identity(&one), identity(&one));
        assert_ne!(identity(&one), identity(&other));
    }
}
