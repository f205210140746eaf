//! The objects around the server fit one another, and it may do what it must and no more.

use std::collections::{BTreeMap, BTreeSet};

use berth_lifecycle::config::Config;
use berth_lifecycle::roles;
use berth_webhooks::review::Webhook;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, PodSpec, Probe, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::files::{in_repository, object};

const DEPLOYMENT: &str = "manifests/server/deployment.yaml";
const ROLE: &str = "manifests/server/cluster-role.yaml";
const EXTRA_ROLE: &str = "manifests/overlays/replace-ocm/cluster-role.yaml";
const CERTIFICATES_ROLE: &str = "manifests/server/certificates-role.yaml";
const CONTROLLER_ROLE: &str = "manifests/server/controller-role.yaml";

fn deployment() -> Deployment {
    object(DEPLOYMENT, "Deployment")
}

fn pod() -> PodSpec {
    deployment()
        .spec
        .and_then(|spec| spec.template.spec)
        .expect("the Deployment has a pod template")
}

fn container() -> Container {
    let mut containers = pod().containers;
    assert_eq!(containers.len(), 1);
    containers.remove(0)
}

fn pod_labels() -> BTreeMap<String, String> {
    deployment()
        .spec
        .and_then(|spec| spec.template.metadata)
        .and_then(|metadata| metadata.labels)
        .expect("the pods have labels")
}

/// The number of a container port, by number or name.
fn port(port: &IntOrString) -> Option<i32> {
    let ports = container().ports.unwrap_or_default();
    ports
        .iter()
        .find(|candidate| match port {
            IntOrString::Int(number) => candidate.container_port == *number,
            IntOrString::String(name) => candidate.name.as_ref() == Some(name),
        })
        .map(|port| port.container_port)
}

#[test]
fn selectors_select_the_pods() {
    let labels = pod_labels();
    let spec = deployment().spec.expect("the Deployment has a spec");
    let service: Service = object("manifests/server/service.yaml", "Service");
    let budget: PodDisruptionBudget = object(
        "manifests/server/pod-disruption-budget.yaml",
        "PodDisruptionBudget",
    );
    let spread = pod()
        .topology_spread_constraints
        .expect("the pods are spread");
    let mut selectors = vec![
        ("Deployment", spec.selector.match_labels),
        ("Service", service.spec.and_then(|spec| spec.selector)),
        (
            "PodDisruptionBudget",
            budget
                .spec
                .and_then(|spec| spec.selector)
                .and_then(|selector| selector.match_labels),
        ),
    ];
    selectors.extend(spread.into_iter().map(|constraint| {
        (
            "spread",
            constraint
                .label_selector
                .and_then(|selector| selector.match_labels),
        )
    }));
    for (what, selector) in selectors {
        assert_eq!(selector, Some(labels.clone()), "{what}");
    }
}

#[test]
fn ports_are_those_the_binary_opens() {
    let service: Service = object("manifests/server/service.yaml", "Service");
    let service_ports = service
        .spec
        .and_then(|spec| spec.ports)
        .expect("the Service has ports");
    assert_eq!(service_ports.len(), 1);
    let target = service_ports[0].target_port.clone().expect("it is named");
    assert_eq!(port(&target), Some(9443));

    let path_and_port = |probe: Option<Probe>| {
        let get = probe
            .and_then(|probe| probe.http_get)
            .expect("the probe is an HTTP GET");
        (get.path.unwrap_or_default(), port(&get.port))
    };
    let container = container();
    assert_eq!(
        path_and_port(container.liveness_probe),
        ("/healthz".to_owned(), Some(8000))
    );
    assert_eq!(
        path_and_port(container.readiness_probe),
        ("/readyz".to_owned(), Some(8000))
    );
    assert_eq!(port(&IntOrString::String("metrics".to_owned())), Some(8080));
    let controller = IntOrString::String("controller".to_owned());
    assert_eq!(port(&controller), Some(8443));
}

#[test]
fn a_rolling_update_leaves_no_moment_without_a_ready_replica() {
    let spec = deployment().spec.expect("the Deployment has a spec");
    let update = spec
        .strategy
        .and_then(|strategy| strategy.rolling_update)
        .expect("it is updated by rolling");
    assert_eq!(update.max_unavailable, Some(IntOrString::Int(0)));
    assert_eq!(update.max_surge, Some(IntOrString::Int(1)));
    assert!(spec.replicas >= Some(2));
    assert!(
        container()
            .readiness_probe
            .and_then(|probe| probe.period_seconds)
            <= Some(5)
    );

    // The default of --shutdown-delay, and the longest drain.
    let (delay, drain) = (10, 30);
    assert!(pod().termination_grace_period_seconds > Some(delay + drain));
}

