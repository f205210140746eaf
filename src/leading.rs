//! Components that work while they lead: leader election, and the port for health and metrics of their process.

mod election;
mod elections;
mod health;
mod port;
mod reviews;
mod standing;

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::{LeadingError, LeaseParams, Phase, Term, WhenLost, while_leading_on};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::election::{ElectionArgs, ElectionTimes};
pub(crate) use self::elections::Elections;
pub(crate) use self::port::HealthPort;
pub(crate) use self::reviews::Reviews;
pub(crate) use self::standing::Standing;

/// A component that works while it leads. [`HealthPort::component`] creates it.
pub(crate) struct Led {
    /// The runtime of the election.
    on: Handle,
    /// The API server with the Lease.
    api: HubApi,
    /// None: no leader election.
    election: Option<LeaseParams>,
    when_lost: WhenLost,
    standing: Arc<Standing>,
}

/// A part of a process, see [`together`].
pub(crate) type Part<'a> = BoxFuture<'a, anyhow::Result<()>>;

// === impl Led ===

impl Led {
    /// Runs `work` in every term, until `stop` is cancelled, or until the Lease is lost with [`WhenLost::End`].
    ///
    /// `work` calls [`Standing::leads`], and ends when `stop` is cancelled or the term is over. When this returns, no write is in flight,
    /// and the Lease is released or has expired.
    ///
    /// # Errors
    /// The work failed, or a task that should run forever ended.
    pub(crate) async fn run<F>(
        self,
        stop: CancellationToken,
        work: impl Fn(Option<Term>, Arc<Standing>, CancellationToken) -> F,
    ) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let Self {
            on,
            api,
            election,
            when_lost,
            standing,
        } = self;
        let work = |term| work(term, Arc::clone(&standing), stop.clone());
        let Some(params) = election else {
            let result = work(None).await;
            standing.stops();
            return result;
        };
        let tell = |phase| match phase {
            Phase::Waiting => standing.waits(),
            // Drops the term, so that the Lease can be released.
            Phase::Stopped => standing.stops(),
        };
        let led = while_leading_on(&on, &api, params, when_lost, &stop, tell, |term| {
            work(Some(term))
        });
        led.await.map_err(|error| match error {
            LeadingError::Work(error) => error,
            error => anyhow::Error::msg(error.to_string()),
        })
    }
}

/// Runs the parts of a process until all have ended. As soon as one ends, the others are stopped.
///
/// # Errors
/// The first error, in the order of the parts.
pub(crate) async fn together(
    stop: &CancellationToken,
    parts: impl IntoIterator<Item = Part<'_>>,
) -> anyhow::Result<()> {
    let parts = parts
        .into_iter()
        .map(|part| part.inspect(|_| stop.cancel()));
    let ended = futures::future::join_all(parts).await;
    ended.into_iter().collect()
}
