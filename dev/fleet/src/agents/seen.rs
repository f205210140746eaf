//! What the hub reports of the clusters, and since when.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;
use tokio::time::sleep;

use crate::hub::{condition, name};

/// A cluster that has been available for this time stays so.
const SETTLED: Duration = Duration::from_secs(1);

/// The clusters, as a watch of the hub reports them.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<String, History>>);

#[derive(Debug, Default)]
struct History {
    now: Facts,
    since: Since,
}

/// What the hub reports of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    is_accepted: bool,
    is_available: bool,
    is_unknown: bool,
    is_tainted: bool,
}

/// When something was true of a cluster for the first time since the last mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) accepted: Option<Instant>,
    pub(crate) available: Option<Instant>,
    pub(crate) unknown: Option<Instant>,
    pub(crate) tainted: Option<Instant>,
    /// Available and without taints, and so ever since.
    pub(crate) well: Option<Instant>,
    /// The last time that it was well, and then was not.
    pub(crate) relapsed: Option<Instant>,
}

// === impl Seen ===

impl Seen {
    /// The hub reported this object at this time.
    pub(crate) fn sees(&self, object: &Value, at: Instant) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let mut all = self.lock();
        let history = all.entry(name.to_owned()).or_default();
        history.now = Facts::of(object);
        history.since.notes(history.now, at);
    }

    /// Forgets the times. What is true now counts as true since this time.
    pub(crate) fn mark(&self, at: Instant) {
        for history in self.lock().values_mut() {
            history.since = Since::default();
            history.since.notes(history.now, at);
        }
    }

    /// Of the first clusters of the fleet, for those of which both are known: the time from one to the other.
    pub(crate) fn times(
        &self,
        clusters: usize,
        from: impl Fn(usize, &Since) -> Option<Instant>,
        until: impl Fn(&Since) -> Option<Instant>,
    ) -> Vec<Duration> {
        let all = self.lock();
        let times = (0..clusters).filter_map(|number| {
            let since = &all.get(&name(number))?.since;
            Some(until(since)?.saturating_duration_since(from(number, since)?))
        });
        times.collect()
    }

    /// The number of these clusters of which this is known.
    pub(crate) fn count(
        &self,
        clusters: usize,
        known: impl Fn(&Since) -> Option<Instant>,
    ) -> usize {
        let all = self.lock();
        let found = (0..clusters).filter_map(|number| known(&all.get(&name(number))?.since));
        found.count()
    }

    /// Waits until the first clusters of the fleet are available and have no taints, and stay so.
    ///
    /// # Errors
    /// Some are not within the patience.
    pub(crate) async fn are_well(&self, clusters: usize, patience: Duration) -> Result<()> {
        let begun = Instant::now();
        let settled = |it: &Since| it.well.filter(|at| at.elapsed() >= SETTLED);
        loop {
            let well = self.count(clusters, settled);
            if well == clusters {
                return Ok(());
            }
            if begun.elapsed() > patience {
                bail!(
                    "{well} of {clusters} clusters are available and without taints after {} s",
                    patience.as_secs()
                );
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, History>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Facts ===

impl Facts {
    fn of(object: &Value) -> Self {
        let available = condition(object, "ManagedClusterConditionAvailable");
        let taints = object["spec"]["taints"].as_array();
        Self {
            is_accepted: object["spec"]["hubAcceptsClient"] == true,
            is_available: available == Some("True"),
            is_unknown: available == Some("Unknown"),
            is_tainted: taints.is_some_and(|taints| !taints.is_empty()),
        }
    }

    fn is_well(self) -> bool {
        self.is_available && !self.is_tainted
    }
}

// === impl Since ===

impl Since {
    fn notes(&mut self, facts: Facts, at: Instant) {
        for (first, is_true) in [
            (&mut self.accepted, facts.is_accepted),
            (&mut self.available, facts.is_available),
            (&mut self.unknown, facts.is_unknown),
            // A new cluster has the taint, too, until its agent reports.
            (&mut self.tainted, facts.is_unknown && facts.is_tainted),
            (&mut self.well, facts.is_well()),
        ] {
            if is_true {
                first.get_or_insert(at);
            }
        }
        if !facts.is_well() && self.well.take().is_some() {
            self.relapsed = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(number: usize, available: &str, is_tainted: bool) -> Value {
        let taints = if is_tainted {
            json!([{"key": "k"}])
        } else {
            json!([])
        };
        json!({
            "metadata": {"name": name(number)},
            "spec": {"hubAcceptsClient": true, "taints": taints},
            "status": {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": available}]},
        })
    }

    #[test]
    fn times_count_from_the_first_report_after_a_mark() {
        let (seen, start) = (Seen::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        seen.sees(&json!({"metadata": {"name": name(0)}}), at(0));
        assert_eq!(seen.count(1, |it| it.accepted), 0);
        seen.sees(&cluster(0, "", true), at(1));
        assert_eq!(seen.count(1, |it| it.tainted), 0, "it is new, not silent");
        seen.sees(&cluster(0, "True", true), at(3));
        seen.sees(&cluster(0, "True", false), at(4));
        seen.sees(&cluster(1, "True", false), at(9));
        let accepted = |_, it: &Since| it.accepted;
        assert_eq!(
            seen.times(1, accepted, |it| it.available),
            [Duration::from_secs(2)]
        );
        assert_eq!(seen.times(2, accepted, |it| it.well).len(), 2);

        seen.mark(at(10));
        assert_eq!(seen.count(2, |it| it.unknown), 0);
        seen.sees(&cluster(0, "Unknown", false), at(12));
        seen.sees(&cluster(0, "Unknown", true), at(13));
        seen.sees(&cluster(0, "Unknown", true), at(14));
        let begun = at(10);
        let times = |until: fn(&Since) -> Option<Instant>| seen.times(2, |_, _| Some(begun), until);
        assert_eq!(times(|it| it.tainted), [Duration::from_secs(3)]);

        seen.mark(at(20));
        assert_eq!(seen.count(2, |it| it.tainted), 1, "it still is");
        assert_eq!(seen.count(2, |it| it.well), 1, "the other one");
        seen.sees(&cluster(0, "True", false), at(21));
        seen.sees(&cluster(0, "Unknown", false), at(22));
        assert_eq!(seen.count(2, |it| it.well), 1, "it was well for a moment");
        assert_eq!(seen.count(2, |it| it.relapsed), 1);
        seen.sees(&cluster(0, "True", false), at(23));
        let well = seen.times(1, |_, _| Some(at(20)), |it| it.well);
        assert_eq!(well, [Duration::from_secs(3)]);
    }
}
