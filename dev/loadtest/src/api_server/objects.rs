//! The objects of a run on a hub, and their names.

use berth_api::path::object_path;
use berth_api::{groups, labels};
use serde_json::{Value, json};

/// The names of a run's objects.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The identifier of the run: the value of the label `loadtest`, and part of every name.
    pub(super) run: String,
    /// Clusters start in the first set.
    pub(super) sets: [String; 2],
}

/// An object to create.
#[derive(Clone, Debug)]
pub(super) struct NewObject {
    pub(super) collection: String,
    pub(super) body: Value,
}

impl Names {
    pub(super) fn new(run: String) -> Self {
        let sets = ["a", "b"].map(|set| format!("loadtest-{run}-{set}"));
        Self { run, sets }
    }

    /// The cluster that a writer changes.
    pub(super) fn own_cluster(&self, writer: usize) -> String {
        format!("loadtest-{}-{writer}", self.run)
    }

    /// Another cluster of a writer.
    pub(super) fn another_cluster(&self, writer: usize, number: u64) -> String {
        format!("loadtest-{}-{writer}-{number}", self.run)
    }

    /// The namespace in which a writer binds sets. It does not have the name of a cluster, because the gate refuses bindings there.
    fn own_namespace(&self, writer: usize) -> String {
        format!("loadtest-{}-ns-{writer}", self.run)
    }

    /// A cluster that is not accepted, in the first set.
    pub(super) fn cluster(&self, name: &str) -> NewObject {
        let mut object = self.object("v1", "ManagedCluster", name);
        object["metadata"]["labels"][labels::CLUSTER_SET] = json!(self.sets[0]);
        object["spec"] = json!({"hubAcceptsClient": false, "leaseDurationSeconds": 60});
        NewObject {
            collection: clusters(),
            body: object,
        }
    }

    pub(super) fn set(&self, name: &str) -> NewObject {
        let mut object = self.object("v1beta2", "ManagedClusterSet", name);
        object["spec"] = json!({"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}});
        NewObject {
            collection: collection("v1beta2", None, groups::MANAGED_CLUSTER_SETS),
            body: object,
        }
    }

    pub(super) fn binding(&self, writer: usize) -> NewObject {
        let namespace = self.own_namespace(writer);
        let mut object = self.object("v1beta2", "ManagedClusterSetBinding", &self.sets[0]);
        object["metadata"]["namespace"] = json!(namespace);
        object["spec"] = json!({"clusterSet": self.sets[0]});
        let resource = groups::MANAGED_CLUSTER_SET_BINDINGS;
        NewObject {
            collection: collection("v1beta2", Some(&namespace), resource),
            body: object,
        }
    }

    pub(super) fn namespace(&self, writer: usize) -> NewObject {
        let mut object = self.object("v1", "Namespace", &self.own_namespace(writer));
        object["apiVersion"] = json!("v1");
        NewObject {
            collection: NAMESPACES.into(),
            body: object,
        }
    }

    fn object(&self, version: &str, kind: &str, name: &str) -> Value {
        json!({
            "apiVersion": format!("{}/{version}", groups::CLUSTER),
            "kind": kind,
            "metadata": {"name": name, "labels": {"loadtest": self.run}},
        })
    }

    /// The kinds to delete by label, in this order: a set is deleted last, because it must be empty.
    pub(super) fn collections(&self) -> [String; 3] {
        [
            collection("v1beta2", None, groups::MANAGED_CLUSTER_SET_BINDINGS),
            clusters(),
            collection("v1beta2", None, groups::MANAGED_CLUSTER_SETS),
        ]
    }

    /// Returns the paths of the namespaces: those of the writers, and those that a hub creates for accepted clusters.
    pub(super) fn namespaces(&self, writers: usize) -> Vec<String> {
        let names = |writer| [self.own_namespace(writer), self.own_cluster(writer)];
        let names = (0..writers).flat_map(names);
        names.map(|name| format!("{NAMESPACES}/{name}")).collect()
    }
}

impl NewObject {
    /// Returns the name of the object for messages.
    pub(super) fn name(&self) -> String {
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (&self.body["kind"], &self.body["metadata"]["name"]);
        format!("{} {}", of(kind), of(name))
    }

    /// Returns the path of the object.
    pub(super) fn path(&self) -> String {
        let name = self.body["metadata"]["name"].as_str();
        format!("{}/{}", self.collection, name.unwrap_or_default())
    }
}

const NAMESPACES: &str = "/api/v1/namespaces";

pub(super) fn clusters() -> String {
    collection("v1", None, groups::MANAGED_CLUSTERS)
}

fn collection(version: &str, namespace: Option<&str>, resource: &str) -> String {
    let kind = (groups::CLUSTER, version, resource);
    object_path(kind, namespace.unwrap_or_default(), "")
}

/// Returns the path of an object of a collection (over all namespaces), from its metadata.
pub(super) fn path_of(collection: &str, metadata: &Value) -> Option<String> {
    let name = metadata["name"].as_str()?;
    let Some(namespace) = metadata["namespace"].as_str() else {
        return Some(format!("{collection}/{name}"));
    };
    let (version, resource) = collection.rsplit_once('/')?;
    Some(format!(
        "{version}/namespaces/{namespace}/{resource}/{name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_made_is_found_again_by_its_label_and_deleted_by_its_path() {
        let names = Names::new("0abc1".into());
        let made = [
            names.cluster(&names.own_cluster(3)),
            names.cluster(&names.another_cluster(3, 12)),
            names.set(&names.sets[1]),
            names.binding(3),
        ];
        let collections = names.collections();
        for object in made {
            let metadata = &object.body["metadata"];
            assert_eq!(metadata["labels"]["loadtest"], "0abc1", "{}", object.name());
            assert!(
                metadata["name"]
                    .as_str()
                    .unwrap()
                    .starts_with("loadtest-0abc1-")
            );
            let paths = collections.each_ref().map(|each| path_of(each, metadata));
            let found = paths.iter().flatten().any(|path| *path == object.path());
            assert!(found, "{} in {paths:?}", object.path());
        }
        let namespaces = names.namespaces(4);
        assert!(namespaces.contains(&names.namespace(3).path()));
        assert!(namespaces.contains(&"/api/v1/namespaces/loadtest-0abc1-3".to_owned()));
    }
}
