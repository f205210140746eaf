//! Which ManifestWorks an agent carries out within its memory.
//!
//! # Promises
//! - The works that are carried out cost no more than the budget, all together.
//! - The decision depends on the claims only, not on their order: a restarted agent decides the same.
//! - A work that is new, or whose change needs more, takes no room from a work that is applied.
//! - A work that does not fit keeps no smaller one waiting.
//! - A work whose objects no AppliedManifestWork can list is refused as a whole: an object that is not in the list would stay for ever.

use std::collections::BTreeMap;

use berth_api::conditions::{condition_of, manifest_work};
use berth_api::labels::MANIFEST_WORK_CLEANUP;
use berth_api::work::{AppliedManifestResourceMeta, Manifest, ManifestConfigOption, ManifestWork};
use jiff::Timestamp;
use serde::Deserialize;

use crate::bound::STORED;

/// What the agent keeps of a small manifest and its object, in bytes: identity, status, stored status, and the entry of the
/// AppliedManifestWork. Measured by the most resident memory while 10,000 Namespaces of one work are applied and reported.
pub const PER_MANIFEST: u64 = 4 * 1024;

/// What the agent keeps of a work beside its manifests, in bytes.
const PER_WORK: u64 = 8 * 1024;

/// What the agent keeps of a value that is reported, or of a condition of a rule, in bytes.
const PER_RULE: u64 = 512;

/// What a label or a finalizer costs in memory besides its text, in bytes.
const PER_LABEL: u64 = 128;

/// A manifest is kept as text, and the one before it until it is applied.
const TEXTS: u64 = 2;

/// What a configuration costs in memory, for each byte of its JSON.
const PER_BYTE_OF_CONFIGS: u64 = 4;

/// Upper bound on the list of the objects of a work, in bytes as JSON: the rest of what an API server stores of an AppliedManifestWork is for
/// its metadata.
const LARGEST_LIST: u64 = STORED as u64 - 64 * 1024;

/// A list of this many objects always fits: a name has at most 253 bytes, and a namespace, kind or version 63.
const FEW: usize = 2_000;

/// What a ManifestWork asks of the agent's memory. Lesser claims are served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// What was done about the work already.
    pub standing: Standing,
    /// When the work was created.
    pub created: Option<Timestamp>,
    /// The estimated memory, in bytes.
    pub cost: u64,
    /// The estimated list of its objects in its AppliedManifestWork, in bytes; 0 if it fits in any case.
    pub list: u64,
}

/// Why a ManifestWork is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Its estimated memory (in bytes) does not fit into the budget.
    Memory(u64),
    /// The estimated list of its objects (in bytes) does not fit into an AppliedManifestWork.
    List(u64),
}

/// What was done about a ManifestWork already, as the hub has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// This generation was carried out.
    Carried,
    /// Another generation was, or this one is begun.
    Begun,
    /// Nothing.
    New,
}

// === impl Claim ===

impl Claim {
    /// The claim of a ManifestWork. Its cost depends on its spec, its labels and its finalizers.
    #[must_use]
    pub fn of(work: &ManifestWork) -> Self {
        Self {
            standing: Standing::of(work),
            created: (work.metadata.creation_timestamp.as_ref()).map(|it| it.0),
            cost: cost(work),
            list: list(&work.spec.workload.manifests),
        }
    }

    /// The claim of the same generation of the work, of which only the standing may have changed.
    #[must_use]
    pub fn again(self, work: &ManifestWork) -> Self {
        Self {
            standing: Standing::of(work),
            ..self
        }
    }
}

// === impl Standing ===

impl Standing {
    fn of(work: &ManifestWork) -> Self {
        let metadata = &work.metadata;
        let conditions = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
        let is_carried = condition_of(conditions, manifest_work::APPLIED).is_some_and(|it| {
            it.observed_generation == metadata.generation && it.reason != manifest_work::TOO_LARGE
        });
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        // A work that was refused from the start has no finalizer.
        let is_begun = finalizers.iter().any(|it| it == MANIFEST_WORK_CLEANUP);
        match (is_begun, is_carried) {
            (true, true) => Self::Carried,
            (true, false) => Self::Begun,
            (false, _) => Self::New,
        }
    }
}

/// Returns the works that are not carried out within the budget (in bytes).
#[must_use]
pub fn refused<'a>(
    claims: impl IntoIterator<Item = (&'a str, Claim)>,
    budget: u64,
) -> BTreeMap<&'a str, Excess> {
    let mut claims: Vec<_> = claims.into_iter().collect();
    claims.sort_unstable_by_key(|(name, claim)| (claim.standing, claim.created, *name));
    let mut left = budget;
    let refused = claims.into_iter().filter_map(|(name, claim)| {
        if claim.list > LARGEST_LIST {
            return Some((name, Excess::List(claim.list)));
        }
        match left.checked_sub(claim.cost) {
            None => Some((name, Excess::Memory(claim.cost))),
            Some(rest) => {
                left = rest;
                None
            }
        }
    });
    refused.collect()
}

