//! What is applied on a managed cluster, and what a hub needs for bootstrap tokens: the objects refer to each other, and the accounts
//! have the rights that they need and no others.

use berth_manifests::files;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{PodSpec, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use serde_json::{Value, json};

use crate::manifests::files::{object, read};

const DEPLOYMENT: &str = files::AGENT.path;
const NAMESPACE: &str = "open-cluster-management-agent";

fn pod() -> PodSpec {
    object::<Deployment>(DEPLOYMENT, "Deployment")
        .spec
        .and_then(|spec| spec.template.spec)
        .expect("the Deployment has a pod template")
}

/// The rules, each in one line: groups, resources, names, verbs.
fn lines(rules: Option<Vec<PolicyRule>>) -> Vec<String> {
    let list = |list: Option<Vec<String>>| list.unwrap_or_default().join(",");
    let rules = rules.unwrap_or_default().into_iter();
    rules
        .map(|rule| {
            format!(
                "{}/{} {}: {}",
                list(rule.api_groups),
                list(rule.resources),
                list(rule.resource_names),
                rule.verbs.join(",")
            )
        })
        .collect()
}

#[test]
fn the_agent_may_do_no_more_than_it_has_to() {
    let role: Role = object(files::AGENT_ROLE.path, "Role");
    assert_eq!(
        lines(role.rules),
        [
            "/secrets hub-kubeconfig-secret,hub-kubeconfig-secret-pending,hub-kubeconfig-secret-addons,hub-kubeconfig-secret-hubs: get,list,watch,update,patch,delete",
            "/secrets : create",
            "coordination.k8s.io/leases registration-agent-lock,work-agent-lock,klusterlet-agent-lock: get,update",
            "coordination.k8s.io/leases : create",
            ",events.k8s.io/events : create,patch,update",
        ]
    );
    let role: ClusterRole = object(files::AGENT_CLUSTER_ROLE.path, "ClusterRole");
    assert_eq!(
        lines(role.rules),
        [
            "/nodes : get,list,watch",
            "cluster.open-cluster-management.io/clusterclaims : get,list,watch",
            "about.k8s.io/clusterproperties : get,list,watch",
            "/namespaces : get,list,watch,create,update,patch",
        ]
    );
    let role: Role = object(files::AGENT_ADDONS.path, "Role");
    assert_eq!(
        lines(role.rules),
        [
            "/secrets : get,list,watch,create,patch,delete",
            "coordination.k8s.io/leases : list,watch",
        ]
    );
}

/// The agent watches, creates, changes and removes what ManifestWorks contain.
const CARRIES_OUT: &str = "get,list,watch,create,update,patch,delete";

#[test]
fn the_agent_may_record_its_works_and_make_what_ocms_agent_may() {
    let role: ClusterRole = object(files::AGENT_WORK_ROLE.path, "ClusterRole");
    assert_eq!(
        lines(role.rules),
        [
            "work.open-cluster-management.io/appliedmanifestworks : get,list,watch,create,patch,delete",
            "work.open-cluster-management.io/appliedmanifestworks/status : patch",
            "apiextensions.k8s.io/customresourcedefinitions : list,watch",
            "authorization.k8s.io/subjectaccessreviews : create",
            "events.k8s.io/events : create",
        ]
    );
    let roles = read(files::AGENT_WORK_EXECUTION.path);
    let execution = roles.into_iter().rfind(|it| it["kind"] == "ClusterRole");
    let role: ClusterRole =
        serde_json::from_value(execution.expect("a role")).expect("a ClusterRole");
    let kinds = [
        "apiextensions.k8s.io/customresourcedefinitions",
        "/namespaces",
        "rbac.authorization.k8s.io/roles,clusterroles",
        "rbac.authorization.k8s.io/rolebindings,clusterrolebindings",
        "scheduling.k8s.io/priorityclasses",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations,validatingwebhookconfigurations",
        "monitoring.coreos.com/servicemonitors",
        "oauth.openshift.io/oauthclients",
    ];
    let expected = kinds.map(|kind| match kind {
        "rbac.authorization.k8s.io/roles,clusterroles" => {
            format!("{kind} : {CARRIES_OUT},escalate,bind")
        }
        kind => format!("{kind} : {CARRIES_OUT}"),
    });
    assert_eq!(lines(role.rules), expected);
    let role: ClusterRole = object(files::AGENT_IMPERSONATION_ROLE.path, "ClusterRole");
    assert_eq!(lines(role.rules), ["/serviceaccounts : impersonate"]);
}

#[test]
fn users_allow_more_kinds_by_roles_with_ocms_label() {
    let objects = read(files::AGENT_WORK_EXECUTION.path);
    let labels = json!({"open-cluster-management.io/aggregate-to-work": "true"});
    let of = |name: &str| {
        let found = objects
            .iter()
            .find(|it| it["kind"] == "ClusterRole" && it["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    let execution = of("open-cluster-management:berth-agent-work-execution");
    for (label, value) in labels.as_object().expect("labels") {
        assert_eq!(execution["metadata"]["labels"][label], *value);
    }
    let all = of("open-cluster-management:berth-agent-work");
    let selectors = json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
    assert_eq!(all["aggregationRule"], selectors);
    // Its own rules would be overwritten.
    assert_eq!(all["rules"], Value::Null);
    // When a part goes, Kubernetes applies the role, which would create it anew.
    let first = objects.iter().find(|it| it["kind"] == "ClusterRole");
    assert_eq!(first, Some(all));
}

#[test]
fn a_bootstrap_token_may_ask_for_acceptance_and_a_certificate() {
    let role: ClusterRole = object(files::BOOTSTRAP_ROLE.path, "ClusterRole");
    assert_eq!(
        lines(role.rules),
        [
            "cluster.open-cluster-management.io/managedclusters : create,get,list,watch",
            "cluster.open-cluster-management.io/managedclustersets/join default: create",
            "certificates.k8s.io/certificatesigningrequests : create,get,list,watch",
            "/configmaps cluster-info,ca-bundle-configmap: get",
        ]
    );
}

#[test]
fn accounts_bindings_and_roles_name_each_other() {
    for (parts, account, of, count) in [
        (&files::AGENT_PARTS[..], "berth-agent", NAMESPACE, 6),
        (
            &files::BOOTSTRAP[..],
            "agent-registration-bootstrap",
            "open-cluster-management",
            2,
        ),
    ] {
        let objects: Vec<Value> = parts.iter().flat_map(|it| read(it.path)).collect();
        let has = |kind: &str, name: &Value| {
            objects
                .iter()
                .any(|it| it["kind"] == kind && it["metadata"]["name"] == *name)
        };
        assert!(has("Namespace", &json!(of)));
        assert!(has("ServiceAccount", &json!(account)));
        let bindings: Vec<_> = objects
            .iter()
            .filter(|it| it["roleRef"].is_object())
            .collect();
        assert_eq!(bindings.len(), count);
        for binding in bindings {
            let role = &binding["roleRef"];
            // Kubernetes' own.
            let is_there = role["kind"] == "ClusterRole" && role["name"] == "admin";
            assert!(is_there || has(role["kind"].as_str().expect("a kind"), &role["name"]));
            let subject = &binding["subjects"][0];
            let expected = match subject["kind"].as_str() {
                Some("Group") => json!({
                    "kind": "Group", "apiGroup": "rbac.authorization.k8s.io",
                    "name": "system:bootstrappers:managedcluster",
                }),
                _ => json!({"kind": "ServiceAccount", "name": account, "namespace": of}),
            };
            assert_eq!(*subject, expected);
        }
        // The namespace of add-ons.
        let others = ["open-cluster-management-agent-addon"].map(Value::from);
        for object in &objects {
            let namespace = &object["metadata"]["namespace"];
            let is_expected = namespace.is_null() || namespace == of || others.contains(namespace);
            assert!(is_expected, "{object}");
        }
        let files: Vec<_> = parts
            .iter()
            .filter(|it| it.text.contains("kind: ServiceAccount\nmetadata"))
            .collect();
        let account: ServiceAccount = object(files[0].path, "ServiceAccount");
        assert_eq!(account.automount_service_account_token, Some(false));
    }
}

#[test]
fn the_agent_finds_its_files_and_writes_only_to_memory() {
    let pod = pod();
    assert_eq!(pod.service_account_name.as_deref(), Some("berth-agent"));
    assert_eq!(pod.automount_service_account_token, Some(true));
    let container = &pod.containers[0];
    assert_eq!(
        container.args.as_deref(),
        Some(
            &[
                "agent",
                "--cluster-name=cluster1",
                "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
                "--hub-kubeconfig-dir=/spoke/hub-kubeconfig",
            ]
            .map(str::to_owned)[..]
        )
    );
    let mounts = container.volume_mounts.as_deref().unwrap_or_default();
    let mounts: Vec<_> = mounts
        .iter()
        .map(|it| (it.name.as_str(), it.mount_path.as_str(), it.read_only))
        .collect();
    assert_eq!(
        mounts,
        [
            ("bootstrap", "/spoke/bootstrap", Some(true)),
            ("hub-kubeconfig", "/spoke/hub-kubeconfig", None),
        ]
    );
    let volumes = pod.volumes.unwrap_or_default();
    let secret = volumes[0].secret.as_ref().expect("a Secret");
    assert_eq!(
        secret.secret_name.as_deref(),
        Some("bootstrap-hub-kubeconfig")
    );
    assert_eq!(
        (secret.optional, secret.default_mode),
        (Some(true), Some(0o440))
    );
    let memory = volumes[1].empty_dir.as_ref().expect("an emptyDir");
    assert_eq!(memory.medium.as_deref(), Some("Memory"));
    let context = container.security_context.as_ref().expect("it has one");
    assert_eq!(context.read_only_root_filesystem, Some(true));
    assert_eq!(context.allow_privilege_escalation, Some(false));
    let context = pod.security_context.expect("it has one");
    assert_eq!(context.run_as_non_root, Some(true));
    for (probe, path) in [
        (&container.liveness_probe, "/livez"),
        (&container.readiness_probe, "/readyz"),
    ] {
        let http = probe.as_ref().and_then(|it| it.http_get.as_ref());
        let http = http.expect("an HTTP probe");
        assert_eq!(
            (http.path.as_deref(), http.scheme.as_deref()),
            (Some(path), Some("HTTPS"))
        );
    }
    let ports = container.ports.as_deref().unwrap_or_default();
    assert_eq!(ports[0].container_port, 8443);
}
