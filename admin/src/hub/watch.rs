//! Watches, for `--watch`.

use std::time::{Duration, Instant};

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

/// How long a watch lasts, in seconds.
const WATCH: u32 = 290;

/// The pause before a broken watch starts again.
const PAUSE: Duration = Duration::from_secs(1);

impl HubConnection {
    /// Calls `tell` with every change after this resourceVersion, until `tell` returns an error or the hub refuses the watch. A
    /// watch that ends, as every watch does, starts again at the last resourceVersion. If the hub no longer has that version,
    /// `tell` gets a new list of all objects; also if the hub's etcd was restored. A hub accepts a watch after a version of its future,
    /// and reports nothing; so a watch that did not end as it should starts again after the versions are compared.
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
        let lasts = Duration::from_secs(WATCH.into());
        loop {
            let begun = Instant::now();
            let mut is_sure = false;
            match self.begin::<K>(namespace, filter, &version).await {
                Ok(mut events) => {
                    let mut has_reported = false;
                    while let Ok(next) = events.line().await {
                        let Some(event) = next else {
                            is_sure = has_reported && begun.elapsed() + PAUSE >= lasts;
                            break;
                        };
                        has_reported = true;
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
            while !is_sure {
                match self.list_at::<K>(namespace, filter).await {
                    Ok((_, at)) if may_resume(&version, &at) => is_sure = true,
                    Ok((items, at)) => {
                        is_sure = true;
                        version = at;
                        tell(Change::All(items))?;
                    }
                    Err(failure) if failure.is_passing() => tokio::time::sleep(PAUSE).await,
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
        let mut params = WatchParams::default().timeout(WATCH);
        params.label_selector.clone_from(&filter.labels);
        params.field_selector.clone_from(&filter.fields);
        let call = call(urls::<K>(namespace).watch(&params, version))?;
        let begun = self.api.stream(call.within(self.wait)).await;
        begun.map_err(|error| self.failure(&error))
    }
}

/// Returns true if a watch may start after this version, as the hub has come as far, or further.
fn may_resume(version: &str, hub: &str) -> bool {
    let [version, hub] = [version, hub].map(str::parse::<u64>);
    matches!((version, hub), (Ok(version), Ok(hub)) if hub >= version)
}

fn version_of(value: &Value, before: String) -> String {
    match value["metadata"]["resourceVersion"].as_str() {
        Some(version) => version.to_owned(),
        None => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_starts_again_only_at_a_hub_that_has_come_as_far() {
        for (version, hub, expected) in [
            ("7", "7", true),
            ("7", "10", true),
            ("10", "7", false),
            ("", "7", false),
            ("x7", "x9", false),
            ("7", "", false),
        ] {
            assert_eq!(may_resume(version, hub), expected, "{version} {hub}");
        }
    }
}
