//! A hub is installed, changed, and put back.

use berth_manifests::Hub;
use berth_manifests::values::HubValues;

use super::*;

#[test]
fn the_parts_of_a_hub_come_one_after_the_other_and_webhooks_last() {
    let mut play = Play::new(json!({}));
    let steps = play.settle();
    let kinds: Vec<String> = (steps.iter())
        .map(|writes| {
            let mut kinds: Vec<_> = writes
                .iter()
                .filter_map(|it| it.split(' ').nth(1))
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds.join(" ")
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "clustermanagers",
            "customresourcedefinitions",
            "namespaces",
            "clusterroles poddisruptionbudgets roles secrets serviceaccounts services",
            "clusterrolebindings rolebindings",
            "deployments",
            "clustermanagers",
        ],
        "{steps:#?}"
    );
    assert_eq!(play.said("Applied"), pair("True", "ClusterManagerApplied"));
    assert_eq!(
        play.condition("Progressing").2,
        "Deployments cluster-manager-registration-controller,cluster-manager-registration-webhook is still rolling"
    );
    assert_eq!(
        play.said("HubRegistrationDegraded"),
        pair("True", "UnavailableRegistrationPod")
    );
    assert_eq!(play.count(Kind::ValidatingWebhooks), 0);

    play.roll_out();
    assert_eq!(
        play.settle().len(),
        1,
        "only the status: there is no authority yet"
    );
    assert_eq!(
        play.condition("Progressing").2,
        "the webhook configurations wait until the gate has its certificate"
    );
    assert_eq!(
        play.said("HubRegistrationDegraded"),
        pair("False", "RegistrationFunctional")
    );
    assert_eq!(
        play.said("HubPlacementDegraded"),
        pair("False", "PlacementFunctional")
    );
    assert_eq!(play.count(Kind::ValidatingWebhooks), 0);

    play.publish("QQ==");
    let steps = play.settle();
    assert_eq!(steps.len(), 2, "and the status: {steps:?}");
    assert!(
        steps[0]
            .iter()
            .all(|it| it.contains("webhookconfigurations"))
    );
    assert!(play.count(Kind::ValidatingWebhooks) > 5);
    for (id, object) in &play.store {
        for webhook in object["webhooks"].as_array().into_iter().flatten() {
            assert_eq!(webhook["clientConfig"]["caBundle"], "QQ==", "{id:?}");
        }
    }
    assert_eq!(
        play.said("Progressing"),
        pair("False", "ClusterManagerUpToDate")
    );
    assert_eq!(play.object["status"]["observedGeneration"], 1);
    let related = play.object["status"]["relatedResources"]
        .as_array()
        .unwrap();
    assert_eq!(related.len(), play.store.len());
}

/// The same as kustomize and the chart give, but for the names that OCM gives Deployments, and labels.
#[test]
fn the_objects_are_those_of_the_manifests() {
    let mut play = Play::installed(json!({}));
    play.publish("");
    let ours = Hub::with(&HubValues::default(), &settings().image);
    let mut count = 0;
    for wanted in ours.objects() {
        let mut wanted = wanted.clone();
        let name = match wanted["metadata"]["name"].as_str().unwrap() {
            "berth-registration-controller" => "cluster-manager-registration-controller",
            name => name,
        }
        .to_owned();
        let kind = Kind::of(&wanted).unwrap();
        let object = play
            .stored(kind, &name)
            .unwrap_or_else(|| panic!("{kind:?} {name}"));
        wanted["metadata"] = Value::Null;
        if let Some(spec) = wanted.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("preserveUnknownFields");
        }
        if name.ends_with("-controller") {
            for path in [
                "/spec/selector/matchLabels/app",
                "/spec/template/metadata/labels/app",
                "/spec/template/spec/containers/0/name",
                "/spec/template/spec/topologySpreadConstraints/0/labelSelector/matchLabels/app",
            ] {
                *wanted.pointer_mut(path).unwrap() = object.pointer(path).unwrap().clone();
            }
        }
        // So that pods of OCM are served, and have their token, there and back.
        if kind == Kind::Service {
            wanted["spec"]["ports"][0]["targetPort"] = json!(9443);
        } else if kind == Kind::Account {
            let fields = wanted.as_object_mut().unwrap();
            fields.remove("automountServiceAccountToken");
        }
        let mut object = object.clone();
        object["metadata"] = Value::Null;
        object.as_object_mut().unwrap().remove("status");
        let config = "/spec/conversion/webhook/clientConfig";
        if let Some(config) = object.pointer_mut(config).and_then(Value::as_object_mut) {
            config.remove("caBundle");
        }
        for webhook in object
            .get_mut("webhooks")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            webhook["clientConfig"]
                .as_object_mut()
                .unwrap()
                .remove("caBundle");
        }
        assert_eq!(object, wanted, "{kind:?} {name}");
        count += 1;
    }
    assert_eq!(count, play.store.len());
}

