//! A work reduced to a digest of what the hub writes of it, so that works need not be kept to know whether one has changed.

use berth_api::work::{Manifest, ManifestWorkSpec};
use berth_api::{ManifestWork, labels};
use ring::digest::{Context, SHA256};
use serde::Serialize;
use serde_json::Value;

use super::Work;
use super::writes::Owner;
use crate::config::canonical;

/// The digest of a work: of its manifests, in any order, its configs, and the metadata that add-ons set. Equal digests are equal works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

// === impl Digest ===

impl Digest {
    /// Returns the digest of a stored work.
    ///
    /// # Errors
    /// A manifest is not JSON.
    pub fn of_stored(work: &ManifestWork) -> Result<Self, serde_json::Error> {
        let metadata = &work.metadata;
        let value = |all: &'_ Option<std::collections::BTreeMap<String, String>>, key| {
            all.as_ref()?.get(key).cloned()
        };
        let owners = metadata.owner_references.iter().flatten();
        let owner = owners.clone().find(|it| it.controller == Some(true));
        digest(
            [
                value(&metadata.labels, labels::ADDON_NAME),
                value(&metadata.labels, labels::ADDON_NAMESPACE),
                value(&metadata.annotations, labels::CONFIG_SPEC_HASH),
                owner.map(|it| it.uid.clone()),
            ],
            &work.spec,
        )
    }

    /// Returns the digest that a work will have.
    ///
    /// # Errors
    /// A manifest is not JSON.
    pub fn of(work: &Work, owner: &Owner<'_>) -> Result<Self, serde_json::Error> {
        digest(
            [
                work.labels.get(labels::ADDON_NAME).cloned(),
                work.labels.get(labels::ADDON_NAMESPACE).cloned(),
                work.annotations.get(labels::CONFIG_SPEC_HASH).cloned(),
                owner.addon.map(|(_, uid)| uid.to_owned()),
            ],
            &work.spec,
        )
    }
}

fn digest(
    metadata: [Option<String>; 4],
    spec: &ManifestWorkSpec,
) -> Result<Digest, serde_json::Error> {
    let manifests = spec.workload.manifests.iter();
    let manifests = manifests.map(|it| Ok(canonical(&Manifest::read::<Value>(it)?)));
    let option = spec.delete_option.as_ref();
    let orphans = option.and_then(|it| it.selectively_orphans.as_ref());
    let orphans = orphans.map_or(&[][..], |it| &it.orphaning_rules);
    let option = option.map(|it| (&it.propagation_policy, it.ttl_seconds_after_finished));
    let parts = [
        serde_json::to_string(&metadata)?,
        in_any_order(manifests.collect::<Result<_, serde_json::Error>>()?)?,
        in_any_order(texts(&spec.manifest_configs)?)?,
        serde_json::to_string(&option)?,
        in_any_order(texts(orphans)?)?,
    ];
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part.as_bytes());
        context.update(b"\n");
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    Ok(Digest(bytes))
}

fn texts(all: &[impl Serialize]) -> Result<Vec<String>, serde_json::Error> {
    all.iter().map(serde_json::to_string).collect()
}

/// One line, whatever the order: a list of JSON texts, sorted.
fn in_any_order(mut texts: Vec<String>) -> Result<String, serde_json::Error> {
    texts.sort_unstable();
    serde_json::to_string(&texts)
}
