//! Sets and their members, and the effect on bindings and on labels of namespaces.

use std::ops::Deref;

use serde_json::{Value, json};

use crate::lifecycle::hub::{ACCEPTED, HubWithReconcilers, cluster_path, condition};
use berth_testkit::cluster::{AsAdmin, Cluster, fresh};

const SETS: &str = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";
const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
const EMPTY: &str = "ClusterSetEmpty";
const BOUND: &str = "Bound";

fn set_path(name: &str) -> String {
    format!("{SETS}/{name}")
}

fn by_label() -> Value {
    json!({"selectorType": "ExclusiveClusterSetLabel"})
}

fn by_selector(selector: Value) -> Value {
    json!({"selectorType": "LabelSelector", "labelSelector": selector})
}

impl<C: Deref<Target = Cluster>> HubWithReconcilers<C> {
    async fn set(&self, name: &str, spec: Value) -> Value {
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": spec,
        });
        self.create(SETS, &set).await
    }

    /// Returns when a set says of its members: status, reason, message.
    async fn members(&self, set: &str, told: [&str; 3]) {
        self.says(&set_path(set), EMPTY, told).await;
    }

    /// Returns when a set says that it has so many.
    async fn has_members(&self, set: &str, count: usize) {
        let message = format!("{count} ManagedClusters selected");
        let told = match count {
            0 => ["True", "NoClusterMatched", "No ManagedCluster selected"],
            _ => ["False", "ClustersSelected", &message],
        };
        self.members(set, told).await;
    }

    async fn says(&self, path: &str, type_: &str, told: [&str; 3]) {
        self.once(path, &told.join(", "), |object| {
            condition(object, type_).is_some_and(|condition| {
                ["status", "reason", "message"].map(|key| condition[key].as_str().unwrap()) == told
            })
        })
        .await;
    }

    /// A ManagedCluster with these labels.
    async fn labelled(&self, name: &str, labels: Value) -> Value {
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
        });
        self.create(crate::lifecycle::hub::CLUSTERS, &cluster).await
    }

    async fn label(&self, cluster: &str, labels: Value) {
        let patch = json!({"metadata": {"labels": labels}});
        self.patch(&cluster_path(cluster), patch).await;
    }

    /// A binding, as a path.
    async fn bind(&self, namespace: &str, set: &str) -> String {
        let collection = format!(
            "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/{namespace}/managedclustersetbindings"
        );
        let binding = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set},
            "spec": {"clusterSet": set},
        });
        self.create(&collection, &binding).await;
        format!("{collection}/{set}")
    }

    /// The cluster, once these namespaces are managed on it: by set and name.
    async fn manages(&self, cluster: &str, wanted: &[(&str, &str)]) -> Value {
        let what = format!("managing {wanted:?}");
        self.once(&cluster_path(cluster), &what, |object| {
            let items = object["status"]["managedNamespaces"].as_array();
            let items = items.into_iter().flatten();
            let items: Vec<_> = items
                .map(|item| {
                    let text = |key: &str| item[key].as_str().unwrap();
                    (text("clusterSet"), text("name"))
                })
                .collect();
            items == wanted
        })
        .await
    }
}

