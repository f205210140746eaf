//! A hub that OCM's operator installed.

use std::time::Duration;

use super::*;

const CONVERTED: &str = "clustermanagementaddons.addon.open-cluster-management.io";

fn own(kind: Kind, namespace: &str, name: &str) -> (Id, Value) {
    let id = Id {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let object = json!({
        "metadata": {"name": name, "namespace": namespace, "labels": {CREATED_BY: "cluster-manager"}},
    });
    (id, object)
}

fn ocms() -> Play {
    let mut play = Play::new(json!({}));
    let hub = "open-cluster-management-hub";
    for (id, object) in [
        own(
            Kind::Deployment,
            hub,
            "cluster-manager-placement-controller",
        ),
        own(
            Kind::Deployment,
            hub,
            "cluster-manager-registration-webhook",
        ),
        own(
            Kind::Deployment,
            hub,
            "cluster-manager-registration-controller",
        ),
        own(Kind::Service, hub, "cluster-manager-addon-webhook"),
        own(
            Kind::ClusterRole,
            "",
            "open-cluster-management:cluster-manager-work:controller",
        ),
        own(Kind::Account, hub, "addon-webhook-sa"),
    ] {
        play.put(id, object);
    }
    // OCM's controllers and webhooks run.
    play.roll_out();
    // Of another ClusterManager.
    let (id, mut other) = own(Kind::ClusterRole, "", "other");
    other["metadata"]["labels"][CREATED_BY] = json!("other");
    play.put(id, other);
    let (id, mut definition) = own(Kind::Definition, "", CONVERTED);
    definition["spec"] = json!({"conversion": {"strategy": "Webhook", "webhook": {
        "clientConfig": {"service": {"namespace": hub, "name": "cluster-manager-addon-webhook"}, "caBundle": "T0NN"},
    }}});
    play.put(id, definition);
    let name = "managedclustervalidators.admission.cluster.open-cluster-management.io";
    let (id, mut guard) = own(Kind::ValidatingWebhooks, "", name);
    guard["webhooks"] = json!([{"name": name, "clientConfig": {"caBundle": "T0NN"}}]);
    play.put(id, guard);
    play
}

fn conversion(play: &Play) -> (String, String) {
    let definition = play.stored(Kind::Definition, CONVERTED).unwrap();
    let config = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    (text(&config["service"]["name"]), text(&config["caBundle"]))
}

#[test]
fn what_serves_goes_on_until_the_new_one_runs_and_what_nobody_needs_goes_last() {
    let mut play = ocms();
    play.settle();
    assert_eq!(
        conversion(&play),
        (
            "cluster-manager-addon-webhook".to_owned(),
            "T0NN".to_owned()
        )
    );
    assert!(
        play.stored(Kind::Service, "cluster-manager-addon-webhook")
            .is_some()
    );
    // The keeper publishes both authorities in the webhook configurations, and then gives the gate its certificate.
    for object in play.store.values_mut() {
        for webhook in object
            .get_mut("webhooks")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            webhook["clientConfig"]["caBundle"] = json!("Qk9USA==");
        }
    }
    // OCM's placement controller has no status here: only ours are waited for.
    play.roll_out();
    play.settle();
    assert_eq!(
        conversion(&play),
        (
            "cluster-manager-registration-webhook".to_owned(),
            "Qk9USA==".to_owned()
        )
    );
    for gone in [
        "cluster-manager-placement-controller",
        "cluster-manager-addon-webhook",
        "open-cluster-management:cluster-manager-work:controller",
        "addon-webhook-sa",
    ] {
        assert!(!play.store.keys().any(|it| it.name == gone), "{gone}");
    }
    assert!(play.stored(Kind::ClusterRole, "other").is_some());
}

