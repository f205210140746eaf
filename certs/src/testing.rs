//! What the tests of this crate share: issued pairs, and handshakes in memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, HandshakeKind, ProtocolVersion, RootCertStore, ServerConfig,
    SupportedProtocolVersion,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::issue::{Authority, CERTIFICATE_FILE, Issued, KEY_FILE};
use crate::pem::PemFile;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const NAME: &str = "berth.example.svc";

pub(crate) fn authority() -> Authority {
    Authority::new("test authority", 24 * HOUR, Timestamp::now()).unwrap()
}

pub(crate) fn leaf(authority: &Authority) -> Issued {
    authority
        .leaf(&[NAME], &[], HOUR, Timestamp::now())
        .unwrap()
}

pub(crate) fn file(name: &str, content: impl Into<Vec<u8>>) -> PemFile {
    PemFile {
        name: name.to_owned(),
        content: content.into(),
    }
}

/// A TLS client, such as the API server.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) trusts: String,
    pub(crate) versions: &'static [&'static SupportedProtocolVersion],
    pub(crate) alpn: &'static [&'static [u8]],
    pub(crate) certificate: Option<Issued>,
}

/// What client and server agreed on.
#[derive(Debug, PartialEq)]
pub(crate) struct Agreed {
    pub(crate) version: ProtocolVersion,
    pub(crate) alpn: Option<Vec<u8>>,
    /// DER of the server's own certificate.
    pub(crate) served: Vec<u8>,
    pub(crate) resumed: bool,
}

impl Client {
    pub(crate) fn new(trusts: &str) -> Self {
        Self {
            trusts: trusts.to_owned(),
            versions: rustls::ALL_VERSIONS,
            alpn: &[],
            certificate: None,
        }
    }

    pub(crate) fn with_certificate(self, certificate: &Issued) -> Self {
        Self {
            certificate: Some(certificate.clone()),
            ..self
        }
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.trusts.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain =
                    CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        config.alpn_protocols = self.alpn.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }

    /// One handshake of a client that remembers no session.
    pub(crate) async fn connect(&self, server: Arc<ServerConfig>) -> Result<Agreed, String> {
        connect(self.config(), server).await
    }
}

/// One handshake. The error is the server's: in TLS 1.3 a client has finished before it is judged.
pub(crate) async fn connect(
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
) -> Result<Agreed, String> {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let name = ServerName::try_from(NAME).unwrap();
    let connector = TlsConnector::from(client);
    let acceptor = TlsAcceptor::from(server);
    let (client, server) = tokio::join!(connector.connect(name, near), acceptor.accept(far));
    let server = server.map_err(|error| error.to_string())?;
    let client = client.map_err(|error| format!("client: {error}"))?;
    let (_, connection) = client.get_ref();
    assert_eq!(
        connection.alpn_protocol(),
        server.get_ref().1.alpn_protocol()
    );
    Ok(Agreed {
        version: connection.protocol_version().unwrap(),
        alpn: connection.alpn_protocol().map(<[u8]>::to_vec),
        served: connection.peer_certificates().unwrap()[0].to_vec(),
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
    })
}

/// A Secret volume as the kubelet writes it: each generation in a directory of its own, `..data` moved onto it, and the
/// former generation removed.
pub(crate) struct KubeletVolume {
    path: PathBuf,
    generation: u32,
}

impl KubeletVolume {
    pub(crate) fn new(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        for file in [CERTIFICATE_FILE, KEY_FILE] {
            symlink(Path::new("..data").join(file), path.join(file)).unwrap();
        }
        Self {
            path: path.to_owned(),
            generation: 0,
        }
    }

    pub(crate) fn swap(&mut self, issued: &Issued) {
        self.swap_content(&issued.certificate_pem, &issued.key_pem);
    }

    pub(crate) fn swap_content(&mut self, certificate: &str, key: &str) {
        let former = fs::read_link(self.path.join("..data")).ok();
        self.generation += 1;
        let generation = format!("..2026_{}", self.generation);
        let directory = self.path.join(&generation);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(CERTIFICATE_FILE), certificate).unwrap();
        fs::write(directory.join(KEY_FILE), key).unwrap();
        symlink(&generation, self.path.join("..data_tmp")).unwrap();
        fs::rename(self.path.join("..data_tmp"), self.path.join("..data")).unwrap();
        if let Some(former) = former {
            fs::remove_dir_all(self.path.join(former)).unwrap();
        }
    }
}
