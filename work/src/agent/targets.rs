//! From the manifests of a ManifestWork to objects: which object each one names, and what is kept of the manifests before.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use berth_api::GroupVersionResource;
use berth_api::work::{AppliedManifestWork, ManifestResourceMeta, ManifestWork};
use berth_reconcile::Handle;
use berth_work_core::config::Configs;
use berth_work_core::order::{LAST, rank};
use berth_work_core::report::Applied;
use berth_work_core::{Failure, Holding, Mapped as Prescribed, Owner, Retry, Unusable, prescribed};

use tokio::task::coop::consume_budget;

use super::MANAGED;
use super::checks::{Access, Checks};
use super::mapping::{Mapped, Unmapped};
use super::objects::{Entry, Known, Served};
use super::progress::{Progress, Slot, Target, places};
use super::rows::KindId;
use super::world::Agent;
use super::{permissions, table};

/// A ManifestWork whose objects are to be applied, and its AppliedManifestWork.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) work: Arc<ManifestWork>,
    pub(crate) applied: Arc<AppliedManifestWork>,
}

/// What the manifests of a ManifestWork have in common, and is kept once.
struct Shared<'a> {
    name: Arc<str>,
    work: &'a ManifestWork,
    /// Made for the first manifest that is mapped.
    configs: OnceCell<Configs<'a>>,
    source: Arc<ManifestWork>,
    owned: Arc<Owner>,
    orphaned: Arc<Owner>,
    served: HashSet<Arc<Served>>,
}

/// Brings the manifests of a work up to date: maps each to its object. [`watch`] has to follow.
pub(crate) async fn map(on: &Handle<Agent>, name: &Arc<str>, ready: &Ready) {
    let owner = ready.owner();
    let is_known = {
        let world = on.world();
        let progress = world.progress.get(name);
        progress.is_some_and(|it| it.is_of(&ready.work, &owner.0))
    };
    if is_known {
        return;
    }
    let mut shared = Shared::of(name, ready);
    let count = ready.work.spec.workload.manifests.len();
    let mut slots = Vec::with_capacity(count);
    for ordinal in 0..count {
        slots.push(slot(on, &mut shared, ordinal).await);
        // Patterns of configs are compared with each manifest.
        consume_budget().await;
    }
    // Stable: manifests of one rank stay in their order.
    slots.sort_by_key(|(rank, _)| *rank);
    let slots = slots.into_iter().map(|(_, slot)| slot).collect();
    on.change(|world, _| {
        // It may have been refused meanwhile.
        if world.room.has(name) {
            install(world, name, ready, slots);
        }
    });
}

/// Tries again to map a manifest whose kind was not served. Returns true if it is mapped now.
pub(crate) async fn map_again(
    on: &Handle<Agent>,
    name: &Arc<str>,
    ready: &Ready,
    ordinal: usize,
) -> bool {
    let (_, slot) = slot(on, &mut Shared::of(name, ready), ordinal).await;
    if !matches!(slot.target, Target::Object(_)) {
        return false;
    }
    on.change(|world, _| {
        let Some(progress) = world.progress.get_mut(name) else {
            return;
        };
        let at = progress.place(ordinal);
        let entry = slot.entry().cloned();
        if let (Some(at), Some(entry)) = (at, entry) {
            progress.slots[at] = slot;
            add(world, &entry);
        }
    });
    table::update(on);
    true
}

/// Watches the objects of all works that are mapped, and no others.
pub(crate) fn watch(on: &Handle<Agent>) {
    permissions::update(on);
    table::update(on);
}

/// Forgets a work: its objects are watched for other works only.
pub(crate) fn forget(on: &Handle<Agent>, name: &str) {
    let was_known = on.change(|world, _| {
        let progress = world.progress.remove(name);
        for entry in progress.iter().flat_map(Progress::entries) {
            remove(world, entry);
        }
        world.forget_complete(name);
        progress.is_some()
    });
    if was_known {
        watch(on);
    }
}

