//! A running controller: one task for each kind, one for each lane, one for Events.

use std::collections::HashMap;
use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::{Term, lost};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::controller::RowOf;
use crate::events::Events;
use crate::handle::{Handle, RowChange};
use crate::limit::Limit;
use crate::metrics::{Counted, Metrics};
use crate::world::World;
use crate::writer::Writer;

/// The names of a controller, and the term that bounds its writes.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// The name of the controller in Events.
    pub controller: &'static str,
    /// The name of this process among several, for Events.
    pub instance: &'a str,
    /// The field manager of patches and new objects.
    pub manager: &'static str,
    /// Writes are sent only during this term. Without a term no other process may run the same controller.
    pub term: Option<Term>,
}

/// A controller, ready to run.
pub struct Engine<W: World> {
    work: Arc<Handle<W>>,
    changes: mpsc::UnboundedReceiver<RowChange<W>>,
    tasks: JoinSet<()>,
    term: Option<Term>,
}

/// A task that should run forever ended.
#[derive(Debug, thiserror::Error)]
#[error("a task of the reconcilers ended: {0}")]
pub struct Ended(String);

// === impl Settings ===

impl<'a> Settings<'a> {
    /// The settings of a controller that is its own field manager, and of which no second process runs.
    pub fn new(controller: &'static str, instance: &'a str) -> Self {
        Self {
            controller,
            instance,
            manager: controller,
            term: None,
        }
    }
}

// === impl Engine ===

impl<W: World> Engine<W> {
    /// A controller of these API servers, each with its limit of calls. It watches nothing until [`Handle::watch`] is called.
    ///
    /// Needs a tokio runtime.
    pub fn new(
        world: W,
        servers: Vec<(HubApi, Option<Limit>)>,
        settings: Settings<'_>,
        metrics: Metrics,
    ) -> Self {
        let Settings {
            controller,
            instance,
            manager,
            term,
        } = settings;
        let writers = servers.into_iter().map(|(api, limit)| {
            let writer = Writer::new(api, term.clone(), limit, manager);
            Arc::new(writer)
        });
        let writers: Vec<_> = writers.collect();
        let (events, send) = Events::new(controller, instance, writers.clone(), metrics.clone());
        let (sender, changes) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(send);
        Self {
            work: Arc::new(Handle::new(world, writers, events, metrics, sender)),
            changes,
            tasks,
            term,
        }
    }

    /// Watches these kinds.
    #[must_use]
    pub fn watching(self, rows: impl IntoIterator<Item = RowOf<W>>) -> Self {
        for (kind, row) in rows {
            self.work.watch(kind, row);
        }
        self
    }

    /// The shared state: to add rows, and to see what is still missing.
    pub fn handle(&self) -> &Arc<Handle<W>> {
        &self.work
    }

    /// Runs until `stop`, or until the term is over. No write is sent after it returns.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), Ended> {
        for lane in 0..W::LANES.len() {
            self.tasks.spawn(drive(self.work.clone(), lane));
        }
        let counted: Arc<dyn Counted> = self.work.clone();
        self.work.metrics().count(Arc::downgrade(&counted));
        W::begun(&self.work);
        drop(counted);
        let Self {
            work,
            mut changes,
            mut tasks,
            term,
        } = self;
        let lost = lost(term.as_ref());
        tokio::pin!(lost);
        let mut watches = HashMap::new();
        let ended = loop {
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                () = &mut lost => break Ok(()),
                Some(change) = changes.recv() => rows(&work, &mut tasks, &mut watches, change),
                Some(ended) = tasks.join_next() => {
                    if let Some(why) = why(ended) {
                        break Err(Ended(why));
                    }
                }
            }
        };
        // `over` and the caller may let another process write: first, no task writes any more.
        tasks.shutdown().await;
        W::over(&work);
        ended
    }
}

/// Starts and ends watches.
fn rows<W: World>(
    work: &Arc<Handle<W>>,
    tasks: &mut JoinSet<()>,
    watches: &mut HashMap<W::Kind, AbortHandle>,
    change: RowChange<W>,
) {
    let (kind, row) = match change {
        RowChange::Added(kind, row) => (kind, Some(row)),
        RowChange::Removed(kind) => (kind, None),
    };
    // An aborted task may still process a chunk; it ends before the next chunk.
    if let Some(watch) = watches.remove(&kind) {
        watch.abort();
        work.forget(kind);
    }
    if let Some(row) = row {
        let work = work.clone();
        let watch = tasks.spawn(async move { match work.follow(kind, row).await {} });
        watches.insert(kind, watch);
    }
}

/// Returns why a task ended. `None`: it was aborted.
fn why(ended: Result<(), JoinError>) -> Option<String> {
    match ended {
        Err(error) if error.is_cancelled() => None,
        Err(error) => Some(error.to_string()),
        Ok(()) => Some("it returned".to_owned()),
    }
}

/// Works on the keys of a lane, a bounded number at a time.
async fn drive<W: World>(work: Arc<Handle<W>>, lane: usize) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            // `next` takes a key only when it returns: a key is not lost when it is dropped before.
            (key, since) = work.queue(lane).next(), if running.len() < W::LANES[lane].at_once => {
                let work = work.clone();
                // Boxed: a task is copied when it begins and when it ends, and the futures of a reconcile have kilobytes.
                running.spawn(Box::pin(async move { work.one(key, since).await }));
            }
            Some(ended) = running.join_next() => {
                // A panic in a decider ends the process: to continue with half a decision would be worse.
                if let Err(error) = ended && error.is_panic() {
                    std::panic::resume_unwind(error.into_panic());
                }
            }
        }
    }
}
