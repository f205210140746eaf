//! Lays the objects of an add-on out in works.
//!
//! # Promises
//! - Every object is in one work, once. Of two objects with the same kind, namespace and name, the last one counts, as in OCM.
//! - No work has more than [`LARGEST`] bytes of manifests, the most that the hub's gate takes.
//! - An object that is in a stored work stays there, in its order. To move it, the agent would have to delete it in one work and create it
//!   in another. Only in a work that would get too large do objects that have grown move.
//! - A new work has an index above all stored ones, those that are being deleted included.

use std::collections::BTreeMap;
use std::fmt;

use berth_api::labels;
use berth_api::text::shorten;
use berth_api::work::{Manifest, ManifestWorkSpec, ManifestsTemplate};
use serde_json::{Map, Value};

use super::configs::{config_hashes, delete_option, manifest_configs};
use super::same::is_same;
use super::{Request, Work, is_deleting};
use crate::object::Key;
use crate::template::Rendered;

/// Upper bound on the bytes of the manifests of a work. Gates refuse more.
pub const LARGEST: usize = 500 * 1024;

/// Upper bound on the bytes of the manifests of a work to which objects are added. As in OCM, the rest is room to grow.
const FULL: usize = LARGEST / 10 * 8;

/// The works of an add-on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The works that should exist, by index.
    pub works: Vec<Work>,
    /// The names of stored works that should not exist.
    pub unneeded: Vec<String>,
}

/// An object is too large for a work, or the hooks are, which have one work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    what: String,
    bytes: usize,
}

/// An object that is to be laid out.
struct Item {
    manifest: Manifest,
    bytes: usize,
}

/// A work that is being filled.
struct Filled {
    index: u32,
    items: Vec<Item>,
    bytes: usize,
}

/// Returns the works of an add-on at a place.
///
/// # Errors
/// An object has more than [`LARGEST`] bytes.
pub fn layout(request: &Request<'_>) -> Result<Layout, TooLarge> {
    let mut objects = BTreeMap::new();
    for rendered in request.objects {
        if let Value::Object(object) = &rendered.object {
            objects.insert(Key::of(object), rendered);
        }
    }
    let keys = keys_in_order(request.objects);
    let is_hook = request.place.is_hook();
    let configs = manifest_configs(request.manifest_configs, &keys, is_hook);
    let in_order = keys
        .iter()
        .filter_map(|key| Some((key, objects.get(key)?.object.as_object()?)));
    let delete_option = delete_option(in_order);
    let hashes = config_hashes(request.configs);
    let annotations = match serde_json::to_string(&hashes) {
        Ok(json) if !hashes.is_empty() => {
            BTreeMap::from([(labels::CONFIG_SPEC_HASH.to_owned(), json)])
        }
        _ => BTreeMap::new(),
    };

    let mut unneeded = Vec::new();
    let mut next = 0;
    let mut filled = Vec::new();
    let mut pending: BTreeMap<Key, Item> = BTreeMap::new();
    for (index, work) in request.stored() {
        next = index.saturating_add(1).max(next);
        if is_deleting(work) {
            continue;
        }
        let mut kept = Kept::of(&work.spec, &mut objects, &mut pending)?;
        kept.shrink(&mut pending);
        let bytes = kept.items.iter().map(|(_, it, _)| it.bytes).sum();
        filled.push(Filled {
            index,
            items: kept.items.into_iter().map(|(_, item, _)| item).collect(),
            bytes,
        });
    }
    for (key, rendered) in objects {
        let item = Item::of(&key, rendered, None)?;
        pending.insert(key, item);
    }
    add(&mut filled, pending.into_values(), next, is_hook);
    if is_hook && filled.len() > 1 {
        return Err(TooLarge {
            what: "all hooks before deletion together".to_owned(),
            bytes: filled.iter().map(|work| work.bytes).sum(),
        });
    }

    let mut works = Vec::new();
    for work in filled {
        let name = request.place.name(request.addon, work.index);
        if work.items.is_empty() {
            unneeded.push(name);
            continue;
        }
        works.push(Work {
            name,
            labels: request.labels(),
            annotations: annotations.clone(),
            spec: ManifestWorkSpec {
                delete_option: delete_option.clone(),
                manifest_configs: configs.clone(),
                workload: ManifestsTemplate {
                    manifests: work.items.into_iter().map(|it| it.manifest).collect(),
                },
                ..ManifestWorkSpec::default()
            },
        });
    }
    Ok(Layout { works, unneeded })
}

/// What stays in a stored work: the objects, in its order, and how many bytes each had.
struct Kept {
    items: Vec<(Key, Item, usize)>,
}

