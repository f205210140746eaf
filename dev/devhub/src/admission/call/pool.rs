//! Idle connections, and the tasks of all connections.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::connection::{Connection, Driver};
use super::endpoint::Identity;

/// As kube-apiserver's client.
const MAX_IDLE: usize = 25;
/// As kube-apiserver's client.
const MAX_IDLE_TIME: Duration = Duration::from_secs(90);

/// Idle connections by what they are for. Dropped, it ends all connections.
#[derive(Debug, Default)]
pub(super) struct Pools {
    idle: Mutex<HashMap<Identity, Vec<Idle>>>,
    drivers: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

impl Pools {
    /// The connection used last that still can be used.
    pub(super) async fn take(&self, identity: &Identity) -> Option<Connection> {
        loop {
            let mut idle = self.idle().get_mut(identity)?.pop()?;
            if idle.since.elapsed() > MAX_IDLE_TIME {
                // Those below it have been idle for longer.
                self.idle().remove(identity);
                return None;
            }
            if idle.connection.is_usable().await {
                return Some(idle.connection);
            }
        }
    }

    pub(super) fn give_back(&self, identity: &Identity, connection: Connection) {
        let mut idle = self.idle();
        let idle = idle.entry(identity.clone()).or_default();
        if idle.len() < MAX_IDLE {
            let since = Instant::now();
            idle.push(Idle { connection, since });
        }
    }

    /// Closes the idle connections of all others.
    pub(super) fn retain(&self, identities: HashSet<&Identity>) {
        self.idle()
            .retain(|identity, _| identities.contains(identity));
    }

    /// Runs a connection until it ends or this is dropped.
    pub(super) fn drive(&self, driver: Driver) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        while drivers.try_join_next().is_some() {}
        drivers.spawn(driver);
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<Identity, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
