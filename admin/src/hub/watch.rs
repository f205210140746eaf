//! Watches, for `--watch`.

use std::time::Duration;

use berth_hub::Chunks;
use kube::Resource;
use kube::core::WatchEvent;
use kube::core::params::WatchParams;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::calls::{call, urls};
use super::{Filter, HubConnection, Item};
use crate::failure::CommandError;

/// A change on the hub.
#[derive(Clone, Debug)]
pub(crate) enum Change<K> {
    /// The object was created or changed.
    Applied(Box<Item<K>>),
    /// The object was deleted; this is its last state.
    Deleted(Box<Item<K>>),
    /// Some changes were missed; these are all objects that exist now.
    All(Vec<Item<K>>),
}

/// The pause before a broken watch starts again.
const PAUSE: Duration = Duration::from_secs(1);

impl HubConnection {
    /// Calls `tell` with every change after this resourceVersion, until `tell` returns an error or the hub refuses the watch. A
    /// watch that ends, as every watch does, starts again at the last resourceVersion. If the hub no longer has that version,
    /// `tell` gets a new list of all objects.
    pub(crate) async fn watch<K, E>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
        mut version: String,
        mut tell: impl FnMut(Change<K>) -> Result<(), E>,
    ) -> Result<(), E>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
        E: From<CommandError>,
    {
        loop {
            match self.begin::<K>(namespace, filter, &version).await {
                Ok(mut events) => {
                    while let Ok(Some(event)) = events.line().await {
                        match serde_json::from_slice(&event) {
                            Ok(WatchEvent::Added(value) | WatchEvent::Modified(value)) => {
                                version = version_of(&value, version);
                                tell(Change::Applied(Box::new(Item::of(value))))?;
                            }
                            Ok(WatchEvent::Deleted(value)) => {
                                version = version_of(&value, version);
                                tell(Change::Deleted(Box::new(Item::of(value))))?;
                            }
                            Ok(WatchEvent::Bookmark(bookmark)) => {
                                version = bookmark.metadata.resource_version;
                            }
                            Ok(WatchEvent::Error(_)) => {
                                version.clear();
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                }
                Err(failure) if failure.code() == Some(410) => version.clear(),
                Err(failure) if failure.is_passing() => {}
                Err(failure) => return Err(failure.into()),
            }
            tokio::time::sleep(PAUSE).await;
            if version.is_empty() {
                match self.list_at::<K>(namespace, filter).await {
                    Ok((items, at)) => {
                        version = at;
                        tell(Change::All(items))?;
                    }
                    Err(failure) if failure.is_passing() => {}
                    Err(failure) => return Err(failure.into()),
                }
            }
        }
    }

    async fn begin<K: Resource<DynamicType = ()>>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
        version: &str,
    ) -> Result<Chunks, CommandError> {
        let mut params = WatchParams::default().timeout(290);
        params.label_selector.clone_from(&filter.labels);
        params.field_selector.clone_from(&filter.fields);
        let call = call(urls::<K>(namespace).watch(&params, version))?;
        let begun = self.api.stream(call.within(self.wait)).await;
        begun.map_err(|error| self.failure(&error))
    }
}

fn version_of(value: &Value, before: String) -> String {
    match value["metadata"]["resourceVersion"].as_str() {
        Some(version) => version.to_owned(),
        None => before,
    }
}
