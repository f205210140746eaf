//! Clusters that are deleted, and the objects that stay.

use std::ops::Deref;

use berth_api::GroupVersionResource;
use berth_lifecycle_core::config::{Config, Gates};
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, HubWithReconcilers, account, cluster_path, condition, config, namespace_path,
    owned_paths,
};
use berth_testkit::cluster::{AsAdmin, Cluster, fresh, rule};

const DELETING: &str = "Deleting";
const LABEL: &str = "open-cluster-management.io/cluster-name";
/// An agent's, on works; any other object is held in the same way.
const HELD: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";

fn held(priority: Option<&str>) -> Value {
    let mut metadata = json!({"finalizers": [HELD]});
    if let Some(priority) = priority {
        metadata["annotations"] = json!({"open-cluster-management.io/cleanup-priority": priority});
    }
    metadata
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

impl<C: Deref<Target = Cluster>> HubWithReconcilers<C> {
    /// The cluster, once its condition `Deleting` says so.
    async fn deleting(&self, cluster: &str, status: &str, reason: &str, message: &str) -> Value {
        let what = format!("{DELETING}={status} ({reason}): {message}");
        self.once(&cluster_path(cluster), &what, |object| {
            condition(object, DELETING).is_some_and(|condition| {
                (
                    &condition["status"],
                    &condition["reason"],
                    &condition["message"],
                ) == (&json!(status), &json!(reason), &json!(message))
            })
        })
        .await
    }

    /// The cluster, once so many of a kind are left, and of them so many wait for finalizers.
    async fn remains(&self, cluster: &str, resource: &str, left: usize, pending: usize) {
        let message = format!(
            "The resource {resource} is remaning, the remaining count is {left}, the finalizer pending count is {pending}"
        );
        self.deleting(cluster, "False", "ResourceRemaining", &message)
            .await;
    }

    /// Somebody else holds the cluster.
    async fn hold(&self, cluster: &str) {
        let path = cluster_path(cluster);
        let object = self
            .once(&path, "with our finalizer", |object| {
                object["metadata"]["finalizers"].is_array()
            })
            .await;
        let mut finalizers = object["metadata"]["finalizers"].clone();
        finalizers
            .as_array_mut()
            .unwrap()
            .push(json!("example.com/held"));
        self.patch(&path, json!({"metadata": {"finalizers": finalizers}}))
            .await;
    }

    /// All is gone but the namespace and the lease.
    async fn has_left(&self, cluster: &str) {
        self.gone(&cluster_path(cluster)).await;
        let [namespace, rbac @ .., _lease] = &owned_paths(cluster)[..] else {
            unreachable!()
        };
        for path in rbac {
            self.gone(path).await;
        }
        let namespace = self.get(namespace).await;
        assert_eq!(namespace.ok()["metadata"]["labels"][LABEL], *cluster);
        assert!(!is_leaving(&namespace.body));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_leaves_in_order() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("leaving");
    hub.accepted(&name).await;
    hub.hold(&name).await;
    let first = hub.addon(&name, "first", held(None)).await;
    let absurd = hub.addon(&name, "absurd", held(Some("1000"))).await;
    let late = hub.addon(&name, "late", held(Some("100"))).await;
    let early_work = hub.work(&name, "early", held(Some("-1"))).await;
    let late_work = hub.work(&name, "late", held(Some("5"))).await;
    hub.delete(&cluster_path(&name)).await;

    hub.remains(&name, "managedclusteraddons", 3, 2).await;
    for (path, leaving) in [
        (&first, true),
        (&absurd, true),
        (&late, false),
        (&early_work, false),
        (&late_work, false),
    ] {
        let object = hub.get(path).await.body;
        assert_eq!(is_leaving(&object), leaving, "{object}");
    }
    let [_, role, role_binding, registration, work, lease] = &owned_paths(&name)[..] else {
        unreachable!()
    };
    for path in [role, role_binding, registration] {
        hub.gone(path).await;
    }
    // The agent has to take its work down yet.
    let binding = hub.once(work, "leaving", is_leaving).await;
    assert_eq!(binding["metadata"]["finalizers"], json!([HELD]));

    hub.release(&first).await;
    hub.release(&absurd).await;
    hub.remains(&name, "managedclusteraddons", 1, 1).await;
    hub.release(&late).await;
    hub.remains(&name, "manifestworks", 2, 1).await;
    assert!(!is_leaving(&hub.get(&late_work).await.body));
    hub.release(&early_work).await;
    hub.remains(&name, "manifestworks", 1, 1).await;
    let binding = hub.get(work).await.body;
    assert_eq!(binding["metadata"]["finalizers"], json!([HELD]));
    hub.release(&late_work).await;

    let message = "No cleaned resource in cluster ns.";
    hub.deleting(&name, "True", "NoResource", message).await;
    hub.gone(work).await;
    hub.once(&cluster_path(&name), "left to its owner", |object| {
        object["metadata"]["finalizers"] == json!(["example.com/held"])
    })
    .await;
    let before = hub.quiet(&[cluster_path(&name)]).await;
    assert!(is_leaving(&before[0]));
    assert_eq!(hub.get(lease).await.code, 200);

    hub.release(&cluster_path(&name)).await;
    hub.has_left(&name).await;
    // Its name may be used again.
    hub.accepted(&name).await;
    hub.delete(&cluster_path(&name)).await;
    hub.has_left(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_was_never_accepted_leaves_and_takes_nothing_along() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("stranger");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    hub.create("/api/v1/namespaces", &namespace).await;
    let addon = hub.addon(&name, "somebodys", json!({})).await;
    let work = hub.work(&name, "somebodys", json!({})).await;
    hub.cluster(&name, json!({})).await;
    hub.hold(&name).await;
    hub.delete(&cluster_path(&name)).await;
    hub.once(&cluster_path(&name), "left to its owner", |object| {
        object["metadata"]["finalizers"] == json!(["example.com/held"])
    })
    .await;
    hub.release(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
    for path in [&addon, &work] {
        let object = hub.get(path).await;
        assert!(!is_leaving(object.ok()), "{object:?}");
    }
    let namespace = hub.get(&namespace_path(&name)).await;
    assert!(namespace.ok()["metadata"]["labels"][LABEL].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_takes_effect_when_the_work_is_taken_down() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("busy");
    let path = cluster_path(&name);
    let accept = |accepts: bool| json!({"spec": {"hubAcceptsClient": accepts}});
    hub.accepted(&name).await;
    let work = hub.work(&name, "one", json!({})).await;
    hub.patch(&path, accept(false)).await;
    let message = format!(
        "Denied by hub cluster admin; takes effect when the cluster's agent has removed its work: 1 ManifestWork is \
         left in namespace {name:?}"
    );
    let cluster = hub
        .once(&path, "told why it waits", |object| {
            condition(object, ACCEPTED).is_some_and(|it| it["message"] == message)
        })
        .await;
    let waiting = condition(&cluster, ACCEPTED).unwrap();
    assert_eq!(waiting["status"], "True");
    let [_, role, role_binding, registration, binding, _] = &owned_paths(&name)[..] else {
        unreachable!()
    };
    hub.gone(registration).await;
    let binding_now = hub.once(binding, "leaving", is_leaving).await;
    assert_eq!(binding_now["metadata"]["finalizers"], json!([HELD]));
    let role_now = hub.get(role).await.body;
    assert_eq!(role_now["rules"].as_array().unwrap().len(), 1);

    // Taken back meanwhile: the old binding serves until it can be made anew.
    hub.patch(&path, accept(true)).await;
    hub.once(&path, "accepted again", |object| {
        condition(object, ACCEPTED).unwrap()["message"] == "Accepted by hub cluster admin"
    })
    .await;
    hub.once(registration, "there", |_| true).await;
    let uid = &binding_now["metadata"]["uid"];
    assert_eq!(hub.get(binding).await.body["metadata"]["uid"], *uid);

    hub.patch(&path, accept(false)).await;
    hub.gone(registration).await;
    hub.delete(&work).await;
    let cluster = hub
        .condition(&name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    let message = &condition(&cluster, ACCEPTED).unwrap()["message"];
    assert_eq!(message, "Denied by hub cluster admin");
    assert_eq!(hub.get(binding).await.code, 404);
    assert_eq!(hub.get(role_binding).await.code, 200);

    // Denied clusters leave as others do.
    hub.delete(&path).await;
    hub.has_left(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_is_deleted_comes_back() {
    let hub = HubWithReconcilers::shared().await;
    if !hub.cluster.has_background_work() {
        berth_testkit::cluster::say_skipped("namespaces do not go away here");
        return;
    }
    let name = fresh("swept");
    hub.accepted(&name).await;
    let before = hub.get(&namespace_path(&name)).await.body;
    hub.delete(&namespace_path(&name)).await;
    hub.once(&namespace_path(&name), "made anew", |object| {
        object["metadata"]["uid"] != before["metadata"]["uid"]
    })
    .await;
    for path in owned_paths(&name) {
        hub.once(&path, "there", |object| !is_leaving(object)).await;
    }
    hub.condition(&name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    // Both at once, in the other order.
    hub.delete(&namespace_path(&name)).await;
    hub.delete(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
    hub.gone(&namespace_path(&name)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_is_stuck_is_told_and_left_alone_until_it_is_gone() {
    let hub = HubWithReconcilers::shared().await;
    if !hub.cluster.has_background_work() {
        berth_testkit::cluster::say_skipped("namespaces do not go away here");
        return;
    }
    let name = fresh("stuck");
    hub.accepted(&name).await;
    let before = hub.get(&namespace_path(&name)).await.body;
    let work = hub.work(&name, "mine", held(None)).await;
    hub.delete(&namespace_path(&name)).await;
    let cluster = hub.condition(&name, ACCEPTED, "False", "Error").await;
    let message =
        format!("Namespace {name:?} is being deleted; the cluster gets a new one when it is gone");
    assert_eq!(condition(&cluster, ACCEPTED).unwrap()["message"], message);
    // What is in it goes, and nobody tries to make it again; what the work agent needs stays.
    let [namespace, _, _, registration, binding, lease] = &owned_paths(&name)[..] else {
        unreachable!()
    };
    hub.gone(registration).await;
    hub.gone(lease).await;
    hub.once(binding, "leaving", is_leaving).await;
    let paths = [cluster_path(&name), namespace.clone(), binding.clone()];
    let stuck = hub.quiet(&paths).await;
    assert!(is_leaving(&stuck[1]) && is_leaving(&stuck[2]), "{stuck:?}");
    for path in [registration, lease] {
        assert_eq!(hub.get(path).await.code, 404, "{path}");
    }

    hub.release(&work).await;
    hub.once(namespace, "made anew", |object| {
        object["metadata"]["uid"] != before["metadata"]["uid"]
    })
    .await;
    hub.condition(&name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    for path in owned_paths(&name) {
        hub.once(&path, "there", |object| !is_leaving(object)).await;
    }
}

/// One hub, and one admin after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cleaned_up_is_the_admins_to_say() {
    let resource = |group: &str, version: &str, resource: &str| GroupVersionResource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
    };
    let mut hub = HubWithReconcilers::private(config()).await;

    // The gate was on when the cluster came, and is off when it goes.
    let name = fresh("stranded");
    hub.accepted(&name).await;
    let addon = hub.addon(&name, "mine", json!({})).await;
    hub.restart(Config {
        gates: Gates {
            resource_cleanup: false,
            ..Gates::default()
        },
        ..config()
    })
    .await;
    hub.delete(&cluster_path(&name)).await;
    hub.has_left(&name).await;
    assert!(!is_leaving(hub.get(&addon).await.ok()));
    hub.delete(&addon).await;

    // Nothing is listed. The agent has its work to take down all the same.
    hub.restart(Config {
        gc_resources: Vec::new(),
        ..config()
    })
    .await;
    let name = fresh("listless");
    hub.accepted(&name).await;
    let addon = hub.addon(&name, "mine", json!({})).await;
    let work = hub.work(&name, "mine", held(None)).await;
    hub.hold(&name).await;
    hub.delete(&cluster_path(&name)).await;
    let message = "No cleaned resource in cluster ns.";
    hub.deleting(&name, "True", "NoResource", message).await;
    let binding = &owned_paths(&name)[4];
    hub.once(binding, "leaving", is_leaving).await;
    assert!(!is_leaving(hub.get(&work).await.ok()));
    hub.release(&work).await;
    hub.delete(&work).await;
    hub.gone(binding).await;
    hub.release(&cluster_path(&name)).await;
    hub.has_left(&name).await;
    assert!(!is_leaving(hub.get(&addon).await.ok()));
    hub.delete(&addon).await;

    // A kind that cannot be listed is told; kinds that are not served are none that is left.
    hub.restart(Config {
        gc_resources: vec![resource("", "v1", "bindings")],
        ..config()
    })
    .await;
    let name = fresh("odd");
    hub.accepted(&name).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}});
    let secrets = format!("{}/secrets", namespace_path(&name));
    hub.create(&secrets, &secret).await;
    hub.delete(&cluster_path(&name)).await;
    let cluster = hub
        .condition(&name, DELETING, "False", "DeletingError")
        .await;
    let message = &condition(&cluster, DELETING).unwrap()["message"];
    let begin = "failed to list resource bindings. err:";
    assert!(message.as_str().unwrap().starts_with(begin), "{message}");
    let event = hub.event("default", &name, "ResourceCleanupFail").await;
    assert_eq!(event["type"], "Warning");
    // Whoever lists more kinds grants more rights.
    let rules = [
        rule(&["list", "delete"], "", &["secrets"], &[]),
        rule(&["list"], "nobody.example.com", &["things"], &[]),
    ];
    hub.cluster
        .grant(&account(&hub.cluster).await, &rules)
        .await;
    hub.restart(Config {
        gc_resources: vec![
            resource("nobody.example.com", "v1", "things"),
            resource("work.open-cluster-management.io", "v9", "manifestworks"),
            resource("", "v1", "secrets"),
        ],
        ..config()
    })
    .await;
    hub.has_left(&name).await;
    hub.reconcilers.stop().await;
}
