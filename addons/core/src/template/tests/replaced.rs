//! Variables and namespaces.

use serde_json::{Value, json};

use super::{
    config, config_in_place, config_map, deployment, object, objects, rendering, template,
};

/// The variables of a config that keeps the namespaces of the template.
fn variables(all: &[(&str, &str)]) -> Value {
    let all: Vec<_> = all
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!({"customizedVariables": all})
}

#[test]
fn names_in_braces_are_replaced_by_values() {
    let registered = json!({"registration": [{"type": "KubeClient"}]});
    for (sentence, text, rest, vars, expected) in [
        (
            "28: the cluster",
            "{{CLUSTER_NAME}}",
            json!({}),
            vec![],
            "c1",
        ),
        (
            "in the middle, twice",
            "a{{CLUSTER_NAME}}b{{CLUSTER_NAME}}",
            json!({}),
            vec![],
            "ac1bc1",
        ),
        (
            "a variable of the config",
            "{{A}}",
            json!({}),
            vec![("A", "1")],
            "1",
        ),
        (
            "31: a value with a quote stays in its string",
            "{{A}}",
            json!({}),
            vec![("A", r#"a"b\n"#)],
            r#"a"b\n"#,
        ),
        (
            "a value in braces is not replaced again",
            "{{A}}",
            json!({}),
            vec![("A", "{{CLUSTER_NAME}}")],
            "{{CLUSTER_NAME}}",
        ),
        (
            "32: nobody overrides the cluster",
            "{{CLUSTER_NAME}}",
            json!({}),
            vec![("CLUSTER_NAME", "other")],
            "c1",
        ),
        (
            "the kubeconfig, with a registration",
            "{{HUB_KUBECONFIG}}",
            registered.clone(),
            vec![],
            "/managed/hub-kubeconfig/kubeconfig",
        ),
        (
            "a config may override the kubeconfig",
            "{{HUB_KUBECONFIG}}",
            registered,
            vec![("HUB_KUBECONFIG", "/k")],
            "/k",
        ),
        (
            "closing braces alone are text",
            "a}}b",
            json!({}),
            vec![],
            "a}}b",
        ),
        (
            "three braces: the name begins with one",
            "{{{A}}",
            json!({}),
            vec![("{A", "1")],
            "1",
        ),
    ] {
        let config = config_in_place(variables(&vars));
        let rendered = object(config_map(json!({"k": text})), rest, Some(&config));
        assert_eq!(rendered["data"]["k"], expected, "{sentence}");
    }
}

#[test]
fn names_that_are_no_variables_give_empty_text_and_a_warning() {
    for (text, expected, warning) in [
        (
            "a{{ CLUSTER_NAME }}b",
            "ab",
            r#""{{ CLUSTER_NAME }}" is not a variable and is replaced by empty text; write {{CLUSTER_NAME}}, without spaces"#,
        ),
        (
            "{{NOPE}}",
            "",
            r#""{{NOPE}}" is not a variable and is replaced by empty text"#,
        ),
        (
            "{{INSTALL_NAMESPACE}}",
            "",
            r#""{{INSTALL_NAMESPACE}}" is not a variable and is replaced by empty text"#,
        ),
        (
            "{{}}",
            "",
            r#""{{}}" is not a variable and is replaced by empty text"#,
        ),
    ] {
        let template = template(&[config_map(json!({"k": text}))], json!({}));
        let rendering = rendering(&template, None).unwrap();
        assert_eq!(rendering.objects[0].object["data"]["k"], expected);
        let warning = format!(r#"manifest 0 (ConfigMap "a"): {warning}"#);
        assert_eq!(rendering.warnings, [warning]);
    }
}

#[test]
fn mistakes_are_named_with_manifest_and_place() {
    let same = json!({"{{CLUSTER_NAME}}": "1", "c1": "2"});
    for (sentence, manifest, expected) in [
        (
            "30: unclosed braces",
            config_map(json!({"k": ["a", {"b": "x {{CLUSTER_NAME"}]})),
            r#"manifest 1 (ConfigMap "a"): unclosed {{ in data.k[1].b: }} is missing"#,
        ),
        (
            "braces that only the next string closes",
            config_map(json!({"k": "{{A", "l": "B}}"})),
            r#"manifest 1 (ConfigMap "a"): unclosed {{ in data.k: }} is missing"#,
        ),
        (
            "a key",
            config_map(json!({"{{k": ""})),
            r#"manifest 1 (ConfigMap "a"): unclosed {{ in data.{{k: }} is missing"#,
        ),
        (
            "two keys that become one",
            config_map(same),
            r#"manifest 1 (ConfigMap "a"): data.c1 occurs twice after variables were replaced"#,
        ),
        (
            "a list",
            json!([1]),
            "manifest 1 is not an object: invalid type: sequence, expected a map at line 1 column 0",
        ),
        (
            "without a kind",
            json!({"apiVersion": "v1", "metadata": {"name": "a"}}),
            r#"manifest 1 ( "a") has no kind"#,
        ),
        (
            "with a name that becomes empty",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "{{NOPE}}"}}),
            r#"manifest 1 (Secret "{{NOPE}}") has no metadata.name"#,
        ),
    ] {
        let template = template(&[config_map(json!({})), manifest], json!({}));
        let error = rendering(&template, None).unwrap_err();
        assert_eq!(error.to_string(), expected, "{sentence}");
    }
}

