//! The rules of the add-on API, as tables.

use std::slice::from_ref;

use berth_rules::object::AddOnObject;
use berth_rules::{
    Change, Decision, DecisionOutcome, Rules, Settings, ValidateClusterAddOn,
    ValidateDeploymentConfig, ValidateManagementAddOn, ValidateTemplate,
};
use serde_json::{Value, json};

use crate::support::{decided, deleting, short};

/// A row: what it is about, the stored and the new object, the decision in short, and the messages of its faults or its warnings.
type Row<'r> = (&'r str, Option<Value>, Value, &'r str, &'r [&'r str]);

fn object(spec: Value) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "metadata": {"name": "a"},
        "spec": spec,
    })
}

fn decide<R>(old: Option<&Value>, new: &Value) -> Decision
where
    R: for<'a> Rules<Object<'a> = AddOnObject<'a>>,
{
    let (old, new) = (old.map(Value::to_string), new.to_string());
    let change = Change {
        name: "a",
        namespace: "",
        user: "dev",
        new: serde_json::from_str::<AddOnObject<'_>>(&new).unwrap(),
        old: old.as_deref().map(|old| serde_json::from_str(old).unwrap()),
    };
    decided::<R>(&change, &Settings::default(), &[])
}

fn check<R>(rows: &[Row<'_>])
where
    R: for<'a> Rules<Object<'a> = AddOnObject<'a>>,
{
    for (sentence, old, new, expected, lines) in rows {
        let decision = decide::<R>(old.as_ref(), new);
        assert_eq!(short(&decision), *expected, "{sentence}: {decision:?}");
        let found = match &decision.outcome {
            DecisionOutcome::Malformed(faults) => {
                faults.iter().map(|it| it.message.clone()).collect()
            }
            _ => decision.warnings.clone(),
        };
        assert_eq!(found, *lines, "{sentence}");
    }
}

fn config_map(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": {"k": text}})
}

fn template(manifests: &[Value]) -> Value {
    object(json!({"addonName": "a", "agentSpec": {"workload": {"manifests": manifests}}}))
}

#[test]
fn a_template_that_cannot_be_rendered_is_refused() {
    let good = config_map("good", "{{CLUSTER_NAME}}");
    let open = config_map("open", "{{CLUSTER_NAME");
    let unclosed = r#"spec: manifest 0 (ConfigMap "open"): unclosed {{ in data.k: }} is missing"#;
    let labelled = {
        let mut labelled = template(from_ref(&open));
        labelled["metadata"]["labels"] = json!({"a": "b"});
        labelled
    };
    check::<ValidateTemplate>(&[
        ("a good one", None, template(from_ref(&good)), "allow", &[]),
        ("without a spec", None, object(json!(null)), "allow", &[]),
        (
            "unclosed braces",
            None,
            template(from_ref(&open)),
            "400 addon-template",
            &[unclosed],
        ),
        (
            "no name, and no object",
            None,
            template(&[json!({"apiVersion": "v1", "kind": "Secret"}), json!("text")]),
            "400 addon-template addon-template",
            &[
                r#"spec: manifest 0 (Secret "") has no metadata.name"#,
                r#"spec: manifest 1 is not an object: invalid type: string "text", expected a map at line 1 column 6"#,
            ],
        ),
        (
            "a name that no config can define",
            None,
            template(&[config_map("a", "{{ CLUSTER_NAME }}")]),
            "allow ~1",
            &[
                r#"spec: manifest 0 (ConfigMap "a"): "{{ CLUSTER_NAME }}" is not a variable and is replaced by empty text; write {{CLUSTER_NAME}}, without spaces"#,
            ],
        ),
        (
            "a stored one is labelled",
            Some(template(from_ref(&open))),
            labelled,
            "allow",
            &[],
        ),
        (
            "a stored mistake moves behind another manifest",
            Some(template(from_ref(&open))),
            template(&[good.clone(), open.clone()]),
            "allow",
            &[],
        ),
        (
            "a second mistake",
            Some(template(from_ref(&open))),
            template(&[open.clone(), config_map("b", "{{A")]),
            "400 addon-template",
            &[r#"spec: manifest 1 (ConfigMap "b"): unclosed {{ in data.k: }} is missing"#],
        ),
        (
            "one that is being deleted",
            Some(deleting(template(&[good]))),
            template(from_ref(&open)),
            "allow",
            &[],
        ),
        (
            "a field of another type",
            None,
            object(json!({"agentSpec": []})),
            "400 addon-field",
            &["spec.agentSpec: invalid type: sequence, expected an object"],
        ),
        (
            "a field of another type that was stored",
            Some(object(json!({"agentSpec": []}))),
            object(json!({"agentSpec": [], "addonName": "a"})),
            "allow",
            &[],
        ),
        (
            "more values than are checked",
            None,
            template(&[open, json!({"kind": "x", "data": vec![0; 50_000]})]),
            "allow ~1",
            &["spec: not checked for mistakes: manifest 1 has more than 50000 values"],
        ),
    ]);
}

#[test]
fn a_config_that_cannot_be_used_is_refused() {
    let bundle = object(json!({"proxyConfig": {"caBundle": "%"}}));
    check::<ValidateDeploymentConfig>(&[
        (
            "a good one",
            None,
            object(json!({
                "customizedVariables": [{"name": "A", "value": "b"}],
                "resourceRequirements": [{"containerID": "*:*:*", "resources": {}}],
                "proxyConfig": {"caBundle": "eA==", "httpProxy": "http://p"},
            })),
            "allow",
            &[],
        ),
        (
            "a large CA bundle",
            None,
            object(json!({"proxyConfig": {"caBundle": "eHh4".repeat(50_000)}})),
            "allow",
            &[],
        ),
        (
            "no pattern, and no base64",
            None,
            object(json!({
                "resourceRequirements": [{"containerID": "pods:(:a", "resources": {}}],
                "proxyConfig": {"caBundle": "%"},
            })),
            "400 addon-deployment-config addon-deployment-config",
            &[
                r#"spec: containerID "pods:(:a" is not a valid pattern"#,
                "spec: proxyConfig.caBundle is not base64",
            ],
        ),
        (
            "a stored mistake stays",
            Some(bundle.clone()),
            object(json!({"proxyConfig": {"caBundle": "%"}, "agentInstallNamespace": "x"})),
            "allow",
            &[],
        ),
        (
            "a variable of the hub",
            None,
            object(json!({"customizedVariables": [{"name": "CLUSTER_NAME", "value": "x"}]})),
            "allow ~1",
            &["spec: customizedVariables: CLUSTER_NAME is set by the hub; this value is ignored"],
        ),
    ]);
}

fn config(group: &str, resource: &str, name: &str) -> Value {
    json!({"group": group, "resource": resource, "namespace": "n", "name": name})
}

const GROUP: &str = "addon.open-cluster-management.io";

#[test]
fn configs_are_of_kinds_that_the_add_on_supports() {
    let managed = |supported: &[&str], configs: &[Value]| {
        let supported = supported
            .iter()
            .map(|it| json!({"group": GROUP, "resource": it, "defaultConfig": {"name": "d"}}));
        object(json!({
            "supportedConfigs": supported.collect::<Vec<_>>(),
            "installStrategy": {"type": "Placements", "placements": [
                {"namespace": "n", "name": "p"},
                {"namespace": "n", "name": "q", "configs": configs},
            ]},
        }))
    };
    let deployment = config(GROUP, "addondeploymentconfigs", "a");
    let second = config(GROUP, "addondeploymentconfigs", "b");
    let foreign = config("example.com", "settings", "a");
    let unsupported = "spec: installStrategy.placements[1].configs: Configuration with gvr example.com/settings is not supported for this addon";
    check::<ValidateManagementAddOn>(&[
        ("without a spec", None, object(json!(null)), "allow", &[]),
        (
            "a supported kind",
            None,
            managed(
                &["addondeploymentconfigs"],
                &[deployment.clone(), second.clone()],
            ),
            "allow",
            &[],
        ),
        (
            "another kind",
            None,
            managed(&["addondeploymentconfigs"], from_ref(&foreign)),
            "400 addon-configs",
            &[unsupported],
        ),
        (
            "another kind, and none is named",
            None,
            managed(&[], from_ref(&foreign)),
            "allow ~1",
            &[unsupported],
        ),
        (
            "another kind that was stored",
            Some(managed(&["addondeploymentconfigs"], from_ref(&foreign))),
            managed(
                &["addondeploymentconfigs"],
                &[deployment.clone(), foreign.clone()],
            ),
            "allow",
            &[],
        ),
        (
            "two configs of a template",
            None,
            managed(
                &["addontemplates", "addondeploymentconfigs"],
                &[deployment.clone(), second],
            ),
            "allow ~1",
            &[
                "spec: installStrategy.placements[1].configs: addondeploymentconfigs n/b is ignored by templates: only the first one is used",
            ],
        ),
    ]);
    let on_cluster = |configs: &[Value], supported: &[&str]| {
        let mut on = object(json!({"configs": configs}));
        let supported = supported
            .iter()
            .map(|it| json!({"group": GROUP, "resource": it}));
        on["status"] = json!({"supportedConfigs": supported.collect::<Vec<_>>()});
        on
    };
    let known = &["addondeploymentconfigs"];
    let unsupported = "spec: configs: Configuration with gvr example.com/settings is not supported for this addon";
    check::<ValidateClusterAddOn>(&[
        (
            "a new one",
            None,
            on_cluster(from_ref(&foreign), known),
            "allow",
            &[],
        ),
        (
            "a manager that has not reported",
            Some(on_cluster(&[], &[])),
            on_cluster(from_ref(&foreign), &[]),
            "allow",
            &[],
        ),
        (
            "a supported kind",
            Some(on_cluster(&[], known)),
            on_cluster(&[deployment], known),
            "allow",
            &[],
        ),
        (
            "another kind",
            Some(on_cluster(&[], known)),
            on_cluster(&[foreign], known),
            "allow ~1",
            &[unsupported],
        ),
    ]);
}