/// The message of the condition Applied of a work that is refused.
#[must_use]
pub fn message(excess: Excess, budget: u64) -> String {
    match excess {
        Excess::Memory(cost) => format!(
            "Not applied: the ManifestWork takes about {} of the agent's memory, and the ManifestWorks before it leave less of {}. Objects that were applied before stay as they are. Delete or shrink ManifestWorks of this cluster, or raise --works-memory and the memory limit of the agent",
            mib(cost),
            mib(budget)
        ),
        Excess::List(list) => format!(
            "Not applied: the list of its objects takes about {}, and an AppliedManifestWork can hold {}. Objects that were applied before stay as they are. Split the manifests over several ManifestWorks",
            mib(list),
            mib(LARGEST_LIST)
        ),
    }
}

/// A work without what costs memory: what the agent keeps of one that is refused.
#[must_use]
pub fn stripped(work: &ManifestWork) -> ManifestWork {
    let metadata = &work.metadata;
    let mut stripped = ManifestWork::default();
    stripped.metadata.name.clone_from(&metadata.name);
    stripped.metadata.namespace.clone_from(&metadata.namespace);
    stripped.metadata.uid.clone_from(&metadata.uid);
    stripped.metadata.generation = metadata.generation;
    let version = &metadata.resource_version;
    stripped.metadata.resource_version.clone_from(version);
    stripped
        .metadata
        .finalizers
        .clone_from(&metadata.finalizers);
    let deletion = &metadata.deletion_timestamp;
    stripped.metadata.deletion_timestamp.clone_from(deletion);
    stripped.status = work.status.clone();
    if let Some(status) = &mut stripped.status {
        status.resource_status.manifests = Vec::new();
    }
    stripped
}

fn cost(work: &ManifestWork) -> u64 {
    let manifests = &work.spec.workload.manifests;
    let texts: u64 = manifests.iter().map(|it| bytes(it.text().len())).sum();
    let configs = &work.spec.manifest_configs;
    let written = serde_json::to_vec(configs).map_or(0, |it| bytes(it.len()));
    let count = bytes(manifests.len());
    let rules = configs.iter().map(|it| {
        let objects = if is_pattern(it) { count } else { 1 };
        objects.saturating_mul(rules_of(it))
    });
    let rules = rules.fold(0, u64::saturating_add);
    [
        PER_WORK,
        count.saturating_mul(PER_MANIFEST),
        texts.saturating_mul(TEXTS),
        written.saturating_mul(PER_BYTE_OF_CONFIGS),
        rules.saturating_mul(PER_RULE),
        labels(work),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// The bytes of the list of the objects of these manifests, as the agent will write it; 0 if it fits in any case.
fn list(manifests: &[Manifest]) -> u64 {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Head {
        api_version: String,
        kind: String,
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Metadata {
        name: String,
        namespace: String,
    }
    if manifests.len() <= FEW {
        return 0;
    }
    // A manifest of other types has no object.
    let heads = manifests.iter().filter_map(|it| it.read::<Head>().ok());
    let entries = heads.map(|head| {
        let version = head.api_version.rsplit_once('/');
        let (group, version) = version.unwrap_or(("", &head.api_version));
        let entry = AppliedManifestResourceMeta {
            group: group.to_owned(),
            name: head.metadata.name,
            namespace: head.metadata.namespace,
            // Most resources are the plural of their kind.
            resource: head.kind + "s",
            uid: "0".repeat(36),
            version: version.to_owned(),
        };
        // An entry is plain data, and serializing it cannot fail.
        serde_json::to_vec(&entry).map_or(0, |it| bytes(it.len() + 1))
    });
    entries.sum()
}

/// What the labels and the finalizers of a ManifestWork cost. The AppliedManifestWork has the labels, too.
fn labels(work: &ManifestWork) -> u64 {
    let metadata = &work.metadata;
    let labels = metadata.labels.iter().flatten();
    let labels = labels.map(|(key, value)| 2 * (PER_LABEL + bytes(key.len() + value.len())));
    let finalizers = metadata.finalizers.iter().flatten();
    let finalizers = finalizers.map(|it| PER_LABEL + bytes(it.len()));
    // The agent's own finalizer is part of `PER_WORK`.
    labels
        .chain(finalizers.skip(1))
        .fold(0, u64::saturating_add)
}

/// Returns true if the configuration may be for several objects.
fn is_pattern(config: &ManifestConfigOption) -> bool {
    let id = &config.resource_identifier;
    id.name.contains('*') || id.namespace.contains('*')
}

/// The number of values and conditions that a configuration asks for. Well-known statuses have a handful of values.
fn rules_of(config: &ManifestConfigOption) -> u64 {
    let values = config.feedback_rules.iter();
    let values = values.map(|it| bytes(it.json_paths.len()).max(4));
    values.sum::<u64>() + bytes(config.condition_rules.len())
}

fn bytes(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn mib(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests;
