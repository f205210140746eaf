use std::sync::OnceLock;

use berth_api::plan::{Action, Write};
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::object::RawObject;
use crate::testing::{Values, patch, server, status, target, values, work};

fn raw(object: &Value) -> RawObject {
    RawObject::read(Bytes::from(object.to_string())).unwrap()
}

fn object(version: u64, uid: &str) -> Value {
    json!({"metadata": {"name": "a", "uid": uid, "resourceVersion": version.to_string()}, "value": uid})
}

/// The name is given to a new object before the response arrives that the old one is gone.
#[tokio::test]
async fn a_late_response_does_not_remove_the_next_object_of_the_name() {
    let delete = Write {
        target: target("a"),
        action: Action::Delete {
            uid: "old".to_owned(),
            resource_version: None,
            why: "tests",
        },
        reconciler: "values",
        events: Vec::new(),
    };
    let release = patch("a", json!({"metadata": {"finalizers": null}}));
    let mut released = object(6, "old");
    released["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (write, code, response) in [
        (delete.clone(), 404, status(404, "NotFound", "a")),
        (
            delete,
            200,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}).to_string(),
        ),
        (release, 200, released.to_string()),
    ] {
        for is_late in [true, false] {
            let shared: Arc<OnceLock<Arc<Handle<Values>>>> = Arc::default();
            let (hub, response) = (shared.clone(), response.clone());
            let on = work(server(move |_, _| {
                if is_late {
                    hub.get().unwrap().observed(0, &raw(&object(8, "new")));
                }
                let response = response.clone();
                async move { (code, response) }
            }));
            let _ = shared.set(on.clone());
            on.watch(0, values("g"));
            on.observed(0, &raw(&object(5, "old")));
            let done = on.carry_out(vec![write.clone()]).await;
            assert!(matches!(done, WriteOutcome::Written), "{done:?}");
            let left = on.world().values.get(&(0, "a".to_owned())).cloned();
            assert_eq!(left, is_late.then(|| "new".to_owned()), "{write:?}");
            assert_eq!(on.is_seen(0, "", "a"), is_late);
        }
    }
}
