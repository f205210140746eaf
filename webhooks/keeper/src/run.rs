//! The whole: all replicas of gate and controller read; the elected replica of the controller keeps.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use berth_certs::managed::{InvalidPolicy, Observer};
use berth_hub::HubApi;
use berth_lease::{InvalidParams, LeaseParams, Term, WhenLost, while_leading_on};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::keeper::Keeper;
use crate::objects::Objects;
use crate::reader::{ManagedPair, Memory, read};
use crate::settings::{Place, Settings};

/// Managed certificates: read, and kept if made by [`Managed::keeper`].
pub struct Managed {
    objects: Objects,
    place: Place,
    keeping: Option<Keeping>,
    memory: Arc<Memory>,
    observer: Observer,
}

/// What only a keeper needs.
struct Keeping {
    settings: Settings,
    params: LeaseParams,
    election: Election,
}

/// Where the election runs: the Lease is renewed however long the work holds up its own runtime.
#[derive(Clone, Debug)]
pub struct Election {
    /// The runtime.
    pub on: Handle,
    /// The hub, by connections that only this runtime uses.
    pub hub: HubApi,
}

/// Settings with which certificates cannot be managed.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// The policy for certificates.
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    /// The parameters of the Lease.
    #[error(transparent)]
    Lease(#[from] InvalidParams),
}

/// The election ended, which should run until the process is stopped.
#[derive(Debug, thiserror::Error)]
#[error("the leader election of the certificates' keeper ended")]
pub struct Ended;

// === impl Managed ===

impl Managed {
    /// Only reads: lists and watches the Secret. Sends no request yet.
    pub fn reader(hub: HubApi, place: Place, observer: Observer) -> Self {
        let objects = Objects::new(hub, &place);
        Self {
            memory: Arc::new(Memory::new(objects.secret_name())),
            objects,
            place,
            keeping: None,
            observer,
        }
    }

    /// Reads, and keeps while elected. Sends no request yet.
    ///
    /// # Errors
    /// The settings are invalid.
    pub fn keeper(
        hub: HubApi,
        place: Place,
        settings: Settings,
        election: Election,
        observer: Observer,
    ) -> Result<Self, Invalid> {
        settings.policy.validate()?;
        let params = LeaseParams::new(&place.namespace, &place.name, &settings.identity);
        params.validate()?;
        Ok(Self {
            keeping: Some(Keeping {
                settings,
                params,
                election,
            }),
            ..Self::reader(hub, place, observer)
        })
    }

    /// The pair to serve. It is available once [`Managed::run`] has read a whole Secret.
    pub fn pair(&self) -> ManagedPair {
        ManagedPair::new(Arc::clone(&self.memory))
    }

    /// The name of the Secret in messages.
    pub fn secret(&self) -> String {
        self.objects.secret_name()
    }

    /// Reads, and keeps while elected, until `stop`. When it returns, the Lease is released, or its term is over.
    ///
    /// # Errors
    /// The election ended without `stop`.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        let reading = read(&self.objects, &self.memory, &self.observer);
        let Some(Keeping {
            settings,
            params,
            election,
        }) = &self.keeping
        else {
            return tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                never = reading => match never {},
            };
        };
        let work = |term| self.keep(settings, term, &stop);
        let leading = while_leading_on(
            &election.on,
            &election.hub,
            params.clone(),
            WhenLost::StandAgain,
            &stop,
            |_| {},
            work,
        );
        tokio::select! {
            biased;
            ended = leading => ended.map_err(|_| Ended),
            never = reading => match never {},
        }
    }

    /// Keeps certificates for one term.
    async fn keep(
        &self,
        settings: &Settings,
        term: Term,
        stop: &CancellationToken,
    ) -> Result<(), Infallible> {
        let keeper = Keeper {
            objects: &self.objects,
            settings,
            memory: &self.memory,
            observer: &self.observer,
            term: &term,
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            () = term.lost() => Ok(()),
            never = keeper.keep() => match never {},
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
