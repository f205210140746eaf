use berth_manifests::Agent;
use berth_manifests::values::AgentValues;

use super::*;

#[test]
fn the_agent_is_installed_step_by_step() {
    let mut play = Play::new(json!({"clusterName": "c1"}));
    let steps = play.settle();
    let kinds: Vec<Vec<&str>> = steps
        .iter()
        .map(|step| {
            let mut kinds: Vec<_> = step
                .iter()
                .map(|it| it.split(' ').nth(1).unwrap())
                .collect();
            kinds.dedup();
            kinds
        })
        .collect();
    assert_eq!(kinds[0], ["klusterlets"], "the finalizer");
    assert_eq!(kinds[1], ["customresourcedefinitions"]);
    assert_eq!(kinds[2], ["namespaces"]);
    assert!(kinds[3].starts_with(&["serviceaccounts"]), "{kinds:?}");
    assert_eq!(kinds[4], ["deployments"]);
    assert_eq!(kinds[5], ["roles", "rolebindings"], "of add-ons");
    assert_eq!(kinds[6], ["klusterlets"], "the status");
    assert_eq!(kinds.len(), 7);
    assert_eq!(play.said("Applied"), pair("True", "KlusterletApplied"));
    assert_eq!(play.said("Available"), pair("False", "NoAvailablePods"));
    assert_eq!(
        play.said("RegistrationDesiredDegraded"),
        pair("True", "UnavailablePods")
    );
    assert_eq!(
        play.condition("HubConnectionDegraded").0,
        "",
        "nobody looked"
    );
    play.roll_out();
    play.connect();
    play.settle();
    assert_eq!(play.said("Available"), pair("True", "KlusterletAvailable"));
    for type_ in ["RegistrationDesiredDegraded", "WorkDesiredDegraded"] {
        assert_eq!(play.said(type_), pair("False", "DeploymentsFunctional"));
    }
    assert_eq!(
        play.said("HubConnectionDegraded"),
        pair("False", "HubConnectionFunctional")
    );
    assert_eq!(
        play.said("ValidFeatureGates"),
        pair("True", "FeatureGatesAllValid")
    );
    let status = &play.object["status"];
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(
        status["generations"][0]["name"],
        "klusterlet-registration-agent"
    );
    let related = status["relatedResources"].as_array().unwrap();
    assert_eq!(related.len(), play.store.len());
}

/// But for the names, they are those of the manifests, the chart and `berth join`.
#[test]
fn the_objects_are_those_of_the_manifests() {
    let play = Play::installed(json!({"clusterName": "c1"}));
    let values = AgentValues {
        cluster_name: "c1".to_owned(),
        ..AgentValues::default()
    };
    let agent = Agent::with(&values, &settings().image);
    assert_eq!(play.store.len(), agent.objects().count());
    let mut args = vec![
        "agent",
        "--cluster-name=c1",
        "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
        "--hub-kubeconfig-dir=/spoke/hub-kubeconfig",
    ];
    let deployment = &agent.workloads[0]["spec"]["template"]["spec"];
    assert_eq!(deployment["containers"][0]["args"], json!(args));
    args.push("--agent-id=u1");
    assert_eq!(play.args("klusterlet-registration-agent"), args);
    let renamed = |name: &str, kind: &str| match (name, kind) {
        ("berth-agent", "ServiceAccount") => "klusterlet-work-sa".to_owned(),
        ("berth-agent", "Deployment") => "klusterlet-registration-agent".to_owned(),
        _ => name.replace("berth-agent", "klusterlet-agent"),
    };
    for object in agent.objects().filter(|it| it["kind"] != "Deployment") {
        let kind = object["kind"].as_str().unwrap();
        let name = renamed(object["metadata"]["name"].as_str().unwrap(), kind);
        let found = play.stored(Kind::of(object).unwrap(), &name);
        let found = found.unwrap_or_else(|| panic!("{kind} {name}"));
        assert_eq!(found["rules"], object["rules"], "{name}");
        assert_eq!(
            found["metadata"]["namespace"], object["metadata"]["namespace"],
            "{name}"
        );
        if kind.ends_with("Binding") {
            let role = renamed(object["roleRef"]["name"].as_str().unwrap(), "");
            assert_eq!(found["roleRef"]["name"], *role);
            let subject = json!({"kind": "ServiceAccount", "name": "klusterlet-work-sa", "namespace": "open-cluster-management-agent"});
            assert_eq!(found["subjects"], json!([subject]));
        }
    }
}

