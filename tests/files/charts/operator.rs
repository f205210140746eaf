//! What the charts render with `operator.enabled`.

use serde_json::{Value, json};

use super::compared::{assert_renders, built};
use super::helm::{AGENT_OPERATOR, Chart, HUB_OPERATOR, is_helm_3, programs};
use crate::manifests::overlays::args;

const VERSION: &str = "operator.open-cluster-management.io/v1";

/// A chart, its value of the object, the object's kind, and the folder that is rendered.
const OF_HUB: (Chart, &str, &str, &str) = (
    HUB_OPERATOR,
    "clusterManager",
    "ClusterManager",
    "manifests/operator",
);
const OF_AGENT: (Chart, &str, &str, &str) = (
    AGENT_OPERATOR,
    "klusterlet",
    "Klusterlet",
    "manifests/operator/klusterlet",
);

/// The values of the operator, with these.
fn with(mut operator: Value) -> Value {
    operator["enabled"] = json!(true);
    json!({ "operator": operator })
}

/// The objects of the kind, on a cluster that knows it or not.
fn objects(chart: Chart, program: &str, values: &Value, kind: &str, is_known: bool) -> Vec<Value> {
    let known = format!("{VERSION}/{kind}");
    let more: &[&str] = if is_known {
        &["--api-versions", &known]
    } else {
        &[]
    };
    let mut objects = chart.rendered_with(program, values, more);
    objects.retain(|it| it["kind"] == kind);
    objects
}

#[test]
fn the_operator_is_its_folder_and_nothing_else() {
    for (chart, name, _, folder) in [OF_HUB, OF_AGENT] {
        let Some(expected) = built(chart, &[folder]) else {
            return;
        };
        assert_renders(chart, &with(json!({})), &expected);
        let without = with(json!({ name: {"create": false} }));
        assert_renders(chart, &without, &expected);
        for program in programs() {
            // Those of 'helm test' are not for it, either.
            let all = chart.rendered_with_hooks(program, &without);
            assert_eq!(all.len(), expected.len());
        }
    }
}

#[test]
fn crds_can_be_left_out_and_are_kept_otherwise() {
    for (chart, _, _, folder) in [OF_HUB, OF_AGENT] {
        let Some(mut expected) = built(chart, &[folder]) else {
            return;
        };
        expected.retain(|it| it["kind"] != "CustomResourceDefinition");
        let mut values = with(json!({}));
        values["crds"] = json!({"enabled": false});
        assert_renders(chart, &values, &expected);
        for program in programs() {
            for (keep, policy) in [(true, json!("keep")), (false, Value::Null)] {
                values["crds"] = json!({ "keep": keep });
                let objects = chart.rendered(program, &values);
                let crds: Vec<_> = objects
                    .iter()
                    .filter(|it| it["kind"] == "CustomResourceDefinition")
                    .collect();
                assert_eq!(crds.len(), 1);
                let annotations = &crds[0]["metadata"]["annotations"];
                assert_eq!(annotations["helm.sh/resource-policy"], policy);
            }
        }
    }
}

/// Components are in it, which stay when the operator goes.
#[test]
fn the_namespace_of_the_hub_is_kept() {
    for program in programs() {
        let objects = HUB_OPERATOR.rendered(program, &with(json!({})));
        let namespaces: Vec<_> = objects
            .iter()
            .filter(|it| it["kind"] == "Namespace")
            .collect();
        assert_eq!(namespaces.len(), 1);
        let metadata = &namespaces[0]["metadata"];
        assert_eq!(metadata["name"], "open-cluster-management-hub");
        assert_eq!(metadata["annotations"]["helm.sh/resource-policy"], "keep");
    }
}

/// Helm cannot create an object in one go with its CRD. Helm 4 takes over what a hook created.
#[test]
fn the_object_is_created_by_a_hook_where_its_kind_is_new() {
    for (chart, name, kind, _) in [OF_HUB, OF_AGENT] {
        let spec = json!({"nodePlacement": {"nodeSelector": {"infra": "true"}}});
        let values = with(json!({ name: {"name": "fleet", "spec": spec} }));
        for program in programs() {
            for is_known in [false, true] {
                let objects = objects(chart, program, &values, kind, is_known);
                if !is_known && is_helm_3(program) {
                    assert_eq!(objects, [Value::Null; 0], "{program}: {kind}");
                    continue;
                }
                assert_eq!(objects.len(), 1, "{program}: {kind}");
                assert_eq!(objects[0]["apiVersion"], VERSION);
                assert_eq!(objects[0]["spec"], spec);
                let metadata = &objects[0]["metadata"];
                assert_eq!(metadata["name"], "fleet");
                assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "Helm");
                let mut annotations = json!({"helm.sh/resource-policy": "keep"});
                if !is_known {
                    annotations["helm.sh/hook"] = json!("post-install,post-upgrade");
                    annotations["helm.sh/hook-delete-policy"] = json!("hook-failed");
                    annotations["meta.helm.sh/release-name"] = json!("release");
                    annotations["meta.helm.sh/release-namespace"] = json!(chart.namespace);
                }
                assert_eq!(metadata["annotations"], annotations);
            }
            let none = with(json!({ name: {"create": false} }));
            assert_eq!(objects(chart, program, &none, kind, true), [Value::Null; 0]);
        }
    }
}