#[test]
fn the_pod_may_do_nothing_it_need_not() {
    let pod = pod();
    let of_pod = pod.security_context.expect("the pod is confined");
    assert_eq!(of_pod.run_as_non_root, Some(true));
    assert!(of_pod.run_as_user > Some(0));
    let profile = of_pod.seccomp_profile.expect("system calls are confined");
    assert_eq!(profile.type_, "RuntimeDefault");
    let container = container();
    let of_container = container
        .security_context
        .expect("the container is confined");
    assert_eq!(of_container.allow_privilege_escalation, Some(false));
    assert_eq!(of_container.read_only_root_filesystem, Some(true));
    let capabilities = of_container
        .capabilities
        .expect("capabilities are restricted");
    assert_eq!(capabilities.drop, Some(vec!["ALL".to_owned()]));
    assert_eq!(capabilities.add, None);
}

/// Each permission as `verb group/resource`, with the name if it is for one only.
fn permissions(role: ClusterRole) -> BTreeSet<String> {
    permissions_of(role.rules.unwrap_or_default())
}

fn permissions_of(rules: Vec<PolicyRule>) -> BTreeSet<String> {
    let mut permissions = BTreeSet::new();
    for rule in rules {
        assert_eq!(rule.non_resource_urls, None);
        let names = match rule.resource_names.unwrap_or_default() {
            names if names.is_empty() => vec![String::new()],
            names => names.iter().map(|name| format!(" {name}")).collect(),
        };
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for (verb, name) in rule
                    .verbs
                    .iter()
                    .flat_map(|verb| names.iter().map(move |name| (verb, name)))
                {
                    permissions.insert(format!("{verb} {group}/{resource}{name}"));
                }
            }
        }
    }
    permissions
}

/// What the gate asks of a hub.
const NEEDED: [&str; 5] = [
    "create authorization.k8s.io/subjectaccessreviews",
    "get /namespaces",
    "get cluster.open-cluster-management.io/managedclusters",
    "get cluster.open-cluster-management.io/managedclustersets",
    "list cluster.open-cluster-management.io/managedclustersetbindings",
];

#[test]
fn the_role_grants_what_the_gate_asks_and_no_more() {
    let role = object(ROLE, "ClusterRole");
    assert_eq!(permissions(role), BTreeSet::from(NEEDED.map(String::from)));
}

#[test]
fn with_ocms_own_role_the_extra_role_grants_the_same() {
    let mut granted = permissions(object(EXTRA_ROLE, "ClusterRole"));
    let ocms = [NEEDED[0], NEEDED[1]].map(String::from);
    assert!(granted.is_disjoint(&BTreeSet::from(ocms.clone())));
    granted.extend(ocms);
    assert_eq!(granted, BTreeSet::from(NEEDED.map(String::from)));
}

/// What keeping the certificate takes: the Secret and the Lease of the flag's default, and the registrations' bundles.
#[test]
fn the_roles_of_the_certificate_grant_what_keeping_it_takes_and_no_more() {
    let name = "berth-webhook-certificates";
    let role: Role = object(CERTIFICATES_ROLE, "Role");
    let mut granted = permissions_of(role.rules.unwrap_or_default());
    granted.extend(permissions(object(CERTIFICATES_ROLE, "ClusterRole")));
    let mut needed: BTreeSet<_> = ["create /secrets", "create coordination.k8s.io/leases"]
        .map(String::from)
        .into();
    for verb in ["get", "list", "watch", "update", "delete"] {
        needed.insert(format!("{verb} /secrets {name}"));
    }
    for verb in ["get", "update"] {
        needed.insert(format!("{verb} coordination.k8s.io/leases {name}"));
    }
    for webhook in Webhook::ALL {
        let kind = match webhook.mutates() {
            true => "mutatingwebhookconfigurations",
            false => "validatingwebhookconfigurations",
        };
        for verb in ["get", "list", "watch", "patch"] {
            let name = webhook.registration();
            needed.insert(format!("{verb} admissionregistration.k8s.io/{kind} {name}"));
        }
    }
    assert_eq!(granted, needed);
}

/// The flags' defaults are what the manifests count on.
#[test]
fn the_certificate_is_kept_in_a_secret_for_the_service() {
    let args = container().args.unwrap_or_default();
    assert_eq!(args, ["hub", "--certificate-source=secret"]);
    assert_eq!(pod().volumes, None);
    assert_eq!(container().volume_mounts, None);
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["hub", "--help"])
        .env("COLUMNS", "200")
        .output()
        .expect("berth can be started");
    let help = String::from_utf8_lossy(&help.stdout);
    let service: Service = object("manifests/server/service.yaml", "Service");
    let service = service.metadata.name.unwrap_or_default();
    for default in ["berth-webhook-certificates", &service] {
        assert!(help.contains(&format!("[default: {default}]")), "{help}");
    }
}

