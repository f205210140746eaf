//! The namespace and the RBAC objects of a cluster.

/// One object that the hub keeps for a cluster, found by its label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub deleting: bool,
    /// It has the finalizer `cluster.open-cluster-management.io/manifest-work-cleanup`.
    pub work_finalizer: bool,
    /// All its other finalizers. The hub never removes them.
    pub other_finalizers: Vec<String>,
    /// The [`crate::roles::fingerprint`] of labels, rules, subjects and role.
    pub fingerprint: u64,
    /// [`crate::roles::is_of_agent`]
    pub is_of_agent: bool,
}

/// The objects that the hub keeps for a cluster, if they exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedObjects {
    /// The namespace of the cluster's name.
    pub namespace: Option<Owned>,
    /// ClusterRole `open-cluster-management:managedcluster:<name>`
    pub cluster_role: Option<Owned>,
    /// ClusterRoleBinding of the same name.
    pub cluster_role_binding: Option<Owned>,
    /// RoleBinding `open-cluster-management:managedcluster:<name>:registration`
    pub registration_binding: Option<Owned>,
    /// RoleBinding `open-cluster-management:managedcluster:<name>:work`
    pub work_binding: Option<Owned>,
}

// === impl OwnedObjects ===

impl OwnedObjects {
    /// Returns true if the agent of the cluster may have permissions.
    pub fn has_permissions(&self) -> bool {
        let Self {
            namespace: _,
            cluster_role: _,
            cluster_role_binding,
            registration_binding,
            work_binding,
        } = self;
        cluster_role_binding.is_some() || registration_binding.is_some() || work_binding.is_some()
    }

    /// Those of a cluster that does not exist. Then a name and a label are no proof that the hub wrote an RBAC object: it counts if it is
    /// about the agent of the cluster.
    #[must_use]
    pub fn without_cluster(&self) -> Self {
        let of_agent = |it: &Option<Owned>| it.clone().filter(|it| it.is_of_agent);
        Self {
            namespace: self.namespace.clone(),
            cluster_role: of_agent(&self.cluster_role),
            cluster_role_binding: of_agent(&self.cluster_role_binding),
            registration_binding: of_agent(&self.registration_binding),
            work_binding: of_agent(&self.work_binding),
        }
    }
}
