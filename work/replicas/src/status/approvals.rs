//! What the status says of clusters that wait for an approval.

use berth_api::conditions::manifest_work_replica_set;
use berth_api::text::shorten;

use super::{LONGEST, Report, Said, first};
use crate::set::ReplicaSet;

/// Names of clusters that wait for an approval, in a message. It counts the others.
const NAMED_WAITING: usize = 20;

/// Clusters that wait for an approval.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Their names.
    pub(crate) clusters: Vec<String>,
    /// How many clusters of the placement have the template once these have it.
    pub(crate) count: usize,
}

fn wait(clusters: usize) -> String {
    match clusters {
        1 => "1 cluster waits".to_owned(),
        clusters => format!("{clusters} clusters wait"),
    }
}

// === impl Report ===

impl Report<'_> {
    /// The number of clusters that wait for an approval.
    pub(super) fn waiting(&self) -> usize {
        let waiting = self.placements.iter().filter_map(|it| it.waiting.as_ref());
        waiting.map(|it| it.clusters.len()).sum()
    }

    pub(super) fn waits(&self) -> String {
        format!("{} for an approval", wait(self.waiting()))
    }

    /// Which clusters wait for an approval, and how to give it. The offer of an approval is the end of the message, and whole.
    pub(super) fn approval(&self, set: &ReplicaSet) -> Option<Said> {
        if !set.approval.is_required {
            return None;
        }
        let waiting = self.placements.iter();
        let waiting = waiting.filter_map(|it| Some((it.name, it.waiting.as_ref()?)));
        let mut message = String::new();
        for (placement, waiting) in waiting.clone() {
            let names: Vec<_> = waiting.clusters.iter().map(String::as_str).collect();
            message.push_str(&format!(
                "of placement {placement}, {} for an approval: {}; ",
                wait(names.len()),
                first(&names, NAMED_WAITING)
            ));
        }
        let waits = !message.is_empty();
        if waits {
            if set.approval.is_invalid {
                message.push_str("the annotation that approves is invalid; ");
            }
            let more = waiting.map(|(placement, it)| (placement, it.count));
            let offer = set.approval.offer(set.template.digest(), more);
            let offer = offer.words(&set.namespace, &set.name);
            let room = LONGEST.saturating_sub(offer.len());
            message = shorten(&message, room).into_owned() + &offer;
        }
        Some(Said {
            type_: manifest_work_replica_set::APPROVAL_PENDING,
            status: waits,
            reason: if waits {
                manifest_work_replica_set::STEP_NOT_APPROVED
            } else {
                manifest_work_replica_set::NOTHING_WAITS
            },
            message,
        })
    }
}
