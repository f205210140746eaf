//! What the fields of a ClusterManager mean.

use super::*;

fn chosen(spec: Value) -> Choice {
    choice(&Play::new(spec).manager(), 3, &settings())
}

#[test]
fn the_image_is_the_operators_unless_another_than_ocms_is_named() {
    let own = settings().image;
    for (named, expected) in [
        ("", &*own),
        ("quay.io/open-cluster-management/registration", &own),
        ("quay.io/open-cluster-management/registration:v1.3.0", &own),
        ("mirror.example.com:5000/ocm/registration@sha256:00", &own),
        ("registration", &own),
        (
            "registry.example.com/mine/berth:v2",
            "registry.example.com/mine/berth:v2",
        ),
        ("testimage:latest", "testimage:latest"),
        (
            "registry.example.com/registration/berth",
            "registry.example.com/registration/berth",
        ),
    ] {
        let found = chosen(json!({"registrationImagePullSpec": named})).image;
        assert_eq!(found, expected, "{named}");
    }
}

#[test]
fn feature_gates_reach_whom_they_concern() {
    let gates = |field: &str, gates: &[(&str, &str)]| {
        let gates = gates
            .iter()
            .map(|(feature, mode)| json!({"feature": feature, "mode": mode}));
        let mut spec = json!({});
        spec[field] = json!({"featureGates": gates.collect::<Vec<_>>()});
        chosen(spec)
    };
    let choice = gates(
        "registrationConfiguration",
        &[
            ("DefaultClusterSet", "Disable"),
            ("ClusterProfile", "Enable"),
            ("NetworkPolicies", "Enable"),
            ("V1beta1CSRAPICompatibility", "Enable"),
            ("ClusterImporter", "Enable"),
            ("NoSuchGate", "Enable"),
        ],
    );
    assert_eq!(
        choice.values.feature_gates,
        [("DefaultClusterSet".to_owned(), false)].into()
    );
    assert!(choice.values.cluster_profiles.enabled && choice.values.network_policies.enabled);
    assert_eq!(choice.ignored.unknown_gates, ["NoSuchGate"]);
    assert_eq!(
        choice.ignored.unsupported,
        [
            "spec.registrationConfiguration.featureGates ClusterImporter: Berth has no importer of clusters"
        ]
    );

    let choice = gates(
        "placementConfiguration",
        &[("SIGPlacementDecision", "Enable")],
    );
    assert!(choice.values.cluster_profiles.placement_decisions);
    assert_eq!(choice.values.contradictions(), [""; 0]);

    let choice = gates(
        "addOnManagerConfiguration",
        &[("AddonManagement", "Disable")],
    );
    assert_eq!(
        choice.values.controller.extra_args,
        ["--controllers=*,-addon"]
    );

    let choice = gates(
        "workConfiguration",
        &[
            ("NilExecutorValidating", "Enable"),
            ("CloudEventsDrivers", "Disable"),
        ],
    );
    assert_eq!(
        choice.values.feature_gates,
        [("NilExecutorValidating".to_owned(), true)].into()
    );
    assert_eq!(choice.ignored.unsupported, [""; 0], "it is off");
}

#[test]
fn nobody_is_accepted_automatically_without_the_feature_gate() {
    let registration = |gate: &str, identities: &[&str]| {
        chosen(json!({"registrationConfiguration": {
            "autoApproveUsers": ["u"],
            "registrationDrivers": [{"authType": "csr", "csr": {"autoApprovedIdentities": identities}}],
            "featureGates": [{"feature": "ManagedClusterAutoApproval", "mode": gate}],
        }}))
    };
    let users = |identities: &[&str]| {
        registration("Enable", identities)
            .values
            .auto_approval
            .users
    };
    assert_eq!(users(&[]), ["u"]);
    // As with OCM: not those of the older list.
    assert_eq!(users(&["v"]), ["v"]);
    let choice = registration("Disable", &["v"]);
    assert!(choice.values.auto_approval.users.is_empty());
    assert!(choice.ignored.unsupported[0].contains("ManagedClusterAutoApproval"));
}

