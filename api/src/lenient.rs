//! Reads stored objects with invalid fields.
//!
//! An agent writes parts of its own ManagedCluster, and the API server accepts values that our types do not: a time on the last day of
//! the year 9999, or one with an offset of 99 hours. One such field must not hide the rest of the object from the hub. So each field,
//! each list item and each map entry is read separately.
//!
//! # Guarantees
//! - Every JSON value gives a ManagedCluster, and nothing panics.
//! - Readable fields are kept. An unreadable field, item or entry counts as absent, and [`Unreadable`] names it.
//! - An unreadable acceptance counts as not accepted. A deletion with an unreadable time counts as a deletion.
//! - A well-formed object gives the same result as its type's `Deserialize`.
//! - The time is linear in the size of the object, and the list of unreadable fields is bounded.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition, ManagedFieldsEntry, ObjectMeta, Time,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::ManagedCluster;
use crate::cluster::{
    ClusterSetManagedNamespaceConfig, ManagedClusterSpec, ManagedClusterStatus, Taint, TaintEffect,
};
use crate::conditions::NO_TIME;

#[cfg(test)]
mod tests;
mod work;

pub use work::manifest_work;

/// Upper bound on the fields that [`Unreadable`] names; further fields are only counted.
const NAMED: usize = 5;

/// The result of reading an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read<T> {
    /// The object, without the unreadable fields.
    pub object: T,
    /// The unreadable fields.
    pub unreadable: Unreadable,
}

/// Unreadable fields of an object, such as `status.conditions[2].lastTransitionTime`.
///
/// The names contain no text of the object's writer, so they are safe to show anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreadable {
    named: Vec<String>,
    more: usize,
}

/// The path of a field in the object.
#[derive(Clone, Copy)]
enum At<'a> {
    Root,
    Field(&'a At<'a>, &'static str),
    Item(&'a At<'a>, usize),
}

/// A JSON object and its path.
#[derive(Clone, Copy)]
struct Fields<'v, 'a> {
    of: &'v Map<String, Value>,
    at: At<'a>,
}

/// Reads a ManagedCluster.
pub fn cluster(object: &Value) -> Read<ManagedCluster> {
    match ManagedCluster::deserialize(object) {
        Ok(object) => Read {
            object,
            unreadable: Unreadable::default(),
        },
        Err(_) => field_by_field(object),
    }
}

/// Reads an object of another kind: metadata and `status.conditions` field by field, the rest by the type's `Deserialize`.
///
/// # Errors
/// The rest does not match the type.
pub fn with_conditions<T: DeserializeOwned>(object: &Value) -> Result<Read<T>, serde_json::Error> {
    let mut unreadable = Unreadable::default();
    let strict = match T::deserialize(object) {
        Ok(object) => return Ok(Read { object, unreadable }),
        Err(error) => error,
    };
    let Some(of) = object.as_object() else {
        return Err(strict);
    };
    let root = Fields { of, at: At::Root };
    let mut spared = of.clone();
    let metadata = root.object("metadata", &mut unreadable);
    let metadata = metadata.map(|fields| metadata_of(fields, &mut unreadable));
    spared.insert("metadata".into(), serde_json::to_value(metadata)?);
    if let Some(status) = root.object("status", &mut unreadable) {
        let mut kept = status.of.clone();
        let conditions = conditions(status, &mut unreadable);
        kept.insert("conditions".into(), json!(conditions));
        spared.insert("status".into(), kept.into());
    } else {
        spared.remove("status");
    }
    let object = T::deserialize(&Value::Object(spared))?;
    Ok(Read { object, unreadable })
}

