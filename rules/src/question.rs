//! The questions that a change can raise.

use berth_api::groups;

/// A question that must be answered before a change can be decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Does the requester hold this permission?
    Permission(Permission),
    /// Does this namespace exist, is it being terminated, and does it belong to the cluster of its name? The answer is
    /// [`Answer::Namespace`](crate::Answer::Namespace) or no.
    Namespace {
        /// The namespace.
        name: String,
    },
    /// Which ManagedClusterSetBindings does this namespace hold?
    BindingsIn {
        /// The namespace.
        namespace: String,
    },
    /// Has the hub accepted a ManagedCluster of this name?
    AcceptedCluster {
        /// The name of the cluster.
        name: String,
    },
    /// Is the requester in this group? The answer is in the request and needs no call.
    InGroup {
        /// The group.
        group: String,
    },
    /// Does a ManagedClusterSet of this name exist?
    SetExists {
        /// The name of the set.
        name: String,
    },
}

/// The subjects of questions: a closed list, for metrics and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// The permission `managedclusters/accept`.
    Accept,
    /// The permission `managedclustersets/join`.
    Join,
    /// The permission `managedclustersets/bind`.
    Bind,
    /// The permission to `execute-as` an executor on `manifestworks`.
    ExecuteAs,
    /// [`Question::Namespace`].
    Namespace,
    /// [`Question::BindingsIn`].
    BindingsIn,
    /// [`Question::AcceptedCluster`].
    AcceptedCluster,
    /// [`Question::InGroup`].
    InGroup,
    /// [`Question::SetExists`].
    SetExists,
}

/// A permission that a SubjectAccessReview can ask about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    /// The gate's name of this permission.
    pub requirement: Requirement,
    /// The verbs. Any one of them is enough.
    pub verbs: &'static [&'static str],
    /// The API group.
    pub group: &'static str,
    /// The plural resource.
    pub resource: &'static str,
    /// The subresource; empty for the resource itself.
    pub subresource: &'static str,
    /// The name of the object; `None` for all objects.
    pub name: Option<String>,
    /// The namespace of the object; `None` for cluster-scoped resources, and for all namespaces.
    pub namespace: Option<String>,
}

// === impl Question ===

impl Question {
    /// Returns the subject of the question.
    pub fn requirement(&self) -> Requirement {
        match self {
            Self::Permission(permission) => permission.requirement,
            Self::Namespace { .. } => Requirement::Namespace,
            Self::BindingsIn { .. } => Requirement::BindingsIn,
            Self::AcceptedCluster { .. } => Requirement::AcceptedCluster,
            Self::InGroup { .. } => Requirement::InGroup,
            Self::SetExists { .. } => Requirement::SetExists,
        }
    }

    /// Returns the name of the object that the question is about; `None` for all objects.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Permission(Permission { name, .. }) => name.as_deref(),
            Self::Namespace { name }
            | Self::AcceptedCluster { name }
            | Self::SetExists { name } => Some(name),
            Self::BindingsIn { namespace } => Some(namespace),
            Self::InGroup { group } => Some(group),
        }
    }

    /// Returns the namespace that the permission is limited to.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Permission(permission) => permission.namespace.as_deref(),
            _ => None,
        }
    }
}

// === impl Permission ===

impl Permission {
    /// Returns the permission to accept a cluster, or to withdraw the acceptance.
    ///
    /// OCM's roles grant `update`, and OCM's documentation says `create`. Either is enough.
    pub fn accept(cluster: &str) -> Self {
        Self {
            requirement: Requirement::Accept,
            verbs: &["update", "create"],
            group: groups::REGISTER,
            resource: "managedclusters",
            subresource: "accept",
            name: Some(cluster.to_owned()),
            namespace: None,
        }
    }

    /// Returns the permission to add clusters to a set, or to remove them.
    pub fn join(set: &str) -> Self {
        Self::on_set(Requirement::Join, "join", set)
    }

    /// Returns the permission to add clusters to any set, or to remove them.
    pub fn join_all() -> Self {
        Self {
            name: None,
            ..Self::join("")
        }
    }

    /// Returns the permission to bind a set to a namespace.
    pub fn bind(set: &str) -> Self {
        Self::on_set(Requirement::Bind, "bind", set)
    }

    /// Returns the permission to let ManifestWorks write with this identity on managed clusters, in all namespaces.
    pub fn execute_as(identity: &str) -> Self {
        Self {
            requirement: Requirement::ExecuteAs,
            verbs: &["execute-as"],
            group: groups::WORK,
            resource: groups::MANIFEST_WORKS,
            subresource: "",
            name: Some(identity.to_owned()),
            namespace: None,
        }
    }

    fn on_set(requirement: Requirement, subresource: &'static str, set: &str) -> Self {
        Self {
            requirement,
            verbs: &["create"],
            group: groups::CLUSTER,
            resource: "managedclustersets",
            subresource,
            name: Some(set.to_owned()),
            namespace: None,
        }
    }

    /// Returns the resource, with its subresource.
    pub fn whole_resource(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.resource, self.subresource)
    }

    /// Limits the permission to this namespace.
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }
}

// === impl Requirement ===

impl Requirement {
    /// All subjects.
    pub const ALL: [Self; 9] = [
        Self::Accept,
        Self::Join,
        Self::Bind,
        Self::ExecuteAs,
        Self::Namespace,
        Self::BindingsIn,
        Self::AcceptedCluster,
        Self::InGroup,
        Self::SetExists,
    ];

    /// Returns the value of metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Join => "join",
            Self::Bind => "bind",
            Self::ExecuteAs => "execute-as",
            Self::Namespace => "namespace",
            Self::BindingsIn => "bindings-in-namespace",
            Self::AcceptedCluster => "accepted-cluster",
            Self::InGroup => "in-group",
            Self::SetExists => "set-exists",
        }
    }
}
