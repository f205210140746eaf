//! Names that OCM's operator has, too. `clusteradm`, dashboards and GitOps read them.

/// The finalizer of a ClusterManager.
pub const CLUSTER_MANAGER_FINALIZER: &str =
    "operator.open-cluster-management.io/cluster-manager-cleanup";

/// The label of what an operator wrote for a ClusterManager: its name.
pub const CREATED_BY: &str = "open-cluster-management.io/created-by-clustermanager";

/// The finalizer of a Klusterlet.
pub const KLUSTERLET_FINALIZER: &str = "operator.open-cluster-management.io/klusterlet-cleanup";

/// The finalizer of a Klusterlet whose agent runs on this cluster and manages another one: there is something to clean up there.
pub const HOSTED_FINALIZER: &str = "operator.open-cluster-management.io/klusterlet-hosted-cleanup";

/// The annotation of a Klusterlet that is being deleted: since when its managed cluster cannot be reached.
pub const AWAY_SINCE: &str =
    "operator.open-cluster-management.io/managed-resources-eviction-timestamp";

/// The annotation of the gate's Service on a hub that is another cluster: the uid of its ClusterManager. There may be one of the same name on
/// another cluster, for the same hub.
pub const CLUSTER_MANAGER_UID: &str =
    "operator.berth.open-cluster-management.io/clustermanager-uid";

/// The annotation of the pods of a hub that is another cluster: its API server. They read a kubeconfig once, when they start.
pub const HUB_SERVER: &str = "operator.berth.open-cluster-management.io/hub-server";

/// The annotation of the namespace of a Klusterlet: its uid. There may be one of the same name on another cluster, for the same managed cluster.
pub const KLUSTERLET_UID: &str = "operator.berth.open-cluster-management.io/klusterlet-uid";

/// The label of what an operator wrote for a Klusterlet: its name.
pub const CREATED_BY_KLUSTERLET: &str = "open-cluster-management.io/created-by-klusterlet";

/// The label of the namespaces of a Klusterlet: its name. They are deleted with it.
pub const NAMESPACE_OF: &str = "operator.open-cluster-management.io/klusterlet";

/// The annotation of a Klusterlet that has the objects of its ManifestWorks deleted with it, if it is `true`. Otherwise they stay, as with
/// OCM's operator.
pub const TAKE_WORKS: &str = "operator.berth.open-cluster-management.io/delete-works";

/// The annotation of a ClusterManager whose hub is another cluster, once something was written there: it is cleaned up there, whatever the mode says
/// later.
pub const RUNS_ELSEWHERE: &str = "operator.berth.open-cluster-management.io/hosted";

/// The annotation of a CustomResourceDefinition: the version that wrote it.
pub const DEFINITION_VERSION: &str = "operator.open-cluster-management.io/version";

/// The annotation of a ClusterManager that has the CustomResourceDefinitions deleted with it, and so all clusters, if it is `true`. OCM's
/// operator does that always.
pub const PURGE: &str = "operator.berth.open-cluster-management.io/purge";

/// The version of OCM's API to which the CustomResourceDefinitions of this program are equal.
pub const API_VERSION_OF_OCM: &str = "1.3.1";

/// The prefix of labels that belong to OCM. They are not copied to what is written.
pub(crate) const OF_OCM: &str = "open-cluster-management.io";