fn install(world: &mut Agent, name: &Arc<str>, ready: &Ready, mut slots: Vec<Slot>) {
    let former = world.progress.remove(name);
    // The pass that made them may have ended before it wrote the list.
    let status = ready.applied.status.as_ref();
    let stored = status.map_or(&[][..], |it| &it.applied_resources);
    let unlisted = (former.as_ref()).map_or_else(Vec::new, |it| world.unrecorded(it, stored));
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
        if let Some(former) = former_slots.remove(&entry.object) {
            slot.follow(former);
            if is_changed {
                slot.wait = None;
            }
        }
        add(world, &entry);
    }
    // After the new ones: what both prescribe stays known.
    for entry in former_entries {
        remove(world, &entry);
    }
    let progress = Progress {
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
    world.progress.insert(Arc::clone(name), progress);
}

fn add(world: &mut Agent, entry: &Arc<Entry>) {
    world.prescriptions.add(entry);
    world.rows.add(entry.object.kind, entry.object.namespace());
    let known = world.objects.entry(entry.object.clone());
    known.or_insert(Known::Unknown);
}

fn remove(world: &mut Agent, entry: &Arc<Entry>) {
    world
        .rows
        .remove(entry.object.kind, entry.object.namespace());
    if world.prescriptions.remove(entry) {
        world.objects.remove(&entry.object);
    }
}

/// The slot of a manifest, and its rank.
async fn slot(on: &Handle<Agent>, shared: &mut Shared<'_>, ordinal: usize) -> (u32, Slot) {
    let manifest = shared.source.spec.workload.manifests.get(ordinal);
    let read = manifest.map(|it| prescribed(ordinal, it));
    let prescribed = match read {
        Some(Ok(prescribed)) => prescribed,
        Some(Err(unusable)) => return (LAST, unusable_slot(ordinal, empty(ordinal), &unusable)),
        None => {
            return (
                LAST,
                unusable_slot(ordinal, empty(ordinal), &Unusable::NotAnObject),
            );
        }
    };
    let rank = rank(&prescribed.kind);
    let mut meta = ManifestResourceMeta {
        group: prescribed.group().to_owned(),
        kind: prescribed.kind.clone(),
        name: prescribed.name.clone(),
        namespace: prescribed.namespace.clone(),
        version: prescribed.version().to_owned(),
        ..empty(ordinal)
    };
    let mapping = Arc::clone(&on.world().mapping);
    let cluster = on.writer(MANAGED);
    let mapped = mapping.of(cluster, &meta.group, &meta.version, &meta.kind);
    let Mapped {
        resource,
        is_namespaced,
    } = match mapped.await {
        Ok(mapped) => mapped,
        Err(unmapped) => {
            let message = match unmapped {
                Unmapped::NotServed(elsewhere) => not_served(&prescribed, elsewhere.as_deref()),
                Unmapped::Unknown(error) => {
                    format!(
                        "Failed to apply manifest: the resource of kind {} is unknown: {error}",
                        meta.kind
                    )
                }
            };
            let failure = Applied::Failed {
                reason: berth_api::conditions::manifest::APPLIED_FAILED,
                message,
            };
            let mut slot = Slot::new(ordinal, Target::Unmapped(Box::new(meta)), Some(failure));
            slot.waits(Retry::Backoff, berth_reconcile::now().instant);
            return (rank, slot);
        }
    };
    meta.resource.clone_from(&resource.resource);
    match prescribed.mapped(&resource.resource, is_namespaced) {
        Err(unusable) => (rank, unusable_slot(ordinal, meta, &unusable)),
        Ok(manifest) => {
            let kind = on.world().rows.kind(&resource);
            let entry = shared.entry(&manifest, kind, resource, is_namespaced);
            let mut slot = Slot::new(ordinal, Target::Object(Arc::new(entry)), None);
            if shared.source.spec.executor.is_some() {
                slot.checks = Checks::first(berth_reconcile::now().instant);
                slot.access = Access::Unknown;
            }
            (rank, slot)
        }
    }
}

/// OCM's words, then the remedy.
fn not_served(manifest: &berth_work_core::Prescribed, elsewhere: Option<&str>) -> String {
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
    let applied = failed(&Failure {
        reason,
        message,
        retry: Retry::OnChange,
    });
    Slot::new(ordinal, Target::Unusable(Box::new(meta)), Some(applied))
}

/// A failure as the status reports it.
pub(crate) fn failed(failure: &Failure) -> Applied {
    Applied::Failed {
        reason: failure.reason,
        message: failure.message.clone(),
    }
}

// === impl Ready ===

