//! Several hubs: the registration chooses one, and goes to another when that one is lost.
//!
//! What it needs to come back is kept in a Secret of our own: a killed agent goes on where it was.

use berth_agent_core::asked::Asked;
use berth_agent_core::held::SecretData;
use berth_agent_core::hubs::{Candidate, Choice, Contact, Facts, Left, Sight, Touch, choose, kept};
use berth_agent_core::identity::Identity;
use berth_agent_core::registered::HubStanding;
use berth_agent_core::registration::ClusterOnHub;
use futures::future::join_all;
use jiff::Timestamp;
use tracing::{info, warn};

use super::Registration;
use crate::events;
use crate::failed::Failed;
use crate::hubs::Hubs;
use crate::hubs::look::look;
use crate::standing::Wait;
use crate::store::Stored;

/// The state of the choice. What must survive this process is in [`kept`].
pub(super) struct Several {
    candidates: Vec<Candidate>,
    /// The agent belongs to a hub.
    is_chosen: bool,
    /// The Secret. `None`: not read yet.
    kept: Option<Option<Stored>>,
    touch: Touch,
    spread: f64,
}

// === impl Several ===

impl Several {
    /// `None` for one hub.
    pub(super) fn new(hubs: usize) -> Option<Self> {
        let candidate = Candidate {
            sight: Sight::Unknown,
            looked: None,
            has_certificate: false,
            left: None,
        };
        (hubs > 1).then(|| Self {
            candidates: vec![candidate; hubs],
            is_chosen: false,
            kept: None,
            touch: Touch::default(),
            spread: fastrand::f64(),
        })
    }

    /// The bootstrap kubeconfigs of these hubs have changed.
    pub(super) fn forget_looks(&mut self, of: &[usize]) {
        for at in of {
            self.candidates[*at].looked = None;
        }
    }

    fn data(&self) -> SecretData {
        let kept = self.kept.iter().flatten().next();
        kept.map(|it| it.data.clone()).unwrap_or_default()
    }

    /// Why no hub can be used.
    fn words(&self, hubs: &Hubs) -> String {
        let one = |(at, candidate): (usize, &Candidate)| match hubs.hub_at(at) {
            Ok(hub) => format!("{}: {}", hub.endpoint.server, candidate.sight),
            Err(why) => why.to_owned(),
        };
        let all: Vec<_> = self.candidates.iter().enumerate().map(one).collect();
        format!(
            "none of the hubs of --bootstrap-kubeconfigs can be used: {}",
            all.join("; ")
        )
    }
}

// === impl Registration ===

