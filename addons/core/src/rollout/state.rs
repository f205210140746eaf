//! Where the rollout of an add-on's configs is on a cluster.

use berth_api::conditions::{addon, condition_of};
use berth_rollout::{RolloutState, RolloutStatus};
use jiff::Timestamp;

use crate::config::{Desired, is_referenced};
use crate::facts::OnCluster;

/// Returns where the rollout of the desired configs is.
pub(super) fn state(on: &OnCluster, desired: &[Desired]) -> RolloutState {
    let progressing = condition_of(&on.conditions, addon::PROGRESSING);
    let reason = progressing.map_or("", |it| &*it.reason);
    let since = progressing.map(|it| it.last_transition_time.0);
    let since = since.filter(|it| *it > Timestamp::UNIX_EPOCH);
    if !is_referenced(desired, &on.references) {
        return RolloutState {
            status: RolloutStatus::ToApply,
            since: None,
        };
    }
    let mut references = on.references.iter();
    let is_applied = references.all(|it| it.last_applied_config == it.desired_config);
    let is_completed = reason == addon::COMPLETED;
    let status = match (is_applied, reason) {
        (true, _) => RolloutStatus::Succeeded,
        (false, addon::FAILED) => RolloutStatus::Failed,
        (false, _) => RolloutStatus::Progressing,
    };
    RolloutState {
        status,
        // The time of a completed progress is not that of one that has just begun.
        since: since.filter(|_| is_applied == is_completed),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SINCE: &str = "2026-01-01T00:00:00Z";

    /// A reference to `n/x`, with the hashes of what is desired and what is applied.
    fn on(desired: &str, applied: Option<&str>, reason: Option<&str>) -> OnCluster {
        let config = |hash: &str| json!({"namespace": "n", "name": "x", "specHash": hash});
        let conditions: Vec<Value> = (reason.iter())
            .map(|reason| {
                json!({
                    "type": "Progressing", "status": "True", "reason": reason, "message": "",
                    "lastTransitionTime": SINCE,
                })
            })
            .collect();
        OnCluster {
            references: serde_json::from_value(json!([{
                "group": "g", "resource": "r",
                "desiredConfig": config(desired), "lastAppliedConfig": applied.map(config),
            }]))
            .unwrap(),
            conditions: serde_json::from_value(json!(conditions)).unwrap(),
            ..OnCluster::default()
        }
    }

    #[test]
    fn the_state_is_that_of_the_configs_that_are_rolled_out() {
        use RolloutStatus::{Failed, Progressing, Succeeded, ToApply};
        let wanted = |hash: &str| Desired {
            group: "g".to_owned(),
            resource: "r".to_owned(),
            config: serde_json::from_value(
                json!({"namespace": "n", "name": "x", "specHash": hash}),
            )
            .unwrap(),
        };
        for (sentence, on, expected, has_time) in [
            (
                "another hash",
                on("0", Some("0"), Some("Completed")),
                ToApply,
                false,
            ),
            (
                "another hash, in progress",
                on("0", None, Some("Progressing")),
                ToApply,
                false,
            ),
            (
                "in progress",
                on("1", Some("0"), Some("Progressing")),
                Progressing,
                true,
            ),
            (
                "it waits for its manager",
                on("1", None, Some("WaitingForManifestApplied")),
                Progressing,
                true,
            ),
            ("failed", on("1", Some("0"), Some("Failed")), Failed, true),
            (
                "nothing is reported",
                on("1", None, None),
                Progressing,
                false,
            ),
            (
                "completed before the change",
                on("1", Some("0"), Some("Completed")),
                Progressing,
                false,
            ),
            (
                "completed",
                on("1", Some("1"), Some("Completed")),
                Succeeded,
                true,
            ),
            (
                "applied, but not completed",
                on("1", Some("1"), Some("Progressing")),
                Succeeded,
                false,
            ),
        ] {
            let found = state(&on, &[wanted("1")]);
            assert_eq!(found.status, expected, "{sentence}");
            let since = has_time.then(|| SINCE.parse().unwrap());
            assert_eq!(found.since, since, "{sentence}");
        }
        let none = OnCluster::default();
        assert_eq!(state(&none, &[]).status, Succeeded, "no config at all");
        assert_eq!(state(&none, &[wanted("1")]).status, ToApply);
        assert_eq!(
            state(&on("1", None, None), &[]).status,
            ToApply,
            "one too many"
        );
    }
}
