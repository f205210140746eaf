//! The pods of workloads.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Request, config_in_place, deployment, object, objects, render, template, workload};

/// The spec of the pod of a rendered Deployment.
#[track_caller]
fn pod(before: Value, rest: Value, config: Value) -> Value {
    let rendered = object(deployment(before), rest, Some(&config_in_place(config)));
    rendered["spec"]["template"]["spec"].clone()
}

fn cluster_name() -> Value {
    json!({"name": "CLUSTER_NAME", "value": "c1"})
}

#[test]
fn a_deployment_gets_variables_and_volumes() {
    let registration = json!({"registration": [
        {"type": "KubeClient"},
        {"type": "CustomSigner", "customSigner": {"signerName": "example.com/s", "signingCA": {"name": "ca"}}},
    ]});
    let pod = pod(
        json!({"unknown": {"kept": 1}}),
        registration,
        json!({"customizedVariables": [{"name": "A", "value": "1"}]}),
    );
    let expected = json!({
        "unknown": {"kept": 1},
        "containers": [{
            "name": "main",
            "image": "quay.io/o/a:1",
            "env": [
                {"name": "HUB_KUBECONFIG", "value": "/managed/hub-kubeconfig/kubeconfig"},
                cluster_name(),
            ],
            "volumeMounts": [
                {"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"},
                {"name": "cert-example-com-s", "mountPath": "/managed/example.com-s"},
            ],
        }],
        "volumes": [
            {"name": "hub-kubeconfig", "secret": {"secretName": "x-hub-kubeconfig"}},
            {"name": "cert-example-com-s", "secret": {"secretName": "x-example.com-s-client-cert"}},
        ],
    });
    assert_eq!(pod, expected);
}

#[test]
fn the_install_namespace_is_a_variable_of_containers_too() {
    let config = super::config(json!({"agentInstallNamespace": "to"}));
    let rendered = object(deployment(json!({})), json!({}), Some(&config));
    let env = &rendered["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(
        *env,
        json!([cluster_name(), {"name": "INSTALL_NAMESPACE", "value": "to"}])
    );
}

#[test]
fn a_variable_and_a_volume_are_there_once() {
    let before = json!({
        "containers": [{
            "name": "main",
            "env": [{"name": "CLUSTER_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B"}],
            "volumeMounts": [{"name": "own", "mountPath": "/managed/hub-kubeconfig"}],
        }],
        "volumes": [{"name": "hub-kubeconfig", "emptyDir": {}}],
    });
    let registration = json!({"registration": [{"type": "KubeClient"}, {"type": "KubeClient"}]});
    let pod = pod(before.clone(), registration, json!({}));
    let env = &pod["containers"][0]["env"];
    assert_eq!(env[0], cluster_name());
    assert_eq!(env[1], json!({"name": "B"}));
    assert_eq!(env.as_array().map(Vec::len), Some(3));
    assert_eq!(
        pod["containers"][0]["volumeMounts"],
        before["containers"][0]["volumeMounts"]
    );
    assert_eq!(pod["volumes"], before["volumes"]);
}

#[test]
fn all_kinds_with_pods_and_init_containers_are_decorated() {
    let containers = json!({
        "containers": [{"name": "main"}],
        "initContainers": [{"name": "init"}],
    });
    let cron = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "agent"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": containers}}}},
    });
    let bare = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent"}, "spec": containers});
    for (manifest, path, is_immutable) in [
        (
            workload("apps/v1", "Deployment", containers.clone()),
            "/spec/template/spec",
            false,
        ),
        (
            workload("apps/v1", "DaemonSet", containers.clone()),
            "/spec/template/spec",
            false,
        ),
        (
            workload("apps/v1", "StatefulSet", containers.clone()),
            "/spec/template/spec",
            false,
        ),
        (
            workload("apps/v1", "ReplicaSet", containers.clone()),
            "/spec/template/spec",
            false,
        ),
        (
            workload("batch/v1", "Job", containers.clone()),
            "/spec/template/spec",
            true,
        ),
        (cron, "/spec/jobTemplate/spec/template/spec", false),
        (bare, "/spec", true),
    ] {
        let template = template(std::slice::from_ref(&manifest), json!({}));
        let rendered = super::rendering(&template, None).unwrap().objects.remove(0);
        let pod = rendered.object.pointer(path).unwrap();
        for list in ["containers", "initContainers"] {
            assert_eq!(pod[list][0]["env"], json!([cluster_name()]), "{manifest}");
        }
        assert_eq!(rendered.undecorated, is_immutable.then_some(manifest));
    }
    // Another group's Deployment is not a workload.
    let other = workload("example.com/v1", "Deployment", containers);
    assert_eq!(object(other.clone(), json!({}), None), other);
}

