//! What is kept for one user of the hub: what is followed, and what was asked.

use std::sync::Arc;

use berth_admin::answers::Hub;
use tokio::sync::Semaphore;

use crate::health::Runs;
use crate::last_facts::LastFacts;
use crate::live::{
    BindingFact, Csrs, DecisionFact, Happenings, Kind, Objects, Parts, PlacementFact, RolloutFact,
    SetFact, Tasks, WorkFact,
};
use crate::rights::Rights;
use crate::table::Table;

/// Upper bound on the requests of a user that call the hub at the same time.
const AT_ONCE: usize = 16;

/// What a console is started with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The context of the kubeconfig, if a flag names it.
    pub(crate) context: Option<String>,
    pub(crate) read_only: bool,
}

/// A user of the hub.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) hub: Hub,
    pub(crate) settings: Settings,
    pub(crate) clusters: Kind<Table>,
    pub(crate) csrs: Kind<Csrs>,
    pub(crate) placements: Kind<Objects<PlacementFact>>,
    pub(crate) decisions: Kind<Objects<DecisionFact>>,
    pub(crate) sets: Kind<Objects<SetFact>>,
    pub(crate) bindings: Kind<Objects<BindingFact>>,
    pub(crate) works: Kind<Objects<WorkFact>>,
    pub(crate) rollouts: Kind<Objects<RolloutFact>>,
    pub(crate) last_facts: LastFacts,
    pub(crate) happenings: Kind<Happenings>,
    pub(crate) parts: Parts,
    pub(crate) health: Arc<Runs>,
    pub(crate) rights: Rights,
    pub(crate) asking: Semaphore,
    pub(crate) tasks: Tasks,
}

// === impl App ===

impl App {
    pub(crate) fn new(hub: Hub, settings: Settings, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self {
            clusters: Kind::new(hub.clone(), tasks.clone()),
            csrs: Kind::new(hub.clone(), tasks.clone()),
            placements: Kind::new(hub.clone(), tasks.clone()),
            decisions: Kind::new(hub.clone(), tasks.clone()),
            sets: Kind::new(hub.clone(), tasks.clone()),
            bindings: Kind::new(hub.clone(), tasks.clone()),
            works: Kind::new(hub.clone(), tasks.clone()),
            rollouts: Kind::new(hub.clone(), tasks.clone()),
            last_facts: LastFacts::default(),
            happenings: Kind::new(hub.clone(), tasks.clone()),
            parts: Parts::new(&hub, &tasks),
            health: Runs::new(hub.clone(), tasks.clone(), !settings.read_only),
            rights: Rights::new(hub.clone()),
            asking: Semaphore::new(AT_ONCE),
            settings,
            hub,
            tasks,
        })
    }
}