/// No other test touches these two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_default_and_the_global_set_are_kept() {
    let hub = HubWithReconcilers::shared().await;
    let edited = by_selector(
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}),
    );
    for (name, right) in [("default", by_label()), ("global", by_selector(json!({})))] {
        let path = set_path(name);
        let is_right = |set: &Value| set["spec"]["clusterSelector"] == right;
        hub.once(&path, "as it should be", is_right).await;

        let edit = json!({
            "metadata": {"labels": {"mine": "yes"}},
            "spec": {"clusterSelector": edited},
        });
        let before = hub.patch(&path, edit.clone()).await;
        let set = hub.once(&path, "put right", is_right).await;
        assert_eq!(set["metadata"]["labels"]["mine"], "yes");
        assert_eq!(set["metadata"]["uid"], before["metadata"]["uid"]);

        hub.delete(&path).await;
        let set = hub
            .once(&path, "made anew", |set| {
                set["metadata"]["uid"] != before["metadata"]["uid"]
            })
            .await;
        assert!(is_right(&set), "{set}");

        // An admin may say otherwise.
        let mut own = edit;
        let annotation = "cluster.open-cluster-management.io/autoupdate";
        own["metadata"]["annotations"] = json!({annotation: "false"});
        hub.patch(&path, own).await;
        let witness = fresh("witness");
        hub.labelled(&witness, json!({"a": "b", "c": ""})).await;
        if name == "default" {
            hub.has_members(name, 1).await;
        }
        hub.quiet(std::slice::from_ref(&path)).await;
        let set = hub.get(&path).await.body;
        assert_eq!(set["spec"]["clusterSelector"], edited);
        let again = json!({"metadata": {"annotations": {annotation: null}}});
        hub.patch(&path, again).await;
        hub.once(&path, "put right", is_right).await;
        hub.delete(&cluster_path(&witness)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_knows_how_many_belong_to_it() {
    let hub = HubWithReconcilers::shared().await;
    let [first, second, selecting, nobody] = ["first", "second", "selecting", "nobody"].map(fresh);
    hub.set(&first, json!({"clusterSelector": by_label()}))
        .await;
    // By default.
    hub.set(&second, json!({})).await;
    let expressions = json!({"matchExpressions": [
        {"key": SET_LABEL, "operator": "In", "values": [first, second]},
        {"key": "off", "operator": "DoesNotExist"},
    ]});
    hub.set(
        &selecting,
        json!({"clusterSelector": by_selector(expressions)}),
    )
    .await;
    let none = json!({"clusterSelector": {"selectorType": "LabelSelector"}});
    hub.set(&nobody, none).await;
    for set in [&first, &second, &selecting, &nobody] {
        hub.has_members(set, 0).await;
    }
    let counts = async |counts: [usize; 3]| {
        for (set, count) in [&first, &second, &selecting].into_iter().zip(counts) {
            hub.has_members(set, count).await;
        }
    };

    let clusters: Vec<_> = (0..3).map(|_| fresh("member")).collect();
    for cluster in &clusters {
        hub.labelled(cluster, json!({SET_LABEL: first})).await;
    }
    counts([3, 0, 3]).await;
    hub.label(&clusters[0], json!({SET_LABEL: second})).await;
    counts([2, 1, 3]).await;
    hub.label(&clusters[1], json!({"off": "", "other": "x"}))
        .await;
    counts([2, 1, 2]).await;
    hub.delete(&cluster_path(&clusters[2])).await;
    counts([1, 1, 1]).await;
    hub.label(&clusters[0], json!({SET_LABEL: null})).await;
    counts([1, 0, 0]).await;
    // A set made after its members counts them, too.
    hub.delete(&set_path(&first)).await;
    hub.gone(&set_path(&first)).await;
    hub.set(&first, json!({})).await;
    hub.has_members(&first, 1).await;
    hub.members(
        &nobody,
        ["True", "NoClusterMatched", "No ManagedCluster selected"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_selector_concerns_its_set_alone() {
    let hub = HubWithReconcilers::shared().await;
    let [invalid, valid, cluster] = ["invalid", "valid", "selected"].map(fresh);
    let spec = json!({
        "clusterSelector": by_selector(json!({"matchLabels": {"team": invalid}})),
        "managedNamespaces": [{"name": "apps"}],
    });
    hub.set(&invalid, spec).await;
    hub.set(&valid, json!({"managedNamespaces": [{"name": "data"}]}))
        .await;
    hub.labelled(&cluster, json!({"team": invalid})).await;
    hub.manages(&cluster, &[(&invalid, "apps")]).await;
    hub.has_members(&invalid, 1).await;

    for (expression, mistake) in [
        (
            json!({"key": "a", "operator": "Like", "values": ["b"]}),
            "operator",
        ),
        (json!({"key": "a", "operator": "In"}), "values"),
        (
            json!({"key": "a", "operator": "Exists", "values": ["b"]}),
            "values",
        ),
        (json!({"key": "a b", "operator": "Exists"}), "key"),
    ] {
        let selector = by_selector(json!({"matchExpressions": [expression]}));
        let patch = json!({"spec": {"clusterSelector": selector}});
        hub.patch(&set_path(&invalid), patch).await;
        let field = format!("spec.clusterSelector.labelSelector.matchExpressions[0].{mistake}");
        hub.once(&set_path(&invalid), &field, |set| {
            condition(set, EMPTY).is_some_and(|it| {
                it["status"] == "Unknown"
                    && it["reason"] == "InvalidClusterSelector"
                    && it["message"].as_str().unwrap().starts_with(&field)
            })
        })
        .await;
    }
    // The others go on. What was managed for the spoilt one stays until somebody can tell.
    hub.label(&cluster, json!({SET_LABEL: valid})).await;
    hub.has_members(&valid, 1).await;
    hub.manages(&cluster, &[(&invalid, "apps"), (&valid, "data")])
        .await;
    let mended = by_selector(json!({"matchExpressions": null, "matchLabels": {"team": "others"}}));
    hub.patch(
        &set_path(&invalid),
        json!({"spec": {"clusterSelector": mended}}),
    )
    .await;
    hub.has_members(&invalid, 0).await;
    hub.manages(&cluster, &[(&valid, "data")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_binding_follows_its_set_and_holds_in_no_clusters_namespace() {
    let hub = HubWithReconcilers::shared().await;
    let [set, workspace, cluster] = ["bound", "workspace", "bound-cluster"].map(fresh);
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workspace}});
    hub.create("/api/v1/namespaces", &namespace).await;
    let there = ["True", "ClusterSetBound", ""];
    let missing = ["False", "ClusterSetNotFound", ""];
    let binding = hub.bind(&workspace, &set).await;
    hub.says(&binding, BOUND, missing).await;
    hub.set(&set, json!({})).await;
    hub.says(&binding, BOUND, there).await;
    hub.delete(&set_path(&set)).await;
    hub.says(&binding, BOUND, missing).await;
    hub.set(&set, json!({})).await;
    hub.says(&binding, BOUND, there).await;

    hub.accepted(&cluster).await;
    let inside = hub.bind(&cluster, &set).await;
    let told = format!(
        "The namespace belongs to ManagedCluster {cluster:?}, which is accepted: its agent works there. Bind the set in \
         another namespace, and delete this binding: kubectl delete managedclustersetbinding -n {cluster} {set}"
    );
    let refused = ["False", "NamespaceBelongsToCluster", &told];
    hub.says(&inside, BOUND, refused).await;
    let accept = |accepts: bool| json!({"spec": {"hubAcceptsClient": accepts}});
    hub.patch(&cluster_path(&cluster), accept(false)).await;
    hub.says(&inside, BOUND, there).await;
    // Nobody takes the namespace from the cluster by a binding.
    hub.patch(&cluster_path(&cluster), accept(true)).await;
    hub.says(&inside, BOUND, refused).await;
    hub.condition(&cluster, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_are_managed_while_the_cluster_belongs_to_the_set() {
    let hub = HubWithReconcilers::shared().await;
    // In this order.
    let prefix = fresh("ns");
    let [one, two] = [format!("{prefix}-a"), format!("{prefix}-b")];
    let cluster = fresh("managed");
    let namespaces = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"managedNamespaces": names})
    };
    let mut selecting = namespaces(&["y"]);
    selecting["clusterSelector"] = by_selector(json!({"matchLabels": {"pick": prefix}}));
    hub.set(&two, selecting).await;
    hub.set(&one, namespaces(&["z", "x"])).await;
    hub.labelled(&cluster, json!({SET_LABEL: one, "pick": prefix}))
        .await;
    let all = [(&*one, "x"), (&*one, "z"), (&*two, "y")];
    let object = hub.manages(&cluster, &all).await;

    // The agent tells what became of them.
    let mut items = object["status"]["managedNamespaces"].clone();
    let applied = json!([{
        "type": "NamespaceAvailable", "status": "True", "reason": "NamespaceApplied",
        "message": "Namespace successfully applied and managed", "lastTransitionTime": "2026-01-02T03:04:05Z",
    }]);
    for item in items.as_array_mut().unwrap() {
        item["conditions"] = applied.clone();
    }
    let status = json!({"status": {"managedNamespaces": items}});
    hub.patch(&format!("{}/status", cluster_path(&cluster)), status)
        .await;
    hub.patch(&set_path(&one), json!({"spec": namespaces(&["z", "w"])}))
        .await;
    let object = hub
        .manages(&cluster, &[(&one, "w"), (&one, "z"), (&two, "y")])
        .await;
    let items = object["status"]["managedNamespaces"].as_array().unwrap();
    assert!(items[0]["conditions"].is_null(), "{items:?}");
    assert_eq!(items[1]["conditions"], applied);
    assert_eq!(items[2]["conditions"], applied);

    hub.label(&cluster, json!({"pick": null})).await;
    hub.manages(&cluster, &[(&one, "w"), (&one, "z")]).await;
    hub.label(&cluster, json!({"pick": prefix})).await;
    let object = hub
        .manages(&cluster, &[(&one, "w"), (&one, "z"), (&two, "y")])
        .await;
    let anew = &object["status"]["managedNamespaces"][2];
    assert!(anew["conditions"].is_null(), "{anew}");
    hub.delete(&set_path(&one)).await;
    hub.manages(&cluster, &[(&two, "y")]).await;
    hub.delete(&set_path(&two)).await;
    hub.manages(&cluster, &[]).await;
}
