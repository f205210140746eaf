//! The parts of objects that the rules read, borrowed from the request.
//!
//! The rules decode these parts instead of the whole stored types. So the hot path makes no copies, and the gate ignores
//! all fields that it does not guard. Decoding is strict: a label that is not a string, a lease duration that is not an
//! integer, a list in place of an object, or a duplicate key is an error. `null` counts as absent, as in Go.
//!
//! The memory of a review is bounded whatever it contains: a list is kept up to a limit, and further items are only
//! counted ([`List`]). Errors do not quote long text.

mod addon;
mod collection;
mod counted;
mod list;
mod placement;
mod selector;
mod shape;
mod taint;
mod text;
mod weight;
mod work;

use berth_api::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess};

pub use addon::{AddOnObject, MOST_CHECKED_MANIFESTS, MOST_CHECKED_VALUES, MOST_MANIFEST_VALUES};
pub(crate) use addon::{ManagementSpec, OnClusterSpec, Unchecked};
pub use collection::{Entries, Items, Map, Sequence};
pub use list::LONGEST_LIST;
pub use list::{Compared, List};
pub use placement::{LONGEST_EXPRESSIONS, Placement};
pub use selector::MOST_VALUES;
pub use selector::SelectorSize;
pub use shape::{FromObject, boolean, required};
use shape::{integer, object};
pub use taint::Taint;
pub use text::Text;
pub use weight::Weight;
pub(crate) use work::{HoldsWork, Manifests, ReadWork, WorkRules};
pub use work::{MOST_MANIFESTS, MOST_RULES, ManifestWork, ReplicaSet};

/// The fields of `metadata` that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Metadata<'a> {
    /// True if the object has metadata, so that a patch can add to it.
    #[serde(skip)]
    pub present: bool,
    /// The name of the object.
    #[serde(borrow, deserialize_with = "or_default")]
    pub name: Text<'a>,
    /// The object is being deleted since this time. Trust it only on the stored object.
    #[serde(borrow)]
    pub deletion_timestamp: Option<Text<'a>>,
    /// The labels that rules read.
    #[serde(borrow, deserialize_with = "or_default")]
    pub labels: Labels<'a>,
    /// The annotations that rules read.
    #[serde(borrow, deserialize_with = "or_default")]
    pub annotations: Annotations<'a>,
    /// The text of the finalizers, except the hub's own.
    #[serde(deserialize_with = "weight::finalizers")]
    pub finalizers: Weight,
    /// The text of the owner references.
    pub owner_references: Weight,
}

/// The annotations that rules read. Others are only counted, whatever they contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations<'a> {
    /// [`labels::DENY_NOW`].
    pub deny_now: Option<Text<'a>>,
    /// The bytes of all keys and values.
    pub bytes: usize,
}

/// The labels that rules read. Every label must be a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels<'a> {
    /// True if the object has a map of labels, so that a patch can add to it.
    pub present: bool,
    /// [`labels::CLUSTER_SET`].
    pub set: Option<Text<'a>>,
    /// [`labels::RETIRED_CLUSTER_SET`].
    pub retired_set: Option<Text<'a>>,
    /// [`labels::CLUSTER_NAME`].
    pub cluster_name: Option<Text<'a>>,
    /// [`labels::ADDON_NAME`].
    pub addon_name: Option<Text<'a>>,
    /// The bytes of all keys and values, without [`labels::CLUSTER_SET`], which the gate itself sets.
    pub bytes: usize,
}

/// The fields of a ManagedCluster that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a ManagedCluster")]
pub struct Cluster<'a> {
    /// `apiVersion`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub api_version: Text<'a>,
    /// `kind`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow, default, deserialize_with = "metadata")]
    pub metadata: Metadata<'a>,
    /// `spec`.
    #[serde(borrow, default, deserialize_with = "object")]
    pub spec: ClusterSpec<'a>,
}

/// `spec` of a ManagedCluster.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct ClusterSpec<'a> {
    /// True if the hub accepts the cluster.
    #[serde(deserialize_with = "accepted")]
    pub hub_accepts_client: bool,
    /// The time between two renewals of the cluster's lease, in seconds.
    #[serde(deserialize_with = "integer")]
    pub lease_duration_seconds: Option<i64>,
    /// The addresses at which the hub reaches the cluster.
    #[serde(borrow)]
    pub managed_cluster_client_configs: List<ClientConfig<'a>>,
    /// Taints.
    #[serde(borrow)]
    pub taints: List<Taint<'a>>,
}

/// An address of the cluster's API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct ClientConfig<'a> {
    /// The URL of the cluster's API server.
    #[serde(borrow, deserialize_with = "or_default")]
    pub url: Text<'a>,
    /// PEM certificates, in base64.
    #[serde(borrow, deserialize_with = "or_default")]
    pub ca_bundle: Text<'a>,
}

/// The fields of a ManagedClusterSet that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a ManagedClusterSet")]
pub struct ClusterSet<'a> {
    /// `apiVersion`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub api_version: Text<'a>,
    /// `kind`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow, default, deserialize_with = "metadata")]
    pub metadata: Metadata<'a>,
    /// `spec`.
    #[serde(borrow, default, deserialize_with = "object")]
    pub spec: ClusterSetSpec<'a>,
}

/// `spec` of a ManagedClusterSet.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct ClusterSetSpec<'a> {
    /// Selects the clusters of the set.
    #[serde(borrow, deserialize_with = "object")]
    pub cluster_selector: ClusterSelector<'a>,
}

