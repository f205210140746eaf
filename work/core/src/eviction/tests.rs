use serde_json::json;

use super::*;

fn applied(name: &str, agent: &str, started: Option<&str>) -> AppliedManifestWork {
    serde_json::from_value(json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "AppliedManifestWork",
        "metadata": {"name": name},
        "spec": {"agentID": agent, "hubHash": "hub", "manifestWorkName": "w"},
        "status": {"evictionStartTime": started},
    }))
    .unwrap()
}

fn hub() -> HubView {
    HubView {
        hub_hash: "hub".to_owned(),
        agent_id: "agent".to_owned(),
        seen: Some(100),
        now: Some(100),
        applied: 10,
        missing: 1,
        confirmed: false,
    }
}

#[test]
fn a_missing_work_is_evicted_after_the_grace_period() {
    let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
    let hour = SignedDuration::from_hours(1);
    let until = |text: &str| Eviction::Wait(text.parse().unwrap());
    let restored = HubView {
        now: Some(99),
        ..hub()
    };
    let most = HubView {
        missing: 6,
        ..hub()
    };
    let confirmed = HubView {
        confirmed: true,
        ..most.clone()
    };
    let few = HubView {
        missing: 4,
        applied: 4,
        ..hub()
    };
    let half = HubView {
        missing: 5,
        ..hub()
    };
    let hold_most = Eviction::Hold(Hold::MostMissing {
        missing: 6,
        applied: 10,
    });
    let hold_restored = Eviction::Hold(Hold::Restored { seen: 100, now: 99 });
    let (started, old) = (Some("2026-01-01T00:30:00Z"), Some("2026-01-01T00:00:00Z"));
    for (sentence, name, agent, since, exists, hub, grace, expected) in [
        (
            "the work exists",
            "hub-w",
            "agent",
            None,
            true,
            hub(),
            hour,
            Eviction::Keep,
        ),
        (
            "it came back",
            "hub-w",
            "agent",
            started,
            true,
            hub(),
            hour,
            Eviction::Keep,
        ),
        (
            "missing",
            "hub-w",
            "agent",
            None,
            false,
            hub(),
            hour,
            Eviction::Start,
        ),
        (
            "the period runs",
            "hub-w",
            "agent",
            started,
            false,
            hub(),
            hour,
            until("2026-01-01T01:30:00Z"),
        ),
        (
            "the period is over",
            "hub-w",
            "agent",
            old,
            false,
            hub(),
            hour,
            Eviction::Evict,
        ),
        (
            "no period",
            "hub-w",
            "agent",
            Some("2026-01-01T01:00:00Z"),
            false,
            hub(),
            SignedDuration::ZERO,
            Eviction::Evict,
        ),
        (
            "a period of a century",
            "hub-w",
            "agent",
            old,
            false,
            hub(),
            SignedDuration::from_hours(876_000),
            Eviction::Keep,
        ),
        (
            "of another agent",
            "hub-w",
            "other",
            old,
            false,
            hub(),
            hour,
            Eviction::Foreign,
        ),
        (
            "of no agent",
            "hub-w",
            "",
            old,
            false,
            hub(),
            hour,
            Eviction::Foreign,
        ),
        (
            "of another hub",
            "old-w",
            "agent",
            None,
            false,
            hub(),
            hour,
            Eviction::Start,
        ),
        (
            "of another hub, with a work of that name",
            "old-w",
            "agent",
            old,
            true,
            hub(),
            hour,
            Eviction::Evict,
        ),
        (
            "of a hub whose hash begins alike",
            "hub2-w",
            "agent",
            old,
            true,
            hub(),
            hour,
            Eviction::Evict,
        ),
        (
            "the hub is restored",
            "hub-w",
            "agent",
            old,
            false,
            restored.clone(),
            hour,
            hold_restored,
        ),
        (
            "another hub is not held",
            "old-w",
            "agent",
            old,
            false,
            restored,
            hour,
            Eviction::Evict,
        ),
        (
            "most are missing",
            "hub-w",
            "agent",
            old,
            false,
            most,
            hour,
            hold_most,
        ),
        (
            "a user confirmed",
            "hub-w",
            "agent",
            old,
            false,
            confirmed,
            hour,
            Eviction::Evict,
        ),
        (
            "few are missing",
            "hub-w",
            "agent",
            old,
            false,
            few,
            hour,
            Eviction::Evict,
        ),
        (
            "half of them are missing",
            "hub-w",
            "agent",
            old,
            false,
            half,
            hour,
            Eviction::Evict,
        ),
        (
            "a clock that went back",
            "hub-w",
            "agent",
            Some("2026-06-01T00:00:00Z"),
            false,
            self::hub(),
            hour,
            until("2026-01-01T02:00:00Z"),
        ),
    ] {
        let applied = applied(name, agent, since);
        assert_eq!(
            eviction(&applied, exists, &hub, grace, now),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn a_hold_says_why() {
    let hold = Hold::MostMissing {
        missing: 6,
        applied: 10,
    };
    assert_eq!(
        hold.to_string(),
        "the hub looks restored from a backup: 6 of 10 ManifestWorks are missing on it"
    );
}
