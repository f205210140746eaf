//! The condition `ManagedClusterReadable`: names the fields of a ManagedCluster that cannot be read.
//!
//! The hub treats those fields as absent ([`berth_api::lenient`]), and accepts, denies and deletes the cluster like any other.
//! It renews the certificate of the cluster's agent only when all fields can be read again ([`crate::csrs`]).

use berth_api::conditions::{self, FALSE, TRUE};

use crate::cluster_plan::ClusterPlan;
use crate::facts::{ClusterFacts, Now};
use crate::names::managers;
use crate::status::{self, Owner, Wanted};
use berth_api::plan::Event;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "readable";

const OWNER: Owner = Owner {
    manager: managers::READABLE,
    reconciler: NAME,
};

/// Plans the condition. A cluster whose fields could always be read gets none.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let Some(cluster) = facts.cluster else {
        return;
    };
    let (status, reason, message) = if !cluster.unreadable.is_empty() {
        let message = format!(
            "These fields cannot be read, and count as absent: {}; the certificate of the cluster's agent is not renewed \
             until they are corrected",
            cluster.unreadable
        );
        (FALSE, conditions::cluster::UNREADABLE_FIELDS, message)
    } else if cluster.condition(conditions::cluster::READABLE).is_some() {
        let message = "All fields can be read".to_owned();
        (TRUE, conditions::cluster::ALL_FIELDS_READABLE, message)
    } else {
        return;
    };
    let event = Event {
        warning: status == FALSE,
        reason: "ManagedClusterReadableUpdated",
        note: format!("managed cluster {}: {message}", facts.name),
        namespace: None,
    };
    let wanted = Wanted {
        type_: conditions::cluster::READABLE,
        status,
        reason,
        message,
    };
    status::set(facts, wanted, &OWNER, vec![event], now, plan);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::Cluster;
    use crate::testing::scene::Scene;

    #[test]
    fn the_condition_names_the_fields_until_they_are_right() {
        let mut scene = Scene::new();
        scene.settles(decide, 0);
        let strange = json!({"status": {"conditions": [
            {"type": "A", "status": "True", "lastTransitionTime": "9999-12-31T23:59:59Z"},
        ]}});
        scene.cluster().unreadable = Cluster::read(&strange).unreadable;
        scene.settles(decide, 1);
        let condition = scene
            .cluster()
            .condition(conditions::cluster::READABLE)
            .unwrap()
            .clone();
        assert_eq!(
            (&*condition.status, &*condition.reason),
            ("False", "UnreadableFields")
        );
        let field = "status.conditions[0].lastTransitionTime";
        assert!(condition.message.contains(field), "{}", condition.message);
        scene.cluster().unreadable = Default::default();
        scene.settles(decide, 1);
        assert_eq!(
            scene
                .cluster()
                .condition_status(conditions::cluster::READABLE),
            Some("True")
        );
    }
}
