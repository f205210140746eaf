//! The RoleBindings of add-ons from templates, and why some are not as they should be.

use std::collections::{BTreeMap, BTreeSet};

use berth_addons_core::facts::add_on_of;
use k8s_openapi::api::rbac::v1::RoleBinding;

use super::keys::{Place, place};

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

    pub(super) fn forget_others(&mut self, add_on: &str) {
        self.others.remove(add_on);
    }

    pub(super) fn add_other(&mut self, add_on: &str, at: Place, binding: RoleBinding) {
        let others = self.others.entry(add_on.to_owned()).or_default();
        others.insert(at, binding);
    }
}