impl Registration<'_> {
    /// Chooses the hub, and goes there. Returns true if it is another one than before.
    pub(super) async fn choose_hub(&mut self) -> Result<bool, Failed> {
        if self.several.is_none() || self.exchange.secret.is_none() {
            return Ok(false);
        }
        self.exchange.read_pending().await?;
        let identity = self.identify()?;
        let asked = Asked::of_cluster(&identity, self.settings.expiration_seconds);
        self.recall_choice().await?;
        let mut has_moved = false;
        // To look, to go, and to stay.
        for _ in 0..4 {
            let now = Timestamp::now();
            let Some((choice, contact)) = self.choice(&asked, now) else {
                return Ok(has_moved);
            };
            match choice {
                Choice::Look(hubs) => self.look(&hubs, &identity, &asked).await,
                Choice::Go(to) => {
                    self.go(to, contact, now).await?;
                    has_moved = true;
                }
                Choice::Stay => break,
            }
        }
        let is_chosen = self.several.as_ref().is_some_and(|it| it.is_chosen);
        if is_chosen {
            self.return_with_kept(&asked).await?;
            return Ok(has_moved);
        }
        let words = self.several.as_ref().map(|it| it.words(&self.hubs));
        Err(Failed::of("NoUsableHub", words.unwrap_or_default()))
    }

    /// Takes up the choice of the process before, or that of another agent: the hub whose certificate there is.
    async fn recall_choice(&mut self) -> Result<(), Failed> {
        let Some(several) = &mut self.several else {
            return Ok(());
        };
        if several.kept.is_some() {
            return Ok(());
        }
        let secrets = self.exchange.store.secrets();
        let name = kept::name(&self.settings.hub_secret);
        let stored = secrets.read(&name).await;
        several.kept = Some(stored.map_err(|error| Failed::here(&error))?);
        let data = several.data();
        let secret = self.exchange.data();
        let chosen = kept::chosen(&data, &secret).and_then(|it| self.hubs.with_server(it));
        let of_secret = || self.hubs.with_server(&super::publish::server_of(&secret)?);
        if let Some(at) = chosen.or_else(of_secret) {
            self.hubs.go(at);
            several.is_chosen = true;
        }
        Ok(())
    }

    /// `None` for one hub.
    fn choice(&mut self, asked: &Asked, now: Timestamp) -> Option<(Choice, Contact)> {
        let state = self.standing.state();
        // Without a connection, how the hub sees the cluster is old.
        let hub = match self.tell.borrow().connection {
            Some(_) => state.hub,
            None => HubStanding::Unknown,
        };
        let several = self.several.as_mut()?;
        let waits_for = state.waiting.as_ref().map(|it| it.reason);
        let contact = several.touch.see(&hub, waits_for, now);
        let data = several.data();
        for (at, candidate) in several.candidates.iter_mut().enumerate() {
            let hub = self.hubs.hub_at(at).ok();
            candidate.has_certificate = hub
                .is_some_and(|hub| kept::pair(&data, &hub.endpoint.server, asked, now).is_some());
        }
        let facts = Facts {
            current: several.is_chosen.then(|| self.hubs.current()),
            contact,
            hubs: &several.candidates,
            timeout: self.settings.hub_timeout,
            spread: several.spread,
        };
        Some((choose(&facts, now), contact))
    }

    /// Asks these hubs, all at once.
    async fn look(&mut self, which: &[usize], identity: &Identity, asked: &Asked) {
        let Some(several) = &mut self.several else {
            return;
        };
        let data = several.data();
        let hubs = &self.hubs;
        let looks = which.iter().map(|at| {
            let data = &data;
            async move {
                match hubs.hub_at(*at) {
                    Ok(hub) => {
                        let server = &hub.endpoint.server;
                        let pair = kept::pair(data, server, asked, Timestamp::now());
                        look(hub, &identity.cluster, pair).await
                    }
                    Err(why) => Sight::Unusable(why.to_owned()),
                }
            }
        });
        let sights = join_all(looks).await;
        for (at, sight) in which.iter().zip(sights) {
            let candidate = &mut several.candidates[*at];
            candidate.sight = sight;
            candidate.looked = Some(Timestamp::now());
        }
    }

    /// Goes to another hub, once what is needed to come back is kept.
    async fn go(&mut self, to: usize, contact: Contact, now: Timestamp) -> Result<(), Failed> {
        let Ok(hub) = self.hubs.hub_at(to) else {
            return Ok(());
        };
        let to_server = hub.endpoint.server.clone();
        let Some(several) = &mut self.several else {
            return Ok(());
        };
        let from = several.is_chosen.then(|| self.hubs.current());
        let secret = self.exchange.data();
        let of_secret = super::publish::server_of(&secret);
        let servers = self.hubs.servers();
        let of_secret = of_secret.filter(|it| servers.contains(&it.as_str()));
        let data = several.data();
        let data = kept::with(&data, &secret, of_secret.as_deref(), &to_server, &servers);
        let secrets = self.exchange.store.secrets();
        let name = kept::name(&self.settings.hub_secret);
        let before = several.kept.iter().flatten().next();
        match secrets.write(&name, before, data).await {
            Ok(stored) => several.kept = Some(Some(stored)),
            // Someone else wrote it: it is read again.
            Err(error) if error.is_conflict() => {
                several.kept = None;
                return Err(Failed::here(&error));
            }
            Err(error) if error.may_pass() => return Err(Failed::here(&error)),
            Err(error) => warn!(secret = name, %error, "the other hubs cannot be remembered"),
        }
        if let Some(from) = from {
            let left = &mut several.candidates[from].left;
            let times = left.map_or(0, |it| it.times).saturating_add(1);
            *left = Some(Left { at: now, times });
        }
        several.is_chosen = true;
        several.touch = Touch::default();
        let from_server = from.and_then(|it| self.hubs.hub_at(it).ok());
        let from_server = from_server.map(|it| it.endpoint.server.clone());
        self.hubs.go(to);
        self.cluster = ClusterOnHub::Unknown;
        self.cluster_asked = None;
        self.refused_since = None;
        self.own = None;
        self.exchange.leave_hub();
        self.connected(None);
        self.standing.hub(HubStanding::Unknown);
        let Some(from) = from_server else {
            info!(hub = to_server, "the hub is chosen");
            return Ok(());
        };
        let why = match contact {
            Contact::Denied => "it does not accept the cluster any more",
            Contact::Lost(_) => "it has not managed the cluster for too long",
            Contact::Managed => "a preferred hub is back",
            Contact::Waiting(_) => "another hub accepts the cluster",
        };
        warn!(from, to = to_server, "the agent goes to another hub: {why}");
        let wait = Wait {
            reason: "HubChanged",
            message: format!("the agent leaves the hub {from} for {to_server}: {why}"),
        };
        events::tell(self.exchange.store, self.settings, &wait).await;
        Ok(())
    }

    /// Returns to a hub with the certificate that was kept for it.
    async fn return_with_kept(&mut self, asked: &Asked) -> Result<(), Failed> {
        let (Some(several), Ok(hub)) = (&self.several, self.hubs.hub()) else {
            return Ok(());
        };
        let secret = self.exchange.data();
        let server = &hub.endpoint.server;
        let is_chosen = kept::chosen(&several.data(), &secret) == Some(server);
        if !is_chosen || super::publish::server_of(&secret).as_ref() == Some(server) {
            return Ok(());
        }
        let Some((certificate, key)) = kept::pair(&several.data(), server, asked, Timestamp::now())
        else {
            return Ok(());
        };
        let pair = Some((certificate.as_slice(), &key));
        let data = berth_agent_core::held::filled(&secret, asked, &hub.kubeconfig, pair);
        info!(
            hub = server,
            "the certificate of an earlier time is tried there"
        );
        self.exchange.write(data).await
    }
}
