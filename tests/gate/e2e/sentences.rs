//! The sentences of denials, as `docs/denials.md` documents them.

pub const MUTATORS: &str = "managedclustermutators";
pub const VALIDATORS: &str = "managedclustervalidators";
pub const BINDING_VALIDATORS: &str = "managedclustersetbindingvalidators";
pub const REQUEST_VALIDATORS: &str = "certificatesigningrequestvalidators";
pub const SET_VALIDATORS: &str = "managedclustersetvalidators";
pub const PLACEMENT_VALIDATORS: &str = "placementvalidators";
pub const WORK_VALIDATORS: &str = "manifestworkvalidators";
pub const REPLICA_SET_VALIDATORS: &str = "manifestworkreplicasetvalidators";
pub const TEMPLATE_VALIDATORS: &str = "addontemplatevalidators";
pub const DEPLOYMENT_CONFIG_VALIDATORS: &str = "addondeploymentconfigvalidators";
pub const MANAGEMENT_ADDON_VALIDATORS: &str = "clustermanagementaddonvalidators";

pub fn cannot_accept(cluster: &str, user: &str) -> String {
    format!(
        "managedclusters/accept.cluster.open-cluster-management.io \"{cluster}\" is forbidden: user \"{user}\" cannot update \
         the HubAcceptsClient field: needs verb \"update\" on managedclusters/accept in API group \
         register.open-cluster-management.io, name \"{cluster}\"; check: berth can-i accept {cluster}"
    )
}

pub fn cannot_join(set: &str, user: &str) -> String {
    format!(
        "managedclustersets/join.cluster.open-cluster-management.io \"{set}\" is forbidden: user \"{user}\" cannot add/remove \
         a ManagedCluster to/from ManagedClusterSet \"{set}\": needs verb \"create\" on managedclustersets/join, name \"{set}\"; \
         check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/{set} --subresource=join -A"
    )
}

pub fn cannot_widen(set: &str, user: &str) -> String {
    format!(
        "managedclustersets/join.cluster.open-cluster-management.io \"{set}\" is forbidden: user \"{user}\" cannot widen the \
         selector of ManagedClusterSet \"{set}\": needs verb \"create\" on managedclustersets/join, for all names; \
         check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io --subresource=join -A"
    )
}

pub fn cannot_bind(set: &str, user: &str) -> String {
    format!(
        "managedclustersets/bind.cluster.open-cluster-management.io \"{set}\" is forbidden: user \"{user}\" is not allowed to \
         bind cluster set \"{set}\": needs verb \"create\" on managedclustersets/bind, name \"{set}\"; \
         check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/{set} --subresource=bind -A"
    )
}

/// `executor` is `NAMESPACE/NAME` of a service account, for ManifestWorks in the namespace `default`.
pub fn cannot_execute_as(executor: &str, user: &str) -> String {
    let account = executor.replace('/', ":");
    format!(
        "user {user} cannot manipulate the Manifestwork with executor {executor} in namespace default: needs verb \"execute-as\" on \
         manifestworks, name \"system:serviceaccount:{account}\" in namespace \"default\"; check: kubectl auth can-i execute-as \
         manifestworks.work.open-cluster-management.io/system:serviceaccount:{account} -n default"
    )
}

/// As [`cannot_execute_as`], for ManifestWorkReplicaSets.
pub fn cannot_execute_as_everywhere(executor: &str, user: &str) -> String {
    let account = executor.replace('/', ":");
    format!(
        "user {user} cannot manipulate the ManifestWorkReplicaSet with executor {executor}, whose ManifestWorks can be in the \
         namespace of any cluster: needs verb \"execute-as\" on manifestworks, name \"system:serviceaccount:{account}\"; check: kubectl \
         auth can-i execute-as manifestworks.work.open-cluster-management.io/system:serviceaccount:{account} -A"
    )
}

pub fn namespace_terminating(cluster: &str) -> String {
    format!(
        "managedclusters/accept.cluster.open-cluster-management.io \"{cluster}\" is forbidden: cluster namespace \"{cluster}\" is \
         terminating: wait until it is gone, then accept again; check: kubectl get namespace {cluster}"
    )
}

/// `bindings` as they are listed: quoted, with commas between.
pub fn bindings_held(cluster: &str, bindings: &str) -> String {
    format!(
        "managedclusters/accept.cluster.open-cluster-management.io \"{cluster}\" is forbidden: namespace \"{cluster}\" holds \
         ManagedClusterSetBindings, and would become the namespace of the cluster's agent: delete {bindings} first; \
         check: kubectl get managedclustersetbindings -n {cluster}"
    )
}

pub fn reserved(cluster: &str, why: &str) -> String {
    format!(
        "managedclusters.cluster.open-cluster-management.io \"{cluster}\" is forbidden: the name is reserved: {why}; register the \
         cluster under another name"
    )
}

/// A warning.
pub fn not_in_default(cluster: &str, user: &str) -> String {
    format!(
        "ManagedCluster \"{cluster}\" was not put into ManagedClusterSet \"default\": user \"{user}\" may not create \
         managedclustersets/join for it"
    )
}
