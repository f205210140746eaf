//! From the manifests of a ManifestWork to objects: which object each one names, and what is kept of the manifests before.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use berth_api::GroupVersionResource;
use berth_api::work::{ManifestResourceMeta, ManifestWork};
use berth_work_core::config::Configs;
use berth_work_core::order::{LAST, rank};
use berth_work_core::report::Applied;
use berth_work_core::{ApplyFailure, Holding, Owner, Prescribed, Retry, Unusable, prescribed};

use super::checks::{Access, Checks};
use super::mapping::{Mapped, Unmapped};
use super::objects::{Entry, Known, Served};
use super::permissions;
use super::progress::{Progress, Slot, Target, failed, places};
use super::ready::Ready;
use super::record::unrecorded;
use super::rows::KindId;
use super::view::View;

/// A manifest with its rank in the order of application.
pub type Ranked = (u32, Slot);

/// What the manifests of a ManifestWork have in common, and is kept once.
pub struct Shared<'a> {
    name: Arc<str>,
    work: &'a ManifestWork,
    /// Made for the first manifest that is mapped.
    configs: OnceCell<Configs<'a>>,
    source: Arc<ManifestWork>,
    owned: Arc<Owner>,
    orphaned: Arc<Owner>,
    served: HashSet<Arc<Served>>,
}

/// Brings the manifests of a work up to date: these are in place of those before. It may have been refused meanwhile: then nothing changes.
pub fn install(view: &mut View, name: &Arc<str>, ready: &Ready, mut slots: Vec<Ranked>) {
    if !view.room.has(name) {
        return;
    }
    // Stable: manifests of one rank stay in their order.
    slots.sort_by_key(|(rank, _)| *rank);
    let slots = slots.into_iter().map(|(_, slot)| slot).collect();
    replace(view, name, ready, slots);
}

/// Replaces the slot of a manifest whose kind was not served. Returns true if it is served now.
pub fn install_one(view: &mut View, name: &str, ordinal: usize, mut slot: Slot) -> bool {
    let Some(entry) = slot.entry().cloned() else {
        return false;
    };
    let changed = view.permissions_changed;
    let progress = view.progress.get_mut(name);
    let place = progress.and_then(|it| Some((it.place(ordinal)?, it)));
    if let Some((at, progress)) = place {
        note_change(changed, &mut slot);
        progress.slots[at] = slot;
        add(view, &entry);
    }
    true
}

/// Returns true if the manifests of the work are mapped to objects.
pub fn is_mapped(view: &View, name: &str, ready: &Ready) -> bool {
    let progress = view.progress.get(name);
    progress.is_some_and(|it| it.is_of(&ready.work, &ready.owner().0))
}

/// Forgets a work: its objects are watched for other works only. Returns true if it was known.
pub fn forget(view: &mut View, name: &str) -> bool {
    let progress = view.progress.remove(name);
    for entry in progress.iter().flat_map(Progress::entries) {
        remove(view, entry);
    }
    view.forget_complete(name);
    progress.is_some()
}

fn replace(view: &mut View, name: &Arc<str>, ready: &Ready, mut slots: Vec<Slot>) {
    let former = view.progress.remove(name);
    // The pass that made them may have ended before it wrote the list.
    let status = ready.applied.status.as_ref();
    let stored = status.map_or(&[][..], |it| &it.applied_resources);
    let unlisted = (former.as_ref()).map_or_else(Vec::new, |it| unrecorded(view, it, stored));
    let is_changed = (former.as_ref()).is_some_and(|it| !it.is_of_generation(&ready.work));
    let mut former_slots = HashMap::new();
    let mut former_entries = Vec::new();
    for slot in former.into_iter().flat_map(|it| it.slots) {
        if let Some(entry) = slot.entry() {
            former_entries.push(Arc::clone(entry));
            former_slots.insert(entry.object.clone(), slot);
        }
    }
    for slot in &mut slots {
        let Some(entry) = slot.entry().cloned() else {
            continue;
        };
        note_change(view.permissions_changed, slot);
        if let Some(former) = former_slots.remove(&entry.object) {
            slot.follow(former);
            if is_changed {
                slot.wait = None;
            }
        }
        add(view, &entry);
    }
    // After the new ones: what both prescribe stays known.
    for entry in former_entries {
        remove(view, &entry);
    }
    view.installs += 1;
    let progress = Progress {
        installed: view.installs,
        source: Arc::clone(&ready.work),
        account: permissions::account(&ready.work),
        owner: ready.owner().0,
        places: places(&slots),
        slots,
        is_tried: false,
        too_large: 0,
        is_stale: false,
        unlisted,
        list_wait: None,
        stale_wait: None,
    };
    view.progress.insert(Arc::clone(name), progress);
}

