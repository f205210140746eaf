//! What is wrong with templates and configs before a cluster has them.

use berth_api::addon::{AddOnConfig, ConfigGroupResource};
use serde_json::{Value, json};

use super::{config, config_map, deployment, template};
use crate::template::check::{self, Findings};

fn findings(errors: &[&str], warnings: &[&str]) -> Findings {
    let lines = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    Findings {
        errors: lines(errors),
        warnings: lines(warnings),
    }
}

#[test]
fn a_template_is_checked_without_a_cluster() {
    let signer = format!("{}.example.com/s", "a".repeat(60));
    let volume = format!("cert-{}-example-com-s", "a".repeat(60));
    for (sentence, manifest, rest, expected) in [
        (
            "a good one",
            config_map(json!({"k": "{{CLUSTER_NAME}} {{INSTALL_NAMESPACE}} {{ANY}}"})),
            json!({}),
            findings(&[], &[]),
        ),
        (
            "unclosed braces",
            config_map(json!({"k": "{{A"})),
            json!({}),
            findings(
                &[r#"manifest 0 (ConfigMap "a"): unclosed {{ in data.k: }} is missing"#],
                &[],
            ),
        ),
        (
            "a name that no config can define",
            config_map(json!({"k": "{{ A }}"})),
            json!({}),
            findings(
                &[],
                &[
                    r#"manifest 0 (ConfigMap "a"): "{{ A }}" is not a variable and is replaced by empty text"#,
                ],
            ),
        ),
        (
            "no object",
            json!("text"),
            json!({}),
            findings(
                &[
                    r#"manifest 0 is not an object: invalid type: string "text", expected a map at line 1 column 6"#,
                ],
                &[],
            ),
        ),
        (
            "no name",
            json!({"apiVersion": "v1", "kind": "Secret"}),
            json!({}),
            findings(&[r#"manifest 0 (Secret "") has no metadata.name"#], &[]),
        ),
        (
            "registrations without what their types need",
            config_map(json!({})),
            json!({"registration": [
                {"type": "CustomSigner"},
                {"type": "KubeClient", "kubeClient": {"hubPermissions": [{"type": "CurrentCluster"}, {"type": "SingleNamespace"}]}},
                {"type": "Other"},
            ]}),
            findings(
                &[
                    "registration[0] has no customSigner",
                    "registration[1].kubeClient.hubPermissions[0] has no currentCluster",
                    "registration[1].kubeClient.hubPermissions[1] has no singleNamespace",
                ],
                &[r#"registration[2]: type "Other" is ignored"#],
            ),
        ),
        (
            "a signer whose volume has too long a name",
            config_map(json!({})),
            json!({"registration": [{"type": "CustomSigner", "customSigner": {"signerName": signer, "signingCA": {"name": "c"}}}]}),
            findings(
                &[],
                &[&format!(
                    "registration[0]: the volume {volume:?} has more than 63 characters, so no pod with it can be created; use a \
                     shorter signerName"
                )],
            ),
        ),
        (
            "a manifest config for another object",
            config_map(json!({})),
            json!({"agentSpec": {"manifestConfigs": [
                {"resourceIdentifier": {"resource": "configmaps", "namespace": "n", "name": "a"}},
                {"resourceIdentifier": {"resource": "configmaps", "namespace": "n", "name": "b"}},
            ]}}),
            findings(
                &[],
                &[
                    r#"manifestConfigs[1] matches no manifest: resource "configmaps", namespace "n", name "b""#,
                ],
            ),
        ),
    ] {
        let found = check::template(&template(&[manifest], rest), &[]);
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn with_its_configs_undefined_variables_are_found() {
    let template = template(&[config_map(json!({"k": "{{A}} {{B}}"}))], json!({}));
    let a = config(json!({"customizedVariables": [{"name": "A"}]}));
    let b = config(json!({"customizedVariables": [{"name": "B"}]}));
    let warning =
        r#"manifest 0 (ConfigMap "a"): "{{B}}" is not a variable and is replaced by empty text"#;
    assert_eq!(check::template(&template, &[&a]), findings(&[], &[warning]));
    assert_eq!(check::template(&template, &[&a, &b]), findings(&[], &[]));
}

#[test]
fn a_config_is_checked_with_its_templates() {
    let agent = template(&[deployment(json!({}))], json!({}));
    let id = |id: &str| json!({"resourceRequirements": [{"containerID": id, "resources": {}}]});
    let no_match =
        r#"resourceRequirements: containerID "deployments:agent:other" matches no container"#;
    for (sentence, spec, with_template, expected) in [
        (
            "a container that exists",
            id("deployments:agent:main"),
            true,
            findings(&[], &[]),
        ),
        (
            "one that does not",
            id("deployments:agent:other"),
            true,
            findings(&[], &[no_match]),
        ),
        (
            "without templates nobody knows",
            id("deployments:agent:other"),
            false,
            findings(&[], &[]),
        ),
        (
            "no pattern",
            id("pods:(:a"),
            true,
            findings(&[r#"containerID "pods:(:a" is not a valid pattern"#], &[]),
        ),
        (
            "no CA bundle",
            json!({"proxyConfig": {"caBundle": "%"}}),
            false,
            findings(&["proxyConfig.caBundle is not base64"], &[]),
        ),
        (
            "a variable of the hub",
            json!({"customizedVariables": [{"name": "CLUSTER_NAME", "value": "x"}]}),
            false,
            findings(
                &[],
                &["customizedVariables: CLUSTER_NAME is set by the hub; this value is ignored"],
            ),
        ),
    ] {
        let templates = [&agent];
        let templates = if with_template { &templates[..] } else { &[] };
        assert_eq!(
            check::config(&config(spec), templates),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn configs_are_of_kinds_that_the_addon_supports() {
    let read = |value: Value| serde_json::from_value::<Vec<AddOnConfig>>(value).unwrap();
    let group = "addon.open-cluster-management.io";
    let supported = [ConfigGroupResource {
        group: group.to_owned(),
        resource: "addondeploymentconfigs".to_owned(),
    }];
    let configs = read(json!([
        {"group": group, "resource": "addondeploymentconfigs", "namespace": "n", "name": "a"},
        {"group": group, "resource": "addondeploymentconfigs", "namespace": "n", "name": "b"},
        {"group": "", "resource": "configmaps", "namespace": "n", "name": "c"},
    ]));
    let expected = findings(
        &["Configuration with gvr /configmaps is not supported for this addon"],
        &["addondeploymentconfigs n/b is ignored by templates: only the first one is used"],
    );
    assert_eq!(check::configs(&configs, &supported), expected);
}
