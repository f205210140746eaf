//! ManagedClusters with lists of which the view keeps a part.

use berth_reconcile::{Item, World};

use super::*;
use crate::view::Key;
use berth_lifecycle_core::clusters::Turn;
use berth_lifecycle_core::facts::LeftOut;

/// A ManagedCluster that is not accepted, with 900 taints of a kilobyte and as many finalizers.
fn hostile() -> Value {
    let taint = |number| json!({"key": format!("t{number}"), "value": "x".repeat(1000), "effect": "NoSelect"});
    let taints: Vec<_> = (0..900).map(taint).collect();
    let finalizers: Vec<_> = (0..900).map(|number| format!("a.b/{number}")).collect();
    json!({
        "metadata": {"name": "c1", "uid": "u", "resourceVersion": "7", "finalizers": finalizers},
        "spec": {"hubAcceptsClient": false, "taints": taints},
    })
}

/// The reconcilers of a hub with this ManagedCluster, and the patches that it gets.
fn work_on(cluster: &Value) -> (Arc<Handle<Lifecycle>>, Arc<Mutex<Vec<Value>>>) {
    let patches: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (stored, log) = (Arc::new(Mutex::new(cluster.clone())), patches.clone());
    let api = HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
        let (stored, log) = (stored.clone(), log.clone());
        async move {
            let is_patch = request.method() == http::Method::PATCH;
            let is_cluster = request.uri().path().contains("managedclusters");
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut stored = stored.lock().unwrap();
            if is_patch && is_cluster {
                let patch: Value = serde_json::from_slice(&body).unwrap();
                for (part, field) in [("metadata", "finalizers"), ("spec", "taints")] {
                    if let Some(new) = patch[part].get(field) {
                        stored[part][field] = new.clone();
                    }
                }
                stored["metadata"]["resourceVersion"] = "8".into();
                log.lock().unwrap().push(patch);
            }
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(stored.to_string())))
        }
    }));
    (crate::on(api, Config::default()), patches)
}

fn waiting(name: &str) -> Key {
    Key::Apart(Turn::Waiting, name.into())
}

fn observe(work: &Handle<Lifecycle>, cluster: &Value) {
    let text = Bytes::from(cluster.to_string());
    work.observed(Kind::Cluster, &RawObject::read(text).unwrap());
}

/// A bootstrap token can create any number of large ManagedClusters.
#[tokio::test]
async fn clusters_that_nobody_accepted_take_no_turn_of_others() {
    let (work, patches) = work_on(&hostile());
    observe(&work, &hostile());
    let done = cluster::reconcile(&work, &Key::Cluster("c1".into()), "c1").await;
    assert!(matches!(done, Next::Settled { .. }), "{done:?}");
    assert!(patches.lock().unwrap().is_empty(), "it waits");
    let mut small = hostile();
    small["spec"]["taints"] = json!([]);
    small["metadata"] = json!({"name": "c2", "uid": "u2", "resourceVersion": "7"});
    observe(&work, &small);
    let lane = |name: &str| Lifecycle::lane(&work.world().key_of(name));
    assert_eq!(lane("c1"), lane("c2"));
    assert_ne!(lane("c1"), lane("unknown"));
    for cluster in [&mut small, &mut hostile()] {
        let name = cluster["metadata"]["name"].as_str().unwrap().to_owned();
        let before = lane(&name);
        cluster["spec"]["hubAcceptsClient"] = true.into();
        cluster["metadata"]["resourceVersion"] = "9".into();
        observe(&work, cluster);
        assert_ne!(lane(&name), before, "{name}");
    }
    assert_eq!(lane("c2"), lane("unknown"));
    assert_ne!(lane("c1"), lane("c2"), "it is large");
}