#[test]
fn the_namespace_is_that_of_the_klusterlet() {
    let play = Play::installed(json!({"namespace": "open-cluster-management-x"}));
    let placed = play.store.keys().filter(|it| !it.namespace.is_empty());
    for id in placed {
        let of_add_ons = id.name.ends_with("-addons");
        let expected = if of_add_ons {
            ADDON_NAMESPACE
        } else {
            "open-cluster-management-x"
        };
        assert_eq!(id.namespace, expected, "{id:?}");
    }
    let namespace = play
        .stored(Kind::Namespace, "open-cluster-management-x")
        .unwrap();
    let labels = &namespace["metadata"]["labels"];
    assert_eq!(
        labels["operator.open-cluster-management.io/klusterlet"],
        "klusterlet"
    );
    let bindings = play
        .store
        .iter()
        .filter(|(id, _)| id.kind == Kind::ClusterRoleBinding);
    for (id, binding) in bindings {
        assert_eq!(
            binding["subjects"][0]["namespace"], "open-cluster-management-x",
            "{id:?}"
        );
    }
}

#[test]
fn what_is_right_is_not_written_and_what_is_not_is_put_back() {
    let mut play = Play::installed(json!({}));
    assert_eq!(play.decide(), Decision::default());
    let ids: Vec<Id> = play.store.keys().cloned().collect();
    for id in ids {
        let before = play.store.remove(&id).unwrap();
        if id.kind == Kind::Deployment {
            play.settle();
            play.roll_out();
        }
        play.settle();
        assert_eq!(
            play.store[&id]["metadata"]["labels"], before["metadata"]["labels"],
            "{id:?}"
        );
        assert_eq!(play.decide(), Decision::default(), "{id:?}");
    }
}

#[test]
fn klusterlets_share_definitions_and_the_namespace_of_add_ons() {
    let mut first = Play::installed(json!({}));
    let mut second = Play::new(json!({"namespace": "open-cluster-management-2"}));
    second.object["metadata"]["name"] = json!("second");
    second.object["metadata"]["uid"] = json!("u2");
    second.store = first.store.clone();
    second.settle();
    second.roll_out();
    second.settle();
    first.store = second.store.clone();
    assert_eq!(first.decide(), Decision::default());
    assert_eq!(second.decide(), Decision::default());
    assert_eq!(first.deployments().len(), 2);
}

#[test]
fn a_definition_of_a_later_version_stays() {
    let mut play = Play::installed(json!({}));
    let name = "appliedmanifestworks.work.open-cluster-management.io";
    let (id, definition) = (play.store.iter_mut())
        .find(|(id, _)| id.name == name)
        .unwrap();
    let id = id.clone();
    definition["metadata"]["annotations"]["operator.open-cluster-management.io/version"] =
        json!("9.0.0");
    definition["spec"]["versions"] = json!([{"name": "v9"}]);
    assert_eq!(
        play.settle(),
        [["patch klusterlets klusterlet"]],
        "its status"
    );
    assert_eq!(play.store[&id]["spec"]["versions"][0]["name"], "v9");
}

