//! What `berth-hub` renders.

use serde_json::{Value, json};

use super::compared::{assert_renders, built};
use super::helm::{HUB, programs};
use crate::manifests::overlays::{CONTROLLER, GATE, args};

const OVERLAYS: &str = "manifests/overlays";

/// Fails unless the chart renders with the values what the folders are.
fn assert_is(values: &Value, folders: &[&str]) {
    if let Some(expected) = built(HUB, folders) {
        assert_renders(HUB, values, &expected);
    }
}

fn overlay(name: &str) -> String {
    format!("{OVERLAYS}/{name}")
}

#[test]
fn each_mode_is_its_overlay() {
    assert_is(&json!({}), &["manifests"]);
    for mode in ["hub", "policies", "policies-with-webhook"] {
        assert_is(&json!({ "mode": mode }), &[&overlay(mode)]);
    }
}

#[test]
fn each_switch_is_its_overlay() {
    let bootstraps = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
    for (values, name) in [
        (
            json!({"certificates": {"source": "cert-manager"}}),
            "cert-manager",
        ),
        (
            json!({"networkPolicies": {"enabled": true}}),
            "network-policies",
        ),
        (
            json!({"clusterProfiles": {"enabled": true}}),
            "cluster-profiles",
        ),
        (
            json!({"clusterProfiles": {"enabled": true, "placementDecisions": true}}),
            "sig-placement-decisions",
        ),
        (
            json!({"autoApproval": {"users": [bootstraps]}}),
            "auto-approval",
        ),
        (json!({"ocmNames": true}), "ocm-names"),
        (json!({"placementApart": true}), "placement-apart"),
        (json!({"console": {"enabled": true}}), "console"),
        (
            json!({"console": {"enabled": true, "tokens": false, "impersonation": {
                "enabled": true, "clientCaSecret": "berth-console-proxy-ca", "allowedNames": ["berth-console-proxy"],
            }}}),
            "console-impersonation",
        ),
    ] {
        assert_is(&values, &[&overlay(name)]);
    }
}

#[test]
fn monitoring_and_bootstrap_are_their_folders() {
    let monitored = json!({"monitoring": {"enabled": true}});
    assert_is(&monitored, &["manifests", "manifests/monitoring"]);
    let policies = json!({"mode": "policies", "monitoring": {"enabled": true}});
    assert_is(
        &policies,
        &[&overlay("policies"), &overlay("policies/monitoring")],
    );
    let bootstrap = json!({"bootstrap": {"enabled": true}});
    assert_is(&bootstrap, &["manifests", "manifests/bootstrap"]);
}

#[test]
fn registrations_and_crds_can_be_left_out() {
    let is_registration = |it: &Value| it.get("webhooks").is_some();
    let is_crd = |it: &Value| it["kind"] == "CustomResourceDefinition";
    let off = json!({"registrations": {"enabled": false}});
    for mode in ["webhooks", "hub", "policies-with-webhook"] {
        let folder = if mode == "webhooks" {
            "manifests".to_owned()
        } else {
            overlay(mode)
        };
        let Some(mut expected) = built(HUB, &[&folder]) else {
            return;
        };
        let before = expected.len();
        expected.retain(|it| !is_registration(it));
        assert!(expected.len() < before, "{mode} has registrations");
        let mut values = off.clone();
        values["mode"] = json!(mode);
        assert_renders(HUB, &values, &expected);
    }
    let Some(mut expected) = built(HUB, &[&overlay("cluster-profiles")]) else {
        return;
    };
    expected.retain(|it| !is_crd(it));
    let without = json!({"crds": {"enabled": false}, "clusterProfiles": {"enabled": true}});
    assert_renders(HUB, &without, &expected);
}

