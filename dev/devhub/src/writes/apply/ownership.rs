//! How a write changes the ownership of fields.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::Value;

use super::Manager;
use super::element::{path_in_words, same};
use super::managers::{ManagerId, Managers, Operation, Owned};
use super::merge::merged;
use super::set::{FieldSet, Path};
use super::shape::Shape;
use super::walk::{Difference, as_schema_has_it, fields_of, with_declared_parents, without};
use crate::object::{Object, time};
use crate::status::{ApiError, Cause, Details};

/// The manager of all fields of an object that was written before ownership was tracked.
pub(crate) const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Paths without an owner; fields below them may have owners.
const UNOWNED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The ownership of an object in one write. The objects it is asked about have no managedFields.
pub(crate) struct Ownership<'a> {
    shape: Shape<'a>,
    manager: &'a Manager<'a>,
    ignored: FieldSet,
    unowned: FieldSet,
}

/// Fields that others own and this write would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflicts(BTreeMap<ManagerId, Vec<Path>>);

impl<'a> Ownership<'a> {
    pub(crate) fn new(shape: Shape<'a>, manager: &'a Manager<'a>) -> Self {
        Self {
            shape,
            manager,
            ignored: FieldSet::of_fields(manager.ignored),
            unowned: FieldSet::of_fields(UNOWNED),
        }
    }

    /// The managers after a write by `name` that was no apply.
    pub(crate) fn update(
        &self,
        old: &Object,
        new: &Object,
        managers: Managers,
        name: &str,
    ) -> Managers {
        let mut managers = self.reconciled(managers);
        let difference = self.difference(old, new);
        let written = difference.written();
        for owned in managers.0.values_mut() {
            let kept = owned.fields.difference(&written);
            owned.fields = kept.difference(&difference.removed);
        }
        managers.0.retain(|_, owned| !owned.fields.is_empty());
        let mine = written.difference(&self.unowned);
        if !mine.is_empty() {
            let id = self.id(name, Operation::Update);
            let before = managers.0.remove(&id).map(|owned| owned.fields);
            let owned = self.owned(mine.union(&before.unwrap_or_default()));
            managers.0.insert(id, owned);
        }
        managers.cap();
        managers
    }

    /// The object and its managers after the configuration was applied.
    pub(crate) fn apply(
        &self,
        live: &Object,
        configuration: &Object,
        managers: Managers,
        force: bool,
    ) -> Result<(Object, Managers), Conflicts> {
        let mut managers = self.reconciled(managers);
        let me = self.id(self.manager.name, Operation::Apply);
        let fields = fields_of(&configuration.to_value(), self.shape).without_trees(&self.ignored);
        let mut owned = self.owned(fields);
        let last = managers.0.remove(&me);

        let merged = self.merged(live, configuration);
        let new = match &last {
            Some(last) => self.pruned(&merged, last, &owned, &managers),
            None => merged,
        };
        let difference = self.difference(live, &new);
        let written = difference.written();
        let conflicts: BTreeMap<ManagerId, Vec<Path>> = managers
            .0
            .iter()
            .map(|(id, other)| (id.clone(), other.fields.intersection(&written).paths()))
            .filter(|(_, paths)| !paths.is_empty())
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(Conflicts(conflicts));
        }
        for other in managers.0.values_mut() {
            let kept = other.fields.difference(&written);
            other.fields = kept.difference(&difference.removed);
        }
        managers.0.retain(|_, other| !other.fields.is_empty());

