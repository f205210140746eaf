#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::kinds::Kind;
use crate::engine::object::{PartialObject, Renewal};

fn now() -> Now {
    Now {
        instant: Instant::now(),
        wall: Timestamp::now(),
    }
}

fn later(now: Now, by: Duration) -> Now {
    Now {
        instant: now.instant + by,
        wall: now.wall + by,
    }
}

fn view() -> Seeing {
    Seeing::new(Config::default())
}

/// The view, given what is news: as the engine does it.
struct Seeing {
    view: View,
    seen: berth_reconcile::Seen<Kind>,
}

impl Seeing {
    fn new(config: Config) -> Self {
        Self {
            view: View::new(Arc::new(config)),
            seen: berth_reconcile::Seen::default(),
        }
    }

    fn apply(&mut self, kind: Kind, object: &PartialObject, source: Source, now: Now) {
        if self.seen.is_news(kind, &object.metadata, source) {
            self.lists_leases = kind == Kind::Lease && self.seen.is_listing(kind);
            self.view.apply(kind, object, source, now);
        }
    }

    fn gone(&mut self, kind: Kind, object: &PartialObject, _: Source) {
        if self.seen.is_gone(kind, &object.metadata) {
            self.view.remove(kind, object.namespace(), object.name());
        }
    }

    fn listing(&mut self, kind: Kind) {
        self.seen.listing(kind);
    }

    fn listed(&mut self, kind: Kind, now: Now) {
        for (namespace, name) in self.seen.listed(kind, None) {
            self.view.remove(kind, &namespace, &name);
        }
        if kind == Kind::Lease {
            self.view.sees_leases(now);
        }
    }

    /// The hub answers with this lease.
    fn confirms_silence(
        &mut self,
        cluster: &str,
        lease: &PartialObject,
        known: Option<Timestamp>,
        now: Now,
    ) -> bool {
        self.apply(Kind::Lease, lease, Source::Read, now);
        let answered = lease.renew_time();
        self.view.confirms_silence(cluster, answered, known, now)
    }
}

impl std::ops::Deref for Seeing {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl std::ops::DerefMut for Seeing {
    fn deref_mut(&mut self) -> &mut View {
        &mut self.view
    }
}

fn object(value: Value) -> PartialObject {
    serde_json::from_value(value).unwrap()
}

fn cluster(name: &str, version: u64, spec: Value) -> PartialObject {
    object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": name, "uid": "u", "resourceVersion": version.to_string(),
            "labels": {"cluster.open-cluster-management.io/clusterset": "a"},
        },
        "spec": spec,
    }))
}

/// One whose agent is watched.
fn accepted_cluster(name: &str, version: u64) -> PartialObject {
    let mut object = cluster(name, version, json!({"hubAcceptsClient": true}));
    object.value["status"] = json!({"conditions": [{
        "type": "HubAcceptedManagedCluster", "status": "True", "reason": "r", "message": "",
        "lastTransitionTime": Timestamp::now(),
    }]});
    object
}

fn lease(cluster: &str, version: u64, renewed: Timestamp) -> PartialObject {
    object(json!({
        "metadata": {
            "name": "managed-cluster-lease", "namespace": cluster, "resourceVersion": version.to_string(),
            "labels": {"open-cluster-management.io/cluster-name": cluster},
        },
        "spec": {"renewTime": renewed},
    }))
}

/// The watch tells of this lease.
fn watched(view: &mut Seeing, lease: PartialObject, now: Now) {
    let lease: PartialObject<Renewal> = serde_json::from_value(lease.value).unwrap();
    if view
        .seen
        .is_news(Kind::Lease, &lease.metadata, Source::Watch)
    {
        view.lists_leases = view.seen.is_listing(Kind::Lease);
        view.apply_lease(&lease, Source::Watch, now);
    }
}

fn set(name: &str, version: u64, selector: Value) -> PartialObject {
    object(json!({
        "metadata": {"name": name, "resourceVersion": version.to_string()},
        "spec": {"clusterSelector": selector},
    }))
}