#[test]
fn all_mistakes_are_named_up_to_a_bound() {
    let template = template(&vec![config_map(json!({"k": "{{"})); 30], json!({}));
    let lines = rendering(&template, None).unwrap_err().into_lines();
    assert_eq!(lines.len(), 21);
    assert_eq!(lines[20], "and 10 more");
}

#[test]
fn the_size_after_replacement_is_bounded() {
    let value = "v".repeat(1024);
    let config = config_in_place(variables(&[("A", &value)]));
    let places = |count: usize| {
        template(
            &[config_map(json!({"k": "{{A}}".repeat(count)}))],
            json!({}),
        )
    };
    let error = rendering(&places(10_000), Some(&config)).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"manifest 0 (ConfigMap "a"): with variables replaced, the manifests have more than 4194304 bytes; reached in data.k"#
    );
    assert!(rendering(&places(4_000), Some(&config)).is_ok());
    // All manifests share the bound.
    let many = template(
        &vec![config_map(json!({"k": "{{A}}".repeat(1000)})); 5],
        json!({}),
    );
    let error = rendering(&many, Some(&config)).unwrap_err().to_string();
    assert!(error.starts_with("manifest 4 "), "{error}");
}

#[test]
fn keys_may_have_variables() {
    let manifest = config_map(json!({"{{CLUSTER_NAME}}": "1", "{{A}}b": "2"}));
    let config = config_in_place(variables(&[("A", "a")]));
    let rendered = object(manifest, json!({}), Some(&config));
    assert_eq!(rendered["data"], json!({"c1": "1", "ab": "2"}));
}

#[test]
fn the_install_namespace_is_that_of_the_config() {
    let moved = json!({"agentInstallNamespace": "to"});
    let unset = json!({});
    let kept = json!({"agentInstallNamespace": ""});
    for (sentence, spec, expected, variable) in [
        ("a name", Some(moved), "to", "to"),
        (
            "36: unset",
            Some(unset),
            "open-cluster-management-agent-addon",
            "open-cluster-management-agent-addon",
        ),
        ("35: empty", Some(kept), "n", ""),
        ("no config", None, "n", ""),
    ] {
        let config = spec.map(config);
        let manifest = config_map(json!({"k": "{{INSTALL_NAMESPACE}}"}));
        let rendering = rendering(&template(&[manifest], json!({})), config.as_ref()).unwrap();
        let rendered = &rendering.objects[0].object;
        assert_eq!(rendered["metadata"]["namespace"], expected, "{sentence}");
        assert_eq!(rendered["data"]["k"], variable, "{sentence}");
    }
}

#[test]
fn namespaces_subjects_and_namespaced_objects_move() {
    let binding = |kind: &str, subjects: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "b"},
            "subjects": subjects,
        })
    };
    let account =
        |namespace: &str| json!([{"kind": "ServiceAccount", "name": "s", "namespace": namespace}]);
    let manifests = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
        binding("ClusterRoleBinding", account("n")),
        binding("RoleBinding", account("other")),
        binding("RoleBinding", Value::Null),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}),
    ];
    let config = config(json!({"agentInstallNamespace": "to"}));
    let rendered = objects(&template(&manifests, json!({})), Some(&config));
    let mut expected = manifests.clone();
    expected[0]["metadata"]["name"] = "to".into();
    expected[1]["subjects"] = account("to");
    expected[2]["subjects"] = account("to");
    assert_eq!(rendered, expected);
}

#[test]
fn the_namespace_of_the_agent_is_that_of_its_workload() {
    let of = |kind: &str, namespace: &str| {
        let mut object = deployment(json!({}));
        object["kind"] = kind.into();
        object["metadata"]["namespace"] = namespace.into();
        object
    };
    let deployments = [
        of("DaemonSet", "d"),
        of("Deployment", "a"),
        of("Deployment", "b"),
    ];
    let moved = config(json!({"agentInstallNamespace": "to"}));
    for (sentence, manifests, config, expected) in [
        ("the first Deployment", &deployments[..], None, "a"),
        ("a DaemonSet", &deployments[..1], None, "d"),
        ("neither", &[], None, "open-cluster-management-agent-addon"),
        ("the config wins", &deployments[..], Some(&moved), "to"),
    ] {
        let rendering = rendering(&template(manifests, json!({})), config).unwrap();
        assert_eq!(rendering.namespace, expected, "{sentence}");
    }
}
