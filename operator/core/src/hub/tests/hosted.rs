//! A hub that is another cluster.

use super::*;
use crate::names::{CLUSTER_MANAGER_FINALIZER, HUB_SERVER, PURGE, RUNS_ELSEWHERE};

fn spec() -> Value {
    let gate = json!({"address": "gate.example.com", "port": 8443});
    json!({"deployOption": {"mode": "Hosted", "hosted": {"registrationWebhookConfiguration": gate}}})
}

/// A ClusterManager of this name, before anything is written.
fn play(name: &str, spec: Value) -> Play {
    let mut play = Play::new(spec);
    play.object["metadata"]["name"] = json!(name);
    play.hosted = Some(Hosting {
        has_credentials: false,
        server: "https://hub",
    });
    play
}

/// One whose components have their credentials and run.
fn installed() -> Play {
    let mut play = play("fleet", spec());
    play.settle();
    play.hosted = Some(Hosting {
        has_credentials: true,
        server: "https://hub",
    });
    play.settle();
    play.roll_out();
    play.publish("QQ==");
    play.settle();
    play
}

#[test]
fn the_components_wait_for_their_credentials_and_the_rest_is_on_the_hub() {
    let mut play = play("fleet", spec());
    let steps = play.settle();
    // What is to be cleaned up is known before anything is there.
    assert_eq!(steps[0], ["patch clustermanagers fleet"]);
    assert_eq!(
        play.object["metadata"]["finalizers"],
        json!([CLUSTER_MANAGER_FINALIZER])
    );
    assert_eq!(
        play.object["metadata"]["annotations"][RUNS_ELSEWHERE],
        "true"
    );
    assert_eq!(play.count(Kind::Deployment), 0);
    assert!(play.count(Kind::Account) >= 2);

    let play = installed();
    let here = play.store.keys().filter(|it| is_here(it, "fleet"));
    let here: Vec<_> = here.map(Id::shown).collect();
    assert_eq!(
        here,
        [
            "PodDisruptionBudget fleet/cluster-manager-registration-webhook",
            "Deployment fleet/fleet-registration-controller",
            "Deployment fleet/fleet-registration-webhook",
        ]
    );
    assert_eq!(play.said("Applied"), pair("True", "ClusterManagerApplied"));
    assert_eq!(
        play.said("HubPlacementDegraded"),
        pair("False", "PlacementFunctional")
    );
    for (deployment, account) in [
        (
            "fleet-registration-controller",
            "berth-registration-controller-sa",
        ),
        ("fleet-registration-webhook", "registration-webhook-sa"),
    ] {
        assert!(accounts().any(|it| it == account));
        let deployment = play.stored(Kind::Deployment, deployment).unwrap();
        let pods = &deployment["spec"]["template"]["spec"];
        assert!(pods["serviceAccountName"].is_null());
        assert_eq!(pods["automountServiceAccountToken"], false);
        assert_eq!(
            pods["volumes"],
            json!([{"name": "hub", "secret": {"secretName": secret_of(account)}}])
        );
        let container = &pods["containers"][0];
        assert_eq!(
            container["volumeMounts"],
            json!([{"name": "hub", "mountPath": "/var/run/secrets/hub", "readOnly": true}])
        );
        let template = &deployment["spec"]["template"]["metadata"];
        assert_eq!(template["annotations"][HUB_SERVER], "https://hub");
        let args = container["args"].as_array().unwrap();
        assert!(args.contains(&json!("--kubeconfig=/var/run/secrets/hub/kubeconfig")));
    }
}

