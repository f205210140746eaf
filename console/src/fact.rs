//! What the table keeps of a ManagedCluster.

use berth_admin::answers::was_denied;
use berth_api::cluster::Taint;
use berth_api::conditions::{self, FALSE, TRUE, UNKNOWN, cluster};
use berth_api::text::cut_bytes;
use berth_api::{ManagedCluster, labels, lenient, quantity};
use berth_lifecycle_core::csrs;
use berth_lifecycle_core::facts::Cluster;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

use crate::answers::{ClusterRow, State, Text};
use crate::search::Version;
use crate::table::Change;

/// Upper bound on the labels, and on the claims, that a search sees of a cluster.
const MOST_SEARCHED: usize = 64;

/// Upper bound on the bytes of a label's or a claim's value that a search sees.
const LONGEST_SEARCHED: usize = 256;

/// Upper bound on the bytes of a cell of the table.
const LONGEST_CELL: usize = 256;

/// A ManagedCluster, as the table needs it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterFact {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) row: ClusterRow,
    pub(crate) set: String,
    pub(crate) version: Option<Version>,
    pub(crate) cpu: f64,
    pub(crate) memory: f64,
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    pub(crate) claims: Box<[(Box<str>, Box<str>)]>,
    pub(crate) urls: Box<[Text]>,
    pub(crate) accepted: bool,
    /// An admin has denied it, now or before.
    pub(crate) denied: bool,
    /// The agent has joined, and is not known to be silent.
    pub(crate) in_use: bool,
    pub(crate) joined: bool,
    /// For the timeline, which takes them out of the table's facts.
    pub(crate) changes: Box<[Change]>,
}

// === impl ClusterFact ===

impl ClusterFact {
    /// Reads a ManagedCluster. Fields that cannot be read count as absent.
    pub(crate) fn read(object: &Value) -> Self {
        Self::of(lenient::cluster(object).object)
    }

    fn of(object: ManagedCluster) -> Self {
        let metadata = &object.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let created = metadata.creation_timestamp.as_ref().map(|it| it.0);
        let stored_labels = metadata.labels.clone().unwrap_or_default();
        let set = stored_labels.get(labels::CLUSTER_SET).cloned();
        let set = set.unwrap_or_default();
        let status = object.status.clone().unwrap_or_default();
        let changes = Change::read(&status.conditions, metadata.managed_fields.as_ref());
        let version = status.version.map(|it| it.kubernetes).unwrap_or_default();
        let capacity = |resource: &str| status.capacity.get(resource).map(|it| it.0.clone());
        let [cpu, memory] = ["cpu", "memory"].map(|it| capacity(it).unwrap_or_default());
        let claims = status.cluster_claims.iter();
        let claims = searched(claims.map(|it| (it.name.as_str(), it.value.as_str())));
        let urls = object.spec.managed_cluster_client_configs.iter();
        let urls = urls.map(|it| cell(&it.url)).take(MOST_SEARCHED).collect();
        let cordoned = is_cordoned(&object.spec.taints);
        let taints = object.spec.taints.len();
        let cluster = Cluster::from(object);
        let Standing { state, since, why } = Standing::of(&cluster);
        Self {
            row: ClusterRow {
                name: cell(&name),
                state,
                since,
                why: cell(&why),
                set: cell(&set),
                version: cell(&version),
                cpu: cell(&cpu),
                memory: cell(&memory),
                cordoned,
                taints,
                created,
            },
            name,
            version: Version::read(&version),
            cpu: amount(&cpu),
            memory: amount(&memory),
            set,
            labels: searched(
                (stored_labels.iter()).map(|(key, value)| (key.as_str(), value.as_str())),
            ),
            claims,
            urls,
            accepted: cluster.accepted,
            denied: cluster.denied || was_denied(&cluster) && !cluster.accepted,
            in_use: csrs::is_in_use(&cluster),
            changes,
            joined: cluster.condition_status(cluster::JOINED) == Some(TRUE),
            uid: cluster.uid,
            resource_version: cluster.resource_version,
        }
    }
}

/// The state of a cluster, since when, and why.
pub(crate) struct Standing {
    pub(crate) state: State,
    pub(crate) since: Option<Timestamp>,
    pub(crate) why: String,
}

// === impl Standing ===

