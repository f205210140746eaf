//! The behaviour of CustomResourceDefinitions themselves.

use serde_json::{Value, json};

use super::{checks, end, served, text, texts};
use crate::object::{self, Object};
use crate::resources::{Behaviour, Registry, Resource, WriteTo};
use crate::status::FieldError;
use crate::storage::{StorageId, Store};

/// CustomResourceDefinitions.
#[derive(Debug)]
pub(crate) struct Definitions;

impl Behaviour for Definitions {
    fn default(&self, object: &mut Object) {
        let kind = object.str_at(&["spec", "names", "kind"]).to_owned();
        let mut default = |path: &[&str], value: String| {
            if object.str_at(path).is_empty() && !value.is_empty() {
                object.set(path, value);
            }
        };
        default(&["spec", "names", "singular"], kind.to_lowercase());
        if !kind.is_empty() {
            default(&["spec", "names", "listKind"], format!("{kind}List"));
        }
        default(&["spec", "conversion", "strategy"], "None".to_owned());
    }

    fn prepare(&self, write: &WriteTo<'_>, object: &mut Object) {
        let old = write.old;
        if write.subresource.is_empty() {
            status(object, old, &write.world.registry, &object::time(write.now));
        }
        if object.is_deleting() && old.is_some_and(|old| !old.is_deleting()) {
            end::begin(object, write.now);
        }
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        if write.subresource.is_empty() {
            checks::errors(&object.to_value(), write.old.map(Object::to_value).as_ref())
        } else {
            Vec::new()
        }
    }

    /// A deletion always waits, first for the mark that it has begun, then for [`super::clean_up`].
    fn holds(&self, object: &Object) -> bool {
        !object.is_deleting()
    }

    fn committed(&self, write: &WriteTo<'_>, object: Option<&Object>) {
        let registry = &write.world.registry;
        match object {
            Some(object) => serve(registry, object),
            None => {
                if let Some((plural, group)) = write.key.name.split_once('.') {
                    registry.replace_custom(group, plural, Vec::new());
                }
            }
        }
    }
}

/// Serves what a definition says, if its names are accepted.
fn serve(registry: &Registry, definition: &Object) {
    let mut resources = if is_established(definition) {
        served(&definition.to_value())
    } else {
        Vec::new()
    };
    let group = definition.str_at(&["spec", "group"]);
    let plural = definition.str_at(&["spec", "names", "plural"]);
    let all = registry.all();
    let mut before = all
        .iter()
        .filter(|old| old.custom && old.group == group && old.name == plural);
    if let Some(before) = before.next() {
        let now = definition.resource_version().parse().unwrap_or_default();
        keep_reading(before, &mut resources, now);
    }
    registry.replace_custom(group, plural, resources);
}

/// Serves what the definitions in the store say: after a restart.
pub(crate) fn serve_stored(store: &Store, registry: &Registry) {
    let definitions = StorageId("customresourcedefinitions.apiextensions.k8s.io".into());
    let all = store.all(&definitions, None);
    for stored in all.items {
        let definition = &stored.object;
        let mut resources = if is_established(definition) {
            served(&definition.to_value())
        } else {
            Vec::new()
        };
        // Some objects may be from before a change of the definition.
        for reading in resources.iter_mut().filter_map(|it| it.reading.as_mut()) {
            reading.since = all.revision + 1;
        }
        let group = definition.str_at(&["spec", "group"]);
        let plural = definition.str_at(&["spec", "names", "plural"]);
        registry.replace_custom(group, plural, resources);
    }
}

/// Objects that are stored as they would be now need nothing when they are read; the others do from now on.
fn keep_reading(before: &Resource, resources: &mut [Resource], now: u64) {
    let Some(old) = &before.reading else { return };
    for resource in resources {
        let Some(new) = &mut resource.reading else {
            continue;
        };
        let is_same = resource.storage_version == before.storage_version
            && new.stored.publish() == old.stored.publish();
        new.since = if is_same { old.since } else { now };
    }
}

