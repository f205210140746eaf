//! Watches the hub, keeps the facts, wakes what a change concerns, and writes what the deciders ask for.

mod events;
mod gauges;
mod kinds;
mod metrics;
mod object;
mod view;
mod watch;
mod work;
mod writer;

use std::sync::Arc;

use berth_lease::Term;
use jiff::Timestamp;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use berth_reconcile::Limit;
pub use metrics::Metrics;

use crate::config::Config;
use crate::facts::Now;
use events::Events;
use kinds::Kind;
use work::{Lane, Work};
use writer::Writer;

/// The reconcilers, ready to run.
pub struct Engine {
    work: Arc<Work>,
    tasks: JoinSet<()>,
    term: Option<Term>,
}

/// How far the reconcilers are.
#[derive(Clone)]
pub struct Progress(Arc<Work>);

/// A task of the reconcilers ended that never ends.
#[derive(Debug, thiserror::Error)]
#[error("a task of the reconcilers ended: {0}")]
pub struct Ended(String);

// === impl Engine ===

impl Engine {
    /// Reconcilers on this hub. With a `term` they write only while it lasts; without one, nobody else may be there.
    /// `instance`: which of several processes this is, for Events.
    ///
    /// Needs a tokio runtime.
    pub fn new(
        client: Client,
        config: Config,
        term: Option<Term>,
        limit: Option<Limit>,
        instance: &str,
        metrics: Metrics,
    ) -> Self {
        let writer = Arc::new(Writer::new(
            client.clone(),
            term.clone(),
            limit,
            metrics.clone(),
        ));
        let (events, tell) = Events::new(instance, writer.clone(), metrics.clone());
        let work = Work::new(Arc::new(config), client, writer, events, metrics);
        let mut tasks = JoinSet::new();
        tasks.spawn(tell);
        Self {
            work: Arc::new(work),
            tasks,
            term,
        }
    }

    /// How far they are; stays true while they run.
    pub fn progress(&self) -> Progress {
        Progress(self.work.clone())
    }

    /// Runs until told to stop, or until the term is over. Nothing is written after it returns.
    ///
    /// # Errors
    /// Something ended that never does.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), Ended> {
        for kind in Kind::ALL {
            self.tasks.spawn(watch::follow(self.work.clone(), kind));
        }
        for lane in Lane::ALL {
            self.tasks.spawn(drive(self.work.clone(), lane));
        }
        self.work.metrics().begun(&self.work);
        let lost = async {
            match &self.term {
                Some(term) => term.lost().await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            () = stop.cancelled() => Ok(()),
            () = lost => Ok(()),
            ended = self.tasks.join_next() => {
                let why = match ended {
                    Some(Err(error)) => error.to_string(),
                    _ => "it returned".to_owned(),
                };
                Err(Ended(why))
            }
        };
        self.tasks.shutdown().await;
        self.work.metrics().over();
        ended
    }
}

// === impl Progress ===

impl Progress {
    /// Resources that have not been listed yet; empty when all that is needed has been seen.
    pub fn unprimed(&self) -> Vec<&'static str> {
        self.0.view().unprimed()
    }
}

/// Works on the keys of a lane, so many at a time, in the order they became due.
async fn drive(work: Arc<Work>, lane: Lane) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            (key, since) = work.lane(lane).next(), if running.len() < lane.at_once() => {
                let work = work.clone();
                running.spawn(async move { work.one(lane, key, since).await });
            }
            Some(ended) = running.join_next() => {
                // A panic in a decider ends the process: going on with half a decision would be worse.
                if let Err(error) = ended && error.is_panic() {
                    std::panic::resume_unwind(error.into_panic());
                }
            }
        }
    }
}

/// What the clocks say.
fn now() -> Now {
    Now {
        instant: queue::now(),
        wall: Timestamp::now(),
    }
}

/// A good request of agent `a1` of cluster `c1`.
#[cfg(test)]
const GOOD_REQUEST: &[u8] = include_bytes!("../../tests/data/agent.csr");
