//! Carries out what is due for the permissions of an add-on: its RoleBindings on all clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use berth_addons_core::facts::{add_on_of, binding};
use berth_addons_core::registration::permissions;
use berth_addons_core::registration::remedies;
use berth_api::plan::{Action, Write};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, WriteOutcome, failed, never_settled, now};
use k8s_openapi::api::rbac::v1::RoleBinding;

use super::keys::{Key, Place, place};
use super::kinds::Kind;
use super::world::AddOns;

/// Upper bound on the writes that are sent together: facts that change meanwhile count for the next ones.
const WRITES_AT_ONCE: usize = 64;

/// Upper bound on the steps of a reconcile: 10,000 clusters with several bindings each.
const MOST_STEPS: usize = 1024;

/// A decision that takes longer is costly: the add-on rests after it, ten times as long.
const COSTLY: Duration = Duration::from_millis(5);
const REST: u32 = 10;

/// Why bindings are not as they should be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// What is wrong with the template, by cluster.
    pub(super) of_clusters: BTreeMap<String, String>,
    /// Why the API server refuses a binding, by its namespace and name.
    pub(super) of_bindings: BTreeMap<Place, String>,
}

/// The permissions of add-ons.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// Those made from templates, by add-on.
    stored: BTreeMap<String, BTreeMap<Place, RoleBinding>>,
    owner_of: BTreeMap<Place, String>,
    /// Bindings of others with names that an add-on would use, by add-on: found when one was created.
    others: BTreeMap<String, BTreeMap<Place, RoleBinding>>,
    /// Absent until the permissions of the add-on were looked at.
    faults: BTreeMap<String, Faults>,
}

// === impl Bindings ===

impl Bindings {
    /// Applies a RoleBinding, or its end. Returns the add-ons whose binding it was and is.
    pub(super) fn set(&mut self, at: &Place, binding: Option<RoleBinding>) -> BTreeSet<String> {
        let mut concerned = BTreeSet::new();
        let new = (binding.as_ref()).and_then(|it| add_on_of(it).map(str::to_owned));
        if let Some(old) = self.owner_of.remove(at) {
            if let Some(all) = self.stored.get_mut(&old) {
                all.remove(at);
                if all.is_empty() {
                    self.stored.remove(&old);
                }
            }
            concerned.insert(old);
        }
        if let (Some(add_on), Some(binding)) = (new, binding) {
            let all = self.stored.entry(add_on.clone()).or_default();
            all.insert(at.clone(), binding);
            self.owner_of.insert(at.clone(), add_on.clone());
            concerned.insert(add_on);
        }
        concerned
    }

    /// The bindings of an add-on, and those of others with its names.
    pub(super) fn all_of(&self, add_on: &str) -> Vec<RoleBinding> {
        let stored = self.stored.get(add_on).into_iter().flatten();
        let others = self.others.get(add_on).into_iter().flatten();
        stored.chain(others).map(|(_, it)| it.clone()).collect()
    }

    /// The bindings of an add-on in a namespace.
    pub(super) fn within(&self, add_on: &str, namespace: &str) -> Vec<&RoleBinding> {
        // The next text after the namespace.
        let range = place(namespace, "")..place(&format!("{namespace}\0"), "");
        let stored = self.stored.get(add_on).into_iter();
        let within = stored.flat_map(|it| it.range(range.clone()));
        within.map(|(_, it)| it).collect()
    }

    /// The add-ons that have bindings.
    pub(super) fn add_ons(&self) -> impl Iterator<Item = &String> {
        self.stored.keys()
    }

    pub(super) fn faults(&self, add_on: &str) -> Option<&Faults> {
        self.faults.get(add_on)
    }

    /// Notes the faults of an add-on. Returns whether they are new.
    pub(super) fn set_faults(&mut self, add_on: &str, faults: Faults) -> bool {
        let old = self.faults.insert(add_on.to_owned(), faults);
        old.as_ref() != self.faults.get(add_on)
    }