/// What agents may do, which only those may grant who may do it: the roles of OCM, and of `berth-lifecycle`.
fn granted_to_agents() -> BTreeSet<String> {
    let config = Config::default();
    let roles = [
        roles::cluster_role(&config, "c1", true),
        roles::cluster_role(&config, "c1", false),
        roles::registration_role(&config),
        roles::work_role(&config),
    ];
    let permissions = roles.map(|role| {
        let mut role: ClusterRole = serde_json::from_value(role).expect("it is a ClusterRole");
        for rule in role.rules.iter_mut().flatten() {
            // The names of clusters are not known in advance.
            rule.resource_names = None;
        }
        permissions(role)
    });
    permissions.into_iter().flatten().collect()
}

/// What the reconcilers do themselves: verbs, group and resource.
const DONE: [(&str, &str); 20] = [
    (
        "list watch patch",
        "cluster.open-cluster-management.io/managedclusters",
    ),
    (
        "patch",
        "cluster.open-cluster-management.io/managedclusters/status",
    ),
    (
        "list watch create patch",
        "cluster.open-cluster-management.io/managedclustersets",
    ),
    (
        "patch",
        "cluster.open-cluster-management.io/managedclustersets/status",
    ),
    (
        "list watch",
        "cluster.open-cluster-management.io/managedclustersetbindings",
    ),
    (
        "patch",
        "cluster.open-cluster-management.io/managedclustersetbindings/status",
    ),
    (
        "list watch delete",
        "addon.open-cluster-management.io/managedclusteraddons",
    ),
    (
        "patch",
        "addon.open-cluster-management.io/managedclusteraddons/status",
    ),
    (
        "list delete",
        "work.open-cluster-management.io/manifestworks",
    ),
    ("get list watch create update", "/namespaces"),
    (
        "list watch create patch delete",
        "rbac.authorization.k8s.io/clusterroles",
    ),
    (
        "list watch create patch delete",
        "rbac.authorization.k8s.io/clusterrolebindings",
    ),
    (
        "list watch create patch delete",
        "rbac.authorization.k8s.io/rolebindings",
    ),
    ("list watch create patch", "coordination.k8s.io/leases"),
    (
        "list watch",
        "certificates.k8s.io/certificatesigningrequests",
    ),
    (
        "update",
        "certificates.k8s.io/certificatesigningrequests/approval",
    ),
    (
        "approve",
        "certificates.k8s.io/signers kubernetes.io/kube-apiserver-client",
    ),
    ("create", "authorization.k8s.io/subjectaccessreviews"),
    (
        "update",
        "register.open-cluster-management.io/managedclusters/accept",
    ),
    ("create", "events.k8s.io/events"),
];

/// What OCM's own role grants, as far as it is about the same.
const OCMS: [(&str, &str); 23] = [
    (
        "get list watch update patch",
        "cluster.open-cluster-management.io/managedclusters",
    ),
    (
        "update patch",
        "cluster.open-cluster-management.io/managedclusters/status",
    ),
    (
        "list watch create patch",
        "cluster.open-cluster-management.io/managedclustersets",
    ),
    (
        "patch",
        "cluster.open-cluster-management.io/managedclustersets/status",
    ),
    (
        "list watch",
        "cluster.open-cluster-management.io/managedclustersetbindings",
    ),
    (
        "patch",
        "cluster.open-cluster-management.io/managedclustersetbindings/status",
    ),
    (
        "get list watch delete",
        "addon.open-cluster-management.io/managedclusteraddons",
    ),
    (
        "update patch",
        "addon.open-cluster-management.io/managedclusteraddons/status",
    ),
    (
        "get list watch update patch delete",
        "work.open-cluster-management.io/manifestworks",
    ),
    (
        "update patch",
        "work.open-cluster-management.io/manifestworks/status",
    ),
    ("get list watch create update", "/namespaces"),
    (
        "list watch create patch delete",
        "rbac.authorization.k8s.io/clusterroles",
    ),
    (
        "list watch create patch delete",
        "rbac.authorization.k8s.io/clusterrolebindings",
    ),
    (
        "list watch create patch delete",
        "rbac.authorization.k8s.io/rolebindings",
    ),
    (
        "get list watch create update patch",
        "coordination.k8s.io/leases",
    ),
    (
        "create get list watch",
        "certificates.k8s.io/certificatesigningrequests",
    ),
    (
        "update",
        "certificates.k8s.io/certificatesigningrequests/approval",
    ),
    (
        "approve",
        "certificates.k8s.io/signers kubernetes.io/kube-apiserver-client",
    ),
    ("create", "authorization.k8s.io/subjectaccessreviews"),
    (
        "update",
        "register.open-cluster-management.io/managedclusters/accept",
    ),
    (
        "renew",
        "register.open-cluster-management.io/managedclusters/clientcertificates",
    ),
    ("create patch update", "events.k8s.io/events"),
    ("create patch update", "/events"),
];

