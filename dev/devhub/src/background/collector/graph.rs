//! The graph of owners and dependents, by uid. It holds only objects that have owners or are being finalized.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::decide::{self, Dependent};
use crate::background::feed::News;
use crate::object::Object;
use crate::storage::{EventKind, Key, StorageId};

/// The index.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<String, Node>,
    /// By the owner's uid, whether there is such an owner or not.
    dependents: HashMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Node {
    key: Key,
    /// uid, and whether the node blocks that owner.
    owners: Vec<(String, bool)>,
    is_waiting: bool,
    is_finalizing: bool,
}

impl Graph {
    /// Updates the graph, and returns the uids of the objects to check.
    pub(super) fn learn(&mut self, news: &News) -> BTreeSet<String> {
        let mut due = BTreeSet::new();
        match news {
            News::Served => due.extend(self.nodes.keys().cloned()),
            News::Listed(storage, items) => {
                let there: HashSet<_> = items.iter().map(|it| it.object.uid()).collect();
                // An owner may be gone without an event: check all objects with owners.
                due.extend(self.dependents.values().flatten().cloned());
                for uid in self.of_kind(storage) {
                    if !there.contains(uid.as_str()) {
                        self.remove(&uid, &mut due);
                    }
                }
                for stored in items {
                    self.put(storage, &stored.object, &mut due);
                }
            }
            News::Events(storage, events) => {
                for event in events {
                    let object = &event.object.object;
                    match event.kind {
                        EventKind::Deleted => self.remove(object.uid(), &mut due),
                        EventKind::Added | EventKind::Modified => {
                            self.put(storage, object, &mut due);
                        }
                    }
                }
            }
        }
        due
    }

    /// Where an object is.
    pub(super) fn key(&self, uid: &str) -> Option<&Key> {
        self.nodes.get(uid).map(|node| &node.key)
    }