/// No overlay combines these: the rules of both hold.
#[test]
fn switches_combine() {
    for program in programs() {
        let all = json!({
            "mode": "hub",
            "placementApart": true,
            "clusterProfiles": {"enabled": true, "placementDecisions": true},
            "autoApproval": {"users": ["alice", "bob"]},
            "featureGates": {"PlacementScores": true, "ResourceCleanup": false},
            "gate": {"extraArgs": ["--v=4"]},
        });
        let objects = HUB.rendered(program, &all);
        let expected = json!([
            "hub",
            "--certificate-source=secret",
            "--feature-gates=ClusterProfile=true",
            "--feature-gates=ManagedClusterAutoApproval=true",
            "--auto-approved-csr-users=alice,bob",
            "--controllers=*,-placement",
            "--feature-gates=ResourceCleanup=false",
            "--v=4",
        ]);
        assert_eq!(args(&objects, GATE), expected);
        assert_eq!(
            args(&objects, "berth-placement-controller"),
            json!([
                "placement",
                "controller",
                "--feature-gates=SIGPlacementDecision=true",
                "--feature-gates=PlacementScores=true"
            ])
        );
        // No binding names an account that is not there.
        let accounts: Vec<_> = objects
            .iter()
            .filter(|it| it["kind"] == "ServiceAccount")
            .collect();
        for binding in objects.iter().filter(|it| it["roleRef"].is_object()) {
            let subject = &binding["subjects"][0]["name"];
            assert!(
                accounts.iter().any(|it| it["metadata"]["name"] == *subject),
                "{binding}"
            );
        }

        let issued =
            json!({"mode": "policies-with-webhook", "certificates": {"source": "cert-manager"}});
        let objects = HUB.rendered(program, &issued);
        assert_eq!(args(&objects, GATE), json!(["webhook-server"]));
        assert_eq!(args(&objects, CONTROLLER), json!(["controller"]));
        let registration = objects
            .iter()
            .find(|it| it.get("webhooks").is_some())
            .expect("there is one");
        assert_eq!(
            registration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
            "open-cluster-management-hub/registration-webhook-serving-cert"
        );
    }
}

#[test]
fn crds_are_kept_unless_a_value_says_otherwise() {
    for program in programs() {
        for (keep, policy) in [(true, json!("keep")), (false, Value::Null)] {
            let objects = HUB.rendered(program, &json!({"crds": {"keep": keep}}));
            let crds = objects
                .iter()
                .filter(|it| it["kind"] == "CustomResourceDefinition");
            for crd in crds {
                assert_eq!(
                    crd["metadata"]["annotations"]["helm.sh/resource-policy"],
                    policy
                );
            }
        }
    }
}

/// What Helm applies again takes nothing from the controller: it fills both.
#[test]
fn neither_bundles_nor_the_certificate_are_rendered() {
    for program in programs() {
        let objects = HUB.rendered(program, &json!({}));
        let registrations = objects
            .iter()
            .filter_map(|it| it["webhooks"].as_array())
            .flatten();
        assert!(registrations.clone().count() > 0);
        for webhook in registrations {
            assert_eq!(webhook["clientConfig"].get("caBundle"), None);
        }
        let secret = objects
            .iter()
            .find(|it| it["kind"] == "Secret")
            .expect("there is one");
        assert_eq!((secret.get("data"), secret.get("stringData")), (None, None));
        assert_eq!(
            HUB.rendered(program, &json!({})),
            objects,
            "the same every time"
        );
    }
}