/// Notes the last change of permissions. It may have come after the slot was made, and before the slot was installed.
fn note_change(changed: Option<Instant>, slot: &mut Slot) {
    if let Some(changed) = changed.filter(|_| slot.has_executor()) {
        slot.checks.changed_before(changed);
    }
}

fn add(view: &mut View, entry: &Arc<Entry>) {
    view.prescriptions.add(entry);
    view.rows.add(entry.object.kind, entry.object.namespace());
    let known = view.objects.entry(entry.object.clone());
    known.or_insert(Known::Unknown);
}

fn remove(view: &mut View, entry: &Arc<Entry>) {
    view.rows
        .remove(entry.object.kind, entry.object.namespace());
    if view.prescriptions.remove(entry) {
        view.objects.remove(&entry.object);
    }
}

/// A manifest that is read, and whose kind is to be mapped to a resource.
pub struct Unmatched {
    prescribed: Prescribed,
    rank: u32,
    meta: ManifestResourceMeta,
}

/// Reads the manifest at this position.
///
/// # Errors
/// It cannot be used: the slot that says so.
pub fn read(work: &ManifestWork, ordinal: usize) -> Result<Unmatched, Ranked> {
    let manifest = work.spec.workload.manifests.get(ordinal);
    let read = manifest.map_or(Err(Unusable::NotAnObject), |it| prescribed(ordinal, it));
    let prescribed =
        read.map_err(|unusable| (LAST, unusable_slot(ordinal, empty(ordinal), &unusable)))?;
    Ok(Unmatched {
        rank: rank(&prescribed.kind),
        meta: ManifestResourceMeta {
            group: prescribed.group().to_owned(),
            kind: prescribed.kind.clone(),
            name: prescribed.name.clone(),
            namespace: prescribed.namespace.clone(),
            version: prescribed.version().to_owned(),
            ..empty(ordinal)
        },
        prescribed,
    })
}

impl Unmatched {
    /// Group, version and kind of the object.
    pub fn kind(&self) -> (&str, &str, &str) {
        (&self.meta.group, &self.meta.version, &self.meta.kind)
    }

    /// The slot of the manifest, with what its kind is mapped to.
    pub fn matched(
        self,
        view: &mut View,
        shared: &mut Shared<'_>,
        mapped: Result<Mapped, Unmapped>,
        now: Instant,
    ) -> Ranked {
        let Self {
            prescribed,
            rank,
            mut meta,
        } = self;
        let ordinal = prescribed.ordinal;
        let Mapped {
            resource,
            is_namespaced,
        } = match mapped {
            Ok(mapped) => mapped,
            Err(unmapped) => {
                let failure = Applied::Failed {
                    reason: berth_api::conditions::manifest::APPLIED_FAILED,
                    message: words(&prescribed, &unmapped),
                };
                let mut slot = Slot::new(ordinal, Target::Unmapped(Box::new(meta)), Some(failure));
                slot.waits(Retry::Backoff, now, view.spread());
                return (rank, slot);
            }
        };
        meta.resource.clone_from(&resource.resource);
        match prescribed.mapped(&resource.resource, is_namespaced) {
            Err(unusable) => (rank, unusable_slot(ordinal, meta, &unusable)),
            Ok(manifest) => {
                let kind = view.rows.kind(&resource);
                let entry = shared.entry(&manifest, kind, resource, is_namespaced);
                let mut slot = Slot::new(ordinal, Target::Object(Arc::new(entry)), None);
                if shared.source.spec.executor.is_some() {
                    slot.checks = Checks::first(now);
                    slot.access = Access::Unknown;
                }
                (rank, slot)
            }
        }
    }
}

