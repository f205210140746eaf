//! What an agent reports about its cluster, as far as ClusterProfiles show it.

use std::collections::BTreeSet;

use berth_api::cluster::{ManagedClusterClaim, ManagedClusterStatus};

/// Upper bound on the claims of a cluster that are kept.
const CLAIMS: usize = 1_000;

/// The version and the claims of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// status.version.kubernetes
    pub kubernetes: String,
    /// status.clusterClaims: those that can be properties of a ClusterProfile, each name once, at most a thousand.
    pub claims: Vec<ManagedClusterClaim>,
}

// === impl Reported ===

impl Reported {
    /// None if nothing is reported.
    pub(super) fn of(status: &mut ManagedClusterStatus) -> Option<Box<Self>> {
        let version = status.version.take();
        let mut claims = std::mem::take(&mut status.cluster_claims);
        let mut names = BTreeSet::new();
        claims.retain(|claim| {
            let fits = |text: &str, most| !text.is_empty() && text.chars().count() <= most;
            fits(&claim.name, 253)
                && fits(&claim.value, 1024)
                && (names.len() < CLAIMS && names.insert(claim.name.clone()))
        });
        let reported = Self {
            kubernetes: version.map(|it| it.kubernetes).unwrap_or_default(),
            claims,
        };
        (reported != Self::default()).then(|| Box::new(reported))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::facts::Cluster;

    #[test]
    fn claims_that_no_property_can_show_are_left_out() {
        let long = "x".repeat(1025);
        let cluster = Cluster::read(&json!({"status": {
            "version": {"kubernetes": "v1.36.0"},
            "clusterClaims": [
                {"name": "a", "value": "1"}, {"name": "", "value": "2"}, {"name": "b", "value": ""},
                {"name": "a", "value": "3"}, {"name": "c", "value": long}, {"name": "d", "value": "4"},
            ],
        }}));
        let reported = cluster.reported.unwrap();
        assert_eq!(reported.kubernetes, "v1.36.0");
        let claims: Vec<_> = reported
            .claims
            .iter()
            .map(|it| (&*it.name, &*it.value))
            .collect();
        assert_eq!(claims, [("a", "1"), ("d", "4")]);
        assert_eq!(Cluster::read(&json!({"status": {}})).reported, None);
    }

    #[test]
    fn claims_are_bounded() {
        let claim = |number: usize| json!({"name": number.to_string(), "value": "x"});
        let claims: Vec<_> = (0..2_000).map(claim).collect();
        let cluster = Cluster::read(&json!({"status": {"clusterClaims": claims}}));
        assert_eq!(cluster.reported.unwrap().claims.len(), 1_000);
    }
}
