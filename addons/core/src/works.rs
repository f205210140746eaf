//! The ManifestWorks of an add-on on a cluster: which manifests each has, and what is to be written.
//!
//! Names, labels, annotations and limits are OCM's, so that either hub takes over the other's works. [`parts::divide`] says which objects
//! go where, [`layout`] lays them out in works, [`writes`] compares these with what is stored, and [`hooks`] decides about the hooks
//! before deletion.

pub(crate) mod configs;
mod digest;
pub mod hooks;
pub mod lay_out;
mod names;
pub mod parts;
mod same;
pub mod writes;

#[cfg(test)]
mod tests;

pub use configs::config_hashes;
pub use digest::Digest;
pub use lay_out::{Layout, TooLarge, layout};
pub use names::{HOSTED_MANIFEST_LOCATION, PRE_DELETE, Place, is_of_addon};

use std::collections::BTreeMap;

use berth_api::addon::ConfigReference;
use berth_api::work::{ManifestConfigOption, ManifestWorkSpec};
use berth_api::{ManifestWork, labels};

use crate::template::Rendered;

/// What the works of an add-on are made of.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The name of the add-on.
    pub addon: &'a str,
    /// Which works: on which cluster, and for what.
    pub place: Place<'a>,
    /// The objects of these works.
    pub objects: &'a [Rendered],
    /// The manifestConfigs of the template.
    pub manifest_configs: &'a [ManifestConfigOption],
    /// `status.configReferences` of the ManagedClusterAddOn.
    pub configs: &'a [ConfigReference],
    /// The stored works of the add-on in the namespace. Works of another place are left alone.
    pub existing: &'a [ManifestWork],
}

/// A work as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// metadata.name
    pub name: String,
    /// metadata.labels that the work must have.
    pub labels: BTreeMap<String, String>,
    /// metadata.annotations that the work must have.
    pub annotations: BTreeMap<String, String>,
    /// Of the spec, workload, manifestConfigs and deleteOption.
    pub spec: ManifestWorkSpec,
}

// === impl Request ===

impl<'a> Request<'a> {
    /// The stored works of the place, each with its index, by index.
    fn stored(&self) -> Vec<(u32, &'a ManifestWork)> {
        let named = self.existing.iter().filter_map(|work| {
            let name = work.metadata.name.as_deref()?;
            Some((self.place.index(self.addon, name)?, work))
        });
        let mut stored: Vec<_> = named.collect();
        stored.sort_by_key(|(index, _)| *index);
        stored
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::from([(labels::ADDON_NAME.to_owned(), self.addon.to_owned())]);
        if let Some(namespace) = self.place.addon_namespace() {
            all.insert(labels::ADDON_NAMESPACE.to_owned(), namespace.to_owned());
        }
        all
    }
}

fn is_deleting(work: &ManifestWork) -> bool {
    work.metadata.deletion_timestamp.is_some()
}