#[test]
fn the_hub_calls_the_gate_at_its_address() {
    let play = installed();
    let service = play
        .stored(Kind::Service, "cluster-manager-registration-webhook")
        .unwrap();
    assert_eq!(
        service["spec"],
        json!({"type": "ExternalName", "externalName": "gate.example.com"})
    );
    let guards = play.store.iter().filter(|(id, _)| id.kind.is_guard());
    let webhooks = guards.flat_map(|(_, it)| it["webhooks"].as_array().unwrap());
    let mut clients: Vec<_> = webhooks.map(|it| &it["clientConfig"]).collect();
    let definition = "clustermanagementaddons.addon.open-cluster-management.io";
    let definition = play.stored(Kind::Definition, definition).unwrap();
    clients.push(&definition["spec"]["conversion"]["webhook"]["clientConfig"]);
    for client in clients {
        assert_eq!(client["service"]["port"], 8443, "{client}");
        assert_eq!(
            client["service"]["namespace"],
            "open-cluster-management-hub"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (name, spec, reason) in [
        ("kube-system", spec(), "NameReserved"),
        ("open-cluster-management-hub", spec(), "NameReserved"),
        ("open-cluster-management-agent", spec(), "NameReserved"),
        (
            "fleet",
            json!({"deployOption": {"mode": "Hosted"}}),
            "AddressMissing",
        ),
    ] {
        let mut play = play(name, spec);
        play.settle();
        assert_eq!(play.said("Applied"), pair("False", reason), "{name}");
        assert!(play.store.is_empty());
    }
    // Another one wrote what is there.
    let mut other = installed();
    other.object["metadata"]["name"] = json!("second");
    other.object["metadata"]["uid"] = json!("v");
    other.settle();
    assert_eq!(
        other.said("Applied"),
        pair("False", "AnotherClusterManager")
    );
    // Also one of the same name.
    let mut other = installed();
    other.object["metadata"]["uid"] = json!("v");
    other.settle();
    assert_eq!(
        other.said("Applied"),
        pair("False", "AnotherClusterManager")
    );
    let on_hub = |play: &Play| {
        let there = play.store.keys().filter(|it| !is_here(it, "fleet"));
        there.cloned().collect::<Vec<_>>()
    };
    let before = on_hub(&other);
    other.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    other.settle();
    assert_eq!(on_hub(&other), before, "nothing there is its own");
    assert_eq!(other.object["metadata"]["finalizers"], json!([]));
}

#[test]
fn a_mode_that_was_changed_is_said_and_moves_nothing() {
    let mut play = installed();
    let before = play.store.clone();
    play.object["spec"] = json!({"deployOption": {"mode": "Default"}});
    let stored = BTreeMap::new();
    assert!(is_hosted(&play.manager(), &stored));
    play.settle();
    assert_eq!(play.said("Applied"), pair("False", "ModeChanged"));
    assert_eq!(play.store, before);

    let mut play = Play::installed(json!({}));
    play.object["spec"] = spec();
    assert!(!is_hosted(&play.manager(), &play.known()));
    assert!(can_have_a_hub(&play.manager(), &play.known()), "it has it");
    play.settle();
    assert_eq!(play.said("Applied"), pair("False", "ModeChanged"));
    // Nothing of another mode is looked up, which the operator may not.
    let (manager, stored) = (play.manager(), play.known());
    let facts = Facts {
        manager: &manager,
        elder: None,
        nodes: 1,
        stored: &stored,
        settings: &play.settings,
        failures: &[],
        unmigrated: &[],
        hosted: None,
    };
    assert_eq!(asked_for(&facts, &mut play.renderer.borrow_mut()), []);
    // As the condition says: until the end it is where it was.
    play.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    play.settle();
    assert!(!is_hosted(&play.manager(), &BTreeMap::new()));
    assert_eq!(play.object["metadata"]["finalizers"], json!([]));
    assert_eq!(play.count(Kind::Account), 0);
}

#[test]
fn what_is_on_both_clusters_goes_and_the_fleet_stays() {
    for purge in [false, true] {
        let mut play = installed();
        if purge {
            play.object["metadata"]["annotations"][PURGE] = json!("true");
        }
        play.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        play.settle();
        assert_eq!(play.object["metadata"]["finalizers"], json!([]));
        let left: std::collections::BTreeSet<_> = play.store.keys().map(|it| it.kind).collect();
        let expected: &[Kind] = match purge {
            true => &[Kind::Namespace],
            false => &[Kind::Definition, Kind::Namespace],
        };
        assert_eq!(left.into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_hub_that_cannot_be_reached_is_waited_for_if_something_is_there() {
    let settings = settings();
    let stored = BTreeMap::new();
    for (finalizers, reason) in [
        // Also of OCM's operator.
        (
            json!([CLUSTER_MANAGER_FINALIZER]),
            Some("ClusterManagerRemoving"),
        ),
        (json!(["mine"]), None),
    ] {
        let mut play = play("fleet", spec());
        play.object["metadata"]["finalizers"] = finalizers;
        play.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let manager = play.manager();
        let facts = Facts {
            manager: &manager,
            elder: None,
            nodes: 1,
            stored: &stored,
            settings: &settings,
            failures: &[],
            unmigrated: &[],
            hosted: play.hosted,
        };
        for write in unreachable(&facts, "nobody answers", now()).writes {
            play.carry_out(write);
        }
        match reason {
            Some(reason) => {
                let (status, said, message) = play.condition("Applied");
                assert_eq!((status, said), pair("False", reason));
                assert!(message.contains("nobody answers. Put a kubeconfig that works into the Secret fleet/external-hub-kubeconfig"));
            }
            None => assert!(play.object["status"].is_null()),
        }
    }
}