fn cluster_key(name: &str) -> Key {
    Key::Cluster(name.into())
}

/// The version of a cluster that is known.
fn known(view: &View, name: &str) -> Option<String> {
    Some(view.cluster(name)?.resource_version.clone())
}

#[test]
fn what_a_write_was_answered_with_is_seen_at_once_and_stays() {
    let (mut view, now) = (view(), now());
    let accepts = |accepts: bool| json!({"hubAcceptsClient": accepts});
    view.apply(
        Kind::Cluster,
        &cluster("c1", 5, accepts(false)),
        Source::Watch,
        now,
    );
    assert_eq!(view.wakes(), [Key::CommonRoles, cluster_key("c1")]);
    view.apply(
        Kind::Cluster,
        &cluster("c1", 8, accepts(true)),
        Source::Write,
        now,
    );
    assert_eq!(known(&view, "c1").unwrap(), "8");
    assert_eq!(view.wakes(), [cluster_key("c1")]);
    for late in [6, 8] {
        view.apply(
            Kind::Cluster,
            &cluster("c1", late, accepts(false)),
            Source::Watch,
            now,
        );
        assert_eq!(known(&view, "c1").unwrap(), "8");
        assert_eq!(view.wakes(), []);
    }
    view.apply(
        Kind::Cluster,
        &cluster("c1", 9, accepts(false)),
        Source::Watch,
        now,
    );
    assert_eq!(known(&view, "c1").unwrap(), "9");
}

#[test]
fn a_late_answer_brings_nothing_back_to_life() {
    let (mut view, now) = (view(), now());
    view.apply(
        Kind::Cluster,
        &cluster("c1", 5, json!({})),
        Source::Watch,
        now,
    );
    view.gone(Kind::Cluster, &cluster("c1", 9, json!({})), Source::Watch);
    assert_eq!(known(&view, "c1"), None);
    view.apply(
        Kind::Cluster,
        &cluster("c1", 7, json!({})),
        Source::Write,
        now,
    );
    assert_eq!(
        known(&view, "c1"),
        None,
        "it was written before it was deleted"
    );
    // One that was made anew meanwhile stays.
    view.apply(
        Kind::Cluster,
        &cluster("c1", 12, json!({})),
        Source::Write,
        now,
    );
    view.gone(Kind::Cluster, &cluster("c1", 11, json!({})), Source::Watch);
    assert_eq!(known(&view, "c1").unwrap(), "12");
}

#[test]
fn what_a_list_does_not_name_is_gone() {
    let (mut view, now) = (view(), now());
    for name in ["c1", "c2"] {
        view.apply(
            Kind::Cluster,
            &cluster(name, 5, json!({})),
            Source::Watch,
            now,
        );
        watched(&mut view, lease(name, 6, now.wall), now);
    }
    view.listing(Kind::Cluster);
    view.apply(
        Kind::Cluster,
        &cluster("c2", 5, json!({})),
        Source::Watch,
        now,
    );
    // Made while the list was under way, and so not in it.
    view.apply(
        Kind::Cluster,
        &cluster("c3", 20, json!({})),
        Source::Write,
        now,
    );
    view.wakes();
    view.listed(Kind::Cluster, now);
    let there: Vec<_> = ["c1", "c2", "c3"]
        .map(|name| known(&view, name).is_some())
        .into();
    assert_eq!(there, [false, true, true]);
    assert!(view.wakes().contains(&cluster_key("c1")));
    assert_eq!(view.existing, 2);
    view.listing(Kind::Lease);
    view.listed(Kind::Lease, now);
    assert!(view.clusters["c2"].lease.is_none());
    assert!(!view.clusters.contains_key("c1"), "nothing is left of it");
}

