//! A feed of all changes to objects of many kinds, also of kinds that are served only later.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use futures::future::FutureExt;
use futures::stream::{self, BoxStream, SelectAll, StreamExt};
use tokio::sync::watch;

use crate::World;
use crate::object::Object;
use crate::resources::{Resource, Served};
use crate::storage::{Event, StorageId, Store, Stored, Watch};

/// Something that has happened.
#[derive(Debug)]
pub(super) enum News {
    /// Other resources are served than before.
    Served,
    /// All objects of a kind: at first, and again when the feed has fallen behind. Objects that are not in it are gone.
    Listed(StorageId, Vec<Arc<Stored>>),
    /// What happened since, in order.
    Events(StorageId, Vec<Event>),
}

impl News {
    /// The objects that the news are about, each with the name of its storage.
    pub(super) fn objects(&self) -> Vec<(&str, &Object)> {
        let (storage, objects): (_, Vec<&Object>) = match self {
            Self::Served => return Vec::new(),
            Self::Listed(storage, items) => (storage, items.iter().map(|it| &it.object).collect()),
            Self::Events(storage, events) => {
                let objects = events.iter().map(|event| &event.object.object);
                (storage, objects.collect())
            }
        };
        objects
            .into_iter()
            .map(|object| (&*storage.0, object))
            .collect()
    }
}

/// A place in the history of all kinds.
pub(super) struct Feed {
    store: Arc<Store>,
    served: watch::Receiver<Served>,
    wanted: fn(&Resource) -> bool,
    followed: HashSet<StorageId>,
    kinds: SelectAll<BoxStream<'static, News>>,
}

impl Feed {
    /// The news of all kinds that `wanted` says yes to, beginning with lists of them.
    pub(super) fn new(world: &World, wanted: fn(&Resource) -> bool) -> Self {
        let mut feed = Self {
            store: Arc::clone(&world.store),
            served: world.registry.watch(),
            wanted,
            followed: HashSet::new(),
            kinds: SelectAll::new(),
        };
        feed.follow();
        feed
    }

    /// The next news. Cancel safe.
    pub(super) async fn next(&mut self) -> News {
        loop {
            tokio::select! {
                Some(news) = self.kinds.next(), if !self.kinds.is_empty() => return news,
                changed = self.served.changed() => match changed {
                    Ok(()) => {
                        self.follow();
                        return News::Served;
                    }
                    // The hub has ended.
                    Err(_) => std::future::pending().await,
                },
            }
        }
    }

    /// All news up to now that have not been returned yet.
    pub(super) async fn up_to_now(&mut self) -> Vec<News> {
        let mut all = Vec::new();
        // Not to be cut short by tokio's budget: "nothing more" must mean that there is nothing.
        while let Some(news) = tokio::task::unconstrained(self.next()).now_or_never() {
            all.push(news);
        }
        // Long lists of news must not keep others from running.
        tokio::task::consume_budget().await;
        all
    }

    fn follow(&mut self) {
        let served = Arc::clone(&self.served.borrow_and_update());
        for resource in served.iter() {
            if resource.has_objects()
                && (self.wanted)(resource)
                && self.followed.insert(resource.storage.clone())
            {
                let store = Arc::clone(&self.store);
                self.kinds
                    .push(kind(store, resource.storage.clone()).boxed());
            }
        }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed")
            .field("followed", &self.followed.len())
            .finish_non_exhaustive()
    }
}

/// A list of one kind, what happens to it, and, if that goes too fast, a list again.
fn kind(store: Arc<Store>, storage: StorageId) -> impl stream::Stream<Item = News> + Send {
    stream::unfold(None, move |watch: Option<Watch>| {
        let (store, storage) = (Arc::clone(&store), storage.clone());
        async move {
            if let Some(mut watch) = watch
                && let Ok(events) = watch.next().await
            {
                return Some((News::Events(storage, events), Some(watch)));
            }
            loop {
                // What was read may be too old for a watch by now.
                let listed = store.all(&storage, None);
                if let Ok(watch) = store.watch(&storage, listed.revision) {
                    return Some((News::Listed(storage, listed.items), Some(watch)));
                }
                tokio::task::yield_now().await;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::background::testing::{object, world};
    use crate::resources::Registry;

    fn config_maps(resource: &Resource) -> bool {
        resource.name == "configmaps"
    }

    fn create(world: &World, name: &str) {
        let resource = world
            .registry
            .find("", "v1", "configmaps")
            .expect("built in");
        let object = object(json!({ "metadata": { "name": name, "namespace": "ns" } }));
        world
            .store
            .create(&resource.key("ns", name), object)
            .expect("created");
    }

    fn names(news: &News) -> Vec<String> {
        let objects: Vec<_> = match news {
            News::Served => return vec!["served".to_owned()],
            News::Listed(_, items) => items.clone(),
            News::Events(_, events) => events
                .iter()
                .map(|event| Arc::clone(&event.object))
                .collect(),
        };
        objects
            .iter()
            .map(|it| it.object.name().to_owned())
            .collect()
    }

    #[tokio::test]
    async fn a_list_comes_first_and_then_what_happens() {
        let world = world();
        create(&world, "a");
        let mut feed = Feed::new(&world, config_maps);
        assert_eq!(names(&feed.next().await), ["a"]);
        assert!(feed.up_to_now().await.is_empty());
        create(&world, "b");
        create(&world, "c");
        let news = feed.up_to_now().await;
        assert_eq!(news.iter().flat_map(names).collect::<Vec<_>>(), ["b", "c"]);
        assert!(matches!(news[0], News::Events(..)));
    }

    #[tokio::test]
    async fn who_falls_behind_gets_a_list_again() {
        let mut world = world();
        world.store = Arc::new(Store::new(2));
        let mut feed = Feed::new(&world, config_maps);
        feed.next().await;
        for name in ["a", "b", "c", "d"] {
            create(&world, name);
        }
        let news = feed.up_to_now().await;
        assert!(matches!(news.as_slice(), [News::Listed(..)]), "{news:?}");
        assert_eq!(names(&news[0]), ["a", "b", "c", "d"]);
    }

    #[tokio::test]
    async fn kinds_that_are_served_later_are_followed_too() {
        let mut world = world();
        world.registry = Registry::new();
        let mut feed = Feed::new(&world, |resource| resource.custom);
        assert!(feed.up_to_now().await.is_empty());
        let resource = crate::background::testing::custom("example.com", "things", "Thing");
        let key = resource.key("ns", "x");
        world
            .registry
            .replace_custom("example.com", "things", vec![resource]);
        let thing = object(json!({ "metadata": { "name": "x", "namespace": "ns" } }));
        world.store.create(&key, thing).expect("created");
        let news = feed.up_to_now().await;
        assert_eq!(
            news.iter().flat_map(names).collect::<Vec<_>>(),
            ["served", "x"]
        );
    }
}