/// Each value of pods lands in each Deployment.
#[test]
fn values_of_pods_reach_their_deployment() {
    let pods = json!({
        "replicas": 0,
        "resources": {"limits": {"memory": "2Gi"}},
        "extraArgs": ["--log-format=json"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "podLabels": {"team": "fleet"},
        "podAnnotations": {"example.com/scrape": "true"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "hub", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "priorityClassName": "system-cluster-critical",
    });
    let image = json!({
        "registry": "registry.example.com", "repository": "fleet/berth", "tag": "v9",
        "digest": format!("sha256:{}", "a".repeat(64)), "pullPolicy": "Always",
    });
    let values = json!({
        "size": "large", "placementApart": true, "gate": pods, "controller": pods, "placement": pods, "image": image,
        "console": {"enabled": true, "pods": pods},
        "imagePullSecrets": [{"name": "pull"}], "commonLabels": {"cost": "fleet"},
    });
    for program in programs() {
        let objects = HUB.rendered(program, &values);
        assert!(
            objects
                .iter()
                .all(|it| it["metadata"]["labels"]["cost"] == "fleet")
        );
        let deployments: Vec<_> = objects
            .iter()
            .filter(|it| it["kind"] == "Deployment")
            .collect();
        assert_eq!(deployments.len(), 4);
        for deployment in deployments {
            let spec = &deployment["spec"];
            assert_eq!(spec["replicas"], 0);
            let template = &spec["template"];
            assert_eq!(template["metadata"]["labels"]["team"], "fleet");
            assert_eq!(template["metadata"]["annotations"], pods["podAnnotations"]);
            let pod = &template["spec"];
            for field in [
                "nodeSelector",
                "tolerations",
                "affinity",
                "priorityClassName",
            ] {
                assert_eq!(pod[field], pods[field], "{field}");
            }
            assert_eq!(pod["imagePullSecrets"], json!([{"name": "pull"}]));
            let container = &pod["containers"][0];
            let image = format!(
                "registry.example.com/fleet/berth:v9@sha256:{}",
                "a".repeat(64)
            );
            assert_eq!(container["image"], image);
            assert_eq!(container["imagePullPolicy"], "Always");
            assert_eq!(container["resources"]["limits"], json!({"memory": "2Gi"}));
            assert!(
                container["resources"]["requests"]["memory"].is_string(),
                "that of the size stays"
            );
            let last = container["args"].as_array().and_then(|it| it.last());
            assert_eq!(last, Some(&json!("--log-format=json")));
            let env = container["env"].as_array().and_then(|it| it.last());
            assert_eq!(env, Some(&pods["extraEnv"][0]));
        }
    }
}

/// A larger hub has no less of anything.
#[test]
fn sizes_grow() {
    let figure = |value: &Value| -> f64 {
        let text = value.as_str().expect("a quantity").to_owned();
        let unit = text.trim_start_matches(|it: char| it.is_ascii_digit());
        let number: f64 = text.trim_end_matches(unit).parse().expect("a number");
        number
            * match unit {
                "m" => 0.001,
                "Mi" => 1024.0 * 1024.0,
                "Gi" => 1024.0 * 1024.0 * 1024.0,
                other => panic!("unit {other}"),
            }
    };
    for program in programs() {
        for mode in ["webhooks", "hub"] {
            let mut before: Vec<f64> = Vec::new();
            for size in ["small", "medium", "large"] {
                let values = json!({
                    "mode": mode, "size": size, "placementApart": true, "console": {"enabled": true},
                });
                let mut figures = Vec::new();
                for deployment in HUB
                    .rendered(program, &values)
                    .iter()
                    .filter(|it| it["kind"] == "Deployment")
                {
                    let spec = &deployment["spec"];
                    let resources = &spec["template"]["spec"]["containers"][0]["resources"];
                    figures.push(spec["replicas"].as_f64().expect("a number"));
                    for pointer in ["/requests/cpu", "/requests/memory", "/limits/memory"] {
                        figures.push(figure(resources.pointer(pointer).expect("it is set")));
                    }
                }
                assert!(
                    before.iter().zip(&figures).all(|(less, more)| less <= more),
                    "{mode} {size}"
                );
                assert_ne!(before, figures);
                before = figures;
            }
        }
    }
}

/// The doctor runs with its own account, which is gone afterwards, in a restricted pod.
#[test]
fn helm_test_runs_the_doctor() {
    for program in programs() {
        let objects = HUB.rendered_with_hooks(program, &json!({}));
        let hooks: Vec<_> = objects
            .iter()
            .filter(|it| it["metadata"]["annotations"]["helm.sh/hook"] == "test")
            .collect();
        let kinds: Vec<_> = hooks.iter().filter_map(|it| it["kind"].as_str()).collect();
        for kind in ["ServiceAccount", "ClusterRoleBinding", "RoleBinding", "Pod"] {
            assert_eq!(kinds.iter().filter(|it| **it == kind).count(), 1, "{kind}");
        }
        for binding in hooks.iter().filter(|it| it.get("roleRef").is_some()) {
            let role = &binding["roleRef"];
            let is_role =
                |it: &&Value| it["kind"] == role["kind"] && it["metadata"]["name"] == role["name"];
            assert_eq!(objects.iter().filter(is_role).count(), 1, "{role}");
        }
        let pod = hooks
            .iter()
            .find(|it| it["kind"] == "Pod")
            .expect("there is one");
        let container = &pod["spec"]["containers"][0];
        assert_eq!(
            (&container["command"], &container["args"]),
            (&json!(["/berth"]), &json!(["doctor", "--strict"]))
        );
        let account = hooks
            .iter()
            .find(|it| it["kind"] == "ServiceAccount")
            .expect("there is one");
        assert_eq!(
            pod["spec"]["serviceAccountName"],
            account["metadata"]["name"]
        );
        for hook in hooks.iter().filter(|it| it["kind"] != "Pod") {
            let deleted = hook["metadata"]["annotations"]["helm.sh/hook-delete-policy"].as_str();
            assert!(
                deleted
                    .is_some_and(|it| it.contains("hook-succeeded") && it.contains("hook-failed"))
            );
        }
    }
}
