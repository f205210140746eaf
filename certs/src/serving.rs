//! The rustls configuration of a TLS server, replaced without closing connections.
//!
//! Promises:
//! - [`ServingTls::current`] takes no lock; a connection keeps its configuration.
//! - Only content that loads and is valid now replaces the served content. Certificate and client CA are reloaded
//!   independently: an invalid CA bundle does not delay the renewal of the certificate, or the other way round.
//! - Invalid content is logged once, and reported to the observer at every attempt.
//! - A new configuration has new session caches: a client cannot resume a session that an older client CA allowed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::server::NoClientAuth;
use rustls::sign::SingleCertAndKey;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client_auth::{ClientAuth, LoadedClientCa};
use crate::options::TlsOptions;
use crate::pair::Pair;
use crate::pem::{CertError, Digest};

/// The default interval of [`ServingTls::watch`].
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

/// A source of pairs, loaded at every reload.
pub trait PairSource: Send + Sync {
    /// Returns the current pair. May block on files.
    ///
    /// # Errors
    /// The pair cannot be loaded, or is not valid at `now`.
    fn load(&self, now: Timestamp) -> Result<Pair, CertError>;

    /// Returns a channel of notifications about a new pair, if the source supports them.
    fn changes(&self) -> Option<watch::Receiver<()>> {
        None
    }
}

/// The parts of the configuration that are reloaded independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The serving certificate and its key.
    Certificate,
    /// The CA bundle for clients.
    ClientCa,
}

/// The result of a reload for one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// The content is new, and is served from now on.
    Reloaded {
        /// The time when it expires; for a bundle, when its first certificate expires.
        not_after: Timestamp,
    },
    /// The content has not changed.
    Unchanged,
    /// The content cannot be served. The former content is still served.
    Failed {
        /// The error.
        error: CertError,
    },
}

/// The results of a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reload {
    /// The result for the serving certificate.
    pub certificate: ReloadOutcome,
    /// The result for the client CA, if one is configured.
    pub client_ca: Option<ReloadOutcome>,
}

type Observer = dyn Fn(Part, &ReloadOutcome) + Send + Sync;

/// The TLS configuration of a server, and its reload.
pub struct ServingTls {
    source: Box<dyn PairSource>,
    options: TlsOptions,
    client_auth: Option<ClientAuth>,
    observer: Box<Observer>,
    served: ArcSwap<Served>,
    /// The last error of each part. Locked during a reload, so that reloads do not overlap.
    refused: Mutex<Refused>,
}

struct Served {
    config: Arc<ServerConfig>,
    pair: Pair,
    client_ca: Option<LoadedClientCa>,
}

#[derive(Default)]
struct Refused {
    certificate: Option<CertError>,
    client_ca: Option<CertError>,
}

// === impl ServingTls ===

impl ServingTls {
    /// Loads both parts. Each later reload calls `observer` for each part; it should count, and must not block.
    ///
    /// # Errors
    /// The pair or the client CA cannot be loaded, or is not valid at `now`. A server must not start then.
    pub fn new(
        source: impl PairSource + 'static,
        options: TlsOptions,
        client_auth: Option<ClientAuth>,
        observer: impl Fn(Part, &ReloadOutcome) + Send + Sync + 'static,
        now: Timestamp,
    ) -> Result<Self, CertError> {
        let pair = source.load(now)?;
        let client_ca = client_auth.as_ref().map(ClientAuth::load).transpose()?;
        Ok(Self {
            served: ArcSwap::from_pointee(Served::new(&options, pair, client_ca)),
            source: Box::new(source),
            options,
            client_auth,
            observer: Box::new(observer),
            refused: Mutex::default(),
        })
    }

