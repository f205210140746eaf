//! A controller of one hub, as a process runs it: by its names, its [`World`] and its rows.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::Term;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::engine::{Ended, Engine, Settings};
use crate::limit::Limit;
use crate::metrics::{Counted, Metrics};
use crate::watched::Watched;
use crate::world::World;

/// The names of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Its name in flags, logs and readiness.
    pub name: &'static str,
    /// Its name in Events.
    pub reporter: &'static str,
    /// The field manager of patches and new objects.
    pub manager: &'static str,
    /// The name of the Lease: of several processes, its holder runs the controller.
    pub lease: &'static str,
}

/// A row of the table of kinds of a [`World`].
pub type RowOf<W> = (<W as World>::Kind, Watched<<W as World>::Fact>);

/// A controller of a hub. A process makes a new world of it in each term of its Lease.
pub struct Controller {
    names: Names,
    start: Start,
}

type Start = Box<dyn Fn(HubApi, Option<Limit>, Settings<'_>) -> Running + Send + Sync>;

/// A controller with its world, ready to run.
pub struct Running {
    progress: Progress,
    run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), Ended>> + Send>,
}

/// The progress of the first lists.
#[derive(Clone)]
pub struct Progress(Arc<dyn Counted>);

// === impl Controller ===

impl Controller {
    /// The controller of these names. `make` returns its world, and what it watches. `metrics` are those that all controllers of the
    /// process share.
    pub fn new<W: World>(
        names: Names,
        metrics: Metrics,
        make: impl Fn() -> (W, Vec<RowOf<W>>) + Send + Sync + 'static,
    ) -> Self {
        let start = move |api: HubApi, limit: Option<Limit>, settings: Settings<'_>| {
            let (world, rows) = make();
            let engine = Engine::new(world, vec![(api, limit)], settings, metrics.clone());
            let engine = engine.watching(rows);
            Running {
                progress: Progress(engine.handle().clone()),
                run: Box::new(|stop| engine.run(stop).boxed()),
            }
        };
        Self {
            names,
            start: Box::new(start),
        }
    }

    /// Its names.
    pub fn names(&self) -> Names {
        self.names
    }

    /// Makes its world, and begins to watch this hub once it runs.
    ///
    /// With a `term` it writes only while the term lasts; without one, no other process may run it. `instance` names this process in
    /// Events. `limit`: of its writes. Needs a tokio runtime.
    pub fn start(
        &self,
        api: HubApi,
        instance: &str,
        term: Option<Term>,
        limit: Option<Limit>,
    ) -> Running {
        let settings = Settings {
            controller: self.names.reporter,
            instance,
            manager: self.names.manager,
            term,
        };
        (self.start)(api, limit, settings)
    }
}

// === impl Running ===

impl Running {
    /// The progress, also while it runs.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Runs until `stop` is cancelled, or until the term is over. Nothing is written after it returns.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        let Self { progress, run } = self;
        // The term ends with the last reference to the world.
        drop(progress);
        run(stop).await
    }
}

// === impl Progress ===

impl Progress {
    /// The names of the kinds whose first list is not complete. Empty when all objects that are needed have been seen.
    pub fn unprimed(&self) -> Vec<&'static str> {
        self.0.unprimed()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use prometheus::Registry;

    use super::*;
    use crate::testing::{Values, server, values};

    const NAMES: Names = Names {
        name: "values",
        reporter: "values-controller",
        manager: "values-manager",
        lease: "values-lock",
    };

    #[tokio::test]
    async fn each_term_begins_with_a_world_of_its_own_and_its_lists() {
        let made = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&made);
        let metrics = Metrics::new(&Registry::new()).unwrap();
        let controller = Controller::new(NAMES, metrics, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            (Values::default(), vec![(0, values("g"))])
        });
        assert_eq!(controller.names().lease, "values-lock");
        assert_eq!(made.load(Ordering::Relaxed), 0, "made at its start");
        for term in 1..=2 {
            let api = server(|_, _| std::future::pending());
            let running = controller.start(api, "tests-1", None, None);
            assert_eq!(made.load(Ordering::Relaxed), term);
            let progress = running.progress();
            let stop = CancellationToken::new();
            let running = tokio::spawn(running.run(stop.clone()));
            assert_eq!(progress.unprimed(), ["values"]);
            stop.cancel();
            running.await.unwrap().unwrap();
        }
    }
}