impl Ready {
    /// UID and name of the AppliedManifestWork.
    fn owner(&self) -> (String, String) {
        let metadata = &self.applied.metadata;
        let uid = metadata.uid.clone().unwrap_or_default();
        (uid, metadata.name.clone().unwrap_or_default())
    }
}

// === impl Shared ===

impl<'a> Shared<'a> {
    fn of(name: &Arc<str>, ready: &'a Ready) -> Self {
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
        manifest: &Prescribed,
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

    use std::time::Instant;

    use berth_api::work::Manifest;
    use berth_work_core::{Done, Outcome, Settled};
    use serde_json::{Value, json};

    use super::super::connection::Connection;
    use super::super::metrics::Metrics;
    use super::super::run::Tried;
    use super::super::settings::Settings;
    use super::*;

    pub(crate) fn agent() -> Agent {
        let connection = Connection {
            url: "https://hub".to_owned(),
            hub_hash: "hash".to_owned(),
            cluster: "cluster1".to_owned(),
            agent_id: "agent".to_owned(),
        };
        let settings = Settings::new("kubeconfig".into(), "test");
        let registry = prometheus::Registry::new();
        let common = berth_reconcile::Metrics::new(&registry).unwrap();
        let metrics = Metrics::beside(&registry, common).unwrap();
        Agent::new(Arc::new(settings), Arc::new(connection), metrics)
    }

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
    pub(crate) fn installs(world: &mut Agent, ready: &Ready) {
        let mut slots = Vec::new();
        let mut shared = Shared::of(&"w".into(), ready);
        for (ordinal, manifest) in ready.work.spec.workload.manifests.iter().enumerate() {
            let prescribed = prescribed(ordinal, manifest).unwrap();
            let is_namespaced = !prescribed.namespace.is_empty();
            let resource = format!("{}s", prescribed.kind.to_lowercase());
            let mapped = prescribed.mapped(&resource, is_namespaced).unwrap();
            let resource = GroupVersionResource::new("", "v1", resource);
            let kind = world.rows.kind(&resource);
            let entry = shared.entry(&mapped, kind, resource, is_namespaced);
            slots.push(Slot::new(ordinal, Target::Object(Arc::new(entry)), None));
        }
        install(world, &"w".into(), ready, slots);
    }

    fn fails(world: &mut Agent, at: usize, now: Instant) {
        let failure = Failure {
            reason: berth_api::conditions::manifest::APPLIED_FAILED,
            message: "no".to_owned(),
            retry: Retry::Backoff,
        };
        world.slot("w", at).unwrap().fails(failure, now);
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
        let (mut world, now) = (agent(), Instant::now());
        let [a, b] = ["a", "b"].map(|name| object("ConfigMap", "n", name));
        let first = ready(1, std::slice::from_ref(&a));
        installs(&mut world, &first);
        fails(&mut world, 0, now);
        // A kind is served now: the manifests are mapped anew.
        installs(&mut world, &first);
        let slot = world.slot("w", 0).unwrap();
        assert!(slot.waits_until(now).is_some(), "nothing has changed");
        installs(&mut world, &ready(2, &[a, b]));
        let slot = world.slot("w", 0).unwrap();
        assert!(matches!(slot.applied, Some(Applied::Failed { .. })));
        assert_eq!(slot.waits_until(now), None);
    }

    #[test]
    fn a_namespace_that_was_created_ends_the_waits_in_it() {
        let (mut world, now) = (agent(), Instant::now());
        let manifests = [
            object("Namespace", "", "n"),
            object("ConfigMap", "n", "a"),
            object("ConfigMap", "other", "a"),
        ];
        installs(&mut world, &ready(1, &manifests));
        for at in 0..3 {
            fails(&mut world, at, now);
        }
        let entry = world.slot("w", 0).unwrap().entry().cloned().unwrap();
        let done = Done {
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            written: true,
            settled: Settled::default(),
            differences: Default::default(),
        };
        let ended = Ok(Tried {
            outcome: Outcome::Applied(done),
            repairs: None,
            access: Access::Open,
        });
        world.ended("w", 0, &entry, &ended, now);
        let waits = [0, 1, 2].map(|at| world.slot("w", at).unwrap().waits_until(now).is_some());
        assert_eq!(waits, [false, false, true]);
    }
}
