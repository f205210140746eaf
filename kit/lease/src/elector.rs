//! The task that reads the Lease, writes it when [`decide`] says so, and publishes the leader.
//!
//! It sends one request at a time, each with its own deadline. A failed request is repeated, with jitter. A term that could not
//! be renewed in time is ended before the next request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use berth_hub::{Backoff, Call, CallError, HubApi, object_path, optional};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::params::{InvalidParams, LeaseParams};
use crate::record::{Action, Candidate, Observation, Record, Version, decide};
use crate::term::{Tenure, Term};

/// The name in managedFields.
const FIELD_MANAGER: &str = "berth";

/// The byte bound of a Lease, with what other clients added to it.
const LONGEST_LEASE: usize = 1 << 20;

/// The leader, as far as this process knows.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The holder that the Lease names, even if the record has expired. Empty: unknown.
    pub(crate) holder: String,
    /// The term of this process, if it leads.
    pub(crate) term: Option<Term>,
}

/// The leader, and the elector's task. The task ends after `shutdown` was cancelled and the Lease released.
pub(crate) type Spawned = (watch::Receiver<Arc<Claim>>, JoinHandle<()>);

/// Stands for election on a runtime until `shutdown`; then the Lease is released if it is ours.
///
/// # Errors
/// The parameters are invalid.
pub(crate) fn spawn(
    on: &Handle,
    hub: HubApi,
    params: LeaseParams,
    shutdown: CancellationToken,
) -> Result<Spawned, InvalidParams> {
    params.validate()?;
    let (claims, receiver) = watch::channel(Arc::new(Claim {
        holder: String::new(),
        term: None,
    }));
    let mut elector = Elector::new(hub, params, claims);
    let task = on.spawn(async move {
        // `campaign` can be interrupted anywhere: `resign` reads the Lease again.
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            never = elector.campaign() => match never {}
        }
        elector.resign().await;
    });
    Ok((receiver, task))
}

struct Elector {
    hub: HubApi,
    /// The path of the namespace's Leases.
    path: String,
    params: LeaseParams,
    me: Candidate,
    seen: Option<Observation>,
    /// The Lease as it was last received: labels and unknown fields are kept.
    object: Option<Value>,
    tenure: Option<Tenure>,
    claims: watch::Sender<Arc<Claim>>,
    /// When to renew, or to read again.
    due: Instant,
    /// Failed requests since the last successful one.
    failures: u32,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum LeaseFailure {
    #[error("the answer has no resourceVersion")]
    NoVersion,
    #[error(transparent)]
    Refused(#[from] CallError),
}

// === impl Elector ===

impl Elector {
    fn new(hub: HubApi, params: LeaseParams, claims: watch::Sender<Arc<Claim>>) -> Self {
        Self {
            hub,
            path: object_path(
                ("coordination.k8s.io", "v1", "leases"),
                &params.namespace,
                "",
            ),
            me: Candidate {
                identity: params.identity.name().to_owned(),
                is_of_pod: params.identity.is_of_pod(),
                acquired: None,
                leading: false,
                lease_duration: params.lease_duration,
            },
            params,
            seen: None,
            object: None,
            tenure: None,
            claims,
            due: Instant::now(),
            failures: 0,
        }
    }

    async fn campaign(&mut self) -> Infallible {
        info!(lease = %self.describe(), identity = %self.me.identity, "standing for election");
        loop {
            let again = self.step().await;
            sleep_until(again).await;
        }
    }

    /// Sends at most one request. Returns when to take the next step.
    async fn step(&mut self) -> Instant {
        if self.tenure.as_ref().is_some_and(|tenure| !tenure.lasts()) {
            self.lose("it was not renewed in time");
        }
        let now = Instant::now();
        let result = match decide(self.seen.as_ref(), &self.me, now.into_std()) {
            Action::Wait(_) if self.me.leading => {
                self.lose("the Lease is another's");
                return now;
            }
            Action::Acquire if self.me.leading => {
                self.lose("another client released the Lease");
                return now;
            }
            Action::Wait(free) if now < self.due => {
                self.failures = 0;
                return self.due.min(Instant::from_std(free));
            }
            Action::Create | Action::Renew
                if self.me.leading && self.failures == 0 && now < self.due =>
            {
                return self.due;
            }
            Action::Look | Action::Wait(_) => self.look().await,
            Action::Create | Action::Acquire | Action::Renew => self.write().await,
        };
        match result {
            Ok(()) => Instant::now(),
            Err(failure) => self.pause_after(&failure),
        }
    }

    async fn look(&mut self) -> Result<(), LeaseFailure> {
        let call = Call::get(format!("{}/{}", self.path, self.params.name));
        let answer = self.call(call, self.deadline()).await;
        self.learn(optional(answer)?)?;
        if let Some(Observation {
            version: Version::At(_),
            record: Some(record),
            ..
        }) = &self.seen
            && !record.is_of(&self.me)
        {
            self.me.acquired = None;
        }
        self.due = after(
            Instant::now(),
            self.params
                .retry_period
                .mul_f64(1.0 + 0.2 * fastrand::f64()),
        );
        self.publish();
        Ok(())
    }

    /// Creates or replaces the Lease with a record of this process. If that succeeds, the process leads. The term counts from
    /// before the request was sent.
    async fn write(&mut self) -> Result<(), LeaseFailure> {
        let now = Timestamp::now();
        let previous = self.seen.as_ref().and_then(|seen| seen.record.as_ref());
        let record = match previous {
            Some(record) if record.is_of(&self.me) => record.renewed(&self.me, now),
            _ => Record::acquired(previous, &self.me, now),
        };
        // Before the request is sent: if the response is lost, the record is still known to be ours.
        self.me.acquired.clone_from(&record.acquire_time);
        let (sent, deadline) = (Instant::now(), self.deadline());
        self.put(&record, deadline).await?;
        let until = after(sent, self.params.renew_deadline);
        self.failures = 0;
        self.due = after(sent, self.params.retry_period);
        match &self.tenure {
            Some(tenure) if tenure.extend(until) => debug!(lease = %self.describe(), "renewed"),
            Some(_) => self.lose("its renewal was answered too late"),
            None => {
                let (tenure, term) = Tenure::begin(self.me.identity.as_str().into(), until);
                if tenure.lasts() {
                    info!(lease = %self.describe(), identity = %self.me.identity, "we lead");
                    self.me.leading = true;
                    self.tenure = Some(tenure);
                    self.claims.send_replace(Arc::new(Claim {
                        holder: self.me.identity.clone(),
                        term: Some(term),
                    }));
                }
            }
        }
        Ok(())
    }

    /// Writes the record over the version that was seen.
    async fn put(&mut self, record: &Record, deadline: Instant) -> Result<(), LeaseFailure> {
        let stored = match self.seen.as_ref().map(|seen| &seen.version) {
            Some(Version::At(_)) => self.object.clone(),
            _ => None,
        };
        let LeaseParams {
            name, namespace, ..
        } = &self.params;
        let path = &self.path;
        let call = match stored {
            Some(mut object) => {
                set_record(&mut object, record);
                let path = format!("{path}/{name}?fieldManager={FIELD_MANAGER}");
                Call::put(path, object.to_string())
            }
            None => {
                let mut object = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": { "name": name, "namespace": namespace },
                });
                set_record(&mut object, record);
                let path = format!("{path}?fieldManager={FIELD_MANAGER}");
                Call::post(path, object.to_string())
            }
        };
        let answer = self.call(call, deadline).await;
        if let Err(error) = &answer
            && matches!(error.code(), 404 | 409)
            && let Some(seen) = &mut self.seen
        {
            seen.version = Version::Unsure;
        }
        self.learn(Some(answer?))
    }

