use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

const GROUP: &str = "addon.open-cluster-management.io";

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// An add-on from a template that works, as JSON merge patches change it.
fn on_cluster(patch: Value) -> Value {
    let config = |hash: &str| json!({"namespace": "n", "name": "d", "specHash": hash});
    let mut on = json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "web", "namespace": "c1"},
        "spec": {},
        "status": {
            "namespace": "agents",
            "configReferences": [{
                "group": GROUP, "resource": "addondeploymentconfigs",
                "desiredConfig": config("1"), "lastAppliedConfig": config("1"),
            }, {
                "group": GROUP, "resource": "addontemplates",
                "desiredConfig": {"name": "t", "specHash": "2"}, "lastAppliedConfig": {"name": "t", "specHash": "2"},
            }],
            "registrations": [{"type": "kubeClient", "kubeClient": {"driver": "csr", "subject": {"user": "u", "groups": ["g"]}}}],
            "conditions": [
                condition("Available", "True", "ProbeAvailable", "web add-on is available."),
                condition("Configured", "True", "ConfigurationsConfigured", "Configurations configured"),
                condition("ManifestApplied", "True", "AddonManifestApplied", "applied"),
                condition("Progressing", "False", "Completed", "completed with no errors."),
                condition("RegistrationApplied", "True", "SetPermissionApplied", "configured"),
            ],
        },
    });
    json_patch::merge(&mut on, &patch);
    on
}

/// With these conditions in place of those of the same type.
fn with_conditions(conditions: &[Value]) -> Value {
    let mut on = on_cluster(json!({}));
    let all = on["status"]["conditions"].as_array_mut().unwrap();
    all.retain(|it| !conditions.iter().any(|new| new["type"] == it["type"]));
    all.extend(
        conditions
            .iter()
            .filter(|it| it.get("status").is_some())
            .cloned(),
    );
    on
}

fn management() -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "web"},
        "spec": {
            "defaultConfigs": [{"group": GROUP, "resource": "addontemplates", "name": "t"}],
            "installStrategy": {"type": "Placements", "placements": [{
                "namespace": "team", "name": "all",
                "configs": [{"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "n", "name": "d"}],
            }]},
        },
    })
}

fn cluster(accepted: bool, available: &str) -> Value {
    json!({
        "metadata": {"name": "c1"},
        "spec": {"hubAcceptsClient": accepted},
        "status": {"conditions": [condition("ManagedClusterConditionAvailable", available, "R", "no lease")]},
    })
}

fn work(applied: &str, objects: &[(&str, &str)]) -> Value {
    let manifests = objects.iter().map(|(name, message)| {
        let status = if message.is_empty() { "True" } else { "False" };
        json!({
            "resourceMeta": {"kind": "Deployment", "namespace": "agents", "name": name},
            "conditions": [condition("Available", status, "R", message)],
        })
    });
    json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "addon-web-deploy-0", "namespace": "c1", "generation": 1},
        "status": {
            "conditions": [condition("Applied", applied, "R", ""), condition("Available", applied, "R", "")],
            "resourceStatus": {"manifests": manifests.collect::<Vec<_>>()},
        },
    })
}

fn csr(name: &str, second: u32, conditions: &[(&str, &str)]) -> Value {
    let conditions = conditions
        .iter()
        .map(|(type_, message)| json!({"type": type_, "status": "True", "message": message}));
    json!({
        "metadata": {"name": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")},
        "spec": {"signerName": "kubernetes.io/kube-apiserver-client", "request": ""},
        "status": {"conditions": conditions.collect::<Vec<_>>()},
    })
}

/// What the add-on waits for.
fn waits(on: Value, works: &[Value], requests: &[Value]) -> Vec<String> {
    explained(
        on,
        Some(management()),
        cluster(true, "True"),
        works,
        requests,
    )
    .waits_for
}

fn explained(
    on: Value,
    add_on: Option<Value>,
    cluster: Value,
    works: &[Value],
    requests: &[Value],
) -> Explanation {
    let works: Vec<ManifestWork> = works.iter().cloned().map(read).collect();
    let requests: Vec<CertificateSigningRequest> = requests.iter().cloned().map(read).collect();
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
    });
    let add_on = add_on.map(read::<ClusterManagementAddOn>);
    Explanation::of(&Facts {
        on: &read(on),
        add_on: add_on.as_ref(),
        cluster: Some(&read(cluster)),
        works: &works,
        bindings: &[read(binding)],
        requests: &requests,
    })
}

