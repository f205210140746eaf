//! Deployments in ManifestWorks.

use serde_json::{Value, json};

use super::world::World;

/// A Deployment in the namespace.
pub fn deployment(world: &World, name: &str, replicas: u32) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "a", "image": "example.com/a:1"}]},
            },
        },
    })
}

/// The path of a Deployment in the namespace.
pub fn path(world: &World, name: &str) -> String {
    format!(
        "/apis/apps/v1/namespaces/{}/deployments/{name}",
        world.namespace
    )
}

/// A config for a Deployment, with this strategy.
pub fn config(world: &World, name: &str, strategy: Value) -> Value {
    json!({"manifestConfigs": [{
        "resourceIdentifier": {
            "group": "apps", "resource": "deployments", "namespace": world.namespace, "name": name,
        },
        "updateStrategy": strategy,
    }]})
}