#[test]
fn values_of_pods_reach_the_operator() {
    let pods = json!({
        "replicas": 3,
        "resources": {"limits": {"memory": "1Gi"}},
        "extraArgs": ["--deployment-replicas=5"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "podLabels": {"team": "fleet"},
        "podAnnotations": {"example.com/scrape": "true"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "hub", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "priorityClassName": "system-cluster-critical",
    });
    let mut values = with(json!({ "pods": pods }));
    values["image"] =
        json!({"registry": "registry.example.com", "tag": "v9", "pullPolicy": "Always"});
    values["imagePullSecrets"] = json!([{"name": "pull"}]);
    values["commonLabels"] = json!({"cost": "fleet"});
    for ((chart, ..), name, command) in [
        (OF_HUB, "berth-operator", "hub"),
        (OF_AGENT, "berth-klusterlet-operator", "klusterlet"),
    ] {
        for program in programs() {
            let objects = chart.rendered_with_hooks(program, &values);
            for object in &objects {
                assert_eq!(object["metadata"]["labels"]["cost"], "fleet", "{object}");
            }
            assert_eq!(
                args(&objects, name),
                json!(["operator", command, "--deployment-replicas=5"])
            );
            let spec = objects
                .iter()
                .find(|it| it["kind"] == "Deployment")
                .map(|it| &it["spec"])
                .expect("there is one");
            assert_eq!(spec["replicas"], 3);
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
            assert_eq!(pod["imagePullSecrets"], values["imagePullSecrets"]);
            let container = &pod["containers"][0];
            assert_eq!(container["image"], "registry.example.com/berth:v9");
            assert_eq!(container["imagePullPolicy"], "Always");
            assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
            assert_eq!(container["resources"]["requests"]["memory"], "32Mi");
            assert_eq!(container["env"][2], pods["extraEnv"][0]);
        }
    }
}

#[test]
fn the_name_of_the_cluster_is_that_of_the_klusterlet() {
    for program in programs() {
        for (name, mut spec) in [
            ("c1", json!({"namespace": "agents"})),
            ("c1", json!({"clusterName": "c1"})),
            ("", json!({"clusterName": "c1"})),
        ] {
            let mut values = with(json!({"klusterlet": {"spec": spec}}));
            values["clusterName"] = json!(name);
            let found = objects(AGENT_OPERATOR, program, &values, "Klusterlet", true);
            spec["clusterName"] = json!("c1");
            assert_eq!(found[0]["spec"], spec);
        }
    }
}

/// Where the operator has the agent. They stay with the Klusterlet, which needs them.
#[test]
fn a_bootstrap_kubeconfig_becomes_a_secret_in_the_namespace_of_the_agent() {
    let hosted = json!({"namespace": "there", "deployOption": {"mode": "SingletonHosted"}});
    for program in programs() {
        for (spec, namespace) in [
            (json!({}), "open-cluster-management-agent"),
            (json!({"namespace": "agents"}), "agents"),
            (hosted.clone(), "fleet"),
        ] {
            let mut values = with(json!({"klusterlet": {"name": "fleet", "spec": spec}}));
            values["bootstrap"] = json!({"kubeconfig": "kind: Config\n"});
            let objects = AGENT_OPERATOR.rendered(program, &values);
            let of = |kind: &str| {
                let metadata = objects
                    .iter()
                    .find(|it| it["kind"] == kind)
                    .map(|it| &it["metadata"])
                    .expect("there is one");
                assert_eq!(metadata["annotations"]["helm.sh/resource-policy"], "keep");
                metadata
            };
            assert_eq!(of("Namespace")["name"], namespace);
            assert_eq!(of("Secret")["namespace"], namespace);
            assert_eq!(of("Secret")["name"], "bootstrap-hub-kubeconfig");
        }
    }
}
