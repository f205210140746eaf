//! The parts of objects that the rules read, borrowed from the request.
//!
//! Decoding these instead of the whole stored types keeps the hot path free of copies, and keeps the gate indifferent
//! to every field it does not guard: an unknown field is skipped, whatever is in it. What is read is read strictly: a
//! label that is not a string, a lease duration that is not an integer, a list for an object or a key given twice is an
//! error, which names the field when decoded through `serde_path_to_error`. `null` counts as absent, as it does in Go.
//!
//! What a review costs in memory does not depend on what is in it: lists are held up to a bound and counted beyond it
//! ([`List`]), and errors do not quote long text.

mod collection;
mod list;
mod selector;
mod shape;
mod taint;
mod text;

use berth_api::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess};

pub use collection::{Entries, Items, Map, Sequence};
pub(crate) use list::LONGEST_LIST;
pub use list::{Compared, List};
pub(crate) use selector::MOST_VALUES;
pub use selector::SelectorSize;
pub use shape::{FromObject, boolean, required};
use shape::{integer, object};
pub use taint::Taint;
pub use text::Text;

/// `metadata`, as far as rules read it.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Metadata<'a> {
    /// Whether the object has metadata at all, so that a patch can add to it.
    #[serde(skip)]
    pub present: bool,
    /// The name of the object.
    #[serde(borrow, deserialize_with = "or_default")]
    pub name: Text<'a>,
    /// Set once the object is being deleted. Trust it only on the stored object.
    #[serde(borrow)]
    pub deletion_timestamp: Option<Text<'a>>,
    /// The labels that rules read.
    #[serde(borrow, deserialize_with = "or_default")]
    pub labels: Labels<'a>,
    /// The annotations that rules read.
    #[serde(borrow, deserialize_with = "object")]
    pub annotations: Annotations<'a>,
}

/// The annotations that rules read. Others are passed over, whatever they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, expecting = "an object")]
pub struct Annotations<'a> {
    /// [`labels::DENY_NOW`].
    #[serde(borrow, rename = "open-cluster-management.io/deny-now")]
    pub deny_now: Option<Text<'a>>,
}

/// The labels that rules read. All labels are checked to be strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels<'a> {
    /// Whether the object has a map of labels at all, so that a patch can add to it.
    pub present: bool,
    /// [`labels::CLUSTER_SET`].
    pub set: Option<Text<'a>>,
    /// [`labels::RETIRED_CLUSTER_SET`].
    pub retired_set: Option<Text<'a>>,
    /// [`labels::CLUSTER_NAME`].
    pub cluster_name: Option<Text<'a>>,
}

/// A ManagedCluster, as far as rules read it.
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
    /// Whether the hub has accepted the cluster.
    #[serde(deserialize_with = "accepted")]
    pub hub_accepts_client: bool,
    /// Seconds between two renewals of the cluster's lease.
    #[serde(deserialize_with = "integer")]
    pub lease_duration_seconds: Option<i64>,
    /// How the hub reaches the cluster.
    #[serde(borrow)]
    pub managed_cluster_client_configs: List<ClientConfig<'a>>,
    /// Taints.
    #[serde(borrow)]
    pub taints: List<Taint<'a>>,
}

/// One way to reach the cluster.
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

/// A ManagedClusterSet, as far as rules read it.
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
    /// Which clusters belong to the set.
    #[serde(borrow, deserialize_with = "object")]
    pub cluster_selector: ClusterSelector<'a>,
}

/// Which clusters belong to a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSelector<'a> {
    /// `ExclusiveClusterSetLabel` or `LabelSelector`.
    pub selector_type: Text<'a>,
    /// Read with the type `LabelSelector` only. Not all of it is held unless [`SelectorSize::is_whole`].
    pub label_selector: Option<LabelSelector>,
    /// How large the selector is, held or not.
    pub size: SelectorSize,
    /// Whether it is known to be the stored one. Found out only where one of the two is not whole.
    pub stays: bool,
}

/// A ManagedClusterSetBinding, as far as rules read it.
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
    /// The set that is bound.
    #[serde(borrow, deserialize_with = "or_default")]
    pub cluster_set: Text<'a>,
}

/// A CertificateSigningRequest, as far as rules read it.
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

/// An object of a kind the gate guards.
pub trait GuardedObject<'a>: Deserialize<'a> {
    /// `apiVersion`.
    fn api_version(&self) -> &str;

    /// `kind`.
    fn kind(&self) -> &str;

    /// Its metadata.
    fn metadata(&self) -> &Metadata<'a>;

    /// Whether all of its lists are held.
    fn is_whole(&self) -> bool {
        true
    }

    /// The lists that are to be compared with the stored ones where they are not whole; always the same fields.
    fn compared(&mut self) -> Vec<Compared<'_>> {
        Vec::new()
    }
}

// === impl Labels ===

impl Labels<'_> {
    /// The set the cluster is in; empty for none.
    pub fn set(&self) -> &str {
        self.set.as_ref().map_or("", Text::as_str)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map(ReadLabels).deserialize(deserializer)
    }
}

/// Reads the labels that rules read, and checks that all others are strings.
struct ReadLabels;

impl<'de> Entries<'de> for ReadLabels {
    type Value = Labels<'de>;

    const EXPECTED: &'static str = "a map of strings";

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut labels = Labels {
            present: true,
            ..Labels::default()
        };
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let value = map.next_value::<Option<Text<'de>>>()?.unwrap_or_default();
            let read = match key.as_str() {
                labels::CLUSTER_SET => &mut labels.set,
                labels::RETIRED_CLUSTER_SET => &mut labels.retired_set,
                labels::CLUSTER_NAME => &mut labels.cluster_name,
                _ => continue,
            };
            if read.replace(value).is_some() {
                return Err(A::Error::custom(format_args!(
                    "duplicate label {:?}",
                    key.as_str()
                )));
            }
        }
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

/// `null` is as good as absent.
fn accepted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(boolean(deserializer)?.unwrap_or_default())
}

/// `null` is as good as absent.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
