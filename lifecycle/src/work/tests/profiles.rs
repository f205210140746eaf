//! ClusterProfiles in a namespace that is being deleted.

use berth_reconcile::World;

use super::*;
use crate::view::Key;
use berth_lifecycle_core::config::Gates;

/// The reconcilers of a hub that creates nothing in the namespace `apps`, and the number of attempts.
fn work_on_closed() -> (Arc<Handle<Lifecycle>>, Arc<Mutex<usize>>) {
    let attempts: Arc<Mutex<usize>> = Arc::default();
    let count = attempts.clone();
    let api = HubApi::new(tower::service_fn(move |_: Request<RequestBody>| {
        *count.lock().unwrap() += 1;
        let refusal = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "unable to create new content in namespace apps because it is being terminated",
            "details": {"causes": [{
                "reason": "NamespaceTerminating", "field": "metadata.namespace",
                "message": "namespace apps is being terminated",
            }]},
        });
        let body = Full::<Bytes>::from(refusal.to_string());
        let response = Response::builder().status(403).body(body).unwrap();
        std::future::ready(Ok::<_, Infallible>(response))
    }));
    let config = Config {
        gates: Gates {
            cluster_profile: true,
            ..Gates::default()
        },
        ..Config::default()
    };
    (crate::on(api, config), attempts)
}

#[tokio::test]
async fn a_namespace_that_is_being_deleted_is_asked_once_for_all_clusters() {
    let (work, attempts) = work_on_closed();
    let observe = |kind, object: Value| {
        let text = Bytes::from(object.to_string());
        work.observed(kind, &RawObject::read(text).unwrap());
    };
    let label = "cluster.open-cluster-management.io/clusterset";
    observe(
        Kind::Set,
        json!({
            "metadata": {"name": "s", "uid": "s", "resourceVersion": "1"},
            "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        }),
    );
    let binding = json!({
        "metadata": {"name": "s", "namespace": "apps", "uid": "b", "resourceVersion": "2"},
        "spec": {"clusterSet": "s"},
        "status": {"conditions": [{
            "type": "Bound", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    });
    observe(Kind::Binding, binding.clone());
    let clusters = ["c1", "c2", "c3"];
    for name in clusters {
        observe(
            Kind::Cluster,
            json!({"metadata": {"name": name, "uid": name, "resourceVersion": "3", "labels": {label: "s"}}}),
        );
    }
    work.change(|world, _| world.view_mut().profiles_are_listed());
    for (sentence, expected) in [("closed", 1), ("of a new namespace", 2)] {
        for name in clusters {
            let key = Key::Profile("apps".into(), name.into());
            let done = Lifecycle::reconcile(&work, &key).await;
            assert!(
                matches!(done, Next::Settled { again: Some(_), .. }),
                "{sentence}, {name}: {done:?}"
            );
        }
        assert_eq!(*attempts.lock().unwrap(), expected, "{sentence}");
        work.change(|world, wakes| world.gone(Kind::Binding, "apps", "s", wakes));
        let mut binding = binding.clone();
        binding["metadata"]["uid"] = "new".into();
        binding["metadata"]["resourceVersion"] = "9".into();
        observe(Kind::Binding, binding);
    }
}