#[test]
fn nodes_are_those_of_the_config() {
    let before = json!({"nodeSelector": {"a": "b"}, "tolerations": [{"key": "t"}]});
    let selector = json!({"c": "d"});
    let tolerations = json!([{"key": "u", "operator": "Exists"}]);
    for (sentence, placement, expected) in [
        (
            "both replace the template's",
            json!({"nodeSelector": selector, "tolerations": tolerations}),
            (selector.clone(), tolerations.clone()),
        ),
        (
            "34: tolerations without a selector count",
            json!({"tolerations": tolerations}),
            (json!({"a": "b"}), tolerations.clone()),
        ),
        (
            "a selector alone removes tolerations, as in OCM",
            json!({"nodeSelector": selector}),
            (selector, Value::Null),
        ),
        (
            "an empty placement changes nothing",
            json!({}),
            (
                before["nodeSelector"].clone(),
                before["tolerations"].clone(),
            ),
        ),
    ] {
        let pod = pod(
            before.clone(),
            json!({}),
            json!({"nodePlacement": placement}),
        );
        let found = (pod["nodeSelector"].clone(), pod["tolerations"].clone());
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn images_come_from_the_registries_of_config_or_cluster() {
    let template = template(
        &[deployment(
            json!({"initContainers": [{"name": "i", "image": "quay.io/o/b"}]}),
        )],
        json!({}),
    );
    let with_registries =
        config_in_place(json!({"registries": [{"mirror": "m/x", "source": "quay.io/o"}]}));
    let without = config_in_place(json!({}));
    let annotation = r#"{"registries":[{"mirror":"m/y","source":"quay.io/o"}]}"#;
    // 42: another annotation, another rendering.
    for (sentence, config, image_registries, expected) in [
        (
            "33: the config's",
            &with_registries,
            None,
            ["m/x/a:1", "m/x/b"],
        ),
        (
            "the config wins",
            &with_registries,
            Some(annotation),
            ["m/x/a:1", "m/x/b"],
        ),
        (
            "42: the cluster's",
            &without,
            Some(annotation),
            ["m/y/a:1", "m/y/b"],
        ),
        ("neither", &without, None, ["quay.io/o/a:1", "quay.io/o/b"]),
    ] {
        let request = Request {
            addon: "x",
            cluster: "c1",
            template: &template,
            config: Some(config),
            image_registries,
        };
        let rendered = render(&request).unwrap().objects.remove(0).object;
        let pod = &rendered["spec"]["template"]["spec"];
        let images = [
            &pod["containers"][0]["image"],
            &pod["initContainers"][0]["image"],
        ];
        assert_eq!(images, expected, "{sentence}");
    }
    let request = Request {
        addon: "x",
        cluster: "c1",
        template: &template,
        config: None,
        image_registries: Some("{"),
    };
    let error = render(&request).unwrap_err().to_string();
    assert!(error.starts_with("the annotation open-cluster-management.io/image-registries of the ManagedCluster cannot be read"), "{error}");
}

#[test]
fn a_proxy_gives_variables_and_its_ca_a_file() {
    let bundle = BASE64_STANDARD.encode("PEM");
    let config = config_in_place(
        json!({"proxyConfig": {"httpsProxy": "https://p", "noProxy": ".a", "caBundle": bundle}}),
    );
    let rendered = objects(
        &template(&[deployment(json!({}))], json!({})),
        Some(&config),
    );
    let pod = &rendered[0]["spec"]["template"]["spec"];
    let env = json!([
        cluster_name(),
        {"name": "HTTPS_PROXY", "value": "https://p"},
        {"name": "https_proxy", "value": "https://p"},
        {"name": "NO_PROXY", "value": ".a"},
        {"name": "no_proxy", "value": ".a"},
        {"name": "CA_BUNDLE_FILE_PATH", "value": "/managed/proxy-ca/ca-bundle.crt"},
    ]);
    assert_eq!(pod["containers"][0]["env"], env);
    assert_eq!(
        pod["containers"][0]["volumeMounts"],
        json!([{"name": "proxy-ca-bundle", "mountPath": "/managed/proxy-ca"}])
    );
    assert_eq!(
        pod["volumes"],
        json!([{"name": "proxy-ca-bundle", "configMap": {"name": "x-proxy-ca"}}])
    );
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x-proxy-ca", "namespace": "open-cluster-management-agent-addon"},
        "data": {"ca-bundle.crt": "PEM"},
    });
    assert_eq!(rendered[1], config_map);
}

