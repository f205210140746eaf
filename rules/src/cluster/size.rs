//! The size of a ManagedCluster: the holder of a bootstrap token may create thousands of them, and the hub's controllers read them all.

use berth_api::labels;

use super::takes_acceptance_back;
use crate::findings::Faults;
use crate::object::{ClientConfig, Cluster, Taint};
use crate::{Change, Reason, sentences};

/// The maximum number of bytes of text of a cluster that is not accepted. A real one has less than a tenth of it.
pub const LARGEST_WAITING: usize = 64 * 1024;

/// The maximum number of bytes of text of an accepted cluster, for its agent may write it.
pub const LARGEST_ACCEPTED: usize = 256 * 1024;

/// Adds a fault if the change makes the cluster larger than the limit. One that was stored larger may stay, or become smaller.
pub(super) fn too_large(change: &Change<'_, Cluster<'_>>, faults: &mut Faults) {
    if takes_acceptance_back(change) {
        return;
    }
    let is_accepted = change.new.spec.hub_accepts_client;
    let most = if is_accepted {
        LARGEST_ACCEPTED
    } else {
        LARGEST_WAITING
    };
    let size = size(&change.new);
    let grows = || change.old.as_ref().is_none_or(|old| self::size(old) < size);
    if size > most && grows() {
        faults.add(Reason::ClusterSize, || {
            sentences::faults::cluster_size(size, is_accepted)
        });
    }
}

/// The bytes of all text, without what the hub itself adds: its set label, its finalizers and its taints.
fn size(cluster: &Cluster<'_>) -> usize {
    let metadata = &cluster.metadata;
    let configs = cluster.spec.managed_cluster_client_configs.iter();
    let configs = configs
        .map(|ClientConfig { url, ca_bundle }| url.as_str().len() + ca_bundle.as_str().len());
    let taints = cluster.spec.taints.iter().filter(|taint| !is_of_hub(taint));
    let taints = taints.map(|taint| taint.key.as_str().len() + taint.value.as_str().len());
    metadata.labels.bytes
        + metadata.annotations.bytes
        + metadata.finalizers.0
        + metadata.owner_references.0
        + configs.sum::<usize>()
        + taints.sum::<usize>()
}

fn is_of_hub(taint: &Taint<'_>) -> bool {
    labels::is_taint_of_hub(taint.key.as_str()) && taint.value.is_empty()
}