    /// Returns the configuration for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.served.load().config)
    }

    /// Returns the last moment the served certificate is valid.
    pub fn not_after(&self) -> Timestamp {
        self.served.load().pair.not_after
    }

    /// Returns true if the served certificate is valid at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.served.load().pair.is_valid_at(now)
    }

    /// Loads both parts once, and serves what is new. Blocks on files.
    pub fn reload_once(&self, now: Timestamp) -> Reload {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let served = self.served.load_full();

        let (certificate, new_pair) = judge(self.source.load(now), served.pair.digest, |pair| {
            (pair.digest, pair.not_after)
        });

        let (client_ca, new_ca) = match (&self.client_auth, &served.client_ca) {
            (Some(client_auth), Some(old)) => {
                let (outcome, new) = judge(client_auth.load(), old.digest, |ca| {
                    (ca.digest, ca.not_after)
                });
                (Some(outcome), new)
            }
            _ => (None, None),
        };

        if new_pair.is_some() || new_ca.is_some() {
            self.served.store(Arc::new(Served::new(
                &self.options,
                new_pair.unwrap_or_else(|| served.pair.clone()),
                new_ca.or_else(|| served.client_ca.clone()),
            )));
        }
        // After the store, so that the report is true when it arrives.
        self.report(Part::Certificate, &certificate, &mut refused.certificate);
        if let Some(outcome) = &client_ca {
            self.report(Part::ClientCa, outcome, &mut refused.client_ca);
        }
        Reload {
            certificate,
            client_ca,
        }
    }

    /// Reloads at every `interval`, and at every notification of the source, until `cancel`. The caller must spawn and join
    /// this task. A panic of the source or of the observer is passed on to the caller.
    pub async fn watch(self: Arc<Self>, interval: Duration, cancel: CancellationToken) {
        let mut changes = self.source.changes();
        loop {
            let changed = async {
                let notified = match &mut changes {
                    Some(changes) => changes.changed().await.is_ok(),
                    None => false,
                };
                if !notified {
                    // The source has no channel, or has closed it.
                    std::future::pending().await
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = changed => {}
                () = tokio::time::sleep(interval) => {}
            }
            let this = Arc::clone(&self);
            let reload = tokio::task::spawn_blocking(move || this.reload_once(Timestamp::now()));
            if let Err(error) = reload.await {
                match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime is being shut down.
                    Err(_) => return,
                }
            }
        }
    }

    fn report(&self, part: Part, outcome: &ReloadOutcome, refused: &mut Option<CertError>) {
        match outcome {
            ReloadOutcome::Reloaded { not_after } => {
                tracing::info!(part = part.name(), %not_after, "reloaded");
                *refused = None;
            }
            ReloadOutcome::Unchanged => *refused = None,
            ReloadOutcome::Failed { error } => {
                if refused.as_ref() != Some(error) {
                    tracing::warn!(
                        part = part.name(),
                        %error,
                        "not reloaded, the former one is still served"
                    );
                    *refused = Some(error.clone());
                }
            }
        }
        (self.observer)(part, outcome);
    }
}

impl fmt::Debug for ServingTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingTls")
            .field("pair", &self.served.load().pair)
            .field("options", &self.options)
            .field("client_auth", &self.client_auth)
            .finish_non_exhaustive()
    }
}

// === impl Served ===

impl Served {
    fn new(options: &TlsOptions, pair: Pair, client_ca: Option<LoadedClientCa>) -> Self {
        let verifier = match &client_ca {
            Some(client_ca) => Arc::clone(&client_ca.verifier),
            None => Arc::new(NoClientAuth),
        };
        let mut config = ServerConfig::builder_with_provider(options.provider())
            .with_protocol_versions(options.versions())
            .expect("options always have TLS 1.3 and its suites")
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(
                &pair.certified_key,
            ))));
        // API servers use HTTP/1.1 for webhooks. Without this entry, rustls would refuse them.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self {
            config: Arc::new(config),
            pair,
            client_ca,
        }
    }
}

// === impl Part ===

impl Part {
    /// Returns the name for logs and metric labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::ClientCa => "client_ca",
        }
    }
}

/// Compares a loaded part with the served one. Returns the result, and the part if it must be served.
fn judge<T>(
    loaded: Result<T, CertError>,
    served: Digest,
    describe: impl Fn(&T) -> (Digest, Timestamp),
) -> (ReloadOutcome, Option<T>) {
    match loaded {
        Err(error) => (ReloadOutcome::Failed { error }, None),
        Ok(new) => match describe(&new) {
            (digest, _) if digest == served => (ReloadOutcome::Unchanged, None),
            (_, not_after) => (ReloadOutcome::Reloaded { not_after }, Some(new)),
        },
    }
}

#[cfg(test)]
mod tests;
