//! What the routes share.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use berth_admin::answers::Hub;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::{Semaphore, watch};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::guard::Guard;
use crate::health::Runs;
use crate::live::{
    BindingFact, Csrs, DecisionFact, Happenings, Kind, Objects, Parts, PlacementFact, RolloutFact,
    SetFact, Tasks, WorkFact,
};
use crate::rights::Rights;
use crate::routes::LastFacts;
use crate::sessions::{Secret, SessionId, Sessions};
use crate::table::Table;

/// Upper bound on the requests that call the hub at the same time.
const AT_ONCE: usize = 16;

/// Bytes of a code and of a cookie.
const SECRET_BYTES: usize = 24;

/// What a console is started with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) address: SocketAddr,
    pub(crate) context: Option<String>,
    pub(crate) read_only: bool,
}

/// A server.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) hub: Hub,
    pub(crate) settings: Settings,
    pub(crate) guard: Guard,
    /// The name of the cookie. Cookies do not tell ports apart, so it has a random end.
    pub(crate) cookie: String,
    sessions: Mutex<Sessions>,
    /// Counts the ends of sessions.
    pub(crate) session_ends: watch::Sender<u64>,
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
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(hub: Hub, settings: Settings, tasks: Tasks) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            guard: Guard::new(settings.address),
            cookie: format!("berth-console-{}", random(6)?.reveal()),
            sessions: Mutex::default(),
            session_ends: watch::Sender::new(0),
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
        }))
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a new one-time code, and returns the address with it. The code is in the fragment, which browsers send to no server.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new_address(&self) -> anyhow::Result<String> {
        let code = random(SECRET_BYTES)?;
        self.sessions().set_code(&code, Instant::now());
        Ok(format!(
            "http://{}/#code={}",
            self.settings.address,
            code.reveal()
        ))
    }

    /// Makes the secret of a session.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new_cookie() -> anyhow::Result<Secret> {
        random(SECRET_BYTES)
    }

    /// Ends a session, and its streams.
    pub(crate) fn sign_out(&self, session: SessionId) {
        self.sessions().end(session);
        self.session_ends
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn random(bytes: usize) -> anyhow::Result<Secret> {
    let mut random = vec![0; bytes];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| anyhow::anyhow!("the system has no random numbers"))?;
    Ok(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(random)))
}