/// Those of OCM give up their Leases when they end, which they may only with their bindings.
#[test]
fn pods_that_nobody_needs_have_their_rights_until_they_end_and_are_waited_for_a_minute() {
    const BINDING: &str = "open-cluster-management:cluster-manager-placement:controller";
    for (ends_from, again) in [
        ("2026-01-01T00:00:00Z", Some(60)),
        ("2025-12-31T23:59:10Z", Some(10)),
        // The clock of the API server is ahead.
        ("2026-01-01T01:00:00Z", Some(60)),
        // Their node is gone.
        ("2025-12-31T23:59:00Z", None),
    ] {
        let mut play = ocms();
        let (id, binding) = own(Kind::ClusterRoleBinding, "", BINDING);
        play.put(id, binding);
        play.ends_from = Some(ends_from);
        play.settle();
        for object in play.store.values_mut() {
            for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                webhook["clientConfig"]["caBundle"] = json!("Qk9USA==");
            }
        }
        play.roll_out();
        play.settle();
        let has_binding = |play: &Play| play.stored(Kind::ClusterRoleBinding, BINDING).is_some();
        assert_eq!(has_binding(&play), again.is_some(), "{ends_from}");
        assert_eq!(play.decide().again, again.map(Duration::from_secs));
        play.pods_end();
        play.settle();
        assert!(!has_binding(&play));
        assert_eq!(play.decide().again, None);
    }
}

#[test]
fn a_definition_of_a_later_version_stays_as_it_is() {
    for (version, stays) in [
        ("1.3.0", false),
        ("1.3.1+berth.0.1.0", false),
        ("1.3.1+berth.0.1.1", true),
        ("v1.4.0", true),
    ] {
        let mut play = Play::new(json!({}));
        let name = "managedclusters.cluster.open-cluster-management.io";
        let (id, mut definition) = own(Kind::Definition, "", name);
        definition["metadata"]["annotations"] = json!({crate::names::DEFINITION_VERSION: version});
        definition["spec"] = json!({"scope": "theirs"});
        play.put(id, definition);
        play.settle();
        let found = play.stored(Kind::Definition, name).unwrap();
        assert_eq!(found["spec"]["scope"] == "theirs", stays, "{version}");
        assert_eq!(play.said("Applied"), pair("True", "ClusterManagerApplied"));
    }
}

#[test]
fn whoever_converts_add_ons_of_a_later_version_stays() {
    let mut play = ocms();
    for object in play.store.values_mut() {
        if object["metadata"]["name"] == CONVERTED {
            object["metadata"]["annotations"] = json!({crate::names::DEFINITION_VERSION: "v1.4.0"});
        }
    }
    play.settle();
    play.roll_out();
    play.settle();
    assert_eq!(conversion(&play).0, "cluster-manager-addon-webhook");
    assert!(
        play.stored(Kind::Service, "cluster-manager-addon-webhook")
            .is_some()
    );
    assert!(
        play.count(Kind::ValidatingWebhooks) > 5,
        "all else is there"
    );
}

/// OCM's operator labels no definitions. The operator looks such objects up before it decides.
#[test]
fn definitions_without_the_label_are_taken_over_as_those_with_it() {
    let mut play = ocms();
    for object in play
        .store
        .values_mut()
        .filter(|it| !it["spec"]["conversion"].is_null())
    {
        object["metadata"].as_object_mut().unwrap().remove("labels");
    }
    play.is_looked_up = true;
    play.settle();
    assert_eq!(conversion(&play).0, "cluster-manager-addon-webhook");
}

#[test]
fn a_definition_of_another_project_stays_as_it_is() {
    let spec = json!({"registrationConfiguration": {"featureGates": [{"feature": "ClusterProfile", "mode": "Enable"}]}});
    let mut play = Play::new(spec);
    let name = "clusterprofiles.multicluster.x-k8s.io";
    let (id, mut definition) = own(Kind::Definition, "", name);
    definition["spec"] = json!({"scope": "theirs"});
    play.put(id, definition);
    play.settle();
    assert_eq!(
        play.stored(Kind::Definition, name).unwrap()["spec"]["scope"],
        "theirs"
    );
}
