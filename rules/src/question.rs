//! The questions a change can raise.

use berth_api::groups;

/// Something that must be known before a change can be decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Does the requester hold this permission?
    Permission(Permission),
    /// Is there this namespace, is it being terminated, and is it that of the cluster of its name? The answer is
    /// [`Answer::Namespace`](crate::Answer::Namespace), or no.
    Namespace {
        /// The namespace.
        name: String,
    },
    /// Which ManagedClusterSetBindings does this namespace hold?
    BindingsIn {
        /// The namespace.
        namespace: String,
    },
    /// Is there a ManagedCluster of this name that the hub has accepted?
    AcceptedCluster {
        /// The name of the cluster.
        name: String,
    },
    /// Is the requester in this group? The answer is in the request and needs no call.
    InGroup {
        /// The group.
        group: String,
    },
    /// Is there a ManagedClusterSet of this name?
    SetExists {
        /// The name of the set.
        name: String,
    },
}

/// What a question is about: a closed list, for metrics and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// The permission `managedclusters/accept`.
    Accept,
    /// The permission `managedclustersets/join`.
    Join,
    /// The permission `managedclustersets/bind`.
    Bind,
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

/// A permission on a named object, as a SubjectAccessReview asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    /// Which of the gate's permissions this is.
    pub requirement: Requirement,
    /// The verbs that will do; holding any one of them is enough.
    pub verbs: &'static [&'static str],
    /// The API group.
    pub group: &'static str,
    /// The plural resource.
    pub resource: &'static str,
    /// The subresource.
    pub subresource: &'static str,
    /// The name of the object; `None` for all there are.
    pub name: Option<String>,
    /// The namespace of the object; `None` for cluster-scoped resources, and for all namespaces.
    pub namespace: Option<String>,
}

// === impl Question ===

impl Question {
    /// What the question is about.
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

    /// The name of the object the question is about; `None` for all there are.
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

    /// The namespace that the permission asked about is limited to.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Permission(permission) => permission.namespace.as_deref(),
            _ => None,
        }
    }
}

// === impl Permission ===

impl Permission {
    /// The permission to accept a cluster, or to take the acceptance back.
    ///
    /// OCM's roles grant `update`, the documentation this project is built from says `create`: either will do.
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

    /// The permission to add clusters to a set, or to take them out.
    pub fn join(set: &str) -> Self {
        Self::on_set(Requirement::Join, "join", set)
    }

    /// The permission to add clusters to any set, or to take them out.
    pub fn join_all() -> Self {
        Self {
            name: None,
            ..Self::join("")
        }
    }

    /// The permission to bind a set to a namespace.
    pub fn bind(set: &str) -> Self {
        Self::on_set(Requirement::Bind, "bind", set)
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

    /// The same permission in this namespace only.
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }
}

// === impl Requirement ===

impl Requirement {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Accept,
        Self::Join,
        Self::Bind,
        Self::Namespace,
        Self::BindingsIn,
        Self::AcceptedCluster,
        Self::InGroup,
        Self::SetExists,
    ];

    /// The value of metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Join => "join",
            Self::Bind => "bind",
            Self::Namespace => "namespace",
            Self::BindingsIn => "bindings-in-namespace",
            Self::AcceptedCluster => "accepted-cluster",
            Self::InGroup => "in-group",
            Self::SetExists => "set-exists",
        }
    }
}