    /// The dependents of the owner with this uid.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Dependent> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        let dependents = dependents.filter_map(|dependent| {
            let node = self.nodes.get(dependent)?;
            Some(Dependent {
                uid: dependent.clone(),
                blocks: node
                    .owners
                    .iter()
                    .any(|(owner, blocks)| owner == uid && *blocks),
                is_waiting: node.is_waiting,
            })
        });
        dependents.collect()
    }

    fn of_kind(&self, storage: &StorageId) -> Vec<String> {
        let of_kind = self
            .nodes
            .iter()
            .filter(|(_, node)| node.key.storage == *storage);
        of_kind.map(|(uid, _)| uid.clone()).collect()
    }

    fn put(&mut self, storage: &StorageId, object: &Object, due: &mut BTreeSet<String>) {
        let uid = object.uid();
        let owners: Vec<_> = decide::owners(object)
            .into_iter()
            .map(|owner| (owner.uid, owner.block_owner_deletion.unwrap_or_default()))
            .collect();
        let is_finalizing = decide::is_finalizing(object);
        if owners.is_empty() && !is_finalizing {
            // It may have had owners before.
            if self.nodes.contains_key(uid) {
                self.forget(uid, due);
            }
            return;
        }
        self.forget(uid, due);
        for (owner, _) in &owners {
            let dependents = self.dependents.entry(owner.clone()).or_default();
            dependents.insert(uid.to_owned());
        }
        if is_finalizing {
            due.extend(self.dependents.get(uid).into_iter().flatten().cloned());
        }
        let node = Node {
            key: Key {
                storage: storage.clone(),
                namespace: object.namespace().to_owned(),
                name: object.name().to_owned(),
            },
            owners,
            is_waiting: decide::is_waiting(object),
            is_finalizing,
        };
        self.nodes.insert(uid.to_owned(), node);
        due.insert(uid.to_owned());
    }

    /// An object that is gone.
    fn remove(&mut self, uid: &str, due: &mut BTreeSet<String>) {
        due.extend(self.dependents.get(uid).into_iter().flatten().cloned());
        self.forget(uid, due);
    }

    /// Takes a node out; owners that may have waited for it are due.
    fn forget(&mut self, uid: &str, due: &mut BTreeSet<String>) {
        let Some(node) = self.nodes.remove(uid) else {
            return;
        };
        for (owner, _) in node.owners {
            if let Some(dependents) = self.dependents.get_mut(&owner) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
            if self
                .nodes
                .get(&owner)
                .is_some_and(|owner| owner.is_finalizing)
            {
                due.insert(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::FutureExt;
    use serde_json::{Value, json};

    use super::*;
    use crate::background::testing::object;
    use crate::storage::{Page, Store};

    fn storage() -> StorageId {
        StorageId("configmaps".into())
    }

    /// An object whose name is its uid.
    fn owned(uid: &str, owners: &[&str]) -> Value {
        let owners: Vec<_> = owners
            .iter()
            .map(|uid| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid, "blockOwnerDeletion": true }))
            .collect();
        json!({ "metadata": { "name": uid, "uid": uid, "namespace": "ns", "ownerReferences": owners } })
    }

    fn waiting(uid: &str) -> Value {
        let mut value = owned(uid, &[]);
        value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        value["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
        value
    }

    /// A store of objects, and a graph that is told what happens there.
    struct Told {
        store: Arc<Store>,
        graph: Graph,
        seen: u64,
    }

    impl Told {
        fn new() -> Self {
            Self {
                store: Arc::new(Store::new(100)),
                graph: Graph::default(),
                seen: 1,
            }
        }

        fn put(&mut self, value: Value) -> Vec<String> {
            let object = object(value);
            let key = self.key(object.name());
            match self.store.get(&key) {
                None => self.store.create(&key, object),
                Some(old) => self.store.update(&key, old.revision, object),
            }
            .expect("committed");
            self.learn()
        }

        fn delete(&mut self, name: &str) -> Vec<String> {
            let key = self.key(name);
            let old = self.store.get(&key).expect("there");
            self.store
                .delete(&key, old.revision, old.object.clone())
                .expect("deleted");
            self.learn()
        }

        fn key(&self, name: &str) -> Key {
            Key {
                storage: storage(),
                namespace: "ns".to_owned(),
                name: name.to_owned(),
            }
        }

        fn learn(&mut self) -> Vec<String> {
            let mut watch = self
                .store
                .watch(&storage(), self.seen)
                .expect("not expired");
            let events = watch.next().now_or_never().expect("there are some");
            let events = events.expect("not expired");
            self.seen = self.store.revision();
            self.graph
                .learn(&News::Events(storage(), events))
                .into_iter()
                .collect()
        }
    }

    #[test]
    fn a_dependent_is_looked_at_when_it_comes_and_when_its_owner_goes() {
        let mut told = Told::new();
        assert!(told.put(owned("o", &[])).is_empty());
        assert_eq!(told.put(owned("d", &["o"])), ["d"]);
        assert_eq!(
            told.graph.dependents("o"),
            [Dependent {
                uid: "d".to_owned(),
                blocks: true,
                is_waiting: false
            }]
        );
        assert_eq!(told.delete("o"), ["d"]);
        assert!(told.delete("d").is_empty());
        assert!(told.graph.nodes.is_empty() && told.graph.dependents.is_empty());
    }

    #[test]
    fn an_owner_that_waits_is_looked_at_when_a_dependent_goes() {
        let mut told = Told::new();
        told.put(owned("o", &[]));
        told.put(owned("d", &["o"]));
        assert_eq!(told.put(waiting("o")), ["d", "o"]);
        assert_eq!(told.delete("d"), ["o"]);
        told.put(owned("e", &["o"]));
        // It has another owner now.
        assert_eq!(told.put(owned("e", &["p"])), ["e", "o"]);
    }

    #[test]
    fn a_list_tells_who_is_gone() {
        let mut told = Told::new();
        told.put(owned("o", &[]));
        told.put(owned("d", &["o"]));
        told.put(owned("e", &["d"]));
        told.store
            .delete(
                &told.key("d"),
                told.store.get(&told.key("d")).expect("there").revision,
                Object::default(),
            )
            .expect("deleted");
        let listed = told
            .store
            .list(&storage(), None, &Page::default(), &|_| true)
            .expect("now");
        let due = told.graph.learn(&News::Listed(storage(), listed.items));
        assert!(due.contains("e"), "{due:?}");
        assert_eq!(told.graph.key("d"), None);
    }
}