#[test]
fn what_cannot_be_written_is_said() {
    for (kind, reason) in [
        (Kind::Definition, "CRDApplyFailed"),
        (Kind::Namespace, "ManagedClusterResourceApplyFailed"),
        (Kind::ClusterRole, "ManagedClusterResourceApplyFailed"),
        (Kind::RoleBinding, "ManagementClusterResourceApplyFailed"),
        (Kind::Deployment, "KlusterletApplyFailed"),
    ] {
        let mut play = Play::installed(json!({}));
        play.failures = vec![Failure {
            kind,
            message: "x: no".to_owned(),
        }];
        play.settle();
        let said = play.condition("Applied");
        assert_eq!(
            said,
            ("False".to_owned(), reason.to_owned(), "x: no".to_owned())
        );
    }
}

#[test]
fn a_klusterlet_that_can_have_no_agent_gets_none() {
    let long = "k".repeat(64);
    for (name, spec, holder, reason) in [
        (&*long, json!({}), None, "NameTooLong"),
        (
            "k",
            json!({"deployOption": {"mode": "Elsewhere"}}),
            None,
            "ModeNotSupported",
        ),
        (
            "kube-system",
            json!({"deployOption": {"mode": "Hosted"}}),
            None,
            "NameReserved",
        ),
        (
            "open-cluster-management-hub",
            json!({"deployOption": {"mode": "SingletonHosted"}}),
            None,
            "NameReserved",
        ),
        (
            "k",
            json!({"namespace": "open-cluster-management-hub"}),
            None,
            "NamespaceReserved",
        ),
        (
            "k",
            json!({"namespace": "open-cluster-management-agent-addon"}),
            None,
            "NamespaceReserved",
        ),
        ("k", json!({}), Some("first"), "AnotherKlusterlet"),
    ] {
        let mut play = Play::new(spec);
        play.object["metadata"]["name"] = json!(name);
        play.holder = holder;
        let steps = play.settle();
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert_eq!(play.said("Applied"), pair("False", reason));
        assert!(play.store.is_empty());
        assert!(play.object["metadata"]["finalizers"].is_null());
    }
}

#[test]
fn a_connection_that_does_not_work_is_said_with_both_reasons() {
    let mut play = Play::installed(json!({}));
    let check = |reason, message: &str| Check {
        is_functional: false,
        reason,
        message: message.to_owned(),
    };
    play.connection = Some(Connection {
        bootstrap: Some(check("BootstrapSecretMissing", "no bootstrap")),
        hub: check("HubKubeConfigSecretMissing", "no secret"),
    });
    play.settle();
    let (status, reason, message) = play.condition("HubConnectionDegraded");
    assert_eq!(status, "True");
    assert_eq!(reason, "BootstrapSecretMissing,HubKubeConfigSecretMissing");
    assert_eq!(message, "no bootstrap\nno secret");
}

/// Of every agent of OCM: spec 8.3.
#[test]
fn the_rights_of_an_agent_are_those_that_ocm_asks_for() {
    let shown = |it: &Right| {
        let sub = if it.subresource.is_empty() {
            String::new()
        } else {
            format!("/{}", it.subresource)
        };
        format!(
            "{} {}{sub} {}/{}",
            it.verb, it.resource, it.namespace, it.name
        )
    };
    assert_eq!(of_bootstrap().len(), 6);
    let hub: Vec<_> = of_hub("c1").iter().map(shown).collect();
    assert_eq!(hub.len(), 24);
    for expected in [
        "watch certificatesigningrequests /",
        "update managedclusters /c1",
        "patch managedclusters/status /c1",
        "renew managedclusters/clientcertificates /",
        "update leases c1/managed-cluster-lease",
        "create events c1/",
        "update manifestworks c1/",
        "patch manifestworks/status c1/",
    ] {
        assert!(hub.iter().any(|it| it == expected), "{expected}: {hub:?}");
    }
}

/// Programs with OCM's type write it so, if they set none.
#[test]
fn an_empty_mode_is_the_default() {
    let play = Play::installed(json!({"deployOption": {"mode": ""}}));
    assert_eq!(
        play.deployments(),
        ["open-cluster-management-agent/klusterlet-registration-agent"]
    );
}