    /// Forgets an add-on that does not exist any more.
    pub(super) fn forget(&mut self, add_on: &str) {
        self.faults.remove(add_on);
        self.others.remove(add_on);
    }

    fn forget_others(&mut self, add_on: &str) {
        self.others.remove(add_on);
    }

    fn add_other(&mut self, add_on: &str, at: Place, binding: RoleBinding) {
        let others = self.others.entry(add_on.to_owned()).or_default();
        others.insert(at, binding);
    }
}

/// Works on the permissions of an add-on until nothing is due, or what is due is refused.
pub(super) async fn reconcile(on: &Handle<AddOns>, key: &Key, add_on: &str) -> Next {
    let mut faults = Faults::default();
    let mut refused = Vec::new();
    on.world().view.bindings.forget_others(add_on);
    for _ in 0..MOST_STEPS {
        let begun = Instant::now();
        let (mut writes, wanted) = {
            let world = on.world();
            if !world.knows_bindings() {
                return settled(Duration::ZERO);
            }
            let Some((found, stored)) = world.view.decide_permissions(add_on) else {
                return settled(begun.elapsed());
            };
            faults.of_clusters = found.faults.iter().cloned().collect();
            (permissions::writes(&found, &stored), found.wanted)
        };
        let took = begun.elapsed();
        writes.retain(|it| !faults.of_bindings.contains_key(&at(it)));
        writes.truncate(WRITES_AT_ONCE);
        if writes.is_empty() {
            on.change(|world, wakes| wakes.extend(world.view.set_faults(add_on, faults)));
            return if refused.is_empty() {
                settled(took)
            } else {
                failed(&refused)
            };
        }
        let creates: BTreeSet<_> = (writes.iter())
            .filter(|it| matches!(it.action, Action::Create { .. }))
            .map(at)
            .collect();
        let WriteOutcome::Failed(failures) = on.carry_out(writes).await else {
            continue;
        };
        for (failure, refusal) in failures {
            let target = &failure.target;
            let at = place(
                target.namespace.as_deref().unwrap_or_default(),
                &target.name,
            );
            if failure.code == 409 && creates.contains(&at) && find(on, add_on, &at).await {
                continue;
            }
            let of = wanted.iter().find(|it| {
                let metadata = &it.metadata;
                (metadata.namespace.as_ref(), metadata.name.as_ref()) == (Some(&at.0), Some(&at.1))
            });
            let text = match of {
                Some(binding) => remedies::of_binding(binding, &failure.message),
                None => format!("RoleBinding {}/{}: {}", at.0, at.1, failure.message),
            };
            faults.of_bindings.insert(at, text);
            refused.push((failure, refusal));
        }
    }
    never_settled(key)
}

/// Looks at a binding that could not be created because its name is taken. Returns true if it was found.
async fn find(on: &Handle<AddOns>, add_on: &str, at: &Place) -> bool {
    let target = berth_api::plan::Target {
        resource: Kind::Binding.resource(),
        namespace: Some(at.0.clone()),
        name: at.1.clone(),
    };
    let Ok((object, _)) = on.writer(0).read(&target).await else {
        return false;
    };
    let Ok(found) = binding(object.item().json) else {
        return false;
    };
    if add_on_of(&found) == Some(add_on) {
        // The watch is late.
        on.observed(Kind::Binding, &object);
    } else {
        on.world()
            .view
            .bindings
            .add_other(add_on, at.clone(), found);
    }
    true
}

fn at(write: &Write) -> Place {
    let target = &write.target;
    place(
        target.namespace.as_deref().unwrap_or_default(),
        &target.name,
    )
}

fn settled(took: Duration) -> Next {
    if took >= COSTLY {
        return Next::Rests {
            again: None,
            until: now().instant + took.saturating_mul(REST),
        };
    }
    Next::Settled {
        again: None,
        pause: None,
    }
}
