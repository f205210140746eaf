//! The bindings of one scope (the whole hub, or one namespace), indexed by their subjects.

use crate::Subject;
use crate::request::SERVICE_ACCOUNT_PREFIX;
use crate::verdict::{Grantee, ObjectRef};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A stored binding.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) object: ObjectRef,
    pub(crate) role: ObjectRef,
    pub(crate) subjects: Vec<Grantee>,
}

/// Bindings by name, with an index by user and group. A hub has two ClusterRoleBindings per cluster, of which only a few apply to one
/// user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    by_name: BTreeMap<String, Binding>,
    of_user: HashMap<String, BTreeSet<String>>,
    of_group: HashMap<String, BTreeSet<String>>,
}

impl Bindings {
    pub(crate) fn upsert(&mut self, binding: Binding) {
        let name = binding.object.name.clone();
        self.remove(&name);
        for subject in &binding.subjects {
            let (index, key) = self.index_of(subject);
            index.entry(key).or_default().insert(name.clone());
        }
        self.by_name.insert(name, binding);
    }

    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(binding) = self.by_name.remove(name) else {
            return false;
        };
        for subject in &binding.subjects {
            let (index, key) = self.index_of(subject);
            if let Some(names) = index.get_mut(&key) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(&key);
                }
            }
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the bindings that apply to the subject, in name order, each with its first matching subject.
    pub(crate) fn applying_to<G: AsRef<str>>(
        &self,
        subject: &Subject<'_, G>,
    ) -> impl Iterator<Item = (&Binding, &Grantee)> {
        let by_user = self.of_user.get(subject.user);
        let by_group = subject
            .groups
            .iter()
            .filter_map(|group| self.of_group.get(group.as_ref()));
        let names: BTreeSet<&String> = by_user.into_iter().chain(by_group).flatten().collect();
        names.into_iter().filter_map(move |name| {
            let binding = self.by_name.get(name)?;
            let mut grantees = binding.subjects.iter();
            let first = grantees.find(|grantee| grantee.applies_to(subject))?;
            Some((binding, first))
        })
    }

    fn index_of(&mut self, subject: &Grantee) -> (&mut HashMap<String, BTreeSet<String>>, String) {
        match subject {
            Grantee::User(name) => (&mut self.of_user, name.clone()),
            Grantee::Group(name) => (&mut self.of_group, name.clone()),
            Grantee::ServiceAccount { namespace, name } => (
                &mut self.of_user,
                format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"),
            ),
        }
    }
}
