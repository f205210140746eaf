//! The registration: reads what is known, decides ([`berth_agent_core::registration`]), carries out the steps, and waits for the next
//! change.
//!
//! # Guarantees
//! - It never ends because something is missing or away. What it waits for is in the [`Standing`].
//! - The key and the name of a request are stored before the hub is asked, so that a killed agent goes on with the same request.
//! - A step that failed is tried again after a pause that grows to a minute, and after two minutes if the hub refused it.

mod publish;
mod several;
mod steps;

use std::time::Duration;

use berth_agent_core::asked::Asked;
use berth_agent_core::held::{self, Judged};
use berth_agent_core::identity::Identity;
use berth_agent_core::registered::HubStanding;
use berth_agent_core::registration::{
    ClusterOnHub, Credentials, Decision, Facts, Held, Need, Refusal, Step, decide,
};
use berth_agent_core::rotation;
use berth_hub::{Backoff, HubApi};
use berth_reconcile::{WatchError, follow_one};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use self::several::Several;
use crate::events;
use crate::exchange::Exchange;
use crate::failed::{Failed, PAUSES, reason_on_hub};
use crate::folder::Folder;
use crate::hubs::Hubs;
use crate::settings::Settings;
use crate::standing::{Standing, State, Wait};
use crate::store::{Store, Stored};
use crate::told::{Tell, Told};

/// The ManagedClusters of a hub.
pub(crate) const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

/// How often the hub is asked whether the ManagedCluster exists, while the agent has no certificate.
const CLUSTER_AGAIN: Duration = Duration::from_secs(300);

/// What the rest of the agent needs of the registration: the hub that it may call with the files in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) identity: Identity,
    /// The kubeconfig in the folder. Another one means another hub, or another way to it.
    pub(crate) kubeconfig: String,
    /// The URL of the hub in the bootstrap kubeconfig.
    pub(crate) url: String,
}

/// The result of the last renewal: the condition `ClusterCertificateRotated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rotated {
    pub(crate) succeeded: bool,
    pub(crate) message: String,
}

/// What the registration tells the rest of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registered {
    /// `None` until there is a certificate.
    pub(crate) connection: Option<Connection>,
    pub(crate) rotated: Option<Rotated>,
}

/// The registration of one cluster.
pub(crate) struct Registration<'a> {
    settings: &'a Settings,
    exchange: Exchange<'a>,
    folder: Folder,
    standing: Standing,
    tell: watch::Sender<Registered>,
    hubs: Hubs,
    /// With several hubs.
    several: Option<Several>,
    identity: Option<Identity>,
    /// The last good content of the hub Secret, which is also in the folder.
    memory: held::SecretData,
    cluster: ClusterOnHub,
    cluster_asked: Option<Instant>,
    refused_since: Option<Timestamp>,
    /// The URL that the bootstrap kubeconfig named when the Secret last agreed with it.
    url: Option<String>,
    /// The bootstrap kubeconfig names another URL, and the hub there has not taken the certificate yet.
    is_at_new_url: bool,
    /// The hub, with the agent's certificate: the connections for renewals.
    own: Option<(Connection, HubApi)>,
    backoff: Backoff,
    /// When a step that failed is tried again.
    trouble: Option<Instant>,
    told: Told,
}

/// The Secret as the watch reports it.
type SecretSeen = Option<Result<Option<Stored>, WatchError>>;

// === impl Registration ===