#[test]
fn what_an_agent_reports_of_nodes_and_claims_concerns_nobody() {
    let (mut view, now) = (view(), now());
    let mut report = cluster("c1", 5, json!({"hubAcceptsClient": true}));
    view.apply(Kind::Cluster, &report, Source::Watch, now);
    view.wakes();
    report.value["status"] =
        json!({"capacity": {"cpu": "8"}, "clusterClaims": [{"name": "id", "value": "1"}]});
    report.value["metadata"]["resourceVersion"] = "6".into();
    report.metadata.resource_version = "6".into();
    view.apply(Kind::Cluster, &report, Source::Watch, now);
    assert_eq!(view.wakes(), []);
    assert_eq!(known(&view, "c1").unwrap(), "6", "the next patch names it");
}

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
    // Unless its clock is off.
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
        // It is looked at again, though nobody says anything.
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
    // A watch that went on without a list, and has nothing to tell, is taken to work after a while.
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
    // The same again is no renewal.
    let late = later(start, Duration::from_secs(120));
    assert_eq!(read(&mut view, 2, late), (soon.instant, None));
    view.excuse("c1", late);
    view.excuse("nobody", late);
    assert_eq!(view.lease("c1").unwrap().renewed, late.instant);
}

/// The leader is a new one: it sees the lease of an agent whose clock is an hour behind.
#[test]
fn a_new_leader_takes_no_wrong_clock_for_silence() {
    let mut view = view();
    let start = now();
    let hour = Duration::from_secs(3600);
    let is_expired = |view: &View, now: Now| {
        let (cluster, lease) = (view.cluster("c1").unwrap(), view.lease("c1").unwrap());
        crate::heartbeat::is_expired(cluster, lease, now)
    };
    watched(&mut view, lease("c1", 5, start.wall - hour), start);
    view.apply(
        Kind::Cluster,
        &cluster("c1", 6, json!({})),
        Source::Watch,
        start,
    );
    assert!(!is_expired(&view, start));
    // Time in which leases are not watched does not count.
    let minute = |minutes: u64| later(start, Duration::from_secs(60 * minutes));
    view.lost_sight(Kind::Lease, minute(4));
    view.listing(Kind::Lease);
    watched(&mut view, lease("c1", 5, start.wall - hour), minute(8));
    view.listed(Kind::Lease, minute(8));
    assert!(!is_expired(&view, minute(8)));
    assert!(is_expired(&view, minute(9)), "five minutes were watched");
    // From the first renewal on, only what was seen counts.
    watched(&mut view, lease("c1", 7, minute(9).wall - hour), minute(9));
    assert_eq!(view.lease("c1").unwrap().first_seen, None);
    assert!(!is_expired(&view, minute(13)));
    assert!(is_expired(&view, minute(14)));
}

/// The hub was restored: its versions are lower than those that the view holds.
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
        let plan = view.with_cluster("c1", None, |facts| crate::clusters::decide(facts, silent));
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
    // The watch told of a renewal while the hub was asked.
    let mut other = later(start, Duration::from_secs(590));
    watched(&mut view, lease("c1", 92, other.wall), other);
    other.instant += Duration::from_secs(600);
    assert!(!view.confirms_silence("c1", &confirmed, known, other));
}

#[test]
fn one_object_that_cannot_be_read_disturbs_no_other() {
    let (mut view, now) = (view(), now());
    view.apply(
        Kind::Cluster,
        &cluster("good", 4, json!({})),
        Source::Watch,
        now,
    );
    view.apply(
        Kind::Cluster,
        &cluster("bad", 5, json!({"hubAcceptsClient": "yes"})),
        Source::Watch,
        now,
    );
    assert!(view.cluster("good").is_some());
    let bad = view.cluster("bad").unwrap();
    assert!(!bad.accepted, "what is no yes is no acceptance");
    assert_eq!(bad.unreadable.to_string(), "spec.hubAcceptsClient");
    assert_eq!(view.census(now).unreadable, 1);
    view.apply(
        Kind::Cluster,
        &cluster("bad", 6, json!({"hubAcceptsClient": true})),
        Source::Watch,
        now,
    );
    let bad = view.cluster("bad").unwrap();
    assert!(bad.accepted && bad.unreadable.is_empty());
    assert_eq!(view.census(now).unreadable, 0);
    for kind in Kind::ALL {
        let strange =
            object(json!({"metadata": {"name": "x", "namespace": "y"}, "spec": 7, "status": []}));
        view.apply(kind, &strange, Source::Watch, now);
        view.gone(kind, &strange, Source::Watch);
    }
    assert!(view.cluster("good").is_some());
}