#[test]
fn a_ca_bundle_without_a_proxy_is_a_config_map_only() {
    let bundle = BASE64_STANDARD.encode("PEM");
    let config = config_in_place(json!({"proxyConfig": {"caBundle": bundle}}));
    let rendered = objects(
        &template(&[deployment(json!({}))], json!({})),
        Some(&config),
    );
    assert_eq!(rendered[0]["spec"]["template"]["spec"].get("volumes"), None);
    assert_eq!(rendered[1]["kind"], "ConfigMap");
}

#[test]
fn resources_are_those_of_the_last_id_that_matches() {
    let before = json!({"containers": [{"name": "main", "resources": {"limits": {"cpu": "9"}}}, {"name": "side"}]});
    let cpu = |value: &str| json!({"requests": {"cpu": value}});
    let requirements = |ids: &[(&str, &str)]| {
        let all: Vec<_> = ids
            .iter()
            .map(|(id, value)| json!({"containerID": id, "resources": cpu(value)}))
            .collect();
        json!({"resourceRequirements": all})
    };
    let own = json!({"limits": {"cpu": "9"}});
    for (sentence, ids, main, side) in [
        (
            "one container",
            vec![("deployments:agent:main", "1")],
            cpu("1"),
            Value::Null,
        ),
        ("all", vec![("*:*:*", "1")], cpu("1"), cpu("1")),
        (
            "the last one counts",
            vec![("*:*:main", "1"), ("*:*:*", "2")],
            cpu("2"),
            cpu("2"),
        ),
        (
            "another kind",
            vec![("daemonsets:agent:main", "1")],
            own.clone(),
            Value::Null,
        ),
        (
            "the whole name counts",
            vec![("deployments:age:main", "1")],
            own.clone(),
            Value::Null,
        ),
        (
            "a part",
            vec![("deployments:a*t:ma*", "1")],
            cpu("1"),
            Value::Null,
        ),
        (
            "* is not empty",
            vec![("deployments:agent*:main", "1")],
            own,
            Value::Null,
        ),
    ] {
        let pod = pod(before.clone(), json!({}), requirements(&ids));
        assert_eq!(pod["containers"][0]["resources"], main, "{sentence}");
        assert_eq!(pod["containers"][1]["resources"], side, "{sentence}");
    }
}

#[test]
fn what_cannot_be_decorated_is_an_error() {
    let template = |rest| template(&[deployment(json!({}))], rest);
    for (rest, config, expected) in [
        (
            json!({"registration": [{"type": "CustomSigner"}]}),
            json!({}),
            "registration[0] has no customSigner",
        ),
        (
            json!({}),
            json!({"proxyConfig": {"caBundle": "%"}}),
            "proxyConfig.caBundle is not base64",
        ),
        (
            json!({}),
            json!({"proxyConfig": {"caBundle": "/w=="}}),
            "proxyConfig.caBundle is not PEM: it is not text",
        ),
        (
            json!({}),
            json!({"resourceRequirements": [{"containerID": "pods:(:b", "resources": {}}]}),
            r#"containerID "pods:(:b" is not a valid pattern"#,
        ),
    ] {
        let error = super::rendering(&template(rest), Some(&config_in_place(config))).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
