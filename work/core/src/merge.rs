//! The status as it is stored, and what changes in it.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::conditions::{condition_of, manifest, since};
use berth_api::work::{ManifestCondition, ManifestResourceMeta};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The generation that is reported, and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) generation: Option<i64>,
    /// In whole seconds, as times are stored.
    now: Timestamp,
}

/// Conditions of an object or of a ManifestWork, each type once. What is not set stays as it is stored.
#[derive(Debug)]
pub(crate) struct Conditions {
    conditions: Vec<Condition>,
    stamp: Stamp,
    /// The types that were set.
    set: BTreeSet<String>,
}

/// The stored states of objects, by what identifies the object.
pub(crate) struct StoredManifests<'a> {
    manifests: &'a [ManifestCondition],
    by_object: BTreeMap<[&'a str; 6], Vec<usize>>,
}

/// Returns whether a condition was set by a rule, a user's or the agent's.
pub(crate) fn is_of_rule(condition: &Condition) -> bool {
    condition
        .reason
        .starts_with(manifest::CONDITION_RULE_PREFIX)
}

/// Returns whether a condition was set by a rule of the agent.
pub(crate) fn is_built_in(condition: &Condition) -> bool {
    condition.reason == manifest::CONDITION_RULE_BUILT_IN
}

/// What identifies an object, without its position.
fn object(meta: &ManifestResourceMeta) -> [&str; 6] {
    [
        &meta.group,
        &meta.version,
        &meta.kind,
        &meta.resource,
        &meta.namespace,
        &meta.name,
    ]
}

// === impl Stamp ===

impl Stamp {
    pub(crate) fn new(generation: Option<i64>, now: Timestamp) -> Self {
        Self {
            generation,
            now: Timestamp::from_second(now.as_second()).unwrap_or(now),
        }
    }
}

// === impl Conditions ===

impl Conditions {
    pub(crate) fn new(stored: &[Condition], stamp: Stamp) -> Self {
        let mut types = BTreeSet::new();
        let conditions = stored.iter().filter(|it| types.insert(&it.type_));
        Self {
            conditions: conditions.cloned().collect(),
            stamp,
            set: BTreeSet::new(),
        }
    }

    /// Sets a condition. Its time moves only if its status changes.
    pub(crate) fn set(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let Stamp { generation, now } = self.stamp;
        let stored = self.conditions.iter_mut().find(|it| it.type_ == type_);
        let condition = Condition {
            last_transition_time: since(stored.as_deref(), status).unwrap_or(Time(now)),
            message,
            observed_generation: generation,
            reason: reason.to_owned(),
            status: status.to_owned(),
            type_: type_.to_owned(),
        };
        self.set.insert(type_.to_owned());
        match stored {
            Some(stored) => *stored = condition,
            None => self.conditions.push(condition),
        }
    }

    /// Adds text to the message of a condition that was set.
    pub(crate) fn append(&mut self, type_: &str, text: &str) {
        let is_set = self.set.contains(type_);
        let mut conditions = self.conditions.iter_mut();
        if let Some(condition) = conditions.find(|it| is_set && it.type_ == type_) {
            condition.message.push_str(text);
        }
    }

    /// Moves the time of a condition though its status stays.
    pub(crate) fn touch(&mut self, type_: &str) {
        let mut conditions = self.conditions.iter_mut();
        if let Some(condition) = conditions.find(|it| it.type_ == type_) {
            condition.last_transition_time = Time(self.stamp.now);
        }
    }

    pub(crate) fn get(&self, type_: &str) -> Option<&Condition> {
        condition_of(&self.conditions, type_)
    }

    pub(crate) fn remove(&mut self, type_: &str) {
        self.conditions.retain(|it| it.type_ != type_);
    }

    /// Removes the conditions of rules that were not set: their rules are gone.
    pub(crate) fn remove_unset_rules(&mut self) {
        let set = &self.set;
        self.conditions
            .retain(|it| !is_of_rule(it) || set.contains(&it.type_));
    }

    /// Removes the conditions of rules that are of another generation and were not set.
    pub(crate) fn remove_old_rules(&mut self) {
        let (set, generation) = (&self.set, self.stamp.generation);
        self.conditions.retain(|it| {
            let is_current = it.observed_generation == generation;
            !is_of_rule(it) || is_current || set.contains(&it.type_)
        });
    }

    pub(crate) fn into_conditions(mut self) -> Vec<Condition> {
        // A ManifestWork may have thousands of objects, with two conditions each.
        self.conditions.shrink_to_fit();
        self.conditions
    }
}

// === impl StoredManifests ===

impl<'a> StoredManifests<'a> {
    pub(crate) fn new(manifests: &'a [ManifestCondition]) -> Self {
        let mut by_object: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (at, manifest) in manifests.iter().enumerate() {
            let object = object(&manifest.resource_meta);
            by_object.entry(object).or_default().push(at);
        }
        Self {
            manifests,
            by_object,
        }
    }

    /// The position of the stored state of each object: that with the same position in the manifests, or else the only one of the object.
    /// No two objects get the same.
    pub(crate) fn positions<'m>(
        &self,
        objects: impl Iterator<Item = &'m ManifestResourceMeta> + Clone,
    ) -> Vec<Option<usize>> {
        let mut used = vec![false; self.manifests.len()];
        let mut positions: Vec<_> = objects.clone().map(|meta| self.exact(meta)).collect();
        let mut once = |position: &mut Option<usize>| {
            *position = position.filter(|at| !std::mem::replace(&mut used[*at], true));
        };
        positions.iter_mut().for_each(&mut once);
        for (position, meta) in positions.iter_mut().zip(objects) {
            if position.is_none() {
                *position = self.only(meta);
                once(position);
            }
        }
        positions
    }

    fn exact(&self, meta: &ManifestResourceMeta) -> Option<usize> {
        let mut of_object = self.by_object.get(&object(meta))?.iter();
        let same = |at: &&usize| self.manifests[**at].resource_meta.ordinal == meta.ordinal;
        of_object.find(same).copied()
    }

    fn only(&self, meta: &ManifestResourceMeta) -> Option<usize> {
        match self.by_object.get(&object(meta))?[..] {
            [at] => Some(at),
            _ => None,
        }
    }
}
