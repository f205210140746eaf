//! status.appliedResources of an AppliedManifestWork: what was applied, and what is to be removed.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use berth_api::work::AppliedManifestResourceMeta;

use crate::{Mapped, Prescribed, Unusable};

/// What a manifest says about the objects that must stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The object, with the resource of its kind. Version and UID do not matter.
    Object(AppliedManifestResourceMeta),
    /// The kind is not known on the cluster at the moment.
    Unmapped {
        /// The API group.
        group: String,
        /// The namespace in the manifest.
        namespace: String,
        /// The name.
        name: String,
    },
    /// The manifest does not name an object.
    Unknown,
}

/// Recorded objects that are no longer listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stale<'a> {
    /// Those to remove.
    pub remove: Vec<&'a AppliedManifestResourceMeta>,
    /// Those that a manifest which cannot be used may name: they stay until it can.
    pub held: Vec<&'a AppliedManifestResourceMeta>,
}

/// Finds recorded objects that no manifest lists.
///
/// Objects are told apart by group, resource, namespace and name. A manifest that cannot be used deletes nothing: objects that it may
/// name are held. The removal of all others continues.
pub fn stale<'a>(recorded: &'a [AppliedManifestResourceMeta], listed: &[Listed]) -> Stale<'a> {
    let mut stale = Stale::default();
    // A work may have thousands of manifests: each object is looked up.
    let (mut objects, mut unmapped, mut anywhere) =
        (HashSet::new(), HashSet::new(), HashSet::new());
    let mut is_unknown = false;
    for it in listed {
        match it {
            Listed::Object(object) => drop(objects.insert(identity(object))),
            Listed::Unmapped {
                group,
                namespace,
                name,
            } => {
                unmapped.insert([&**group, &**namespace, &**name]);
                anywhere.insert([&**group, &**name]);
            }
            Listed::Unknown => is_unknown = true,
        }
    }
    for object in recorded {
        if objects.contains(&identity(object)) {
            continue;
        }
        let [group, namespace, name] = [&*object.group, &*object.namespace, &*object.name];
        let may_be_named = unmapped.contains(&[group, namespace, name])
            || namespace.is_empty() && anywhere.contains(&[group, name]);
        if is_unknown || may_be_named {
            stale.held.push(object);
        } else {
            stale.remove.push(object);
        }
    }
    stale
}

/// Returns the next appliedResources: what is applied, and what is not gone yet. Sorted as OCM's agent does; of one object, the first
/// entry counts.
pub fn recorded(
    applied: impl IntoIterator<Item = AppliedManifestResourceMeta>,
    kept: impl IntoIterator<Item = AppliedManifestResourceMeta>,
) -> Vec<AppliedManifestResourceMeta> {
    let mut all: Vec<AppliedManifestResourceMeta> = applied.into_iter().chain(kept).collect();
    // The sort is stable: of one object, those that are applied come first.
    all.sort_by(|a, b| identity(a).cmp(&identity(b)));
    all.dedup_by(|later, first| identity(later) == identity(first));
    all.sort_by(|a, b| {
        (&a.group, &a.version, &a.resource, &a.namespace, &a.name).cmp(&(
            &b.group,
            &b.version,
            &b.resource,
            &b.namespace,
            &b.name,
        ))
    });
    all
}

/// Group, resource, namespace and name, by which objects are told apart.
pub fn identity(object: &AppliedManifestResourceMeta) -> [&str; 4] {
    [
        &object.group,
        &object.resource,
        &object.namespace,
        &object.name,
    ]
}

// === impl Listed ===

impl Listed {
    /// The entry of a manifest that was read, if its kind is known or not.
    pub fn unmapped(manifest: &Result<Prescribed, Unusable>) -> Self {
        match manifest {
            Ok(prescribed) => Self::Unmapped {
                group: prescribed.group().to_owned(),
                namespace: prescribed.namespace.clone(),
                name: prescribed.name.clone(),
            },
            Err(_) => Self::Unknown,
        }
    }
}

// === impl Mapped ===

impl Mapped {
    /// The entry of the object in appliedResources.
    pub fn recorded(&self, uid: &str) -> AppliedManifestResourceMeta {
        AppliedManifestResourceMeta {
            group: self.prescribed.group().to_owned(),
            version: self.prescribed.version().to_owned(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            name: self.prescribed.name.clone(),
            uid: uid.to_owned(),
        }
    }
}
