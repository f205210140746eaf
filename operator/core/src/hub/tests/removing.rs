//! A ClusterManager is deleted.

use super::*;
use crate::names::PURGE;

fn deleted(play: &mut Play) {
    play.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
}

#[test]
fn the_hub_goes_and_the_fleet_stays() {
    let mut play = Play::installed(json!({}));
    deleted(&mut play);
    let steps = play.settle();
    let of = |step: usize, resource: &str| steps[step].iter().all(|it| it.contains(resource));
    assert!(
        of(0, "delete ") && of(0, "webhookconfigurations"),
        "{steps:#?}"
    );
    assert!(of(1, "patch customresourcedefinitions"), "{steps:#?}");
    assert!(of(2, "end deployments"), "{steps:#?}");
    assert_eq!(
        steps.last().unwrap()[..],
        ["patch clustermanagers cluster-manager".to_owned()]
    );
    let mut left: Vec<_> = play.store.keys().map(|it| it.kind).collect();
    left.dedup();
    assert_eq!(left, [Kind::Definition, Kind::Namespace]);
    assert_eq!(play.object["metadata"]["finalizers"], json!([]));
    assert_eq!(play.decide(), Decision::default());
    // Nothing converts add-ons any more: they are served as they are stored.
    for name in ["clustermanagementaddons", "managedclusteraddons"] {
        let name = format!("{name}.addon.open-cluster-management.io");
        let spec = &play.stored(Kind::Definition, &name).unwrap()["spec"];
        assert_eq!(spec["conversion"]["strategy"], "None");
        let mut versions = spec["versions"].as_array().unwrap().iter();
        assert!(versions.all(|it| it["served"] == it["storage"]));
    }
}

#[test]
fn objects_in_two_versions_stay_as_they_are() {
    let mut play = Play::installed(json!({}));
    for object in play
        .store
        .values_mut()
        .filter(|it| it["kind"] == "CustomResourceDefinition")
    {
        object["status"] = json!({"storedVersions": ["v1alpha1", "v1beta1"]});
    }
    deleted(&mut play);
    let steps = play.settle();
    assert!(
        !steps
            .iter()
            .flatten()
            .any(|it| it.contains("customresourcedefinitions")),
        "{steps:#?}"
    );
}

#[test]
fn a_purge_takes_the_fleet_along_while_the_controllers_run() {
    for by_flag in [false, true] {
        let mut play = Play::installed(json!({}));
        play.settings.purge = by_flag;
        if !by_flag {
            play.object["metadata"]["annotations"] = json!({PURGE: "true"});
        }
        deleted(&mut play);
        let steps = play.settle();
        let at = |what: &str| {
            steps
                .iter()
                .position(|it| it.iter().any(|it| it.contains(what)))
                .unwrap()
        };
        let order = [
            "validatingwebhookconfigurations",
            "managedclusteraddons",
            "manifestworks.",
            "managedclusters.",
            "manifestworkreplicasets",
            "placements.",
            "deployments",
            "serviceaccounts",
        ];
        assert!(
            order.map(at).windows(2).all(|it| it[0] < it[1]),
            "{steps:#?}"
        );
        assert_eq!(
            play.store.len(),
            1,
            "the Namespace stays: the operator's role is in it"
        );
    }
}

#[test]
fn it_says_what_it_waits_for() {
    let mut play = Play::installed(json!({}));
    play.object["metadata"]["annotations"] = json!({PURGE: "true"});
    deleted(&mut play);
    for object in play.store.values_mut() {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let name = "managedclusters.cluster.open-cluster-management.io";
    play.store.retain(|id, _| id.name == name);
    play.settle();
    assert_eq!(
        play.condition("Applied"),
        (
            "False".to_owned(),
            "ClusterManagerRemoving".to_owned(),
            format!("the hub is being removed, and waits for CustomResourceDefinition {name}"),
        )
    );
}

#[test]
fn a_hub_that_runs_elsewhere_is_left_to_the_operator_that_installed_it() {
    let mut play = Play::new(json!({"deployOption": {"mode": "Another"}}));
    play.object["metadata"]["finalizers"] = json!([crate::names::CLUSTER_MANAGER_FINALIZER]);
    deleted(&mut play);
    play.settle();
    assert_eq!(play.said("Applied"), pair("False", "ModeNotSupported"));
    assert_ne!(play.object["metadata"]["finalizers"], json!([]));
}