fn field_by_field(object: &Value) -> Read<ManagedCluster> {
    let mut unreadable = Unreadable::default();
    let mut cluster = ManagedCluster::default();
    let Some(of) = object.as_object() else {
        unreadable.add(&At::Root);
        return Read {
            object: cluster,
            unreadable,
        };
    };
    let root = Fields { of, at: At::Root };
    if let Some(fields) = root.object("metadata", &mut unreadable) {
        cluster.metadata = metadata_of(fields, &mut unreadable);
    }
    if let Some(fields) = root.object("spec", &mut unreadable) {
        cluster.spec = spec_of(fields, &mut unreadable);
    }
    if let Some(fields) = root.object("status", &mut unreadable) {
        cluster.status = Some(status_of(fields, &mut unreadable));
    }
    Read {
        object: cluster,
        unreadable,
    }
}

fn metadata_of(fields: Fields<'_, '_>, unreadable: &mut Unreadable) -> ObjectMeta {
    let u = unreadable;
    // No decision depends on managedFields, so errors in them are not reported.
    let managed_fields =
        fields.items::<ManagedFieldsEntry>("managedFields", &mut Unreadable::default());
    ObjectMeta {
        annotations: fields.entries("annotations", u),
        creation_timestamp: fields.read("creationTimestamp", u),
        deletion_grace_period_seconds: fields.read("deletionGracePeriodSeconds", u),
        deletion_timestamp: fields
            .some("deletionTimestamp")
            .map(|_| fields.time("deletionTimestamp", u)),
        finalizers: fields.items("finalizers", u),
        generate_name: fields.read("generateName", u),
        generation: fields.read("generation", u),
        labels: fields.entries("labels", u),
        managed_fields,
        name: fields.read("name", u),
        namespace: fields.read("namespace", u),
        owner_references: fields.items("ownerReferences", u),
        resource_version: fields.read("resourceVersion", u),
        self_link: fields.read("selfLink", u),
        uid: fields.read("uid", u),
    }
}

fn spec_of(fields: Fields<'_, '_>, u: &mut Unreadable) -> ManagedClusterSpec {
    ManagedClusterSpec {
        hub_accepts_client: fields.read("hubAcceptsClient", u).unwrap_or_default(),
        lease_duration_seconds: fields.read("leaseDurationSeconds", u),
        managed_cluster_client_configs: fields
            .items("managedClusterClientConfigs", u)
            .unwrap_or_default(),
        taints: fields.each("taints", u, taint).unwrap_or_default(),
    }
}

fn status_of(fields: Fields<'_, '_>, u: &mut Unreadable) -> ManagedClusterStatus {
    ManagedClusterStatus {
        allocatable: fields.entries("allocatable", u).unwrap_or_default(),
        capacity: fields.entries("capacity", u).unwrap_or_default(),
        cluster_claims: fields.items("clusterClaims", u).unwrap_or_default(),
        conditions: conditions(fields, u),
        managed_namespaces: fields
            .each("managedNamespaces", u, managed_namespace)
            .unwrap_or_default(),
        version: fields.read("version", u),
    }
}

/// A taint needs its key and effect; an unreadable time counts as absent.
fn taint(fields: Fields<'_, '_>, u: &mut Unreadable) -> Option<Taint> {
    Some(Taint {
        effect: fields.needed::<TaintEffect>("effect", u)?,
        key: fields.needed("key", u)?,
        time_added: fields.read("timeAdded", u),
        value: fields.read("value", u).unwrap_or_default(),
    })
}

fn managed_namespace(
    fields: Fields<'_, '_>,
    u: &mut Unreadable,
) -> Option<ClusterSetManagedNamespaceConfig> {
    Some(ClusterSetManagedNamespaceConfig {
        cluster_set: fields.needed("clusterSet", u)?,
        conditions: conditions(fields, u),
        name: fields.needed("name", u)?,
    })
}

fn conditions(fields: Fields<'_, '_>, u: &mut Unreadable) -> Vec<Condition> {
    fields.each("conditions", u, condition).unwrap_or_default()
}

