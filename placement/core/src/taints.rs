//! Taints of clusters, and the tolerations of a placement.
//!
//! `NoSelect` keeps every placement away that does not tolerate the taint, `NoSelectIfNew` only those that have not selected the cluster
//! yet. `PreferNoSelect` keeps no placement away. A toleration with `tolerationSeconds` ends that long after the taint was added. It applies to
//! every effect, as in OCM, although the API limits it to some.

use berth_api::clocks::{AHEAD, believed};
use berth_api::cluster::{Taint, TaintEffect};
use berth_api::placement::{Toleration, TolerationOperator};
use jiff::{SignedDuration, Timestamp};

use crate::facts::Cluster;
use crate::misconfigured::Misconfiguration;

/// The tolerations of a placement, checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tolerations(Vec<Toleration>);

/// A taint that keeps a placement away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Untolerated<'a> {
    pub(crate) taint: &'a Taint,
    /// When the last toleration of it ended; `None` if no toleration matches it.
    pub(crate) ended: Option<Timestamp>,
    /// When it may be tolerated: its time, which is not believed before, is in the future. `None` for never.
    pub(crate) again: Option<Timestamp>,
}

/// A time that is long past: when a toleration of a taint without a time ended.
const LONG_PAST: Timestamp = Timestamp::MIN;

// === impl Tolerations ===

impl Tolerations {
    /// Checks the tolerations, and reports their mistakes.
    pub(crate) fn new(tolerations: &[Toleration], mistakes: &mut Vec<Misconfiguration>) -> Self {
        for (toleration, it) in tolerations.iter().enumerate() {
            let exists = it.operator == TolerationOperator::Exists;
            if it.key.is_empty() && !exists {
                mistakes.push(Misconfiguration::TolerationWithoutKey { toleration });
            }
            if exists && !it.value.is_empty() {
                mistakes.push(Misconfiguration::TolerationWithValue { toleration });
            }
        }
        Self(tolerations.to_vec())
    }

    /// The number of tolerations.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns until when the taints of the cluster are tolerated, `None` for ever; or the first taint that is not tolerated.
    pub(crate) fn judge<'a>(
        &self,
        cluster: &'a Cluster,
        is_selected: bool,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Untolerated<'a>> {
        let mut until = None;
        for taint in &cluster.taints {
            let keeps_away = match taint.effect {
                TaintEffect::PreferNoSelect => false,
                TaintEffect::NoSelectIfNew => !is_selected,
                TaintEffect::NoSelect | TaintEffect::Other(_) => true,
            };
            if keeps_away {
                until = earlier(until, self.tolerated(taint, now)?);
            }
        }
        Ok(until)
    }

    /// Returns true if a taint of the cluster with the effect `PreferNoSelect` is not tolerated; otherwise until when all of them are.
    pub(crate) fn avoids(&self, cluster: &Cluster, now: Timestamp) -> (bool, Option<Timestamp>) {
        let mut until = None;
        let soft = |taint: &&Taint| taint.effect == TaintEffect::PreferNoSelect;
        for taint in cluster.taints.iter().filter(soft) {
            match self.tolerated(taint, now) {
                Ok(end) => until = earlier(until, end),
                Err(untolerated) => return (true, untolerated.again),
            }
        }
        (false, until)
    }

    fn tolerated<'a>(
        &self,
        taint: &'a Taint,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Untolerated<'a>> {
        let mut ended = None;
        for toleration in self.0.iter().filter(|it| matches(it, taint)) {
            match end(toleration, taint, now) {
                Some(end) if end <= now => ended = ended.max(Some(end)),
                end => return Ok(end),
            }
        }
        let added = taint.time_added.as_ref().filter(|_| ended.is_some());
        let believed = added.and_then(|it| it.0.checked_sub(AHEAD).ok());
        Err(Untolerated {
            taint,
            ended,
            again: believed.filter(|it| *it > now),
        })
    }
}

/// Returns the earlier of two times; `None` is never.
pub(crate) fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    [one, other].into_iter().flatten().min()
}

fn matches(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = match &toleration.effect {
        None => true,
        Some(TaintEffect::Other(any)) if any.is_empty() => true,
        Some(effect) => *effect == taint.effect,
    };
    let value = match &toleration.operator {
        TolerationOperator::Equal => toleration.value == taint.value,
        TolerationOperator::Other(equal) if equal.is_empty() => toleration.value == taint.value,
        TolerationOperator::Exists => true,
        TolerationOperator::Other(_) => false,
    };
    effect && value && (toleration.key.is_empty() || toleration.key == taint.key)
}

/// Returns when the toleration of the taint ends; `None` if never. A time far ahead would delay the end for ever: it counts as none.
fn end(toleration: &Toleration, taint: &Taint, now: Timestamp) -> Option<Timestamp> {
    let seconds = SignedDuration::from_secs(toleration.toleration_seconds?);
    let added = taint.time_added.as_ref().map(|it| it.0);
    let Some(added) = believed(added, [], now) else {
        return Some(LONG_PAST);
    };
    match added.checked_add(seconds) {
        Ok(end) => Some(end),
        // Beyond the calendar.
        Err(_) if seconds.is_positive() => None,
        Err(_) => Some(LONG_PAST),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_far_ahead_delays_no_end() {
        let now: Timestamp = "2026-08-11T12:00:00Z".parse().unwrap();
        let at = |minutes: i64| now + SignedDuration::from_mins(minutes);
        let far: Timestamp = "2090-01-01T00:00:00Z".parse().unwrap();
        let toleration = json!({"key": "a", "operator": "Exists", "tolerationSeconds": 20 * 60});
        let for_ever = json!({"key": "a", "operator": "Exists"});
        for (added, toleration, expected) in [
            (Some(at(-10)), &toleration, Ok(Some(at(10)))),
            (Some(at(-20)), &toleration, Err((Some(at(0)), None))),
            (None, &toleration, Err((Some(LONG_PAST), None))),
            // Another clock may be a little ahead.
            (Some(at(5)), &toleration, Ok(Some(at(25)))),
            (
                Some(at(6)),
                &toleration,
                Err((Some(LONG_PAST), Some(at(1)))),
            ),
            (
                Some(far),
                &toleration,
                Err((Some(LONG_PAST), far.checked_sub(AHEAD).ok())),
            ),
            (Some(far), &for_ever, Ok(None)),
        ] {
            let parsed = serde_json::from_value(toleration.clone()).unwrap();
            let tolerations = Tolerations::new(&[parsed], &mut Vec::new());
            let taint = Taint {
                key: "a".to_owned(),
                value: String::new(),
                effect: TaintEffect::NoSelect,
                time_added: added.map(Time),
            };
            let cluster = Cluster {
                taints: vec![taint],
                ..Cluster::default()
            };
            let judged = tolerations.judge(&cluster, true, now);
            let judged = judged.map_err(|it| (it.ended, it.again));
            assert_eq!(judged, expected, "{added:?} {toleration:?}");
        }
    }
}