fn condition<'a>(definition: &'a Object, name: &str) -> Option<&'a Value> {
    let mut conditions = definition.items(&["status", "conditions"]).iter();
    conditions.find(|condition| text(condition, "type") == name)
}

pub(super) fn is_established(definition: &Object) -> bool {
    condition(definition, "Established")
        .is_some_and(|condition| text(condition, "status") == "True")
}

/// Sets what Kubernetes' controllers would: which names are accepted, that it is served, and which versions were stored.
fn status(object: &mut Object, old: Option<&Object>, registry: &Registry, now: &str) {
    let before = old.and_then(|old| old.at(&["status", "storedVersions"]));
    let mut stored = before.map(texts).unwrap_or_default();
    let mut versions = object.items(&["spec", "versions"]).iter();
    let storage = versions.find(|version| version["storage"] == true);
    let storage = storage.map(|version| text(version, "name").to_owned());
    if let Some(storage) = storage.filter(|name| !stored.contains(name)) {
        stored.push(storage);
    }
    let group = object.str_at(&["spec", "group"]).to_owned();
    let names = object.at(&["spec", "names"]).cloned().unwrap_or_default();
    let all = registry.all();
    let others: Vec<&Resource> = all
        .iter()
        .map(AsRef::as_ref)
        .filter(|other| other.group == group && other.name != text(&names, "plural"))
        .collect();
    let (accepted, conflict) = accept(&names, &others);
    let mut conditions = vec![match &conflict {
        None => ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => ("NamesAccepted", "False", *reason, message.as_str()),
    }];
    conditions.push(match conflict {
        None => (
            "Established",
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
        Some(_) => (
            "Established",
            "False",
            "NotAccepted",
            "not all names are accepted",
        ),
    });
    let mut list: Vec<Value> = conditions
        .into_iter()
        .map(|(name, is, reason, message)| {
            let same = old
                .and_then(|old| condition(old, name))
                .filter(|old| text(old, "status") == is);
            let since = same.map_or(now, |old| text(old, "lastTransitionTime"));
            json!({"type": name, "status": is, "lastTransitionTime": since, "reason": reason, "message": message})
        })
        .collect();
    list.extend(old.and_then(|old| condition(old, "Terminating")).cloned());
    object.set(
        &["status"],
        json!({"acceptedNames": accepted, "conditions": list, "storedVersions": stored}),
    );
}

/// The names that no other resource of the group has, and what is wrong with the others. Of several errors, the last is reported.
fn accept(names: &Value, others: &[&Resource]) -> (Value, Option<(&'static str, String)>) {
    let is_resource = |name: &str| {
        others.iter().any(|other| {
            other.name == name
                || other.singular == name
                || other.short_names.iter().any(|short| short == name)
        })
    };
    let is_kind = |name: &str| {
        others
            .iter()
            .any(|other| other.kind == name || other.list_kind == name)
    };
    let mut accepted = names.clone();
    let mut conflict = None;
    let in_use = |name: &str| format!("{name:?} is already in use");
    let singular = text(names, "singular");
    if is_resource(singular) {
        conflict = Some(("SingularConflict", in_use(singular)));
        remove(&mut accepted, "singular");
    }
    let shorts = texts(&names["shortNames"]);
    let taken: Vec<String> = shorts
        .iter()
        .filter(|name| is_resource(name))
        .map(|name| in_use(name))
        .collect();
    if !taken.is_empty() {
        conflict = Some(("ShortNamesConflict", taken.join(", ")));
        remove(&mut accepted, "shortNames");
    }
    let kind = text(names, "kind");
    if is_kind(kind) {
        conflict = Some(("KindConflict", in_use(kind)));
        accepted["kind"] = "".into();
    }
    let list_kind = text(names, "listKind");
    if is_kind(list_kind) {
        conflict = Some(("ListKindConflict", in_use(list_kind)));
        remove(&mut accepted, "listKind");
    }
    (accepted, conflict)
}

fn remove(names: &mut Value, name: &str) {
    if let Some(names) = names.as_object_mut() {
        names.remove(name);
    }
}