#[test]
fn what_others_change_or_delete_is_put_back_and_nothing_else_is_written() {
    let installed = Play::installed(json!({}));
    assert_eq!(installed.decide(), Decision::default());
    let mut play = Play::installed(json!({}));
    for id in installed.store.keys() {
        let object = play.store.remove(id).unwrap();
        if id.kind == Kind::Deployment {
            // Nothing more happens until it runs again.
            play.settle();
            play.roll_out();
        }
        play.settle();
        play.publish("QQ==");
        play.settle();
        assert!(play.store.contains_key(id), "{id:?}");
        for change in changes(&object) {
            let stored = play.store.get_mut(id).unwrap();
            json_patch::merge(stored, &change);
            let steps = play.settle();
            let shown = format!("{} {}", id.kind.name(), id.name);
            assert_eq!(steps[0], [format!("apply {shown}")], "{change}");
            play.roll_out();
            play.settle();
        }
    }
}

/// Changes of others that are to be undone.
fn changes(object: &Value) -> Vec<Value> {
    let mut changes = vec![json!({"metadata": {"labels": {CREATED_BY: "other"}}})];
    for (field, change) in [
        ("rules", json!({"rules": []})),
        ("webhooks", json!({"webhooks": []})),
        ("roleRef", json!({"roleRef": {"name": "other"}})),
        ("subjects", json!({"subjects": []})),
    ] {
        if !object[field].is_null() {
            changes.push(change);
        }
    }
    if object["kind"] == "Deployment" {
        changes.push(json!({"spec": {"replicas": 7}}));
    }
    changes
}

#[test]
fn what_fails_is_reported_and_tried_again() {
    let mut play = Play::new(json!({}));
    play.settle();
    for (kind, reason) in [
        (Kind::Definition, "CRDApplyFailed"),
        (Kind::ClusterRole, "HubResourceApplyFailed"),
        (Kind::Deployment, "RuntimeResourceApplyFailed"),
        (Kind::ValidatingWebhooks, "WebhookApplyFailed"),
    ] {
        play.failures = vec![Failure {
            kind,
            message: "no".to_owned(),
        }];
        play.settle();
        assert_eq!(
            play.condition("Applied"),
            ("False".to_owned(), reason.to_owned(), "no".to_owned())
        );
    }
    play.failures = (0..20)
        .map(|it| Failure {
            kind: Kind::Role,
            message: it.to_string(),
        })
        .collect();
    play.settle();
    assert_eq!(
        play.condition("Applied").2,
        "0; 1; 2; 3; 4; 5; 6; 7; and 12 more"
    );
    play.failures.clear();
    play.settle();
    assert_eq!(play.said("Applied"), pair("True", "ClusterManagerApplied"));
}

