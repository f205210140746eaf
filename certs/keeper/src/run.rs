//! All of it together: the gate's replicas read; the controller's replicas read, too, and the elected one keeps.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use berth_certs::managed::{InvalidPolicy, Observer};
use berth_hub::HubApi;
use berth_lease::{InvalidParams, LeaseParams, Term, WhenLost, while_leading};
use tokio_util::sync::CancellationToken;

use crate::keeper::Keeper;
use crate::objects::Objects;
use crate::reader::{ManagedPair, Memory, read};
use crate::settings::{Place, Settings};

/// Managed certificates, ready to be read, and kept where that is asked for.
pub struct Managed {
    objects: Objects,
    place: Place,
    keeping: Option<Keeping>,
    memory: Arc<Memory>,
    observer: Observer,
}

/// What keeping them takes.
struct Keeping {
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

    /// Reads, and keeps when elected. Nothing is asked of the hub yet.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn keeper(
        hub: HubApi,
        place: Place,
        settings: Settings,
        observer: Observer,
    ) -> Result<Self, Invalid> {
        settings.policy.validate()?;
        let params = LeaseParams::new(&place.namespace, &place.name, &settings.identity);
        params.validate()?;
        Ok(Self {
            keeping: Some(Keeping { settings, params }),
            ..Self::reader(hub, place, observer)
        })
    }

    /// What is to be served. There is something once [`Managed::run`] has found or made it.
    pub fn pair(&self) -> ManagedPair {
        ManagedPair::new(Arc::clone(&self.memory))
    }

    /// What messages call the Secret.
    pub fn secret(&self) -> String {
        self.objects.secret_name()
    }

    /// Reads, and keeps when elected, until told to stop. The Lease has been released then, or its time is over.
    ///
    /// # Errors
    /// The election ended by itself.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        let reading = read(
            &self.objects,
            &self.place.name,
            &self.memory,
            &self.observer,
        );
        let Some(Keeping { settings, params }) = &self.keeping else {
            return tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                never = reading => match never {},
            };
        };
        let work = |term| self.keep(settings, term, &stop);
        let leading = while_leading(
            self.objects.api(),
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

    /// Keeps them, for one term.
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