impl<'a> Registration<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        store: &'a Store,
        standing: Standing,
        tell: watch::Sender<Registered>,
    ) -> Self {
        let folder = Folder::new(settings.folder.clone());
        Self {
            several: Several::new(settings.bootstraps.len()),
            hubs: Hubs::new(&settings.bootstraps),
            memory: folder.read(),
            settings,
            exchange: Exchange::new(store),
            folder,
            standing,
            tell,
            identity: None,
            cluster: ClusterOnHub::Unknown,
            cluster_asked: None,
            refused_since: None,
            url: None,
            is_at_new_url: false,
            own: None,
            backoff: Backoff::new(PAUSES.0, PAUSES.1),
            trouble: None,
            told: Told::default(),
        }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        let (sender, mut secrets) = watch::channel::<SecretSeen>(None);
        let store = self.exchange.store;
        let row = store.watched_secret();
        let follow = follow_one(store.api(), &row, |seen| {
            sender.send_replace(Some(seen));
        });
        let work = async {
            let mut standings = self.standing.subscribe();
            let mut seen = None;
            loop {
                let standing = standings.borrow_and_update().hub.clone();
                self.note_refusal(standing == HubStanding::Refused);
                self.is_at_new_url &= !standing.knows_the_agent();
                let until = self.round(seen.take()).await;
                let latest = Instant::now() + self.hubs.period();
                let until = until.map_or(latest, |it| it.min(latest));
                tokio::select! {
                    _ = secrets.changed() => seen = secrets.borrow_and_update().clone(),
                    () = refusal_changed(&mut standings, self.refused_since.is_some()) => {}
                    () = self.exchange.answered() => {}
                    () = sleep_until(until) => {}
                }
            }
        };
        tokio::select! {
            never = follow => match never {},
            () = work => {}
        }
    }

    /// Reads, decides and acts once. Returns when to look again.
    async fn round(&mut self, seen: SecretSeen) -> Option<Instant> {
        let new_files = self.hubs.refresh().await;
        let is_new_file = new_files.contains(&self.hubs.current());
        if let Some(several) = &mut self.several {
            several.forget_looks(&new_files);
        }
        let is_new_secret = match seen {
            Some(seen) => self.see_secret(seen).await,
            None => false,
        };
        if is_new_file {
            // The new credentials may be accepted.
            self.cluster = ClusterOnHub::Unknown;
            self.cluster_asked = None;
        }
        let chosen = self.choose_hub().await;
        if !new_files.is_empty() || is_new_secret || matches!(chosen, Ok(true)) {
            self.trouble = None;
        }
        if let Some(until) = self.trouble
            && until > Instant::now()
        {
            let wait = self.standing.state().waiting;
            let tell = self.waits_for(wait).await;
            return Some(tell.map_or(until, |tell| tell.min(until)));
        }
        let done = match chosen {
            Ok(_) => self.decide_and_act().await,
            Err(failed) => Err(failed),
        };
        match done {
            Ok(again) => {
                self.trouble = None;
                self.backoff.reset();
                again
            }
            Err(failed) => {
                let until = Instant::now() + failed.pause(&mut self.backoff);
                let tell = self.waits_for(Some(failed.wait)).await;
                self.trouble = Some(until);
                Some(tell.map_or(until, |tell| tell.min(until)))
            }
        }
    }

    /// Takes what the watch reports of the hub Secret. Returns true if that is news.
    async fn see_secret(&mut self, seen: Result<Option<Stored>, WatchError>) -> bool {
        match self.exchange.see_secret(seen).await {
            Ok(is_news) => is_news,
            Err(error) => {
                let message = format!("the agent's Secret cannot be read: {error}");
                let reason = "SecretUnreadable";
                self.waits_for(Some(Wait { reason, message })).await;
                false
            }
        }
    }

    /// Decides until nothing is due now. Returns when to look again.
    async fn decide_and_act(&mut self) -> Result<Option<Instant>, Failed> {
        // Each step changes what the next decision is made of. More than these would be a circle.
        for _ in 0..16 {
            if self.exchange.secret.is_none() {
                return Ok(None);
            }
            self.exchange.read_pending().await?;
            let identity = self.identify()?;
            let asked = Asked::of_cluster(&identity, self.settings.expiration_seconds);
            let hub = match self.hubs.hub() {
                Ok(hub) => hub.clone(),
                Err(why) => {
                    // The certificate may be good: the agent goes on with it.
                    let message = why.to_owned();
                    self.connect_with_memory(&identity, &asked);
                    return Err(Failed::of("BootstrapKubeconfigUnusable", message));
                }
            };
            let now = Timestamp::now();
            let judged = self.judged(&asked, now);
            self.publish(&identity, &asked, &judged, &hub);
            self.follow(&asked, &judged).await?;
            if matches!(
                judged.held,
                Held::Unusable(_) | Held::Certificate(rotation::Standing::Expired)
            ) || self.is_refused_for_good(now)
            {
                self.look_for_cluster(&hub.api, &identity).await?;
            }
            let decision = self.decision(&asked, &judged, &hub.kubeconfig, now);
            if !decision.steps.contains(&Step::Rewrite) {
                self.url = Some(hub.endpoint.server.clone());
            }
            if decision.steps.is_empty() {
                return Ok(self.rest(decision, now).await);
            }
            for step in decision.steps {
                self.carry_out(step, &asked, &hub).await?;
            }
        }
        Err(Failed::of(
            "Undecided",
            "the registration does not settle: this is a defect of the agent".to_owned(),
        ))
    }

    /// The names of the cluster and of the agent, once for the life of this process.
    fn identify(&mut self) -> Result<Identity, Failed> {
        if let Some(identity) = &self.identity {
            return Ok(identity.clone());
        }
        let stored = self.exchange.stored();
        let stored = |key| stored.and_then(|it| held::name(&it.data, key));
        let (pending_cluster, pending_agent) = Store::names_of(self.exchange.pending());
        // The folder outlives a Secret that was deleted while the agent was down, and its certificate is for these names.
        let remembered = |key| held::name(&self.memory, key);
        let settings = self.settings;
        let cluster = (settings.cluster_name.as_deref())
            .or_else(|| stored(held::CLUSTER_NAME))
            .or(pending_cluster)
            .or_else(|| remembered(held::CLUSTER_NAME))
            .map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        let agent = (settings.agent_name.as_deref())
            .or_else(|| stored(held::AGENT_NAME))
            .or(pending_agent)
            .or_else(|| remembered(held::AGENT_NAME))
            .map_or_else(new_agent_name, str::to_owned);
        let identity = Identity::new(cluster, agent)
            .map_err(|error| Failed::of("InvalidName", error.to_string()))?;
        info!(
            cluster = identity.cluster,
            agent = identity.agent,
            "registering"
        );
        self.standing.is_for(&identity.cluster);
        self.identity = Some(identity.clone());
        Ok(identity)
    }

    fn decision(
        &self,
        asked: &Asked,
        judged: &Judged,
        kubeconfig: &str,
        now: Timestamp,
    ) -> Decision {
        let stored = self.exchange.stored();
        // A Secret without a certificate is written with the next one.
        let is_current = stored.is_none_or(|it| {
            matches!(self.judge(&it.data, asked, now).held, Held::Unusable(_))
                || held::filled(&it.data, asked, kubeconfig, None) == it.data
        });
        let facts = Facts {
            asked,
            held: judged.held,
            held_key: judged.key,
            is_current,
            refusal: self.refusal(),
            attempt: self.exchange.attempt(),
            request: self.exchange.request(asked, now),
            others_pending: self.exchange.others_pending(),
            cluster: self.cluster.clone(),
        };
        decide(&facts, now)
    }

    /// Follows the request under way, with the credentials that are due.
    async fn follow(&mut self, asked: &Asked, judged: &Judged) -> Result<(), Failed> {
        let is_good =
            matches!(judged.held, Held::Certificate(it) if it != rotation::Standing::Expired);
        let with = match is_good && !self.is_refused_for_good(Timestamp::now()) {
            true => Credentials::Hub,
            false => Credentials::Bootstrap,
        };
        if self.exchange.pending().is_some() {
            let api = self.api(with).await?;
            self.exchange.follow(asked, with, &api);
        }
        Ok(())
    }

    /// Says what the agent waits for, and when to look again.
    async fn rest(&mut self, decision: Decision, now: Timestamp) -> Option<Instant> {
        let is_renewal = decision.need == Need::Renewal;
        let waiting = decision.waiting.map(|it| Wait {
            reason: it.reason(),
            message: it.to_string(),
        });
        let waiting = waiting.or_else(|| self.unseen_request());
        if is_renewal && let Some(waiting) = &waiting {
            self.rotated(
                false,
                format!("Failed to rotated client certificate {waiting}"),
            );
        }
        // A renewal that waits leaves the cluster managed.
        let shown = waiting.filter(|_| !is_renewal);
        let tell = self.waits_for(shown).await;
        let again = decision.again.map(|again| {
            let pause = Duration::try_from(again.duration_since(now)).unwrap_or_default();
            Instant::now() + pause
        });
        tell.into_iter().chain(again).min()
    }

    /// Why the request cannot be seen, if that is so.
    fn unseen_request(&self) -> Option<Wait> {
        let (name, error) = self.exchange.unseen_request()?;
        Some(Wait {
            reason: reason_on_hub(error.code),
            message: format!("CertificateSigningRequest {name} cannot be read: {error}"),
        })
    }

    /// Publishes what the agent waits for. Returns when to call this again, for a wait that has just begun.
    ///
    /// A wait that lasts is logged, and reported by an Event, once.
    async fn waits_for(&mut self, waiting: Option<Wait>) -> Option<Instant> {
        self.standing.waits(waiting.clone());
        let Some(wait) = waiting else {
            if self.told.ends() {
                info!("the registration is complete");
            }
            return None;
        };
        match self.told.waits(wait.reason) {
            Tell::Later(at) => return Some(at),
            Tell::Done => return None,
            Tell::Now => {}
        }
        warn!(reason = wait.reason, "waiting: {}", wait.message);
        events::tell(self.exchange.store, self.settings, &wait).await;
        None
    }

    /// Notes since when the hub refuses the certificate.
    fn note_refusal(&mut self, is_refused: bool) {
        if is_refused != self.refused_since.is_some() {
            self.refused_since = is_refused.then(Timestamp::now);
            // A step that failed may no longer be due.
            self.trouble = None;
        }
    }

    fn is_refused_for_good(&self, now: Timestamp) -> bool {
        self.refusal().is_some_and(|it| it.is_for_good(now))
    }

    fn refusal(&self) -> Option<Refusal> {
        Some(Refusal {
            since: self.refused_since?,
            is_at_new_url: self.is_at_new_url,
        })
    }

    fn rotated(&self, succeeded: bool, message: String) {
        let rotated = Some(Rotated { succeeded, message });
        self.tell.send_if_modified(|it| {
            let differs = it.rotated != rotated;
            it.rotated = rotated;
            differs
        });
    }
}

/// Resolves when the hub begins, or ends, to refuse the certificate.
async fn refusal_changed(standings: &mut watch::Receiver<State>, is_refused: bool) {
    let changed = standings.wait_for(|it| (it.hub == HubStanding::Refused) != is_refused);
    if changed.await.is_err() {
        std::future::pending().await
    }
}

/// Five lower-case letters and digits, as OCM's agent has them.
fn new_agent_name() -> String {
    const CHARACTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let character = |_| char::from(CHARACTERS[fastrand::usize(..CHARACTERS.len())]);
    (0..5).map(character).collect()
}