    /// Untyped: a typed Lease would lose unknown fields, and could not be read with an invalid time.
    async fn call(&self, call: Call, deadline: Instant) -> Result<Value, CallError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let call = call.within(left).at_most(LONGEST_LEASE);
        self.hub.call(call).await?.json()
    }

    /// Remembers a response. A Lease without resourceVersion is an error: it could only be replaced blindly.
    fn learn(&mut self, answer: Option<Value>) -> Result<(), LeaseFailure> {
        let observed = match &answer {
            Some(object) => {
                let version = object["metadata"]["resourceVersion"]
                    .as_str()
                    .filter(|version| !version.is_empty());
                Some((
                    Record::read(&object["spec"]),
                    version.ok_or(LeaseFailure::NoVersion)?.to_owned(),
                ))
            }
            None => None,
        };
        self.seen = Some(Observation::after(
            self.seen.take(),
            observed,
            Instant::now().into_std(),
        ));
        self.object = answer.map(|mut object| {
            // The API server keeps them if they are left out.
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            object
        });
        Ok(())
    }

    /// Publishes the holder of the Lease, if it has changed.
    fn publish(&self) {
        let holder = match &self.seen {
            Some(Observation {
                version: Version::At(_),
                record: Some(record),
                ..
            }) => record.holder.as_str(),
            _ => "",
        };
        if self.me.leading || self.claims.borrow().holder == holder {
            return;
        }
        let lease = self.describe();
        match holder {
            "" => info!(%lease, "nobody holds the Lease"),
            holder => info!(%lease, holder, "the Lease is held"),
        }
        self.claims.send_replace(Arc::new(Claim {
            holder: holder.to_owned(),
            term: None,
        }));
    }

    /// Ends the term, and publishes that before the next request.
    fn lose(&mut self, why: &str) {
        if let Some(tenure) = self.tenure.take() {
            tenure.end();
        }
        self.me.leading = false;
        let holder = self.claims.borrow().holder.clone();
        self.claims
            .send_replace(Arc::new(Claim { holder, term: None }));
        warn!(lease = %self.describe(), identity = %self.me.identity, why, "we do not lead any more");
        self.publish();
    }

    /// The deadline of a request that is sent now: no later than the end of the term.
    fn deadline(&self) -> Instant {
        let own = after(Instant::now(), self.params.request_timeout());
        match self.tenure.as_ref().and_then(Tenure::until) {
            Some(until) => own.min(until),
            None => own,
        }
    }

    /// Returns when to continue after a failure: at once after a first conflict, then after pauses that grow up to the retry
    /// period.
    fn pause_after(&mut self, failure: &LeaseFailure) -> Instant {
        self.failures = self.failures.saturating_add(1);
        // Only a read proves a Lease absent: another process may have created and lost it in the meantime.
        if let Some(seen) = &mut self.seen
            && seen.version == Version::Absent
            && !self.me.leading
        {
            seen.version = Version::Unsure;
        }
        let lease = self.describe();
        // Once, and then about twice a minute: an outage is no reason to flood the log.
        if self.failures % 16 == 1 && !failure.is_conflict() {
            warn!(%lease, error = %failure, failures = self.failures, "the Lease could not be read or written; trying again");
        } else {
            debug!(%lease, error = %failure, failures = self.failures, "the Lease could not be read or written");
        }
        let now = Instant::now();
        let retry_period = self.params.retry_period;
        let pause = match self.failures {
            1 if failure.is_conflict() => return now,
            _ if failure.is_throttling() => retry_period,
            failures => Backoff::pause_of(retry_period / 16, retry_period, failures),
        };
        let again = after(now, pause);
        match self.tenure.as_ref().and_then(Tenure::until) {
            // A loss is published in time.
            Some(until) => again.min(until),
            None => again,
        }
    }

    /// Ends the term, waits for the writes under it, and releases the Lease if it is still ours.
    async fn resign(&mut self) {
        if let Some(tenure) = self.tenure.take() {
            // Read first: `end` removes the time.
            let until = tenure.until();
            tenure.end();
            self.me.leading = false;
            self.claims.send_replace(Arc::new(Claim {
                holder: String::new(),
                term: None,
            }));
            info!(lease = %self.describe(), identity = %self.me.identity, "we do not lead any more: shutting down");
            // All writes that were bounded by the term are over by then.
            let _ = timeout_at(until.unwrap_or_else(Instant::now), tenure.unused()).await;
        }
        if self.me.acquired.is_none() {
            return;
        }
        match timeout(self.params.request_timeout(), self.release()).await {
            Ok(Ok(true)) => {
                info!(lease = %self.describe(), identity = %self.me.identity, "released")
            }
            Ok(Ok(false)) => {
                debug!(lease = %self.describe(), "not ours any more, nothing to release")
            }
            Ok(Err(error)) => {
                warn!(lease = %self.describe(), %error, "not released: others wait until it expires")
            }
            Err(_) => {
                warn!(lease = %self.describe(), "not released in time: others wait until it expires")
            }
        }
    }

    /// Tries until the Lease is released, or found to be another's (false).
    ///
    /// # Errors
    /// The API server refuses the credentials or the permission. An agent that is removed loses both before it stops.
    async fn release(&mut self) -> Result<bool, LeaseFailure> {
        self.failures = 0;
        if let Some(seen) = &mut self.seen
            && !seen
                .record
                .as_ref()
                .is_some_and(|record| record.is_of(&self.me))
        {
            // An acquisition was interrupted: it may have been stored.
            seen.version = Version::Unsure;
        }
        // The caller bounds the time of all tries.
        loop {
            let result = match (
                decide(self.seen.as_ref(), &self.me, Instant::now().into_std()),
                &self.seen,
            ) {
                (Action::Look, _) => self.look().await,
                (
                    Action::Renew,
                    Some(Observation {
                        record: Some(record),
                        ..
                    }),
                ) => {
                    let record = record.released(Timestamp::now());
                    match self.put(&record, self.deadline()).await {
                        Ok(()) => return Ok(true),
                        failed => failed,
                    }
                }
                _ => return Ok(false),
            };
            if let Err(failure) = result {
                if failure.is_forbidden() {
                    return Err(failure);
                }
                sleep_until(self.pause_after(&failure)).await;
            }
        }
    }

    fn describe(&self) -> String {
        format!("{}/{}", self.params.namespace, self.params.name)
    }
}

// === impl LeaseFailure ===

impl LeaseFailure {
    fn is_conflict(&self) -> bool {
        // 404: what was to be replaced is gone, as good as changed.
        matches!(self, Self::Refused(error) if error.is_conflict() || error.is_absent())
    }

    fn is_throttling(&self) -> bool {
        matches!(self, Self::Refused(error) if error.code() == 429)
    }

    fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(error) if matches!(error.code(), 401 | 403))
    }
}

fn set_record(object: &mut Value, record: &Record) {
    let spec = object.get_mut("spec").map_or(Value::Null, Value::take);
    object["spec"] = record.write(spec);
}

/// No clock comes within an hour of its end.
fn after(start: Instant, pause: Duration) -> Instant {
    start.checked_add(pause).unwrap_or(start)
}

#[cfg(test)]
mod tests;