impl Standing {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let by = |state, condition: Option<&Condition>, shows_message: bool| Self {
            state,
            since: condition.map(|it| it.last_transition_time.0),
            why: match condition.filter(|_| shows_message) {
                Some(condition) => condition.message.clone(),
                None => String::new(),
            },
        };
        let available = cluster.condition(cluster::AVAILABLE);
        let joined = cluster.condition(cluster::JOINED);
        let accepted = cluster.condition(cluster::HUB_ACCEPTED);
        if cluster.deleting {
            return by(State::Deleting, cluster.condition(cluster::DELETING), true);
        }
        if !cluster.accepted {
            return match cluster.denied || was_denied(cluster) {
                true => by(State::Denied, accepted, true),
                false => by(State::Pending, accepted, true),
            };
        }
        if joined.is_none_or(|it| it.status != conditions::TRUE) {
            return by(State::Accepted, accepted, false);
        }
        match available.map(|it| it.status.as_str()) {
            Some(TRUE) => by(State::Available, available, false),
            Some(FALSE) => by(State::Unavailable, available, true),
            Some(UNKNOWN) => by(State::Unknown, available, true),
            _ => by(State::Joined, joined, false),
        }
    }
}

/// Returns true if `berth cordon` or `berth drain` has set its taint.
pub(crate) fn is_cordoned(taints: &[Taint]) -> bool {
    taints
        .iter()
        .any(|it| it.key == labels::TAINT_UNSCHEDULABLE)
}

fn cell(text: &str) -> Text {
    Text::line(cut_bytes(text, LONGEST_CELL))
}

/// What cannot be read sorts first.
fn amount(quantity: &str) -> f64 {
    quantity::amount(quantity).unwrap_or(-1.0)
}

fn searched<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Box<[(Box<str>, Box<str>)]> {
    let cut = |text: &str| Box::from(cut_bytes(text, LONGEST_SEARCHED));
    let pairs = pairs.take(MOST_SEARCHED);
    pairs.map(|(key, value)| (cut(key), cut(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_is_the_first_that_applies() {
        let condition = |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason, "message": format!("{type_} is {status}"), "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let joined = || condition("ManagedClusterJoined", "True", "");
        let available = |status: &str| condition("ManagedClusterConditionAvailable", status, "");
        let accepted =
            |status: &str, reason: &str| condition("HubAcceptedManagedCluster", status, reason);
        for (is_accepted, is_deleting, conditions, state, why) in [
            (false, false, vec![], State::Pending, ""),
            (
                false,
                false,
                vec![accepted("False", "HubClusterAdminDenied")],
                State::Denied,
                "HubAcceptedManagedCluster is False",
            ),
            (
                false,
                false,
                vec![accepted("True", "HubClusterAdminAccepted"), joined()],
                State::Denied,
                "HubAcceptedManagedCluster is True",
            ),
            (true, false, vec![], State::Accepted, ""),
            (true, false, vec![joined()], State::Joined, ""),
            (true, false, vec![available("True")], State::Accepted, ""),
            (
                true,
                false,
                vec![joined(), available("True")],
                State::Available,
                "",
            ),
            (
                true,
                false,
                vec![joined(), available("False")],
                State::Unavailable,
                "ManagedClusterConditionAvailable is False",
            ),
            (
                true,
                false,
                vec![joined(), available("Unknown")],
                State::Unknown,
                "ManagedClusterConditionAvailable is Unknown",
            ),
            (
                true,
                true,
                vec![joined(), available("True")],
                State::Deleting,
                "",
            ),
        ] {
            let mut object = json!({
                "metadata": {"name": "c1"},
                "spec": {"hubAcceptsClient": is_accepted},
                "status": {"conditions": conditions},
            });
            if is_deleting {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            let fact = ClusterFact::read(&object);
            assert_eq!((fact.row.state, fact.row.why.as_str()), (state, why));
        }
    }

    #[test]
    fn what_is_kept_of_a_cluster_is_bounded() {
        let labels: serde_json::Map<String, Value> = (0..1000)
            .map(|at| (format!("l{at:04}"), json!("x".repeat(1000))))
            .collect();
        let fact = ClusterFact::read(&json!({
            "metadata": {"name": "c1", "labels": labels},
            "status": {"version": {"kubernetes": "v".repeat(100_000)}},
        }));
        assert_eq!(fact.labels.len(), MOST_SEARCHED);
        assert_eq!(fact.labels[0].1.len(), LONGEST_SEARCHED);
        assert_eq!(fact.row.version.as_str().len(), LONGEST_CELL);
    }
}