#[test]
fn what_has_no_effect_is_named() {
    let choice = chosen(json!({
        "registrationConfiguration": {
            "registrationDrivers": [{"authType": "grpc"}, {"authType": "awsirsa"}, {"authType": "new"}],
            "importerConfiguration": {"renderers": ["render-auto"]},
        },
        "workConfiguration": {"workDriver": "mqtt"},
        "serverConfiguration": {},
    }));
    assert_eq!(
        choice.ignored.unsupported,
        [
            "spec.registrationConfiguration.registrationDrivers grpc: Berth has no gRPC server",
            "spec.registrationConfiguration.registrationDrivers awsirsa: Berth makes no roles of AWS",
            "spec.registrationConfiguration.registrationDrivers new: it is not known",
            "spec.registrationConfiguration.importerConfiguration: Berth has no importer of clusters",
            "spec.workConfiguration.workDriver mqtt: works reach clusters through the hub's API server only",
            "spec.serverConfiguration: Berth has no gRPC server",
        ]
    );
    let mut play = Play::new(json!({"serverConfiguration": {}}));
    play.settle();
    assert_eq!(
        play.said("SettingsSupported"),
        pair("False", "NotSupported")
    );
    assert_eq!(
        play.said("Applied"),
        pair("True", "ClusterManagerApplied"),
        "all else is there"
    );
}

#[test]
fn replicas_follow_the_nodes_of_the_control_plane() {
    for (nodes, set, controller, gate) in [
        (0, None, 2, 3),
        (1, None, 1, 1),
        (2, None, 2, 3),
        (1, Some(4), 4, 4),
    ] {
        let mut play = Play::new(json!({}));
        play.nodes = nodes;
        play.settings.replicas = set;
        play.settle();
        let replicas = |name: &str| {
            let name = format!("cluster-manager-registration-{name}");
            play.stored(Kind::Deployment, &name).unwrap()["spec"]["replicas"].clone()
        };
        assert_eq!(
            (replicas("controller"), replicas("webhook")),
            (json!(controller), json!(gate))
        );
    }
}

