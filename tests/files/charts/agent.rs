//! What `berth-agent` renders.

use serde_json::{Value, json};

use super::compared::{assert_renders, built};
use super::helm::{AGENT, programs};
use crate::manifests::overlays::args;

const DEPLOYMENT: &str = "berth-agent";

/// Fails unless the chart renders with the values what the folders are.
fn assert_is(values: &Value, folders: &[&str]) {
    let mut values = values.clone();
    values["clusterName"] = json!("cluster1");
    if let Some(expected) = built(AGENT, folders) {
        assert_renders(AGENT, &values, &expected);
    }
}

#[test]
fn each_switch_is_its_overlay() {
    assert_is(&json!({}), &["manifests/agent"]);
    let without = json!({"work": {"admin": false}});
    assert_is(&without, &["manifests/overlays/agent-without-admin"]);
    let impersonation = json!({"work": {"admin": false, "impersonation": true}});
    assert_is(&impersonation, &["manifests/overlays/agent-impersonation"]);
    let monitored = json!({"monitoring": {"enabled": true}});
    assert_is(
        &monitored,
        &["manifests/agent", "manifests/agent-monitoring"],
    );
}

/// As manifests/README.md says it: without agent/work, and with the argument.
#[test]
fn without_works_the_agent_has_no_permissions_for_them() {
    let Some(mut expected) = built(AGENT, &["manifests/agent"]) else {
        return;
    };
    let works: Vec<Value> =
        crate::manifests::overlays::build("manifests/agent/work").expect("there is kubectl");
    let before = expected.len();
    expected.retain(|it| !works.contains(it));
    assert_eq!(expected.len() + works.len(), before);
    let deployment = expected
        .iter_mut()
        .find(|it| it["kind"] == "Deployment")
        .expect("there is one");
    let args = deployment.pointer_mut("/spec/template/spec/containers/0/args");
    args.and_then(Value::as_array_mut)
        .expect("arguments")
        .push(json!("--work=false"));
    let values = json!({"clusterName": "cluster1", "work": {"enabled": false}});
    assert_renders(AGENT, &values, &expected);
}

#[test]
fn a_bootstrap_kubeconfig_becomes_the_secret_that_is_mounted() {
    for program in programs() {
        let values = json!({"clusterName": "c1", "bootstrap": {"kubeconfig": "kind: Config\n"}});
        let objects = AGENT.rendered(program, &values);
        let secret = objects
            .iter()
            .find(|it| it["kind"] == "Secret")
            .expect("there is one");
        assert_eq!(secret["data"]["kubeconfig"], "a2luZDogQ29uZmlnCg==");
        let deployment = objects
            .iter()
            .find(|it| it["kind"] == "Deployment")
            .expect("there is one");
        let volume = &deployment["spec"]["template"]["spec"]["volumes"][0]["secret"];
        assert_eq!(volume["secretName"], secret["metadata"]["name"]);
        assert_eq!(args(&objects, DEPLOYMENT)[1], "--cluster-name=c1");
    }
}

#[test]
fn with_several_hubs_each_secret_is_mounted_in_its_folder() {
    for program in programs() {
        let values = json!({
            "clusterName": "c1",
            "bootstrap": {"secrets": ["hub-a", "hub-b"]},
            "featureGates": {"ClusterProperty": true},
            "agent": {"replicas": 2, "extraArgs": ["--log-format=json"]},
        });
        let objects = AGENT.rendered(program, &values);
        assert_eq!(
            args(&objects, DEPLOYMENT),
            json!([
                "agent",
                "--cluster-name=c1",
                "--feature-gates=MultipleHubs=true",
                "--bootstrap-kubeconfigs=/spoke/bootstrap/hub-a/kubeconfig",
                "--bootstrap-kubeconfigs=/spoke/bootstrap/hub-b/kubeconfig",
                "--hub-kubeconfig-dir=/spoke/hub-kubeconfig",
                "--feature-gates=ClusterProperty=true",
                "--log-format=json",
            ])
        );
        let deployment = objects
            .iter()
            .find(|it| it["kind"] == "Deployment")
            .expect("there is one");
        assert_eq!(deployment["spec"]["replicas"], 2);
        let pod = &deployment["spec"]["template"]["spec"];
        for (index, secret) in ["hub-a", "hub-b"].into_iter().enumerate() {
            let volume = &pod["volumes"][index];
            let mount = &pod["containers"][0]["volumeMounts"][index];
            assert_eq!(volume["secret"]["secretName"], secret);
            assert_eq!(volume["name"], mount["name"]);
            assert_eq!(mount["mountPath"], format!("/spoke/bootstrap/{secret}"));
        }
    }
}

/// Namespace and CRDs may hold what is not of the release.
#[test]
fn crds_and_the_namespace_of_addons_are_kept() {
    for program in programs() {
        let objects = AGENT.rendered(program, &json!({"clusterName": "c1"}));
        for object in objects {
            let kept = ["CustomResourceDefinition", "Namespace"]
                .contains(&object["kind"].as_str().unwrap_or_default());
            let policy = &object["metadata"]["annotations"]["helm.sh/resource-policy"];
            assert_eq!(*policy == "keep", kept, "{object}");
        }
    }
}