        if same(&new.to_value(), &live.to_value()) {
            owned.time = last.and_then(|last| last.time);
        }
        owned.fields = owned.fields.difference(&self.unowned);
        if !owned.fields.is_empty() {
            managers.0.insert(me, owned);
        }
        Ok((new, managers))
    }

    fn merged(&self, live: &Object, configuration: &Object) -> Object {
        let merged = merged(&live.to_value(), &configuration.to_value(), self.shape);
        as_object(merged)
    }

    /// The object without what the manager has applied before, and now neither he nor anybody else owns.
    fn pruned(&self, merged: &Object, last: &Owned, mine: &Owned, others: &Managers) -> Object {
        let whole = merged.to_value();
        let all = |set: &FieldSet| with_declared_parents(set, Some(self.shape));
        let there = |value: &Value| all(&fields_of(value, self.shape));
        let (was_mine, in_merged) = (all(&last.fields), there(&whole));

        // Without all that was applied last; then with what other managers own. One version after the other, as kube-apiserver
        // does: an item that is gone in the first has lost what only others of that version own in it.
        let mut pruned = without(&whole, &was_mine, self.shape);
        let mut by_version: BTreeMap<(bool, &str), FieldSet> = BTreeMap::new();
        for owned in others.0.values().chain([mine]) {
            let version = owned.api_version.as_str();
            let managed = by_version.entry((version != last.api_version, version));
            managed.or_default().add(&owned.fields);
        }
        for managed in by_version.values() {
            let keep = there(&pruned).union(&all(managed));
            pruned = without(&whole, &in_merged.difference(&keep), self.shape);
        }
        // Then with what the manager did not apply either.
        let gone = in_merged.difference(&there(&pruned));
        as_object(without(&whole, &gone.intersection(&was_mine), self.shape))
    }

    fn difference(&self, old: &Object, new: &Object) -> Difference {
        Difference::between(&old.to_value(), &new.to_value(), self.shape).without(&self.ignored)
    }

    /// The managers, with what the schema has made one value since they wrote.
    fn reconciled(&self, mut managers: Managers) -> Managers {
        for owned in managers.0.values_mut() {
            owned.fields = as_schema_has_it(&owned.fields, self.shape);
        }
        managers
    }

    fn id(&self, name: &str, operation: Operation) -> ManagerId {
        let name = if name.is_empty() { "unknown" } else { name };
        let manager = self.manager;
        ManagerId::new(name, operation, manager.api_version, manager.subresource)
    }

    fn owned(&self, fields: FieldSet) -> Owned {
        Owned {
            api_version: self.manager.api_version.to_owned(),
            time: Some(time(self.manager.now)),
            fields,
        }
    }
}

/// A merged or pruned object is one still.
fn as_object(value: Value) -> Object {
    Object::try_from(value).unwrap_or_default()
}

impl Conflicts {
    /// The conflicts that are not about these fields, if there are any.
    pub(crate) fn without(self, allowed: &FieldSet) -> Option<Self> {
        let mut conflicts = self.0;
        for paths in conflicts.values_mut() {
            paths.retain(|path| !allowed.has_path(path));
        }
        conflicts.retain(|_, paths| !paths.is_empty());
        (!conflicts.is_empty()).then_some(Self(conflicts))
    }

    /// 409, with a cause for every field.
    pub(crate) fn error(&self) -> ApiError {
        let causes = self.0.iter().flat_map(|(manager, paths)| {
            paths.iter().map(|path| Cause {
                reason: "FieldManagerConflict".to_owned(),
                message: format!("conflict with {}", manager.in_words()),
                field: path_in_words(path),
            })
        });
        let causes: Vec<Cause> = causes.collect();
        let message = match causes.as_slice() {
            [one] => format!(
                "Apply failed with 1 conflict: {}: {}",
                one.message, one.field
            ),
            many => {
                let mut lines = Vec::new();
                for (manager, paths) in &self.0 {
                    lines.push(format!("conflicts with {}:", manager.in_words()));
                    lines.extend(
                        paths
                            .iter()
                            .map(|path| format!("- {}", path_in_words(path))),
                    );
                }
                format!(
                    "Apply failed with {} conflicts: {}",
                    many.len(),
                    lines.join("\n")
                )
            }
        };
        let details = Details {
            causes,
            ..Details::default()
        };
        ApiError {
            details: Some(details),
            ..ApiError::new(StatusCode::CONFLICT, "Conflict", message)
        }
    }
}
