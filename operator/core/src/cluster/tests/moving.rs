//! From OCM's operator, from one mode to another, from one namespace to another.

use super::*;

/// A Deployment that OCM's operator made.
fn of_ocm(play: &mut Play, name: &str) {
    let app = "open-cluster-management.io/created-by-klusterlet";
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "open-cluster-management-agent", "labels": {app: "klusterlet"}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "x"}]}}},
    });
    play.put(Id::of(&object).unwrap(), object);
    play.roll_out();
}

#[test]
fn ocms_work_agent_goes_when_ours_runs() {
    let mut play = Play::new(json!({}));
    of_ocm(&mut play, "klusterlet-registration-agent");
    of_ocm(&mut play, "klusterlet-work-agent");
    play.settle();
    assert_eq!(play.count(Kind::Deployment), 2);
    let args = play.args("klusterlet-registration-agent");
    assert_eq!(args[0], "agent", "in its Deployment");
    play.roll_out();
    let steps = play.settle();
    assert_eq!(steps[0], ["end deployments klusterlet-work-agent"]);
    assert_eq!(
        play.deployments(),
        ["open-cluster-management-agent/klusterlet-registration-agent"]
    );
}

#[test]
fn another_mode_is_another_deployment_one_after_the_other() {
    let mut play = Play::installed(json!({}));
    for (mode, before, after) in [
        (
            "Singleton",
            "klusterlet-registration-agent",
            "klusterlet-agent",
        ),
        (
            "Default",
            "klusterlet-agent",
            "klusterlet-registration-agent",
        ),
    ] {
        play.object["spec"]["deployOption"] = json!({"mode": mode});
        let steps = play.settle();
        assert_eq!(steps[0], [format!("end deployments {before}")]);
        assert_eq!(steps[1], [format!("apply deployments {after}")]);
        let is_single = mode == "Singleton";
        assert_eq!(
            play.args(after).contains(&"--singleton".to_owned()),
            is_single
        );
        play.roll_out();
        play.settle();
    }
}

#[test]
fn while_the_pods_of_the_other_mode_end_it_is_not_applied() {
    let mut play = Play::installed(json!({}));
    let observed = play.object["status"]["observedGeneration"].clone();
    play.ends_from = Some("2026-01-01T00:00:00Z");
    play.object["spec"]["deployOption"] = json!({"mode": "Singleton"});
    play.object["metadata"]["generation"] = json!(2);
    play.settle();
    assert_eq!(play.count(Kind::Deployment), 1);
    assert_eq!(play.object["status"]["observedGeneration"], observed);
    play.pods_end();
    play.settle();
    play.roll_out();
    play.settle();
    assert_eq!(play.object["status"]["observedGeneration"], 2);
}

#[test]
fn the_former_namespace_stays_until_the_agent_has_come_to_its_hub() {
    let mut play = Play::installed(json!({}));
    play.object["spec"]["namespace"] = json!("open-cluster-management-x");
    play.settle();
    play.roll_out();
    play.settle();
    let old = "open-cluster-management-agent";
    assert_eq!(play.count(Kind::Deployment), 2);
    assert!(play.stored(Kind::Namespace, old).is_some());
    play.connect();
    play.settle();
    assert_eq!(
        play.deployments(),
        ["open-cluster-management-x/klusterlet-registration-agent"]
    );
    assert!(play.stored(Kind::Namespace, old).is_none());
    assert!(play.stored(Kind::Namespace, ADDON_NAMESPACE).is_some());
    assert!(play.store.keys().all(|it| it.namespace != old));
}

#[test]
fn without_a_namespace_of_add_ons_its_roles_go() {
    let mut play = Play::installed(json!({}));
    let role = "klusterlet-agent-addons";
    assert!(play.stored(Kind::Role, role).is_some());
    play.settings.has_addon_namespace = false;
    play.settle();
    assert!(play.stored(Kind::Role, role).is_none());
    assert!(
        play.stored(Kind::Namespace, ADDON_NAMESPACE).is_some(),
        "it has what others wrote"
    );
}