/// Why the kind of a manifest has no resource.
fn words(manifest: &Prescribed, unmapped: &Unmapped) -> String {
    match unmapped {
        Unmapped::NotServed(elsewhere) => not_served(manifest, elsewhere.as_deref()),
        Unmapped::Unknown(error) => format!(
            "Failed to apply manifest: the resource of kind {} is unknown: {error}",
            manifest.kind
        ),
    }
}

/// OCM's words, then the remedy.
fn not_served(manifest: &Prescribed, elsewhere: Option<&str>) -> String {
    let (kind, api_version) = (&manifest.kind, &manifest.api_version);
    let remedy = match elsewhere {
        Some(other) => {
            format!("{api_version} has no such kind, {other} has: change the apiVersion")
        }
        None if kind == "PodSecurityPolicy" => {
            "Kubernetes 1.25 removed it: use the labels of Pod Security Admission".to_owned()
        }
        None => format!(
            "{api_version} has no such kind, nor has another version of its group: check kind and apiVersion, or install its API"
        ),
    };
    format!("Failed to apply manifest: the server doesn't have a resource type {kind:?}; {remedy}")
}

fn empty(ordinal: usize) -> ManifestResourceMeta {
    ManifestResourceMeta {
        ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
        ..ManifestResourceMeta::default()
    }
}

fn unusable_slot(ordinal: usize, meta: ManifestResourceMeta, unusable: &Unusable) -> Slot {
    let (reason, message) = unusable.condition();
    let applied = failed(&ApplyFailure {
        reason,
        message,
        retry: Retry::OnChange,
    });
    Slot::new(ordinal, Target::Unusable(Box::new(meta)), Some(applied))
}

// === impl Shared ===

impl<'a> Shared<'a> {
    /// Of this work.
    pub fn of(name: &Arc<str>, ready: &'a Ready) -> Self {
        let [owned, orphaned] = [Holding::Owned, Holding::Orphaned].map(|holding| {
            let (uid, name) = ready.owner();
            Arc::new(Owner { name, uid, holding })
        });
        Self {
            name: Arc::clone(name),
            work: &ready.work,
            configs: OnceCell::new(),
            source: Arc::clone(&ready.work),
            owned,
            orphaned,
            served: HashSet::new(),
        }
    }

    /// The manifest, mapped to an object of this kind.
    fn entry(
        &mut self,
        manifest: &berth_work_core::Mapped,
        kind: KindId,
        resource: GroupVersionResource,
        is_namespaced: bool,
    ) -> Entry {
        let served = Served {
            kind: manifest.prescribed.kind.clone(),
            resource,
            is_namespaced,
        };
        let served = self.served.get(&served).cloned().unwrap_or_else(|| {
            let served = Arc::new(served);
            self.served.insert(Arc::clone(&served));
            served
        });
        let owner = match Holding::of(self.source.spec.delete_option.as_ref(), manifest) {
            Holding::Owned => &self.owned,
            Holding::Orphaned => &self.orphaned,
        };
        let configs = || Configs::new(&self.work.spec.manifest_configs);
        Entry::new(
            (&self.name, &self.source),
            self.configs.get_or_init(configs),
            manifest,
            (kind, served),
            Arc::clone(owner),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_api::work::Manifest;
    use berth_work_core::{ApplyOutcome, Done, Settled};
    use serde_json::{Value, json};

    use super::super::attempt::Tried;
    use super::super::testing;
    use super::*;

    fn ready(generation: i64, manifests: &[Value]) -> Ready {
        let mut work = ManifestWork::default();
        work.metadata.name = Some("w".to_owned());
        work.metadata.generation = Some(generation);
        let manifests = manifests.iter().map(|it| Manifest::new(it).unwrap());
        work.spec.workload.manifests = manifests.collect();
        Ready {
            work: Arc::new(work),
            applied: Arc::default(),
        }
    }

    fn object(kind: &str, namespace: &str, name: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {"namespace": namespace, "name": name},
        })
    }

