//! Taints of clusters, and the tolerations of a placement.
//!
//! `NoSelect` keeps every placement away that does not tolerate the taint, `NoSelectIfNew` only those that have not selected the cluster
//! yet. `PreferNoSelect` keeps no placement away. A toleration with `tolerationSeconds` ends that long after the taint was added. It applies to
//! every effect, as in OCM, although the API limits it to some.

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
                Err(_) => return (true, None),
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
            match end(toleration, taint) {
                Some(end) if end <= now => ended = ended.max(Some(end)),
                end => return Ok(end),
            }
        }
        Err(Untolerated { taint, ended })
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

/// Returns when the toleration of the taint ends; `None` if never.
fn end(toleration: &Toleration, taint: &Taint) -> Option<Timestamp> {
    let seconds = SignedDuration::from_secs(toleration.toleration_seconds?);
    let Some(added) = &taint.time_added else {
        return Some(LONG_PAST);
    };
    match added.0.checked_add(seconds) {
        Ok(end) => Some(end),
        // Beyond the calendar.
        Err(_) if seconds.is_positive() => None,
        Err(_) => Some(LONG_PAST),
    }
}
