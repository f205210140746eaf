//! The taints of clusters that are not available.
//!
//! Follows OCM's taintController: a cluster whose condition Available is False is `unavailable`, one without or with
//! Unknown is `unreachable`. Both taints have the effect `NoSelect` and no value. All other taints, also those with these keys
//! but another effect or value, belong to users: they keep their times and their order.

use berth_api::cluster::{Taint, TaintEffect};
use berth_api::{conditions, labels};

use crate::cluster_plan::ClusterPlan;
use crate::facts::{ClusterFacts, Now};
use crate::status;
use berth_api::plan::Event;

#[cfg(test)]
mod tests;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "taints";

/// The API server refuses an Event with a longer note (bytes).
const LONGEST_NOTE: usize = 1024;

/// Plans the writes that are due.
pub fn decide(facts: &ClusterFacts<'_>, _now: Now, plan: &mut ClusterPlan) {
    let Some(cluster) = facts.cluster.filter(|cluster| !cluster.deleting) else {
        return;
    };
    let wanted = match cluster.condition_status(conditions::cluster::AVAILABLE) {
        None | Some(conditions::UNKNOWN) => Some(labels::TAINT_UNREACHABLE),
        Some(conditions::FALSE) => Some(labels::TAINT_UNAVAILABLE),
        Some(conditions::TRUE) => None,
        // The CRD allows no other status.
        Some(_) => return,
    };
    let is_surplus = |taint: &&Taint| is_ours(taint) && Some(taint.key.as_str()) != wanted;
    // A taint of this key and effect with a value has the same effect on placements. The gate would refuse a second one beside
    // it, and all other changes of the patch.
    let missing = wanted.filter(|wanted| {
        !cluster
            .taints
            .iter()
            .any(|taint| taint.key == *wanted && taint.effect == TaintEffect::NoSelect)
    });
    if missing.is_none() && !cluster.taints.iter().any(|taint| is_surplus(&taint)) {
        return;
    }
    let kept = cluster.taints.iter().filter(|taint| !is_surplus(taint));
    let taints: Vec<Taint> = kept.cloned().chain(missing.map(taint)).collect();
    plan.changes.events.push(Event {
        warning: false,
        reason: "ManagedClusterConditionAvailableUpdated",
        note: note(&taints),
        namespace: None,
    });
    plan.changes.taints = Some(taints);
}

/// A taint of ours. The gate adds its time, and refuses a time in a request; without a gate it has no time, as in OCM.
fn taint(key: &str) -> Taint {
    Taint {
        effect: TaintEffect::NoSelect,
        key: key.to_owned(),
        time_added: None,
        value: String::new(),
    }
}

fn is_ours(taint: &Taint) -> bool {
    labels::is_taint_of_hub(&taint.key)
        && taint.effect == TaintEffect::NoSelect
        && taint.value.is_empty()
}

/// OCM's message, with the taints as Go prints them, cut to the length of a note.
fn note(taints: &[Taint]) -> String {
    let mut note = "Update the original taints to the [".to_owned();
    for (at, taint) in taints.iter().enumerate() {
        if note.len() > LONGEST_NOTE {
            break;
        }
        let Taint {
            effect,
            key,
            time_added,
            value,
        } = taint;
        let effect = effect.as_str();
        let time = time_added.as_ref().map_or_else(
            || "0001-01-01 00:00:00 +0000 UTC".to_owned(),
            |time| time.0.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string(),
        );
        let space = if at == 0 { "" } else { " " };
        note += &format!("{space}{{Key:{key} Value:{value} Effect:{effect} TimeAdded:{time}}}");
    }
    note.push(']');
    status::shortened(note, LONGEST_NOTE)
}
