//! The order in which the objects of a ManifestWork are applied: what others need comes first.

/// The rank of an object whose manifest cannot be used.
pub const LAST: u32 = 1001;

/// The kinds by rank. All others come after them.
const RANKS: [&[&str]; 7] = [
    &[
        "PriorityClass",
        "Namespace",
        "CustomResourceDefinition",
        "StorageClass",
        "PersistentVolume",
        "PodSecurityPolicy",
    ],
    &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    &[
        "NetworkPolicy",
        "ResourceQuota",
        "LimitRange",
        "PodDisruptionBudget",
        "ServiceAccount",
    ],
    &["Secret", "ConfigMap", "PersistentVolumeClaim"],
    &["Service"],
    &[
        "DaemonSet",
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "Job",
        "CronJob",
    ],
    &[
        "APIService",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ],
];

/// Returns the rank of a kind of any group. Objects of equal rank are applied in the order of their manifests.
pub fn rank(kind: &str) -> u32 {
    let known = (0..).zip(RANKS).find(|(_, kinds)| kinds.contains(&kind));
    known.map_or(1000, |(rank, _)| rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_after_what_they_need() {
        let mut kinds = vec![
            "Widget",
            "Deployment",
            "Namespace",
            "ClusterRole",
            "Job",
            "Service",
        ];
        kinds.sort_by_key(|kind| rank(kind));
        assert_eq!(
            kinds,
            [
                "Namespace",
                "ClusterRole",
                "Service",
                "Deployment",
                "Job",
                "Widget"
            ]
        );
        assert!(rank("Widget") < LAST);
    }
}