#[test]
fn pods_get_nodes_resources_and_ports() {
    let mut play = Play::new(json!({
        "nodePlacement": {
            "nodeSelector": {"infra": ""}, "tolerations": [{"key": "infra", "operator": "Exists", "effect": "NoSchedule"}],
        },
        "resourceRequirement": {"type": "ResourceRequirement", "resourceRequirements": {"limits": {"cpu": "1000m"}}},
        "deployOption": {"mode": "Default", "default": {"registrationWebhookConfiguration": {"bindConfiguration": {
            "port": 9443, "healthProbePort": 8001, "metricsPort": 8081, "hostNetwork": true,
        }}}},
    }));
    play.settle();
    for name in ["controller", "webhook"] {
        let deployment = play
            .stored(
                Kind::Deployment,
                &format!("cluster-manager-registration-{name}"),
            )
            .unwrap();
        let pods = &deployment["spec"]["template"]["spec"];
        assert_eq!(pods["nodeSelector"], json!({"infra": ""}));
        assert_eq!(pods["tolerations"][0]["key"], "infra");
        assert_eq!(
            pods["containers"][0]["resources"],
            json!({"limits": {"cpu": "1"}})
        );
    }
    let gate = play
        .stored(Kind::Deployment, "cluster-manager-registration-webhook")
        .unwrap();
    let pods = &gate["spec"]["template"]["spec"];
    assert_eq!(
        pods["containers"][0]["args"],
        json!([
            "webhook-server",
            "--certificate-source=secret",
            "--health-probe-port=8001",
            "--metrics-port=8081"
        ])
    );
    let ports: Vec<_> = pods["containers"][0]["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["containerPort"].clone())
        .collect();
    assert_eq!(ports, [9443, 8081, 8001]);
    assert_eq!(
        (&pods["hostNetwork"], &pods["dnsPolicy"]),
        (&json!(true), &json!("ClusterFirstWithHostNet"))
    );
}

#[test]
fn labels_are_copied_if_asked_for_and_never_those_of_selectors() {
    for syncs in [false, true] {
        let mut play = Play::new(json!({}));
        play.settings.sync_labels = syncs;
        play.object["metadata"]["labels"] = json!({
            "team": "a", "app": "mine", "open-cluster-management.io/cluster-name": "x",
        });
        play.settle();
        for object in play.store.values() {
            let labels = &object["metadata"]["labels"];
            assert_eq!(labels[CREATED_BY], "cluster-manager");
            assert_eq!(labels["team"] == "a", syncs);
            assert_ne!(labels["app"], "mine");
        }
    }
}

#[test]
fn another_name_names_deployments_and_what_selects_their_pods() {
    let mut play = Play::new(json!({
        "registrationConfiguration": {"featureGates": [{"feature": "NetworkPolicies", "mode": "Enable"}]},
    }));
    play.object["metadata"]["name"] = json!("hub");
    play.settle();
    let gate = play
        .stored(Kind::Deployment, "hub-registration-webhook")
        .unwrap();
    let app = &gate["spec"]["template"]["metadata"]["labels"]["app"];
    assert_eq!(app, "hub-registration-webhook");
    let service = play
        .stored(Kind::Service, "cluster-manager-registration-webhook")
        .unwrap();
    assert_eq!(service["spec"]["selector"]["app"], *app);
    let budget = play
        .stored(
            Kind::DisruptionBudget,
            "cluster-manager-registration-webhook",
        )
        .unwrap();
    assert_eq!(budget["spec"]["selector"]["matchLabels"]["app"], *app);
    let mut policies = play
        .store
        .values()
        .filter(|it| it["kind"] == "NetworkPolicy");
    assert!(policies.any(|it| it["spec"]["podSelector"]["matchLabels"]["app"] == *app));
}

#[test]
fn ports_that_are_none_stay_those_of_the_manifests() {
    let bind = json!({"port": 0, "healthProbePort": -1, "metricsPort": 0});
    let choice = chosen(json!({"deployOption": {
        "mode": "Default", "default": {"registrationWebhookConfiguration": {"bindConfiguration": bind}},
    }}));
    assert_eq!(choice.ports, Ports::default());
}

#[test]
fn labels_are_those_of_what_the_controller_makes_too() {
    let mut play = Play::new(json!({}));
    play.object["metadata"]["labels"] =
        json!({"team": "fleet", "a": "b", "app": "x", "open-cluster-management.io/x": "y"});
    let mut settings = settings();
    let args = |settings: &Settings| {
        choice(&play.manager(), 3, settings)
            .values
            .controller
            .extra_args
    };
    assert_eq!(args(&settings), [""; 0]);
    settings.sync_labels = true;
    assert_eq!(args(&settings), ["--labels=a=b,team=fleet"]);
}

#[test]
fn tls_settings_are_those_of_both_components() {
    let mut settings = settings();
    settings.tls = Some(crate::TlsProfile {
        min_version: "VersionTLS13".to_owned(),
        ..crate::TlsProfile::default()
    });
    let manager = Play::new(json!({})).manager();
    let chosen = choice(&manager, 3, &settings);
    for pods in [&chosen.values.gate, &chosen.values.controller] {
        assert_eq!(pods.extra_args, ["--tls-min-version=VersionTLS13"]);
    }
    settings.tls = settings.tls.map(|it| crate::TlsProfile {
        mistake: Some("no".to_owned()),
        ..it
    });
    let chosen = choice(&manager, 3, &settings);
    assert_eq!(chosen.values.gate.extra_args, [""; 0]);
    assert_eq!(
        chosen.ignored.unsupported,
        ["ConfigMap ocm-tls-profile: no"]
    );
}
