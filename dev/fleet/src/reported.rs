//! ManifestWorks in the namespaces of clusters, as their agents report them.

use anyhow::Result;
use berth_hub::object_path;
use berth_manifests::Manifest;
use berth_manifests::files::WORK_CRDS;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::hub::{FleetHub, each};
use crate::works::{WORKS, work};

/// Objects of each ManifestWork.
const OBJECTS: usize = 5;

const NAMESPACES: (&str, &str, &str) = ("", "v1", "namespaces");

/// Creates this many ManifestWorks for each cluster, applied and available.
pub(crate) async fn create(hub: &FleetHub, clusters: usize, works: usize) -> Result<()> {
    let all = object_path(WORKS, "", "");
    let definitions = WORK_CRDS.iter().flat_map(Manifest::documents);
    hub.install(definitions, &all).await?;
    each(clusters, async |cluster| {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}});
        let namespaces = object_path(NAMESPACES, "", "");
        hub.send("POST", &namespaces, &namespace).await?;
        for number in 0..works {
            let work = work(number, OBJECTS);
            let name = work["metadata"]["name"].as_str().unwrap_or_default();
            let path = object_path(WORKS, &cluster, "");
            hub.send("POST", &path, &work).await?;
            let path = format!("{}/status", object_path(WORKS, &cluster, name));
            hub.send("PATCH", &path, &status(&work)).await?;
        }
        Ok(())
    })
    .await
}

/// Deletes them.
pub(crate) async fn delete(hub: &FleetHub, clusters: usize) -> Result<()> {
    each(clusters, async |cluster| {
        let path = object_path(WORKS, &cluster, "");
        hub.send("DELETE", &path, &Value::Null).await.map(drop)
    })
    .await
}

fn status(work: &Value) -> Value {
    let since = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let conditions = |reasons: [&str; 2]| {
        ["Applied", "Available"]
            .into_iter()
            .zip(reasons)
            .map(|(type_, reason)| {
                json!({
                    "type": type_, "status": "True", "reason": reason, "message": "", "lastTransitionTime": since,
                    "observedGeneration": 1,
                })
            })
            .collect::<Vec<_>>()
    };
    let manifests = work["spec"]["workload"]["manifests"].as_array();
    let manifests = manifests.into_iter().flatten().enumerate();
    let manifests = manifests.map(|(ordinal, it)| {
        let metadata = &it["metadata"];
        json!({
            "resourceMeta": {
                "ordinal": ordinal, "kind": it["kind"], "version": "v1", "group": "", "resource": "configmaps",
                "namespace": metadata["namespace"], "name": metadata["name"],
            },
            "conditions": conditions(["AppliedManifestComplete", "ResourceAvailable"]),
        })
    });
    json!({"status": {
        "conditions": conditions(["AppliedManifestWorkComplete", "ResourcesAvailable"]),
        "resourceStatus": {"manifests": manifests.collect::<Vec<_>>()},
    }})
}