/// Selects the clusters of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSelector<'a> {
    /// `ExclusiveClusterSetLabel` or `LabelSelector`.
    pub selector_type: Text<'a>,
    /// Used only with the type `LabelSelector`. Complete only if [`SelectorSize::is_whole`].
    pub label_selector: Option<LabelSelector>,
    /// The size of the selector as submitted.
    pub size: SelectorSize,
    /// True if it is known to equal the stored one. Set only if one of the two is not whole.
    pub stays: bool,
}

/// The fields of a ManagedClusterSetBinding that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a ManagedClusterSetBinding")]
pub struct Binding<'a> {
    /// `apiVersion`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub api_version: Text<'a>,
    /// `kind`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow, default, deserialize_with = "metadata")]
    pub metadata: Metadata<'a>,
    /// `spec`.
    #[serde(borrow, default, deserialize_with = "object")]
    pub spec: BindingSpec<'a>,
}

/// `spec` of a ManagedClusterSetBinding.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct BindingSpec<'a> {
    /// The name of the set.
    #[serde(borrow, deserialize_with = "or_default")]
    pub cluster_set: Text<'a>,
}

/// The fields of a CertificateSigningRequest that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a CertificateSigningRequest")]
pub struct CertificateRequest<'a> {
    /// `apiVersion`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub api_version: Text<'a>,
    /// `kind`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow, default, deserialize_with = "metadata")]
    pub metadata: Metadata<'a>,
}

/// An object of a kind that the gate guards.
pub trait GuardedObject<'a>: Deserialize<'a> {
    /// Returns `apiVersion`.
    fn api_version(&self) -> &str;

    /// Returns `kind`.
    fn kind(&self) -> &str;

    /// Returns the metadata.
    fn metadata(&self) -> &Metadata<'a>;

    /// Returns true if all of its lists are complete.
    fn is_whole(&self) -> bool {
        true
    }

    /// Returns the lists to compare with the stored ones if they are not complete; always the same fields.
    fn compared(&mut self) -> Vec<Compared<'_>> {
        Vec::new()
    }
}

// === impl Labels ===

impl Labels<'_> {
    /// Returns the name of the cluster's set; empty without a set.
    pub fn set(&self) -> &str {
        self.set.as_ref().map_or("", Text::as_str)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map(ReadLabels).deserialize(deserializer)
    }
}

/// Decodes the labels that rules read, and checks that all others are strings.
struct ReadLabels;

impl<'de> Entries<'de> for ReadLabels {
    type Value = Labels<'de>;

    const EXPECTED: &'static str = "a map of strings";

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut labels = Labels {
            present: true,
            ..Labels::default()
        };
        let mut bytes = 0;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let read = match key.as_str() {
                labels::CLUSTER_SET => Some(&mut labels.set),
                labels::RETIRED_CLUSTER_SET => Some(&mut labels.retired_set),
                labels::CLUSTER_NAME => Some(&mut labels.cluster_name),
                labels::ADDON_NAME => Some(&mut labels.addon_name),
                _ => None,
            };
            if read.as_ref().is_some_and(|label| label.is_some()) {
                return Err(A::Error::custom(format_args!(
                    "duplicate label {:?}",
                    key.as_str()
                )));
            }
            let value = map.next_value::<Option<Text<'de>>>()?.unwrap_or_default();
            if key.as_str() != labels::CLUSTER_SET {
                bytes += key.as_str().len() + value.as_str().len();
            }
            if let Some(label) = read {
                *label = Some(value);
            }
        }
        labels.bytes = bytes;
        Ok(labels)
    }
}

// === impl GuardedObject ===

impl<'a> GuardedObject<'a> for Cluster<'a> {
    fn api_version(&self) -> &str {
        self.api_version.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.as_str()
    }

    fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }

    fn is_whole(&self) -> bool {
        self.spec.taints.is_whole() && self.spec.managed_cluster_client_configs.is_whole()
    }

    fn compared(&mut self) -> Vec<Compared<'_>> {
        let ClusterSpec {
            taints,
            managed_cluster_client_configs: configs,
            ..
        } = &mut self.spec;
        vec![
            taints.compared("taints"),
            configs.compared("managedClusterClientConfigs"),
        ]
    }
}

impl<'a> GuardedObject<'a> for ClusterSet<'a> {
    fn api_version(&self) -> &str {
        self.api_version.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.as_str()
    }

    fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }

    fn is_whole(&self) -> bool {
        self.spec.cluster_selector.size.is_whole()
    }

    fn compared(&mut self) -> Vec<Compared<'_>> {
        let selector = &mut self.spec.cluster_selector;
        vec![Compared {
            field: "clusterSelector",
            length: 1,
            is_whole: selector.size.is_whole(),
            stays: &mut selector.stays,
        }]
    }
}

impl<'a> GuardedObject<'a> for Binding<'a> {
    fn api_version(&self) -> &str {
        self.api_version.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.as_str()
    }

    fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }
}

impl<'a> GuardedObject<'a> for CertificateRequest<'a> {
    fn api_version(&self) -> &str {
        self.api_version.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.as_str()
    }

    fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata<'de>, D::Error> {
    let metadata = Option::<FromObject<Metadata<'de>>>::deserialize(deserializer)?;
    Ok(match metadata {
        Some(FromObject(metadata)) => Metadata {
            present: true,
            ..metadata
        },
        None => Metadata::default(),
    })
}

/// `null` counts as absent.
fn accepted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(boolean(deserializer)?.unwrap_or_default())
}

/// `null` counts as absent.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
