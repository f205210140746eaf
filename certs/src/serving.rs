//! What a TLS server serves with: one rustls configuration, replaced while connections go on.
//!
//! Promises:
//! - [`ServingTls::current`] takes no lock; a connection keeps the configuration it began with.
//! - What is served changes only for something that loads and is valid now. Certificate and client CA are judged apart:
//!   a spoilt CA bundle does not hold up the renewal of the certificate, nor the other way round.
//! - A spoilt content is logged once, and told to the observer at every attempt.
//! - With a new configuration come new session caches: nobody resumes a session that an older client CA let in.

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

/// How often [`ServingTls::watch`] should look, if nobody says otherwise.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

/// Where the pair comes from. It is asked again at every reload.
pub trait PairSource: Send + Sync {
    /// The pair as it is now. May block on files.
    ///
    /// # Errors
    /// No pair that could be served at `now`.
    fn load(&self, now: Timestamp) -> Result<Pair, CertError>;

    /// Says when there may be another pair, if the source hears of that by itself.
    fn changes(&self) -> Option<watch::Receiver<()>> {
        None
    }
}

/// A part of the configuration that is reloaded by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The serving certificate and its key.
    Certificate,
    /// The CA bundle for clients.
    ClientCa,
}

/// What became of one part in one reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// The content was new, and is served from now on.
    Reloaded {
        /// When it expires; of a bundle, when its first certificate does.
        not_after: Timestamp,
    },
    /// The content is what is being served.
    Unchanged,
    /// The content cannot be served; what was served before goes on.
    Failed {
        /// What is wrong.
        error: CertError,
    },
}

/// What became of each part in one reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reload {
    /// Of the serving certificate.
    pub certificate: ReloadOutcome,
    /// Of the client CA, if there is one.
    pub client_ca: Option<ReloadOutcome>,
}

type Observer = dyn Fn(Part, &ReloadOutcome) + Send + Sync;

/// The TLS side of a server: the configuration for the next connection, and how it is renewed.
pub struct ServingTls {
    source: Box<dyn PairSource>,
    options: TlsOptions,
    client_auth: Option<ClientAuth>,
    observer: Box<Observer>,
    served: ArcSwap<Served>,
    /// What each part was last refused for. Held throughout a reload, so that two do not overtake each other.
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
    /// Loads everything once. `observer` is called for each part at each later reload; it should count, and not block.
    ///
    /// # Errors
    /// A pair or a client CA that cannot be served at `now`: a server does not start with those.
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

    /// The configuration for a connection that begins now.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.served.load().config)
    }

    /// The last moment the served certificate is valid.
    pub fn not_after(&self) -> Timestamp {
        self.served.load().pair.not_after
    }

    /// Whether the served certificate is valid at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.served.load().pair.is_valid_at(now)
    }

    /// Looks once whether there is something new to serve, and serves it. Blocks on files.
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
        // Told only now, so that it is true by the time somebody hears it.
        self.report(Part::Certificate, &certificate, &mut refused.certificate);
        if let Some(outcome) = &client_ca {
            self.report(Part::ClientCa, outcome, &mut refused.client_ca);
        }
        Reload {
            certificate,
            client_ca,
        }
    }

    /// Reloads every `interval`, and whenever the source says so, until `cancel`. The caller spawns it and waits for its end; a panic in a source or an
    /// observer comes out of it.
    pub async fn watch(self: Arc<Self>, interval: Duration, cancel: CancellationToken) {
        let mut changes = self.source.changes();
        loop {
            let changed = async {
                let told = match &mut changes {
                    Some(changes) => changes.changed().await.is_ok(),
                    None => false,
                };
                if !told {
                    // Nobody will say so, or nobody any more.
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
        // API servers speak HTTP/1.1 to webhooks. Without it here, rustls would refuse them.
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
    /// For logs and metric labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::ClientCa => "client_ca",
        }
    }
}

/// What became of a part, and the new one if it is to be served.
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
