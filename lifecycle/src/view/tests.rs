#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::kinds::Kind;
use crate::object::{PartialObject, Renewal};

mod leases;
mod profiles;
mod requests;
mod sets;
mod unreadable;

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

/// The view behind the engine's filter for outdated objects.
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

    /// The hub responds with this lease.
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

/// A cluster whose agent is watched.
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

/// The watch reports this lease.
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

/// The known version of a cluster.
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
    // An object that was created again meanwhile stays.
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
    // Created during the list, and so not in it.
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
fn why_the_roles_of_all_agents_fail_concerns_the_clusters_that_wait_for_them() {
    let (mut view, now) = (view(), now());
    for (version, name, accepts) in [(1, "waits", true), (2, "runs", true), (3, "asks", false)] {
        let object = cluster(name, version, json!({"hubAcceptsClient": accepts}));
        view.apply(Kind::Cluster, &object, Source::Watch, now);
    }
    let binding = object(json!({
        "metadata": {
            "name": berth_lifecycle_core::names::registration_binding("runs"), "namespace": "runs", "resourceVersion": "4",
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
        // An object without its label counts as gone, and wakes the cluster.
        view.apply(kind, &object("c3", 2), Source::Watch, now);
        assert_eq!(known(&view), 0, "{sentence}");
        view.gone(kind, &object("c3", 3), Source::Watch);
        assert_eq!(known(&view), 0, "{sentence}");
        assert!(view.clusters.is_empty() || ours, "{sentence}");
    }
}