#[test]
fn a_cluster_with_a_field_that_cannot_be_read_is_one_all_the_same() {
    let (mut view, now) = (view(), now());
    let mut only = cluster("c1", 4, json!({"hubAcceptsClient": true})).value;
    only["metadata"]["finalizers"] = json!(["a/b"]);
    let apply = |view: &mut Seeing, value: &Value| {
        view.apply(Kind::Cluster, &object(value.clone()), Source::Watch, now);
    };
    apply(&mut view, &only);
    let condition = |type_: &str, time: &str| json!({"type": type_, "status": "True", "reason": "R", "message": "", "lastTransitionTime": time});
    only["metadata"]["resourceVersion"] = json!("5");
    only["status"]["conditions"] = json!([
        condition("A", "9999-12-31T23:59:59Z"),
        condition("B", "2026-01-01T00:00:00Z"),
    ]);
    apply(&mut view, &only);
    assert!(
        view.common_roles().0,
        "the roles of all agents stay, though this is the only cluster"
    );
    let known = view.cluster("c1").unwrap();
    assert!(known.accepted && known.has_finalizer("a/b"));
    assert_eq!(known.condition_status("A"), Some("True"));
    assert_eq!(known.condition_status("B"), Some("True"));
    assert!(!known.unreadable.is_empty());
    view.wakes();
    only["metadata"]["resourceVersion"] = json!("6");
    only["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    apply(&mut view, &only);
    assert!(view.cluster("c1").unwrap().deleting);
    assert_eq!(view.wakes(), [cluster_key("c1")]);
}

#[test]
fn an_agent_cannot_hide_its_addon() {
    let (mut view, now) = (view(), now());
    let addon = |version: u64, deleting: bool| {
        object(json!({
            "apiVersion": "addon.open-cluster-management.io/v1beta1",
            "metadata": {
                "name": "a", "namespace": "c1", "uid": "u", "resourceVersion": version.to_string(),
                "deletionTimestamp": deleting.then_some("2026-01-01T00:00:00Z"),
            },
            "status": {"conditions": [
                {"type": "Available", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00+99:99"}, 7,
            ]},
        }))
    };
    let seen = |view: &View| {
        view.with_cluster("c1", None, |facts| {
            let addon = &facts.addons["a"];
            let available = addon.available.as_ref().map(|it| it.status.clone());
            (addon.deleting, available.unwrap_or_default())
        })
    };
    view.apply(Kind::Addon, &addon(1, false), Source::Watch, now);
    assert_eq!(seen(&view), Some((false, "False".to_owned())));
    view.apply(Kind::Addon, &addon(2, true), Source::Watch, now);
    assert_eq!(seen(&view), Some((true, "False".to_owned())));
}

/// What a set selects, by label, by selectors that look at one label or two, or invalidly.
fn selectors() -> Vec<Value> {
    let by = |selector: Value| json!({"selectorType": "LabelSelector", "labelSelector": selector});
    let expression = |key: &str, operator: &str, values: &[&str]| {
        let values = (!values.is_empty()).then_some(values);
        by(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
    };
    vec![
        json!({"selectorType": "ExclusiveClusterSetLabel"}),
        json!({"selectorType": "LabelSelector"}),
        by(json!({})),
        by(json!({"matchLabels": {"team": "b"}})),
        by(json!({"matchLabels": {"team": "a", "zone": "a"}})),
        expression("team", "NotIn", &["a"]),
        expression("zone", "Exists", &[]),
        expression("zone", "DoesNotExist", &[]),
        expression(
            "cluster.open-cluster-management.io/clusterset",
            "In",
            &["a", "s2"],
        ),
        expression("team", "Odd", &[]),
    ]
}

/// A change of the hub: of a set or a cluster, by a number, with what it selects, or its labels.
type Step = (bool, usize, Option<usize>, [Option<&'static str>; 3]);

fn step() -> impl Strategy<Value = Step> {
    let value = || prop::sample::select(vec![None, Some("a"), Some("b"), Some("s2")]);
    let selector = proptest::option::weighted(0.8, 0..selectors().len());
    (
        any::<bool>(),
        0..4_usize,
        selector,
        [value(), value(), value()],
    )
}

proptest! {
    /// Membership that is kept as clusters and sets come, change and go is the same as membership that is matched anew.
    #[test]
    fn membership_is_as_if_matched_anew(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut view, now) = (view(), now());
        for (version, (is_set, which, there, values)) in (1..).zip(steps) {
            let (kind, object) = if is_set {
                let selector = selectors().swap_remove(there.unwrap_or_default());
                (Kind::Set, set(["a", "b", "s2", "s3"][which], version, selector))
            } else {
                let mut object = cluster(&format!("c{which}"), version, json!({}));
                let keys = ["cluster.open-cluster-management.io/clusterset", "team", "zone"];
                let labels = keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?)));
                object.value["metadata"]["labels"] = json!(labels.collect::<BTreeMap<_, _>>());
                (Kind::Cluster, object)
            };
            view.wakes();
            let before = members(&view);
            match there {
                Some(_) => view.apply(kind, &object, Source::Watch, now),
                None => view.gone(kind, &object, Source::Watch),
            }
            let (after, wakes) = (members(&view), view.wakes());
            for (set, cluster) in before.symmetric_difference(&after) {
                let is_there = view.set(set).is_some();
                prop_assert!(!is_there || wakes.contains(&Key::Set((&**set).into())), "{set} is counted");
                let is_there = view.clusters.contains_key(&**cluster);
                prop_assert!(!is_there || wakes.contains(&cluster_key(cluster)), "{cluster} is told");
            }
            let there: Vec<_> = view.sets.names().cloned().collect();
            let mut anew = BTreeSet::new();
            for name in &there {
                let (set, members) = view.set(name).unwrap();
                let clusters = view.clusters.iter().filter(|(_, entry)| {
                    entry.cluster.as_ref().is_some_and(|cluster| set.selects(&cluster.labels))
                });
                let clusters: Vec<_> = clusters.map(|(cluster, _)| cluster.to_string()).collect();
                prop_assert_eq!(members, clusters.len(), "{}", name);
                anew.extend(clusters.into_iter().map(|cluster| (name.to_string(), cluster)));
            }
            prop_assert_eq!(&after, &anew);
            let invalid: Vec<_> = view.sets.undecided().map(|set| set.name.clone()).collect();
            let expected = there.iter().filter(|name| view.set(name).unwrap().0.membership.is_err());
            prop_assert_eq!(invalid.iter().collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>());
        }
        let existing = view.clusters.values().filter(|entry| entry.cluster.is_some()).count();
        prop_assert_eq!(view.existing, existing);
    }
}

/// Which set has which cluster, as deciders are told.
fn members(view: &View) -> BTreeSet<(String, String)> {
    let clusters = view.clusters.keys();
    let pairs = clusters.flat_map(|cluster| {
        let sets = view.with_cluster(cluster, None, |facts| {
            let sets = facts.sets.iter().map(|set| set.name.to_string());
            sets.collect::<Vec<_>>()
        });
        let cluster = cluster.to_string();
        sets.into_iter()
            .flatten()
            .map(move |set| (set, cluster.clone()))
    });
    pairs.collect()
}

#[test]
fn only_a_good_request_that_nobody_refused_vouches_for_its_cluster() {
    let config = Config {
        gates: crate::config::Gates {
            auto_approval: true,
            ..Default::default()
        },
        auto_approved_users: ["listed".to_owned()].into(),
        ..Config::default()
    };
    let condition = |type_: &str| json!({"conditions": [{"type": type_, "status": "True"}]});
    let signer = crate::csrs::SIGNER;
    let good = crate::engine::GOOD_REQUEST.to_vec();
    for (sentence, user, signer, pem, status, trusted) in [
        ("a new one", "listed", signer, &*good, json!(null), true),
        (
            "an approved one",
            "listed",
            signer,
            &*good,
            condition("Approved"),
            true,
        ),
        (
            "a denied one",
            "listed",
            signer,
            &*good,
            condition("Denied"),
            false,
        ),
        (
            "a failed one",
            "listed",
            signer,
            &*good,
            condition("Failed"),
            false,
        ),
        (
            "somebody else's",
            "other",
            signer,
            &*good,
            json!(null),
            false,
        ),
        (
            "one to another signer",
            "listed",
            "example.com/s",
            &*good,
            json!(null),
            false,
        ),
        (
            "one that is none of an agent's",
            "listed",
            signer,
            b"x",
            json!(null),
            false,
        ),
    ] {
        let mut view = Seeing::new(config.clone());
        view.apply(
            Kind::Cluster,
            &cluster("c1", 1, json!({})),
            Source::Watch,
            now(),
        );
        let request = |version: u64, status: &Value| {
            object(json!({
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {
                    "name": "csr1",
                    "resourceVersion": version.to_string(),
                    "labels": {"open-cluster-management.io/cluster-name": "c1"},
                },
                "spec": {
                    "request": k8s_openapi::ByteString(pem.to_vec()),
                    "signerName": signer,
                    "username": user,
                    "usages": ["client auth"],
                },
                "status": status,
            }))
        };
        view.apply(Kind::Csr, &request(2, &status), Source::Watch, now());
        let is_trusted = |view: &View| view.with_cluster("c1", None, |facts| facts.trusted_request);
        assert_eq!(is_trusted(&view), Some(trusted), "{sentence}");
        // What a person says later counts.
        view.apply(
            Kind::Csr,
            &request(3, &condition("Denied")),
            Source::Watch,
            now(),
        );
        assert_eq!(is_trusted(&view), Some(false), "{sentence}");
    }
}

#[test]
fn a_change_of_a_cluster_concerns_its_pending_requests_and_no_others() {
    let (mut view, now) = (view(), now());
    let pem = crate::engine::GOOD_REQUEST.to_vec();
    let request = |name: &str, of: &str, version: u64, status: Value| {
        object(json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {
                "name": name, "resourceVersion": version.to_string(),
                "labels": {"open-cluster-management.io/cluster-name": of},
            },
            "spec": {
                "request": k8s_openapi::ByteString(pem.to_vec()),
                "signerName": crate::csrs::SIGNER,
                "username": "somebody",
                "usages": ["client auth"],
            },
            "status": status,
        }))
    };
    let approved = json!({"conditions": [{"type": "Approved", "status": "True"}]});
    for (version, name, of) in [(1, "own", "c1"), (2, "second", "c1"), (3, "foreign", "c2")] {
        let request = request(name, of, version, json!(null));
        view.apply(Kind::Csr, &request, Source::Watch, now);
    }
    let concerned = |view: &mut Seeing, version: u64| {
        view.wakes();
        let accepts = json!({"hubAcceptsClient": version.is_multiple_of(2)});
        let object = cluster("c1", version, accepts);
        view.apply(Kind::Cluster, &object, Source::Watch, now);
        let keys = view.wakes().into_iter();
        let names = keys.filter_map(|key| match key {
            Key::Csr(name) => Some(name.to_string()),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(concerned(&mut view, 4), ["own", "second"]);
    let decided = request("own", "c1", 5, approved);
    view.apply(Kind::Csr, &decided, Source::Watch, now);
    assert_eq!(concerned(&mut view, 6 + 1), ["second"]);
    let gone = request("second", "c1", 8, json!(null));
    view.gone(Kind::Csr, &gone, Source::Watch);
    assert_eq!(concerned(&mut view, 10), [] as [&str; 0]);
}

#[test]
fn why_the_roles_of_all_agents_fail_concerns_the_clusters_that_wait_for_them() {
    let (mut view, now) = (view(), now());
    for (version, name, accepts) in [(1, "waits", true), (2, "runs", true), (3, "asks", false)] {
        let object = cluster(name, version, json!({"hubAcceptsClient": accepts}));
        view.apply(Kind::Cluster, &object, Source::Watch, now);
    }
    let binding = object(json!({
        "metadata": {
            "name": crate::names::registration_binding("runs"), "namespace": "runs", "resourceVersion": "4",
            "labels": {"open-cluster-management.io/cluster-name": "runs"},
        },
    }));
    view.apply(Kind::RoleBinding, &binding, Source::Watch, now);
    view.wakes();
    let said = |view: &View| {
        view.with_cluster("waits", None, |facts| {
            facts.common_roles_failure.map(str::to_owned)
        })
    };
    for (why, wakes) in [
        (Some("no"), true),
        (Some("no"), false),
        (Some("still no"), true),
        (None, true),
        (None, false),
    ] {
        view.common_roles_fail(why.map(str::to_owned));
        let expected = if wakes {
            vec![cluster_key("waits")]
        } else {
            vec![]
        };
        assert_eq!(view.wakes(), expected, "{why:?}");
        assert_eq!(said(&view), Some(why.map(str::to_owned)));
    }
}

#[test]
fn only_exact_names_with_the_clusters_label_are_the_hubs() {
    let role = |rest: &str| format!("open-cluster-management:managedcluster:{rest}");
    let (cr, crb, rb, ns) = (
        Kind::ClusterRole,
        Kind::ClusterRoleBinding,
        Kind::RoleBinding,
        Kind::Namespace,
    );
    for (sentence, kind, namespace, name, label, ours) in [
        ("a cluster's role", cr, "", role("c1"), "c1", true),
        ("its binding", crb, "", role("c1"), "c1", true),
        ("to register", rb, "c1", role("c1:registration"), "c1", true),
        ("to work", rb, "c1", role("c1:work"), "c1", true),
        ("its namespace", ns, "", "c1".to_owned(), "c1", true),
        ("a role for viewers", cr, "", role("c1:viewer"), "c1", false),
        ("their binding", crb, "", role("c1:viewer"), "c1", false),
        ("another's label", cr, "", role("c1"), "c2", false),
        ("its binding", crb, "", role("c1"), "c2", false),
        ("no cluster's label", cr, "", role("c1"), "", false),
        ("a namespace", ns, "", "c1".to_owned(), "c2", false),
        ("with more rights", rb, "c1", role("c1:viewer"), "c1", false),
        ("elsewhere", rb, "default", role("c1:work"), "c1", false),
        (
            "in default",
            rb,
            "default",
            role("default:work"),
            "c1",
            false,
        ),
        ("relabelled", rb, "c1", role("c1:work"), "c2", false),
    ] {
        let (mut view, now) = (view(), now());
        let object = |label: &str, version: u64| {
            object(json!({"metadata": {
                "name": name, "namespace": namespace, "uid": "u", "resourceVersion": version.to_string(),
                "labels": {"open-cluster-management.io/cluster-name": label},
            }}))
        };
        let known = |view: &View| {
            let all = view.clusters.values();
            all.map(|entry| entry.owned.clone())
                .filter(|owned| *owned != OwnedObjects::default())
                .count()
        };
        view.apply(kind, &object(label, 1), Source::Watch, now);
        assert_eq!(known(&view), usize::from(ours), "{sentence}");
        assert_eq!(view.wakes().len(), usize::from(ours), "{sentence}");
        // One that loses its label is as good as gone, and the cluster is looked at.
        view.apply(kind, &object("c3", 2), Source::Watch, now);
        assert_eq!(known(&view), 0, "{sentence}");
        view.gone(kind, &object("c3", 3), Source::Watch);
        assert_eq!(known(&view), 0, "{sentence}");
        assert!(view.clusters.is_empty() || ours, "{sentence}");
    }
}
