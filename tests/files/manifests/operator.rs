//! The operators have the permissions of what they install, those of their own work, and no others.

use serde_json::{Value, json};

use super::files::{object, read, resources};

const PULL_SECRET: &str = "open-cluster-management-image-pull-credentials";
const FOLDER: &str = "manifests/operator";
const ROLE: &str = "manifests/operator/role.yaml";
const FOLDER_OF_CLUSTER: &str = "manifests/operator/klusterlet";
const ROLE_OF_CLUSTER: &str = "manifests/operator/klusterlet/role.yaml";

fn rules(object: &Value) -> impl Iterator<Item = &Value> {
    object["rules"].as_array().into_iter().flatten()
}

fn has(rule: &Value, field: &str, word: &str) -> bool {
    rule[field]
        .as_array()
        .is_some_and(|it| it.iter().any(|it| it == word))
}

#[test]
fn the_operators_role_holds_what_it_grants() {
    let held: Vec<Value> = read(ROLE).iter().flat_map(rules).cloned().collect();
    let mut count = 0;
    for folder in [
        "manifests",
        "manifests/overlays/sig-placement-decisions",
        "manifests/overlays/auto-approval",
    ] {
        for file in resources(folder) {
            for rule in read(&file).iter().flat_map(rules) {
                assert!(held.contains(rule), "{file}: {rule}");
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_operators_role_is_limited() {
    let mut secrets = 0;
    for role in read(ROLE) {
        let kind = role["kind"].as_str().unwrap();
        for rule in rules(&role) {
            for field in ["apiGroups", "resources", "verbs"] {
                assert!(!has(rule, field, "*"), "{rule}");
            }
            for verb in ["escalate", "impersonate"] {
                assert!(!has(rule, "verbs", verb), "{rule}");
            }
            // To bind, only roles by name.
            assert!(
                !has(rule, "verbs", "bind") || !rule["resourceNames"].is_null(),
                "{rule}"
            );
            let is_of_core = has(rule, "apiGroups", "");
            if is_of_core && has(rule, "resources", "secrets") {
                secrets += 1;
                // In its own namespace it reads the credentials of the registry.
                let is_of_registry = rule["resourceNames"] == json!([PULL_SECRET])
                    && rule["verbs"] == json!(["get", "list", "watch"]);
                assert!(
                    is_of_registry
                        || role["metadata"]["namespace"] == "open-cluster-management-hub",
                    "{rule}"
                );
                // The role of the doctor may get them.
                let verbs = [json!(["create"]), json!(["get"])];
                let creates = verbs.contains(&rule["verbs"]);
                assert!(creates || !rule["resourceNames"].is_null(), "{rule}");
            }
            // Whoever may create pods everywhere is every account.
            let pods = ["deployments", "pods"].map(|it| has(rule, "resources", it));
            assert!(kind == "Role" || !pods.contains(&true), "{rule}");
        }
    }
    assert!(secrets > 0);
}

#[test]
fn the_role_of_the_operator_of_a_cluster_is_limited() {
    let mut escalates = 0;
    let mut secrets = Vec::new();
    for role in read(ROLE_OF_CLUSTER) {
        for rule in rules(&role) {
            for field in ["apiGroups", "resources", "verbs"] {
                assert!(!has(rule, field, "*"), "{rule}");
            }
            assert!(!has(rule, "verbs", "impersonate"), "{rule}");
            // As agents may, and nothing else.
            if has(rule, "verbs", "escalate") || has(rule, "verbs", "bind") {
                escalates += 1;
                assert_eq!(rule["apiGroups"], json!(["rbac.authorization.k8s.io"]));
            }
            if has(rule, "resources", "secrets") {
                secrets.push((rule["resourceNames"].clone(), rule["verbs"].clone()));
            }
        }
    }
    assert_eq!(escalates, 2, "clusterroles and roles");
    // It reads the credentials of agents, and no other Secret; and makes those for managed clusters.
    let made = [
        "external-managed-kubeconfig-work",
        "external-managed-kubeconfig-agent",
        "external-managed-kubeconfig-registration",
    ];
    let expected = [
        (
            json!(["bootstrap-hub-kubeconfig", "external-managed-kubeconfig"]),
            json!(["get", "list", "watch"]),
        ),
        (
            json!(["hub-kubeconfig-secret"]),
            json!(["get", "list", "watch", "delete"]),
        ),
        (
            json!(made),
            json!(["get", "list", "watch", "update", "delete"]),
        ),
        // RBAC cannot limit this to names.
        (Value::Null, json!(["create"])),
        // The copies of the credentials of the registry, and these, in its own namespace.
        (
            json!([PULL_SECRET]),
            json!(["get", "list", "watch", "update", "delete"]),
        ),
        (json!([PULL_SECRET]), json!(["get", "list", "watch"])),
    ];
    assert_eq!(secrets, expected);
}

#[test]
fn the_operators_deployments_have_their_accounts() {
    for (folder, role) in [(FOLDER, ROLE), (FOLDER_OF_CLUSTER, ROLE_OF_CLUSTER)] {
        has_its_account(folder, role);
    }
}

fn has_its_account(folder: &str, role: &str) {
    let deployment: Value = object(&format!("{folder}/deployment.yaml"), "Deployment");
    let account: Value = object(&format!("{folder}/service-account.yaml"), "ServiceAccount");
    let pods = &deployment["spec"]["template"]["spec"];
    assert_eq!(pods["serviceAccountName"], account["metadata"]["name"]);
    assert_eq!(
        deployment["metadata"]["namespace"],
        account["metadata"]["namespace"]
    );
    let controller: Value = object("manifests/server/controller-deployment.yaml", "Deployment");
    let theirs = &controller["spec"]["template"]["spec"];
    assert_eq!(pods["securityContext"], theirs["securityContext"]);
    let secured = |pods: &Value| pods["containers"][0]["securityContext"].clone();
    assert_eq!(secured(pods), secured(theirs));
    for role in read(role)
        .iter()
        .filter(|it| it["kind"].as_str().unwrap().ends_with("Binding"))
    {
        assert_eq!(role["subjects"][0]["name"], account["metadata"]["name"]);
        assert_eq!(
            role["subjects"][0]["namespace"],
            account["metadata"]["namespace"]
        );
    }
}