/// An item whose type or status is not a string is skipped. An unreadable time becomes [`NO_TIME`].
fn condition(fields: Fields<'_, '_>, u: &mut Unreadable) -> Option<Condition> {
    let known = |name| match fields.some(name) {
        None => Some(String::new()),
        Some(text) => text.as_str().map(str::to_owned),
    };
    let (Some(type_), Some(status)) = (known("type"), known("status")) else {
        u.add(&fields.at);
        return None;
    };
    Some(Condition {
        last_transition_time: fields.time("lastTransitionTime", u),
        message: fields.read("message", u).unwrap_or_default(),
        observed_generation: fields.read("observedGeneration", u),
        reason: fields.read("reason", u).unwrap_or_default(),
        status,
        type_,
    })
}

// === impl Fields ===

impl<'v, 'a> Fields<'v, 'a> {
    /// Returns the value of a field; `null` counts as absent.
    fn some(&self, name: &str) -> Option<&'v Value> {
        self.of.get(name).filter(|value| !value.is_null())
    }

    fn object<'s>(&'s self, name: &'static str, u: &mut Unreadable) -> Option<Fields<'v, 's>> {
        let at = At::Field(&self.at, name);
        let value = self.some(name)?;
        let of = value.as_object();
        if of.is_none() {
            u.add(&at);
        }
        of.map(|of| Fields { of, at })
    }

    fn read<T: Deserialize<'v>>(&self, name: &'static str, u: &mut Unreadable) -> Option<T> {
        let read = T::deserialize(self.some(name)?);
        read.map_err(|_| u.add(&At::Field(&self.at, name))).ok()
    }

    /// Like [`Self::read`], for a required field.
    fn needed<T: Deserialize<'v>>(&self, name: &'static str, u: &mut Unreadable) -> Option<T> {
        if self.some(name).is_none() {
            u.add(&At::Field(&self.at, name));
        }
        self.read(name, u)
    }

    fn time(&self, name: &'static str, u: &mut Unreadable) -> Time {
        self.read(name, u).unwrap_or(Time(NO_TIME))
    }

    /// Returns the items of a list that parse as `T`; `None` if the list is absent.
    fn items<T: Deserialize<'v>>(&self, name: &'static str, u: &mut Unreadable) -> Option<Vec<T>> {
        self.list(name, u, |item, at, u| {
            T::deserialize(item).map_err(|_| u.add(at)).ok()
        })
    }

    /// Returns the items of a list that are objects and that `read` accepts.
    fn each<T>(
        &self,
        name: &'static str,
        u: &mut Unreadable,
        read: impl Fn(Fields<'_, '_>, &mut Unreadable) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.list(name, u, |item, at, u| {
            let Some(of) = item.as_object() else {
                u.add(at);
                return None;
            };
            read(Fields { of, at: *at }, u)
        })
    }

    fn list<T>(
        &self,
        name: &'static str,
        u: &mut Unreadable,
        read: impl Fn(&'v Value, &At<'_>, &mut Unreadable) -> Option<T>,
    ) -> Option<Vec<T>> {
        let at = At::Field(&self.at, name);
        let Some(items) = self.some(name)?.as_array() else {
            u.add(&at);
            return None;
        };
        let items = items.iter().enumerate();
        Some(
            items
                .filter_map(|(index, item)| read(item, &At::Item(&at, index), u))
                .collect(),
        )
    }

    /// Returns the entries of a map whose values parse as `T`; `None` if the map is absent.
    fn entries<T: Deserialize<'v>>(
        &self,
        name: &'static str,
        u: &mut Unreadable,
    ) -> Option<BTreeMap<String, T>> {
        let map = self.object(name, u)?;
        let mut all = true;
        let entries = map.of.iter().filter_map(|(key, value)| {
            let value = T::deserialize(value);
            all &= value.is_ok();
            Some((key.clone(), value.ok()?))
        });
        let entries = entries.collect();
        if !all {
            // Name the map only, because the object's writer chose the key.
            u.add(&map.at);
        }
        Some(entries)
    }
}

// === impl Unreadable ===

impl Unreadable {
    /// Returns whether all fields were readable.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    fn add(&mut self, at: &At<'_>) {
        if self.named.len() < NAMED {
            self.named.push(at.to_string());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named.join(", "))?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the whole object"),
            Self::Field(At::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
