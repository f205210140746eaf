//! Lists the objects that are left of a kind in the namespace of a deleted or denied cluster.

use std::collections::HashMap;

use berth_api::GroupVersionResource;
use berth_api::labels::CLEANUP_PRIORITY;
use berth_api::plan::Target;
use berth_reconcile::{Item, Writer};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use berth_lifecycle_core::facts::{Remaining, RemainingObject};
use berth_lifecycle_core::removal::priority;

/// Upper bound on the objects of a kind that are kept: those that are deleted first. The others follow when these are gone.
const KEPT: usize = 10_000;

/// Upper bound on the characters of a priority. Longer values are invalid.
const LONGEST_PRIORITY: usize = 64;

#[derive(Deserialize)]
struct Remains<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: String,
    uid: String,
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(borrow)]
    annotations: Option<HashMap<String, &'a RawValue>>,
}

/// Lists what is left of a kind in a namespace. Nothing is left of a kind that the hub does not serve.
pub(super) async fn remaining(
    hub: &Writer,
    namespace: &str,
    resource: &GroupVersionResource,
) -> Remaining {
    let kind = Target {
        resource: resource.clone(),
        namespace: Some(namespace.to_owned()),
        name: String::new(),
    };
    let mut objects = Vec::new();
    let mut look = |item: &Item<'_>| {
        objects.push(read(item)?);
        if objects.len() >= 2 * KEPT {
            keep_first(&mut objects);
        }
        Ok(())
    };
    let listed = hub.each_metadata(&kind, &mut look).await;
    keep_first(&mut objects);
    Remaining {
        resource: resource.clone(),
        objects: listed.map(|_| objects).map_err(|refusal| refusal.message),
    }
}

fn read(item: &Item<'_>) -> Result<RemainingObject, serde_json::Error> {
    let Remains { metadata } = item.parse()?;
    let priority = (metadata.annotations)
        .and_then(|all| all.get(CLEANUP_PRIORITY).copied())
        .filter(|value| value.get().len() <= LONGEST_PRIORITY);
    Ok(RemainingObject {
        name: metadata.name,
        uid: metadata.uid,
        deleting: metadata.deletion_timestamp.is_some(),
        cleanup_priority: priority
            .map(|it| serde_json::from_str(it.get()))
            .transpose()?,
    })
}

fn keep_first(objects: &mut Vec<RemainingObject>) {
    if objects.len() > KEPT {
        objects.sort_by_key(|object| (priority(object), object.deleting));
        objects.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests;