    /// Installs the manifests of a generation, in their order.
    pub(crate) fn installs(view: &mut View, ready: &Ready) {
        let mut slots = Vec::new();
        let mut shared = Shared::of(&"w".into(), ready);
        for (ordinal, manifest) in ready.work.spec.workload.manifests.iter().enumerate() {
            let prescribed = prescribed(ordinal, manifest).unwrap();
            let is_namespaced = !prescribed.namespace.is_empty();
            let resource = format!("{}s", prescribed.kind.to_lowercase());
            let mapped = prescribed.mapped(&resource, is_namespaced).unwrap();
            let resource = GroupVersionResource::new("", "v1", resource);
            let kind = view.rows.kind(&resource);
            let entry = shared.entry(&mapped, kind, resource, is_namespaced);
            slots.push(Slot::new(ordinal, Target::Object(Arc::new(entry)), None));
        }
        replace(view, &"w".into(), ready, slots);
    }

    fn fails(view: &mut View, at: usize, now: Instant) {
        let failure = ApplyFailure {
            reason: berth_api::conditions::manifest::APPLIED_FAILED,
            message: "no".to_owned(),
            retry: Retry::Backoff,
        };
        view.slot("w", at).unwrap().fails(&failure, now, 0.0);
    }

    #[test]
    fn a_kind_that_is_not_served_is_named_with_the_version_that_is() {
        for (version, kind, elsewhere, remedy) in [
            (
                "extensions/v1beta1",
                "Ingress",
                Some("networking.k8s.io/v1"),
                "extensions/v1beta1 has no such kind, networking.k8s.io/v1 has: change the apiVersion",
            ),
            (
                "v1",
                "Sercice",
                None,
                "v1 has no such kind, nor has another version of its group: check kind and apiVersion, or install its API",
            ),
            (
                "policy/v1beta1",
                "PodSecurityPolicy",
                None,
                "Kubernetes 1.25 removed it: use the labels of Pod Security Admission",
            ),
        ] {
            let manifest = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
            let manifest = prescribed(0, &Manifest::new(&manifest).unwrap()).unwrap();
            assert_eq!(
                not_served(&manifest, elsewhere),
                format!(
                    "Failed to apply manifest: the server doesn't have a resource type {kind:?}; {remedy}"
                )
            );
        }
    }

    #[test]
    fn a_new_generation_ends_the_waits_of_manifests_that_stay() {
        let (mut view, now) = (testing::view(), Instant::now());
        let [a, b] = ["a", "b"].map(|name| object("ConfigMap", "n", name));
        let first = ready(1, std::slice::from_ref(&a));
        installs(&mut view, &first);
        fails(&mut view, 0, now);
        // A kind is served now: the manifests are mapped anew.
        installs(&mut view, &first);
        let slot = view.slot("w", 0).unwrap();
        assert!(slot.waits_until(now).is_some(), "nothing has changed");
        installs(&mut view, &ready(2, &[a, b]));
        let slot = view.slot("w", 0).unwrap();
        assert!(matches!(slot.applied, Some(Applied::Failed { .. })));
        assert_eq!(slot.waits_until(now), None);
    }

    #[test]
    fn a_namespace_that_was_created_ends_the_waits_in_it() {
        let (mut view, now) = (testing::view(), Instant::now());
        let manifests = [
            object("Namespace", "", "n"),
            object("ConfigMap", "n", "a"),
            object("ConfigMap", "other", "a"),
        ];
        installs(&mut view, &ready(1, &manifests));
        for at in 0..3 {
            fails(&mut view, at, now);
        }
        let entry = view.slot("w", 0).unwrap().entry().cloned().unwrap();
        let done = Done {
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            written: true,
            settled: Settled::default(),
            differences: Default::default(),
        };
        let ended = Ok(Tried {
            outcome: ApplyOutcome::Applied(done),
            repairs: None,
            access: Access::Open,
        });
        view.ended("w", 0, &entry, &ended, now);
        let waits = [0, 1, 2].map(|at| view.slot("w", at).unwrap().waits_until(now).is_some());
        assert_eq!(waits, [false, false, true]);
    }
}