#[test]
fn an_add_on_that_works_waits_for_nothing_and_says_where_its_parts_come_from() {
    let it = explained(
        on_cluster(json!({})),
        Some(management()),
        cluster(true, "True"),
        &[work("True", &[("a", "")])],
        &[],
    );
    assert_eq!(it.waits_for, [""; 0]);
    assert_eq!(
        it.manager,
        "the hub's controller of add-ons, by an AddOnTemplate; created by a user or another manager, so it stays when no placement \
         selects the cluster"
    );
    let configs: Vec<_> = it.configs.iter().collect();
    let row = |it: &Config| {
        let (from, hashes) = (
            it.from.clone(),
            (it.desired_hash.clone(), it.applied_hash.clone()),
        );
        (it.name.clone(), from, hashes, it.state)
    };
    let hashes = |hash: &str| (hash.to_owned(), hash.to_owned());
    assert_eq!(
        configs.into_iter().map(row).collect::<Vec<_>>(),
        [
            (
                "n/d".to_owned(),
                "Placement team/all".to_owned(),
                hashes("1"),
                "applied"
            ),
            (
                "t".to_owned(),
                "default of ClusterManagementAddOn".to_owned(),
                hashes("2"),
                "applied"
            ),
        ]
    );
    assert_eq!(it.registrations[0].user, "u");
    assert_eq!(it.role_bindings, ["b (ClusterRole r)"]);
    assert_eq!(it.permissions, "True (SetPermissionApplied): configured");
    assert_eq!((it.works.len(), &*it.namespace), (1, "agents"));
}

