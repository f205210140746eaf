//! Watches each object, and reports.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use berth_api::GroupVersionResource;
use berth_hub::{Backoff, Call, CallError, HubApi};
use berth_policies::installed::{Installed, PolicyKind, PolicyName, State};
use berth_reconcile::{Item, WatchError, Watched, follow_one};
use berth_serve::metrics::gauges;
use futures::future::join_all;
use prometheus::{IntGaugeVec, Registry};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use crate::sight::{Part, Sight};

const GROUP: &str = "admissionregistration.k8s.io";

/// All that the API server serves of this group and version.
const DISCOVERY: &str = "/apis/admissionregistration.k8s.io/v1";

/// Where policies cannot be watched, that is tried again after half of this time to the whole.
const TRY_AGAIN: Duration = Duration::from_secs(600);

/// A change is reported after this time, with those that follow.
const SETTLE: Duration = Duration::from_secs(5);

/// Follows the policies of a hub, and reports their states as a metric and in the log.
pub struct Follower {
    api: HubApi,
    sight: Mutex<Sight>,
    changed: Notify,
    gauge: IntGaugeVec,
}

/// Why policies cannot be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unwatched {
    NotServed,
    Failed(String),
}

// === impl Follower ===

impl Follower {
    /// Registers the metric. Sends no request yet.
    ///
    /// # Panics
    /// The registry has the metric already.
    pub fn new(api: HubApi, registry: &Registry) -> Self {
        Self {
            api,
            sight: Mutex::default(),
            changed: Notify::new(),
            gauge: gauges(
                registry,
                "berth_admission_policies",
                "1 for the state of each policy of Berth in the API server. There are no values until a policy has been seen.",
                &["policy", "state"],
            ),
        }
    }

    /// Follows until the future is dropped.
    pub async fn run(&self) -> Infallible {
        tokio::select! {
            never = self.watch() => never,
            never = self.report() => never,
        }
    }

    async fn watch(&self) -> Infallible {
        let mut logged = None;
        loop {
            let why = match self.served().await {
                Ok(kinds) if kinds.is_empty() => Unwatched::NotServed,
                Ok(kinds) => Unwatched::Failed(self.follow(&kinds).await),
                Err(error) => Unwatched::Failed(error.to_string()),
            };
            if logged.as_ref() != Some(&why) {
                match &why {
                    Unwatched::NotServed => {
                        tracing::debug!("the API server has no admission policies to watch");
                    }
                    Unwatched::Failed(error) => tracing::info!(
                        error,
                        "the admission policies of the hub are not watched; manifests/server/controller-role.yaml grants it"
                    ),
                }
                logged = Some(why);
            }
            sleep(Backoff::pause_of(TRY_AGAIN, TRY_AGAIN, 0)).await;
        }
    }

    /// The kinds of policies that the API server serves.
    async fn served(&self) -> Result<Vec<PolicyKind>, CallError> {
        let answer = match self.api.call(Call::get(DISCOVERY)).await {
            Err(error) if error.code() == 404 => return Ok(Vec::new()),
            answer => answer?,
        };
        let served: Value = answer.json()?;
        let resources = served["resources"].as_array();
        let names: Vec<&Value> = resources
            .into_iter()
            .flatten()
            .map(|it| &it["name"])
            .collect();
        let is_served = |kind: &PolicyKind| {
            [kind.policies(), kind.bindings()]
                .iter()
                .all(|resource| names.iter().any(|name| *name == resource))
        };
        Ok(PolicyKind::ALL.into_iter().filter(is_served).collect())
    }

    /// Follows policies and bindings. Returns why that is of no use.
    async fn follow(&self, kinds: &[PolicyKind]) -> String {
        let watched = self.sight().begin(kinds);
        let (refused, mut refusals) = mpsc::unbounded_channel();
        let each = watched.into_iter().map(|(name, part)| {
            let refused = refused.clone();
            async move {
                let row = row(&name, part);
                follow_one(&self.api, &row, |found| match found {
                    Ok(object) => {
                        self.sight().saw(&name, part, object);
                        self.changed.notify_one();
                    }
                    Err(error) => {
                        if is_lasting(&error) {
                            // The receiver is gone if another refusal came first.
                            let _ = refused.send(error.to_string());
                        }
                    }
                })
                .await
            }
        });
        tokio::select! {
            Some(why) = refusals.recv() => why,
            _ = join_all(each) => "there are no policies to watch".to_owned(),
        }
    }

    async fn report(&self) -> Infallible {
        loop {
            self.changed.notified().await;
            sleep(SETTLE).await;
            let Some(report) = self.sight().report() else {
                continue;
            };
            self.set(&report.states);
            for change in &report.changes {
                log(change);
            }
        }
    }

    fn set(&self, states: &BTreeMap<PolicyName, State>) {
        for name in PolicyName::all() {
            for state in State::ALL {
                let is = states.get(name) == Some(&state);
                let labels = [name.short(), state.as_str()];
                self.gauge.with_label_values(&labels).set(i64::from(is));
            }
        }
    }

    fn sight(&self) -> MutexGuard<'_, Sight> {
        self.sight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

/// The row of an object.
fn row(name: &PolicyName, part: Part) -> Watched<Value> {
    let resource = match part {
        Part::Policy => name.kind.policies(),
        Part::Binding => name.kind.bindings(),
    };
    let kind = GroupVersionResource::new(GROUP, "v1", resource);
    let whole = |item: &Item<'_>| item.parse();
    Watched::new(resource, kind, whole).named(&name.name)
}

/// Returns true if the same request will fail again: the kind is no longer served, or the permission is missing.
fn is_lasting(error: &WatchError) -> bool {
    [401, 403, 404].contains(&error.code)
}

fn log(change: &Installed) {
    let policy = &*change.policy.name;
    let state = change.state.as_str();
    let differences = change.differences.join("; ");
    match change.state {
        State::Enforced => tracing::info!(policy, state, "an admission policy decides"),
        State::Audited if change.differences.is_empty() => tracing::info!(
            policy,
            state,
            "an admission policy only records what it would refuse"
        ),
        State::Audited | State::Unbound | State::Missing | State::Changed => tracing::warn!(
            policy,
            state,
            differences,
            "an admission policy does not decide as it should: berth policies prints it; docs/operations.md, \
             BerthAdmissionPolicyGone"
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
