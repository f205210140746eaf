//! All of it together: the gate's replicas read; the controller's replicas read, too, and the elected one keeps.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use berth_lease::{Claim, InvalidParams, LeaseParams, Term};
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::InvalidPolicy;
use super::hub::Hub;
use super::keeper::Keeper;
use super::reader::{ManagedPair, Memory, read};
use super::settings::{Observer, Place, Settings};

/// Managed certificates, ready to be read, and kept where that is asked for.
pub struct Managed {
    hub: Hub,
    place: Place,
    keeping: Option<Keeping>,
    memory: Arc<Memory>,
    observer: Observer,
}

/// What keeping them takes.
struct Keeping {
    client: Client,
    settings: Settings,
    params: LeaseParams,
}

/// Why certificates cannot be managed so.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// What certificates should be.
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    /// Who keeps them.
    #[error(transparent)]
    Lease(#[from] InvalidParams),
}

/// The election ended by itself, which it never does.
#[derive(Debug, thiserror::Error)]
#[error("the election of who keeps the certificates ended")]
pub struct Ended;

// === impl Managed ===

impl Managed {
    /// Reads alone: lists and watches the Secret, and writes nothing. Nothing is asked of the hub yet.
    pub fn reader(client: Client, place: Place, observer: Observer) -> Self {
        let hub = Hub::new(client, &place);
        Self {
            memory: Arc::new(Memory::new(hub.secret_name())),
            hub,
            place,
            keeping: None,
            observer,
        }
    }

    /// Reads, and keeps when elected. Nothing is asked of the hub yet.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn keeper(
        client: Client,
        place: Place,
        settings: Settings,
        observer: Observer,
    ) -> Result<Self, Invalid> {
        settings.policy.validate()?;
        let params = LeaseParams::new(&place.namespace, &place.name, &settings.identity);
        params.validate()?;
        Ok(Self {
            keeping: Some(Keeping {
                client: client.clone(),
                settings,
                params,
            }),
            ..Self::reader(client, place, observer)
        })
    }

    /// What is to be served. There is something once [`Managed::run`] has found or made it.
    pub fn pair(&self) -> ManagedPair {
        ManagedPair::new(Arc::clone(&self.memory))
    }

    /// What messages call the Secret.
    pub fn secret(&self) -> String {
        self.hub.secret_name()
    }

    /// Reads, and keeps when elected, until told to stop. The Lease has been released then, or its time is over.
    ///
    /// # Errors
    /// The election ended by itself.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        let reading = read(&self.hub, &self.place.name, &self.memory, &self.observer);
        let Some(keeping) = &self.keeping else {
            return tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                never = reading => match never {},
            };
        };
        let resign = CancellationToken::new();
        let elected = berth_lease::spawn(
            keeping.client.clone(),
            keeping.params.clone(),
            resign.clone(),
        );
        let (claims, elector) = elected.map_err(|_| Ended)?;
        let result = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            never = reading => match never {},
            ended = self.campaign(&keeping.settings, claims) => match ended {
                Err(ended) => Err(ended),
                Ok(never) => match never {},
            },
        };
        resign.cancel();
        elector.await.map_err(|_| Ended)?;
        result
    }

    /// Keeps them whenever elected.
    async fn campaign(
        &self,
        settings: &Settings,
        mut claims: watch::Receiver<Arc<Claim>>,
    ) -> Result<Infallible, Ended> {
        loop {
            let term = elected(&mut claims).await?;
            let keeper = Keeper {
                hub: &self.hub,
                settings,
                memory: &self.memory,
                observer: &self.observer,
                term: &term,
            };
            tokio::select! {
                biased;
                () = term.lost() => {}
                never = keeper.keep() => match never {},
            }
        }
    }
}

impl fmt::Debug for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed")
            .field("place", &self.place)
            .field("keeping", &self.keeping.as_ref().map(|it| &it.settings))
            .finish_non_exhaustive()
    }
}

/// Waits for a term of ours.
async fn elected(claims: &mut watch::Receiver<Arc<Claim>>) -> Result<Term, Ended> {
    loop {
        let term = claims.borrow_and_update().term.clone();
        if let Some(term) = term
            && term.remaining(Instant::now()).is_some()
        {
            return Ok(term);
        }
        claims.changed().await.map_err(|_| Ended)?;
    }
}