fn spelled_out(rights: &[(&str, &str)]) -> BTreeSet<String> {
    let rights = rights.iter();
    rights
        .flat_map(|(verbs, what)| verbs.split(' ').map(move |verb| format!("{verb} {what}")))
        .collect()
}

fn needed_by_the_controller() -> BTreeSet<String> {
    &spelled_out(&DONE) | &granted_to_agents()
}

#[test]
fn the_controllers_role_grants_what_it_does_and_what_it_grants_and_no_more() {
    let granted = permissions(object(CONTROLLER_ROLE, "ClusterRole"));
    assert_eq!(granted, needed_by_the_controller());
    let election: Role = object(CONTROLLER_ROLE, "Role");
    let lock = "coordination.k8s.io/leases registration-controller-lock";
    assert_eq!(
        permissions_of(election.rules.unwrap_or_default()),
        BTreeSet::from([
            format!("get {lock}"),
            format!("update {lock}"),
            "create coordination.k8s.io/leases".to_owned()
        ])
    );
}

#[test]
fn ocms_own_role_is_enough_for_the_controller() {
    assert_eq!(spelled_out(&OCMS), needed_by_the_controller());
}

#[test]
fn the_roles_are_bound_to_the_account_of_the_pods() {
    let account: ServiceAccount = object("manifests/server/service-account.yaml", "ServiceAccount");
    assert_eq!(pod().service_account_name, account.metadata.name);
    assert_eq!(pod().automount_service_account_token, Some(true));
    let own = account.metadata.name.as_deref().unwrap_or_default();
    for file in [ROLE, EXTRA_ROLE, CONTROLLER_ROLE, CERTIFICATES_ROLE] {
        let role: ClusterRole = object(file, "ClusterRole");
        let binding: ClusterRoleBinding = object(file, "ClusterRoleBinding");
        assert_eq!(binding.role_ref.kind, "ClusterRole", "{file}");
        assert_eq!(Some(binding.role_ref.name), role.metadata.name, "{file}");
        assert_is_account(file, own, &binding.subjects.unwrap_or_default());
    }
    for file in [CONTROLLER_ROLE, CERTIFICATES_ROLE] {
        let role: Role = object(file, "Role");
        let binding: RoleBinding = object(file, "RoleBinding");
        assert_eq!(binding.role_ref.kind, "Role");
        assert_eq!(Some(binding.role_ref.name), role.metadata.name);
        assert_eq!(role.metadata.namespace, account.metadata.namespace);
        assert_eq!(binding.metadata.namespace, account.metadata.namespace);
        assert_is_account(file, own, &binding.subjects.unwrap_or_default());
    }
}

fn assert_is_account(file: &str, account: &str, subjects: &[Subject]) {
    assert_eq!(subjects.len(), 1, "{file}");
    assert_eq!(subjects[0].kind, "ServiceAccount", "{file}");
    assert_eq!(subjects[0].name, account, "{file}");
    let namespace = subjects[0].namespace.as_deref();
    assert_eq!(namespace, Some("open-cluster-management-hub"), "{file}");
}

#[test]
fn every_replica_runs_gate_and_controller_and_events_name_it() {
    let container = container();
    assert_eq!(container.args.unwrap_or_default()[0], "hub");
    let env = container.env.unwrap_or_default();
    assert_eq!(env.len(), 1);
    assert_eq!(env[0].name, "POD_NAME");
}

/// OCM's operator gives the executable as the first argument, and no command: an entrypoint would get it as an argument.
#[test]
fn the_image_starts_under_the_names_that_are_asked_for() {
    let container_file = std::fs::read_to_string(in_repository("Containerfile"))
        .expect("the Containerfile can be read");
    assert!(!container_file.contains("\nENTRYPOINT"));
    for executable in ["/berth", "/registration"] {
        assert!(
            container_file.contains(executable),
            "{executable} is not in the image"
        );
    }
    let command = container().command.unwrap_or_default();
    assert_eq!(command, ["/berth"]);
}
