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
