//! Which rule an object is written by, with the update strategy Update.
//!
//! The kinds with a rule of their own are those that OCM's agent compares exactly. All others are written by server-side apply.

/// The rule of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Labels and annotations only. Other fields are reported, and not written.
    Metadata,
    /// These fields are replaced as a whole; all others stay.
    Fields(&'static [&'static str]),
    /// ConfigMap: data, except what OpenShift injects.
    ConfigMap,
    /// Secret: data; another type needs a new object.
    Secret,
    /// Service: the spec, with what the API server allocates.
    Service,
    /// ClusterRole: rules, or the aggregation rule.
    ClusterRole,
    /// RoleBinding and ClusterRoleBinding: subjects and roleRef, with their groups.
    Binding,
    /// Webhook configurations: the webhooks, with the CA bundles that others wrote.
    Webhooks,
    /// StorageClass: everything.
    StorageClass,
    /// CSIDriver: the spec, which needs a new object.
    CsiDriver,
    /// Server-side apply.
    Other,
}

/// Returns the rule of a kind.
pub(crate) fn rule(group: &str, kind: &str) -> Rule {
    match (group, kind) {
        ("", "Namespace" | "Pod" | "ServiceAccount") => Rule::Metadata,
        ("", "ConfigMap") => Rule::ConfigMap,
        ("", "Secret") => Rule::Secret,
        ("", "Service") => Rule::Service,
        ("rbac.authorization.k8s.io", "Role") => Rule::Fields(&["rules"]),
        ("rbac.authorization.k8s.io", "ClusterRole") => Rule::ClusterRole,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => Rule::Binding,
        ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("networking.k8s.io", "NetworkPolicy")
        | ("policy", "PodDisruptionBudget")
        | (
            "monitoring.coreos.com",
            "ServiceMonitor" | "PrometheusRule" | "Alertmanager" | "Prometheus",
        )
        | (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding",
        ) => Rule::Fields(&["spec"]),
        ("snapshot.storage.k8s.io", "VolumeSnapshotClass") => {
            Rule::Fields(&["driver", "parameters", "deletionPolicy"])
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => Rule::Webhooks,
        ("storage.k8s.io", "StorageClass") => Rule::StorageClass,
        ("storage.k8s.io", "CSIDriver") => Rule::CsiDriver,
        _ => Rule::Other,
    }
}

/// Groups of Kubernetes whose names have a dot. Groups of custom resources have one, too.
const BUILT_IN: [&str; 17] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Are the kinds of a group Kubernetes' own?
pub(crate) fn is_built_in(group: &str) -> bool {
    !group.contains('.') || BUILT_IN.contains(&group)
}