/// Adds objects to works, the largest first, each to the work with the most room, or else to a new one. The hooks have one work only.
fn add(filled: &mut Vec<Filled>, items: impl Iterator<Item = Item>, mut next: u32, is_hook: bool) {
    let mut items: Vec<_> = items.collect();
    // Stable: objects of one size stay in the order of their keys.
    items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
    for item in items {
        let most = if is_hook { LARGEST } else { FULL };
        let with_room = filled
            .iter_mut()
            .filter(|work| work.bytes + item.bytes <= most);
        // Of two with as much room, the first one.
        match with_room.min_by_key(|work| work.bytes) {
            Some(work) => work.push(item),
            None => {
                let mut work = Filled {
                    index: next,
                    items: Vec::new(),
                    bytes: 0,
                };
                next = next.saturating_add(1);
                work.push(item);
                filled.push(work);
            }
        }
    }
}

/// The keys of objects in the order of the template, each once.
fn keys_in_order(objects: &[Rendered]) -> Vec<Key> {
    let mut seen = std::collections::BTreeSet::new();
    let keys = objects.iter().filter_map(|it| it.object.as_object());
    let keys = keys.map(Key::of);
    keys.filter(|key| seen.insert(key.clone())).collect()
}

// === impl Item ===

impl Item {
    /// The object as a manifest. One that says the same as the stored manifest keeps the stored text, so that nothing is written.
    fn of(key: &Key, rendered: &Rendered, stored: Option<&Manifest>) -> Result<Self, TooLarge> {
        let stored = stored.filter(|stored| {
            let Ok(value) = stored.read::<Value>() else {
                return false;
            };
            is_same(&value, &rendered.object)
                || (rendered.undecorated.as_ref()).is_some_and(|it| is_same(&value, it))
        });
        let manifest = match stored {
            Some(stored) => stored.clone(),
            None => match Manifest::new(&rendered.object) {
                Ok(manifest) => manifest,
                // A JSON value is written as JSON; were it not, it must not be taken for a small one.
                Err(_) => return Err(TooLarge::new(key, usize::MAX)),
            },
        };
        let bytes = manifest.text().len();
        if bytes > LARGEST {
            return Err(TooLarge::new(key, bytes));
        }
        Ok(Self { manifest, bytes })
    }
}

// === impl Kept ===

impl Kept {
    /// Takes the objects of a stored work out of `objects`. One that an earlier work gave up is taken back from `pending` here.
    fn of(
        spec: &ManifestWorkSpec,
        objects: &mut BTreeMap<Key, &Rendered>,
        pending: &mut BTreeMap<Key, Item>,
    ) -> Result<Self, TooLarge> {
        let mut items = Vec::new();
        for stored in &spec.workload.manifests {
            let Ok(object) = stored.read::<Map<String, Value>>() else {
                continue;
            };
            let key = Key::of(&object);
            let had = stored.text().len();
            if let Some(rendered) = objects.remove(&key) {
                let item = Item::of(&key, rendered, Some(stored))?;
                items.push((key, item, had));
            } else if let Some(item) = pending.remove(&key) {
                items.push((key, item, had));
            }
        }
        Ok(Self { items })
    }

    /// Gives objects up until the others fit: first those that have grown, the largest first.
    fn shrink(&mut self, pending: &mut BTreeMap<Key, Item>) {
        let mut bytes: usize = self.items.iter().map(|(_, item, _)| item.bytes).sum();
        while bytes > LARGEST {
            let candidates = self.items.iter().enumerate();
            let worst =
                candidates.max_by_key(|(_, (_, item, had))| (item.bytes > *had, item.bytes));
            let Some((index, _)) = worst else {
                return;
            };
            let (key, item, _) = self.items.remove(index);
            bytes -= item.bytes;
            pending.insert(key, item);
        }
    }
}

// === impl Filled ===

impl Filled {
    fn push(&mut self, item: Item) {
        self.bytes += item.bytes;
        self.items.push(item);
    }
}

// === impl TooLarge ===

impl TooLarge {
    fn new(key: &Key, bytes: usize) -> Self {
        let Key {
            kind,
            namespace,
            name,
            ..
        } = key;
        Self {
            what: format!(
                "{} {}/{}",
                shorten(kind, 63),
                shorten(namespace, 63),
                shorten(name, 253)
            ),
            bytes,
        }
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, bytes } = self;
        write!(
            f,
            "{what}: {bytes} bytes; a ManifestWork takes at most {LARGEST}"
        )
    }
}

impl std::error::Error for TooLarge {}