#[test]
fn configs_of_the_cluster_come_first_and_one_that_nobody_names_says_so() {
    let own = json!({"spec": {"configs": [
        {"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "n", "name": "d"},
    ]}});
    let of = |on: Value, add_on: Option<Value>| {
        let it = explained(on, add_on, cluster(true, "True"), &[], &[]);
        it.configs[0].from.clone()
    };
    assert_eq!(
        of(on_cluster(own), Some(management())),
        "ManagedClusterAddOn"
    );
    let other = json!({"status": {"configReferences": [
        {"group": GROUP, "resource": "addondeploymentconfigs", "desiredConfig": {"namespace": "n", "name": "x"}},
    ]}});
    assert_eq!(
        of(on_cluster(other), Some(management())),
        "not named any more"
    );
    assert_eq!(of(on_cluster(json!({})), None), "not named any more");
}

#[test]
fn what_an_add_on_waits_for_is_said_in_order() {
    let ready = [work("True", &[])];
    let reference = json!({"status": {"configReferences": [
        {"group": GROUP, "resource": "addontemplates", "desiredConfig": {"name": "t", "specHash": ""}},
    ]}});
    let tokens = json!([{"type": "kubeClient", "kubeClient": {"driver": "token"}}]);
    for (sentence, on, works, requests, expected) in [
        (
            "its turn",
            with_conditions(&[condition(
                "Configured",
                "False",
                "ConfigurationsNotConfigured",
                "not yet",
            )]),
            &ready[..],
            vec![],
            &[
                "its turn in the rollout: Configured is False (ConfigurationsNotConfigured): not yet",
            ][..],
        ),
        (
            "a config that does not exist",
            on_cluster(reference),
            &ready,
            vec![],
            &[
                "addontemplates.addon.open-cluster-management.io t, which does not exist, or which the add-on's manager has not read",
            ],
        ),
        (
            "a manager that does not run",
            with_conditions(&[
                json!({"type": "RegistrationApplied"}),
                json!({"type": "ManifestApplied"}),
            ]),
            &ready,
            vec![],
            &[
                "the controller of add-ons: the condition RegistrationApplied is not reported; does the controller run?",
                "the add-on's manager: the condition ManifestApplied is not reported; does the manager run?",
            ],
        ),
        (
            "permissions that the manager cannot grant",
            with_conditions(&[condition(
                "RegistrationApplied",
                "False",
                "SetPermissionFailed",
                "Failed to set permission",
            )]),
            &ready,
            vec![],
            &[
                "its permissions on the hub: RegistrationApplied is False (SetPermissionFailed): Failed to set permission",
            ],
        ),
        (
            "tokens that nobody grants",
            on_cluster(json!({"status": {"registrations": tokens}})),
            &ready,
            vec![],
            &[
                "the service account of its agent: the condition TokenInfrastructureReady is not reported; does the controller of add-ons run?",
            ],
        ),
        (
            "the newest request of a signer",
            on_cluster(json!({})),
            &ready,
            vec![csr("old", 1, &[("Denied", "no")]), csr("new", 2, &[])],
            &["the approval of CertificateSigningRequest new: kubectl certificate approve new"],
        ),
        (
            "a request that was denied",
            on_cluster(json!({})),
            &ready,
            vec![csr("a", 1, &[("Denied", "no")])],
            &["another certificate request: CertificateSigningRequest a was denied: no"],
        ),
        (
            "manifests that cannot be made",
            with_conditions(&[condition(
                "ManifestApplied",
                "False",
                "ManifestWorkApplyFailed",
                "unclosed {{",
            )]),
            &ready,
            vec![],
            &["its manifests: unclosed {{"],
        ),
        (
            "an object that is not ready",
            on_cluster(json!({})),
            &[work(
                "False",
                &[("a", ""), ("b", "no image"), ("c", "no node")],
            )],
            vec![],
            &["ManifestWork c1/addon-web-deploy-0: Deployment agents/b: no image"],
        ),
        (
            "its agent",
            with_conditions(&[condition(
                "Available",
                "False",
                "ProbeUnavailable",
                "0 of 1 pods are ready",
            )]),
            &ready,
            vec![],
            &[
                "its agent on the cluster: Available is False (ProbeUnavailable): 0 of 1 pods are ready",
            ],
        ),
        (
            "its first report",
            with_conditions(&[json!({"type": "Available"})]),
            &ready,
            vec![],
            &["the first report of its health: the condition Available is not reported"],
        ),
        (
            "its hooks",
            {
                let mut on = with_conditions(&[condition(
                    "HookManifestCompleted",
                    "False",
                    "HookManifestIsNotCompleted",
                    "Job a failed",
                )]);
                on["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                on["metadata"]["finalizers"] = json!([
                    "addon.open-cluster-management.io/addon-pre-delete",
                    "other/one"
                ]);
                on
            },
            &ready,
            vec![],
            &[
                "its hooks, which run before it is deleted: Job a failed; 'berth addon delete --skip-hooks' lets them go",
                "finalizer other/one, which its owner removes",
            ],
        ),
    ] {
        assert_eq!(waits(on, works, &requests), expected, "{sentence}");
    }
}

#[test]
fn without_a_cluster_or_a_definition_nothing_happens() {
    let of = |add_on: Option<Value>, cluster: Value| {
        explained(
            on_cluster(json!({})),
            add_on,
            cluster,
            &[work("True", &[])],
            &[],
        )
        .waits_for
    };
    assert_eq!(
        of(None, cluster(true, "True")),
        ["a ClusterManagementAddOn web: without one no manager deploys the add-on"]
    );
    assert_eq!(
        of(Some(management()), cluster(false, "True")),
        ["the acceptance of ManagedCluster c1: berth accept c1"]
    );
    assert_eq!(
        of(Some(management()), cluster(true, "Unknown")),
        [
            "the agent of ManagedCluster c1: ManagedClusterConditionAvailable is Unknown (R): no lease"
        ]
    );
}
