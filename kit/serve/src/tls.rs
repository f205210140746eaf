//! The TLS configuration of a listener.

use std::fmt;
use std::sync::Arc;

use berth_certs::serving::ServingTls;
use rustls::ServerConfig;

/// The TLS configuration of a listener, read for every handshake: the next client gets a reloaded certificate.
#[derive(Clone)]
pub struct Tls(Arc<dyn Fn() -> Arc<ServerConfig> + Send + Sync>);

// === impl Tls ===

impl Tls {
    /// The configuration for the next handshake.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        (self.0)()
    }
}

/// The caller reloads it ([`ServingTls::watch`]).
impl From<Arc<ServingTls>> for Tls {
    fn from(tls: Arc<ServingTls>) -> Self {
        Self(Arc::new(move || tls.current()))
    }
}

/// A configuration that never changes.
impl From<Arc<ServerConfig>> for Tls {
    fn from(config: Arc<ServerConfig>) -> Self {
        Self(Arc::new(move || Arc::clone(&config)))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
