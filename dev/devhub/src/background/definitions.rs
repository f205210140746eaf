//! Ends CustomResourceDefinitions that are being deleted: their objects are deleted first.
//!
//! [`custom::clean_up`] holds the rules. This controller calls it whenever something has changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::feed::{Feed, News};
use super::queue::work;
use crate::World;
use crate::resources::custom;
use crate::storage::Key;

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Ends definitions until cancelled.
pub(super) async fn run(world: Arc<World>, cancel: CancellationToken) {
    let feed = Feed::new(&world, |resource| {
        resource.custom || *resource.storage.0 == *DEFINITIONS
    });
    let clean_up = |name: &String| {
        let definition = Key::new(DEFINITIONS, "", name);
        let stored = world.store.get(&definition)?;
        if stored.object.is_deleting() {
            // It takes no time. What it could not do, because others were faster or finalizers hold objects, brings the
            // definition here again.
            custom::clean_up(&world, &definition, Timestamp::now());
        }
        None
    };
    work(feed, cancel, concerned, clean_up).await;
}

/// The definitions that news are about. A definition has the name of the storage of its objects.
fn concerned(news: &News) -> BTreeSet<String> {
    match news {
        News::Listed(storage, _) | News::Events(storage, _) if *storage.0 != *DEFINITIONS => {
            BTreeSet::from([storage.0.as_ref().to_owned()])
        }
        news => {
            let objects = news.objects().into_iter();
            objects
                .map(|(_, object)| object.name().to_owned())
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::background::testing::AtWork;
    use crate::writes::Propagation;

    #[tokio::test]
    async fn a_definition_goes_after_its_objects() {
        let hub = AtWork::start().await;
        let definition = json!({
            "metadata": { "name": "things.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        });
        hub.create("customresourcedefinitions", "", definition)
            .await;
        hub.create("things", "ns", json!({ "metadata": { "name": "free" } }))
            .await;
        let held = json!({ "metadata": { "name": "held", "finalizers": ["example.com/hold"] } });
        hub.create("things", "ns", held).await;

        let name = "things.example.com";
        let background = Propagation::Background;
        hub.delete("customresourcedefinitions", "", name, background)
            .await
            .expect("begun");
        hub.until_gone("things", "ns", "free").await;
        hub.settled().await;
        assert!(
            hub.get("things", "ns", "held")
                .is_some_and(|it| it.is_deleting())
        );
        let definition = hub
            .get("customresourcedefinitions", "", name)
            .expect("it waits");
        assert_eq!(
            definition.finalizers(),
            ["customresourcecleanup.apiextensions.k8s.io"]
        );

        hub.merge(
            "things",
            "ns",
            "held",
            json!({ "metadata": { "finalizers": null } }),
        )
        .await;
        hub.until_gone("customresourcedefinitions", "", name).await;
        assert!(
            hub.world
                .registry
                .find("example.com", "v1", "things")
                .is_none()
        );
        hub.end().await;
    }
}
