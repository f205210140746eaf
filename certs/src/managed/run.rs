//! All of it together: every replica reads; who is elected keeps.

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
use super::settings::{Observer, Settings};

/// Managed certificates, ready to be kept.
pub struct Managed {
    client: Client,
    settings: Settings,
    params: LeaseParams,
    memory: Arc<Memory>,
    observer: Observer,
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
    /// Nothing is asked of the hub yet.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(client: Client, settings: Settings, observer: Observer) -> Result<Self, Invalid> {
        settings.policy.validate()?;
        let params = LeaseParams::new(&settings.namespace, &settings.name, &settings.identity);
        params.validate()?;
        let name = Hub::new(client.clone(), &settings).secret_name();
        Ok(Self {
            memory: Arc::new(Memory::new(name)),
            params,
            client,
            settings,
            observer,
        })
    }

    /// What is to be served. There is something once [`Managed::run`] has found or made it.
    pub fn pair(&self) -> ManagedPair {
        ManagedPair::new(Arc::clone(&self.memory))
    }

    /// What messages call the Secret.
    pub fn secret(&self) -> String {
        Hub::new(self.client.clone(), &self.settings).secret_name()
    }

    /// Reads, and keeps when elected, until told to stop. The Lease has been released then, or its time is over.
    ///
    /// # Errors
    /// The election ended by itself.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        let hub = Hub::new(self.client.clone(), &self.settings);
        let resign = CancellationToken::new();
        let elected = berth_lease::spawn(self.client.clone(), self.params.clone(), resign.clone());
        let (claims, elector) = elected.map_err(|_| Ended)?;
        let result = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            never = read(&hub, &self.settings.name, &self.memory, &self.observer) => match never {},
            ended = self.campaign(&hub, claims) => match ended {
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
        hub: &Hub,
        mut claims: watch::Receiver<Arc<Claim>>,
    ) -> Result<Infallible, Ended> {
        loop {
            let term = elected(&mut claims).await?;
            let keeper = Keeper {
                hub,
                settings: &self.settings,
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
            .field("settings", &self.settings)
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
