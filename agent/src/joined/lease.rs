//! The Lease of the cluster on the hub, `managed-cluster-lease`: one PUT in each period.
//!
//! The PUT is made of the response to the one before, so no GET is needed, and a conflict says that someone else has written the Lease. If
//! that was a renewal, another agent uses the same name.

use std::time::Duration;

use berth_agent_core::lease::{pause, pause_after_failure};
use berth_api::cluster::CLUSTER_LEASE;
use berth_hub::{Call, CallError, HubApi, object_path};
use berth_lease::Term;
use berth_reconcile::Handle;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::world::ClusterReport;
use crate::{Clock, Counts};

/// The longest time for a request.
const LONGEST: Duration = Duration::from_secs(10);

/// How the Lease is to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(super) period: Duration,
    /// The hub says that it was not renewed for long: now.
    pub(super) is_silent: bool,
}

/// Renews the Lease.
pub(super) struct Keeper {
    hub: HubApi,
    term: Option<Term>,
    path: String,
    counts: Counts,
    pace: watch::Receiver<Option<Pace>>,
    clock: Clock,
    /// The Lease after the last renewal.
    lease: Option<Value>,
    /// Foreign renewals in a row, and the time of the last one.
    foreign: u32,
    last_foreign: Option<Instant>,
}

// === impl Keeper ===

impl Keeper {
    pub(super) fn new(
        hub: HubApi,
        term: Option<Term>,
        cluster: &str,
        counts: Counts,
        pace: watch::Receiver<Option<Pace>>,
        clock: Clock,
    ) -> Self {
        Self {
            hub,
            term,
            path: object_path(
                ("coordination.k8s.io", "v1", "leases"),
                cluster,
                CLUSTER_LEASE,
            ),
            counts,
            pace,
            clock,
            lease: None,
            foreign: 0,
            last_foreign: None,
        }
    }

    /// Renews the Lease while the hub accepts the cluster. Never ends.
    pub(super) async fn run(mut self, work: &Handle<ClusterReport>) {
        let mut failures = 0;
        loop {
            let pace = *self.pace.borrow_and_update();
            let Some(Pace { period, .. }) = pace else {
                // The next one begins with what the hub then has.
                self.lease = None;
                failures = 0;
                if self.pace.changed().await.is_err() {
                    return std::future::pending().await;
                }
                continue;
            };
            let wait = match self.renew(period).await {
                Ok(()) => {
                    failures = 0;
                    self.counts.renewed(Timestamp::now());
                    self.notice_two(period, work);
                    pause(period, fastrand::f64())
                }
                Err(error) => {
                    failures += 1;
                    self.counts.failed_to_renew();
                    if failures == 1 {
                        warn!(%error, "the Lease of the cluster was not renewed; trying again");
                    } else {
                        debug!(%error, failures, "the Lease of the cluster was not renewed");
                    }
                    let wait = pause_after_failure(period, failures, fastrand::f64());
                    error
                        .retry_after()
                        .map_or(wait, |asked| wait.max(asked.min(period)))
                }
            };
            // Another pace counts at once.
            let _ = timeout(wait, self.pace.changed()).await;
        }
    }

    async fn renew(&mut self, period: Duration) -> Result<(), CallError> {
        let within = LONGEST.min(period);
        if let Some(lease) = self.lease.take() {
            match self.put(lease.clone(), within).await {
                Ok(written) => {
                    self.lease = Some(written);
                    return Ok(());
                }
                Err(error) if error.is_conflict() => {}
                Err(error) => {
                    self.lease = Some(lease);
                    return Err(error);
                }
            }
            let current = self.get(within).await?;
            if renewed(&current) != renewed(&lease) {
                self.foreign += 1;
                self.last_foreign = Some(Instant::now());
            }
            self.lease = Some(self.put(current, within).await?);
            return Ok(());
        }
        let current = self.get(within).await?;
        self.lease = Some(self.put(current, within).await?);
        Ok(())
    }

    async fn get(&self, within: Duration) -> Result<Value, CallError> {
        self.hub
            .call(Call::get(self.path.clone()).within(within))
            .await?
            .json()
    }

    async fn put(&self, mut lease: Value, within: Duration) -> Result<Value, CallError> {
        lease["spec"]["renewTime"] = json!(MicroTime(self.clock.now()));
        let call = Call::put(self.path.clone(), lease.to_string());
        let bounded = match &self.term {
            None => Some(within),
            Some(term) => term.bound(within),
        };
        match bounded {
            Some(within) => self.hub.call(call.within(within)).await?.json(),
            None => Err(call.not_sent("another agent leads now")),
        }
    }

    /// Two foreign renewals in a row are another agent; three periods without one are its end.
    fn notice_two(&mut self, period: Duration, work: &Handle<ClusterReport>) {
        if self
            .last_foreign
            .is_some_and(|at| at.elapsed() > period * 4)
        {
            self.foreign = 0;
            self.last_foreign = None;
        }
        let is_one_of_two = self.foreign >= 2;
        work.change(|world, wakes| world.renewed(is_one_of_two, wakes));
    }
}

fn renewed(lease: &Value) -> Option<&str> {
    lease["spec"]["renewTime"].as_str()
}
