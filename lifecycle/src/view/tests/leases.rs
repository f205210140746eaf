//! Renewals of leases, and silence.

use super::*;

#[test]
fn a_renewal_concerns_nobody_either() {
    let (mut view, now) = (view(), now());
    let spec = json!({"hubAcceptsClient": true});
    let mut object = cluster("c1", 5, spec);
    object.value["status"] = json!({"conditions": [
        {"type": "ManagedClusterConditionClockSynced", "status": "True", "reason": "r", "message": "", "lastTransitionTime": now.wall},
    ]});
    view.apply(Kind::Cluster, &object, Source::Watch, now);
    watched(&mut view, lease("c1", 6, now.wall), now);
    view.wakes();
    let later = later(now, Duration::from_secs(60));
    watched(&mut view, lease("c1", 7, later.wall), later);
    assert_eq!(view.wakes(), []);
    assert_eq!(
        view.clusters["c1"].lease.as_ref().unwrap().renewed,
        later.instant
    );
    // Unless its clock is wrong.
    watched(
        &mut view,
        lease("c1", 8, now.wall + Duration::from_secs(7200)),
        later,
    );
    assert_eq!(view.wakes(), [cluster_key("c1")]);
}

#[test]
fn nobody_is_silent_while_nobody_listens() {
    let (mut view, begun) = (view(), now());
    view.apply(
        Kind::Cluster,
        &cluster("c1", 5, json!({})),
        Source::Watch,
        begun,
    );
    watched(&mut view, lease("c1", 6, begun.wall), begun);
    let renewed = |view: &View| view.clusters["c1"].lease.as_ref().unwrap().renewed;
    let first = renewed(&view);
    let minute = |minutes: u64| later(begun, Duration::from_secs(60 * minutes));
    view.lost_sight(Kind::Lease, minute(1));
    for minutes in 1..10 {
        view.lost_sight(Kind::Lease, minute(minutes));
        assert!(view.is_blind(minute(minutes)));
        // The cluster is checked again without an event.
        assert!(view.sight() > Some(minute(minutes).instant));
    }
    view.listing(Kind::Lease);
    watched(&mut view, lease("c1", 6, begun.wall), minute(10));
    view.listed(Kind::Lease, minute(10));
    assert!(!view.is_blind(minute(10)));
    assert_eq!(view.sight(), None);
    assert_eq!(
        renewed(&view) - first,
        Duration::from_secs(9 * 60),
        "the time in which it was not seen does not count"
    );
    assert!(view.wakes().contains(&cluster_key("c1")));
    // A resumed watch without events counts as working after a while.
    view.lost_sight(Kind::Lease, minute(11));
    assert!(view.is_blind(minute(11)));
    assert!(!view.is_blind(minute(12)));
}

#[test]
fn a_renewal_that_was_asked_for_counts_and_is_no_measure_of_clocks() {
    let mut view = view();
    let start = now();
    let read = |view: &mut View, version, now: Now| {
        let lease = lease("c1", version, start.wall + Duration::from_secs(version));
        view.apply(Kind::Lease, &lease, Source::Read, now);
        let lease = view.lease("c1").unwrap();
        (lease.renewed, lease.observed_wall)
    };
    read(&mut view, 1, start);
    let soon = later(start, Duration::from_secs(60));
    assert_eq!(read(&mut view, 2, soon), (soon.instant, None));
    // The same lease again is no renewal.
    let late = later(start, Duration::from_secs(120));
    assert_eq!(read(&mut view, 2, late), (soon.instant, None));
    view.excuse("c1", late);
    view.excuse("nobody", late);
    assert_eq!(view.lease("c1").unwrap().renewed, late.instant);
}

/// A new leader sees the lease of an agent whose clock is an hour behind.
#[test]
fn a_new_leader_takes_no_wrong_clock_for_silence() {
    let mut view = view();
    let start = now();
    let hour = Duration::from_secs(3600);
    let is_expired = |view: &View, now: Now| {
        let (cluster, lease) = (view.cluster("c1").unwrap(), view.lease("c1").unwrap());
        berth_lifecycle_core::heartbeat::is_expired(cluster, lease, now)
    };
    watched(&mut view, lease("c1", 5, start.wall - hour), start);
    view.apply(
        Kind::Cluster,
        &cluster("c1", 6, json!({})),
        Source::Watch,
        start,
    );
    assert!(!is_expired(&view, start));
    // The time in which leases are not watched does not count.
    let minute = |minutes: u64| later(start, Duration::from_secs(60 * minutes));
    view.lost_sight(Kind::Lease, minute(4));
    view.listing(Kind::Lease);
    watched(&mut view, lease("c1", 5, start.wall - hour), minute(8));
    view.listed(Kind::Lease, minute(8));
    assert!(!is_expired(&view, minute(8)));
    assert!(is_expired(&view, minute(9)), "five minutes were watched");
    // From the first observed renewal on, the agent's clock does not matter.
    watched(&mut view, lease("c1", 7, minute(9).wall - hour), minute(9));
    assert_eq!(view.lease("c1").unwrap().first_seen, None);
    assert!(!is_expired(&view, minute(13)));
    assert!(is_expired(&view, minute(14)));
}

/// After a restore of the hub, its versions are lower than those in the view.
#[test]
fn an_answer_that_the_view_refuses_is_asked_for_once() {
    let mut view = view();
    let start = now();
    let silent = later(start, Duration::from_secs(600));
    view.apply(
        Kind::Cluster,
        &accepted_cluster("c1", 90),
        Source::Watch,
        start,
    );
    watched(&mut view, lease("c1", 91, start.wall), start);
    let asks = |view: &View| {
        let plan = view.with_cluster("c1", None, |facts| {
            berth_lifecycle_core::clusters::decide(facts, silent)
        });
        plan.unwrap()
            .writes
            .iter()
            .any(|write| write.reconciler == "heartbeat")
    };
    assert!(asks(&view));
    let known = Some(start.wall);
    let confirmed = lease("c1", 91, start.wall);
    assert!(view.confirms_silence("c1", &confirmed, known, silent));
    assert!(asks(&view), "it is silent");
    let restored = lease("c1", 40, start.wall - Duration::from_secs(60));
    assert!(!view.confirms_silence("c1", &restored, known, silent));
    assert!(!asks(&view), "the silence begins anew");
    // The watch reported a renewal during the request.
    let mut other = later(start, Duration::from_secs(590));
    watched(&mut view, lease("c1", 92, other.wall), other);
    other.instant += Duration::from_secs(600);
    assert!(!view.confirms_silence("c1", &confirmed, known, other));
}