#[test]
fn a_hub_that_cannot_be_is_refused_by_name() {
    let mut play = Play::new(json!({"deployOption": {"mode": "Another"}}));
    play.settle();
    assert_eq!(play.said("Applied"), pair("False", "ModeNotSupported"));
    assert!(play.store.is_empty());

    let mut play = Play::new(json!({}));
    play.object["metadata"]["name"] = json!("a".repeat(40));
    play.settle();
    assert_eq!(play.said("Applied"), pair("False", "NameTooLong"));
    assert!(play.store.is_empty());

    let play = Play::new(json!({}));
    let manager = play.manager();
    let stored = BTreeMap::new();
    let facts = Facts {
        manager: &manager,
        elder: Some("first"),
        nodes: 1,
        stored: &stored,
        settings: &play.settings,
        failures: &[],
        unmigrated: &[],
        hosted: None,
    };
    let now = Now {
        wall: "2026-01-01T00:00:00Z".parse().unwrap(),
        instant: Instant::now(),
    };
    let decision = decide(&facts, &mut play.renderer.borrow_mut(), now);
    let Action::Patch { body, .. } = &decision.writes[0].action else {
        panic!("{decision:?}");
    };
    let applied = &body["status"]["conditions"][0];
    assert_eq!(applied["reason"], "AnotherClusterManager");
    assert!(applied["message"].as_str().unwrap().contains("first"));
}

#[test]
fn webhooks_are_put_back_while_a_replica_is_missing() {
    let mut play = Play::installed(json!({}));
    let name = "managedclustervalidators.admission.cluster.open-cluster-management.io";
    for object in play.store.values_mut() {
        if object["kind"] == "Deployment" {
            object["status"]["availableReplicas"] = json!(1);
        }
        if object["metadata"]["name"] == name {
            object["webhooks"][0]["failurePolicy"] = json!("Ignore");
            let fields = json!({"f:webhooks": {}});
            object["metadata"]["managedFields"] = json!([{
                "manager": crate::objects::MANAGER, "operation": "Apply", "fieldsV1": fields,
            }]);
        }
    }
    play.settle();
    let guard = play.stored(Kind::ValidatingWebhooks, name).unwrap();
    assert_eq!(guard["webhooks"][0]["failurePolicy"], "Fail");
    assert_eq!(
        play.said("Progressing"),
        pair("True", "ClusterManagerDeploymentRolling")
    );
}

/// A policy may be what keeps the pods from running.
#[test]
fn what_a_switch_turned_off_goes_at_once() {
    let gates = |mode: &str| {
        let gate = |name: &str| json!({"feature": name, "mode": mode});
        json!({"featureGates": [gate("NetworkPolicies"), gate("ClusterProfile")]})
    };
    let mut play = Play::new(json!({"registrationConfiguration": gates("Enable")}));
    play.settle();
    assert!(play.count(Kind::NetworkPolicy) > 0);
    let roles = play.count(Kind::ClusterRole);
    play.object["spec"]["registrationConfiguration"] = gates("Disable");
    play.settle();
    assert_eq!(play.count(Kind::NetworkPolicy), 0);
    assert_eq!(play.count(Kind::ClusterRole), roles - 1);
    assert_eq!(play.count(Kind::ValidatingWebhooks), 0, "nothing runs yet");
}

#[test]
fn the_namespace_comes_before_what_is_in_it() {
    let mut play = Play::new(json!({}));
    let steps = play.settle();
    let namespace = "apply namespaces open-cluster-management-hub".to_owned();
    let at = steps.iter().position(|it| it.contains(&namespace)).unwrap();
    assert_eq!(steps[at].len(), 1, "{:?}", steps[at]);
    assert!(
        steps[at + 2]
            .iter()
            .any(|it| it.starts_with("apply rolebindings"))
    );
}

#[test]
fn pods_of_the_former_template_do_not_count() {
    let mut play = Play::new(json!({}));
    play.settle();
    play.roll_out();
    for object in play
        .store
        .values_mut()
        .filter(|it| it["kind"] == "Deployment")
    {
        object["status"]["updatedReplicas"] = json!(0);
    }
    play.publish("QQ==");
    play.settle();
    assert_eq!(play.count(Kind::ValidatingWebhooks), 0);
    assert_eq!(
        play.said("Progressing"),
        pair("True", "ClusterManagerDeploymentRolling")
    );
}