#[tokio::test]
async fn a_cluster_is_worked_on_once_at_a_time() {
    let (work, patches) = work_on(&hostile());
    observe(&work, &hostile());
    let (own, other) = (waiting("c1"), Key::Cluster("c1".into()));
    assert!(work.change(|world, _| world.begin(&other, "c1")));
    let done = cluster::reconcile(&work, &own, "c1").await;
    assert!(matches!(done, Next::Settled { .. }), "{done:?}");
    assert!(patches.lock().unwrap().is_empty());
    let woken = work.change(|world, _| world.end("c1"));
    assert_eq!(woken.as_ref(), Some(&own));
    cluster::reconcile(&work, &own, "c1").await;
    assert_eq!(patches.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_list_of_which_a_part_is_kept_is_written_whole() {
    let hostile = hostile();
    let (work, patches) = work_on(&hostile);
    observe(&work, &hostile);
    let left_out = work.world().view().cluster("c1").unwrap().left_out;
    let expected = LeftOut {
        finalizers: true,
        taints: true,
        managed_namespaces: false,
    };
    assert_eq!(left_out, expected);
    let done = cluster::reconcile(&work, &waiting("c1"), "c1").await;
    assert!(matches!(done, Next::Settled { .. }), "{done:?}");
    let patches = std::mem::take(&mut *patches.lock().unwrap());
    assert_eq!(
        patches.len(),
        1,
        "the view shows that nothing is due any more"
    );
    let taints = patches[0]["spec"]["taints"].as_array().unwrap();
    let stored = hostile["spec"]["taints"].as_array().unwrap();
    assert_eq!(taints[..900], stored[..], "no taint is lost");
    assert_eq!(
        taints[900]["key"],
        "cluster.open-cluster-management.io/unreachable"
    );
    assert_eq!(taints.len(), 901);
}

#[test]
fn the_view_keeps_little_of_any_cluster() {
    let labels = (0..12_500).map(|number| (format!("label{number}.example.com/a"), json!("x")));
    let labels: serde_json::Map<_, _> = labels.collect();
    let long = "x".repeat(32 * 1024);
    let condition = |number| json!({"type": format!("C{number}"), "status": "True", "reason": "r", "message": long});
    let conditions: Vec<_> = (0..30).map(condition).collect();
    let namespace = |number: usize| json!({"name": format!("n{number}"), "clusterSet": "s", "conditions": [condition(number)]});
    let namespaces: Vec<_> = (0..30).map(namespace).collect();
    let claims: Vec<_> = (0..900)
        .map(|number| json!({"name": format!("c{number}"), "value": "x".repeat(1000)}))
        .collect();
    let mut cluster = hostile();
    cluster["metadata"]["labels"] = labels.into();
    cluster["metadata"]["annotations"] =
        json!({"a": long, "open-cluster-management.io/deny-now": long});
    cluster["spec"]["managedClusterClientConfigs"] =
        json!([{"url": "https://a", "caBundle": long}]);
    cluster["status"] =
        json!({"conditions": conditions, "managedNamespaces": namespaces, "clusterClaims": claims});
    let text = cluster.to_string();
    assert!(text.len() > 4_000_000, "{}", text.len());
    let item = Item::read(text.as_bytes()).unwrap();
    let mut gates = Config::default().gates;
    gates.cluster_profile = true;
    let kept = kinds::bounded_cluster(&item, &Default::default(), gates).unwrap();
    let kept = kept.value.to_string();
    assert!(kept.len() < 64 * 1024, "{} bytes are kept", kept.len());
}

/// A bootstrap token can write metadata and spec of any number of ManagedClusters.
#[test]
fn the_view_keeps_less_of_a_cluster_that_nobody_accepted() {
    let mut cluster = hostile();
    let labels = (0..70).map(|number| (format!("l{number}"), json!("x")));
    cluster["metadata"]["labels"] = labels.collect::<serde_json::Map<_, _>>().into();
    for (accepted, bytes) in [(false, 0..2500), (true, 2500..8000)] {
        cluster["spec"]["hubAcceptsClient"] = accepted.into();
        let text = cluster.to_string();
        let item = Item::read(text.as_bytes()).unwrap();
        let gates = Config::default().gates;
        let kept = kinds::bounded_cluster(&item, &Default::default(), gates).unwrap();
        let kept = kept.value.to_string().len();
        assert!(bytes.contains(&kept), "accepted: {accepted}: {kept}");
    }
}
