//! The objects around the server refer to each other correctly, and the server has the rights that it needs and no others.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::crds::addons;
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::{names, roles};
use berth_policies::installed::PolicyName;
use berth_review::Webhook;
use berth_webhooks::shipped;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, PodSpec, Probe, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role, Subject};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use serde_json::Value;

use crate::manifests::files::{in_repository, object, read, resources};

const DEPLOYMENT: &str = "manifests/server/deployment.yaml";
const ROLE: &str = "manifests/server/cluster-role.yaml";
const EXTRA_ROLE: &str = "manifests/overlays/replace-ocm/cluster-role.yaml";
const CERTIFICATES_ROLE: &str = "manifests/server/certificates-role.yaml";
const CONTROLLER_ROLE: &str = "manifests/server/controller-role.yaml";
const AUTO_APPROVAL_ROLE: &str = "manifests/overlays/auto-approval/role.yaml";
const CLUSTER_PROFILES_ROLE: &str = "manifests/overlays/cluster-profiles/role.yaml";
const CONTROLLER: &str = "manifests/server/controller-deployment.yaml";
const ACCOUNTS: &str = "manifests/server/service-account.yaml";
const GATES_ACCOUNT: &str = "registration-webhook-sa";
const CONTROLLERS_ACCOUNT: &str = "berth-registration-controller-sa";

fn deployment() -> Deployment {
    object(DEPLOYMENT, "Deployment")
}

fn pod() -> PodSpec {
    pod_of(DEPLOYMENT)
}

fn pod_of(file: &str) -> PodSpec {
    object::<Deployment>(file, "Deployment")
        .spec
        .and_then(|spec| spec.template.spec)
        .expect("the Deployment has a pod template")
}

fn container() -> Container {
    container_of(DEPLOYMENT)
}

fn container_of(file: &str) -> Container {
    let mut containers = pod_of(file).containers;
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

/// The number of a container port of the gate, by number or name.
fn port(port: &IntOrString) -> Option<i32> {
    port_of(DEPLOYMENT, port)
}

fn port_of(file: &str, port: &IntOrString) -> Option<i32> {
    let ports = container_of(file).ports.unwrap_or_default();
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

    // The controller has health and metrics on one port, by HTTPS.
    let controller = container_of(CONTROLLER);
    for (probe, expected) in [
        (controller.liveness_probe, "/healthz"),
        (controller.readiness_probe, "/readyz"),
    ] {
        let get = probe
            .and_then(|probe| probe.http_get)
            .expect("the probe is an HTTP GET");
        assert_eq!(get.path.as_deref(), Some(expected));
        assert_eq!(get.scheme.as_deref(), Some("HTTPS"));
        assert_eq!(port_of(CONTROLLER, &get.port), Some(8443));
    }
}

#[test]
fn the_controllers_selectors_select_its_pods_and_no_others() {
    let spec = object::<Deployment>(CONTROLLER, "Deployment").spec;
    let spec = spec.expect("the Deployment has a spec");
    let labels = spec.template.metadata.and_then(|it| it.labels);
    let labels = labels.expect("the pods have labels");
    let selected = spec.selector.match_labels.expect("it selects by labels");
    let has = |labels: &BTreeMap<String, String>, (key, value): (&String, &String)| {
        labels.get(key) == Some(value)
    };
    assert!(selected.iter().all(|label| has(&labels, label)));
    assert!(!selected.iter().all(|label| has(&pod_labels(), label)));
    let spread = pod_of(CONTROLLER).topology_spread_constraints;
    for constraint in spread.expect("the pods are spread") {
        let selector = constraint.label_selector.and_then(|it| it.match_labels);
        assert_eq!(selector, Some(selected.clone()));
    }
    // By this one monitoring and NetworkPolicies find it, whatever it is called.
    let component = "berth.open-cluster-management.io/component";
    assert_eq!(labels[component], "controller");
    assert_eq!(pod_labels().get(component), None);
    assert_eq!(spec.replicas, Some(2));
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
fn the_pods_may_do_nothing_they_need_not() {
    for file in [DEPLOYMENT, CONTROLLER, "manifests/console/deployment.yaml"] {
        may_do_nothing_it_need_not(file);
    }
}

fn may_do_nothing_it_need_not(file: &str) {
    let pod = pod_of(file);
    let of_pod = pod.security_context.expect("the pod is confined");
    assert_eq!(of_pod.run_as_non_root, Some(true));
    assert!(of_pod.run_as_user > Some(0));
    let profile = of_pod.seccomp_profile.expect("system calls are confined");
    assert_eq!(profile.type_, "RuntimeDefault");
    let container = container_of(file);
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

/// The role of this name in a file.
fn role(file: &str, name: &str) -> Role {
    let roles = read(file).into_iter();
    let role = roles
        .filter(|object| object["kind"] == "Role")
        .find(|object| object["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("{file} holds no Role {name}"));
    serde_json::from_value(role).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What reading and keeping the certificate takes: the Secret and the Lease of the flag's default, and the registrations'
/// bundles. Nobody may create or delete the Secret.
#[test]
fn the_roles_of_the_certificate_grant_what_reading_and_keeping_it_takes_and_no_more() {
    let name = "berth-webhook-certificates";
    let reader = role(CERTIFICATES_ROLE, "berth-registration:certificates-reader");
    assert_eq!(
        permissions_of(reader.rules.unwrap_or_default()),
        BTreeSet::from(["get", "list", "watch"].map(|verb| format!("{verb} /secrets {name}")))
    );
    let keeper = role(CERTIFICATES_ROLE, "berth-registration:certificates");
    let mut granted = permissions_of(keeper.rules.unwrap_or_default());
    granted.extend(permissions(object(CERTIFICATES_ROLE, "ClusterRole")));
    let mut needed: BTreeSet<_> = ["create coordination.k8s.io/leases"]
        .map(String::from)
        .into();
    for verb in ["get", "list", "watch", "update"] {
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
            let name = shipped(webhook).name;
            needed.insert(format!("{verb} admissionregistration.k8s.io/{kind} {name}"));
        }
    }
    for crd in addons().iter().filter(|it| it.spec.conversion.is_some()) {
        for verb in ["get", "list", "watch", "patch"] {
            let name = crd.metadata.name.as_deref().expect("a CRD has a name");
            let resource = "apiextensions.k8s.io/customresourcedefinitions";
            needed.insert(format!("{verb} {resource} {name}"));
        }
    }
    assert_eq!(granted, needed);
}

/// To apply it again must not take anything away: whoever applies a field owns it.
#[test]
fn the_secret_ships_empty() {
    let secret = read("manifests/server/certificates.yaml").remove(0);
    let fields: Vec<_> = secret.as_object().expect("it is one").keys().collect();
    assert_eq!(fields, ["apiVersion", "kind", "metadata", "type"]);
    assert_eq!(secret["type"], "Opaque", "as the keeper fills it");
    assert_eq!(secret["metadata"]["name"], "berth-webhook-certificates");
    let metadata = secret["metadata"].as_object().expect("it has some");
    let fields: Vec<_> = metadata.keys().collect();
    assert_eq!(fields, ["labels", "name", "namespace"]);
}

/// The flags' defaults are what the manifests count on.
#[test]
fn the_certificate_is_kept_in_a_secret_for_the_service() {
    let args = container().args.unwrap_or_default();
    assert_eq!(args, ["webhook-server", "--certificate-source=secret"]);
    let args = container_of(CONTROLLER).args.unwrap_or_default();
    assert_eq!(args, ["controller", "--keep-certificates"]);
    for file in [DEPLOYMENT, CONTROLLER] {
        assert_eq!(pod_of(file).volumes, None);
        assert_eq!(container_of(file).volume_mounts, None);
    }
    let help = std::process::Command::new(berth_testkit::program())
        .args(["controller", "--help"])
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

/// Roles as those have to hold them who write them.
fn held_for(roles: Vec<Value>) -> BTreeSet<String> {
    let permissions = roles.into_iter().map(|role| {
        let mut role: ClusterRole = serde_json::from_value(role).expect("it is a ClusterRole");
        for rule in role.rules.iter_mut().flatten() {
            // The names of clusters are not known in advance.
            rule.resource_names = None;
        }
        permissions(role)
    });
    permissions.flatten().collect()
}

/// What is in the ClusterRole of a cluster: only who has it may write that role.
fn in_the_roles_of_clusters() -> BTreeSet<String> {
    let config = Config::default();
    let roles = [true, false].map(|accepted| roles::cluster_role(&config, "c1", accepted));
    held_for(roles.into())
}

/// What is in the two roles that all agents share: who may bind them need not have it.
fn in_the_shared_roles() -> BTreeSet<String> {
    let config = Config::default();
    held_for(vec![
        roles::registration_role(&config),
        roles::work_role(&config),
    ])
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
    ("get list watch create patch", "coordination.k8s.io/leases"),
    (
        "list watch patch",
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
    // Who may read metrics.
    ("create", "authentication.k8s.io/tokenreviews"),
    ("create", "events.k8s.io/events"),
];

/// To take a foreign cluster's label from a CSR. OCM's account cannot: there the CSR is reported.
const FOREIGN_LABELS: &str = "patch certificates.k8s.io/certificatesigningrequests";

/// With the gate ManagedClusterAutoApproval.
const AUTO_APPROVAL: &str = "update register.open-cluster-management.io/managedclusters/accept";

/// With the gate ClusterProfile.
const CLUSTER_PROFILES: [(&str, &str); 2] = [
    (
        "get list watch create patch delete",
        "multicluster.x-k8s.io/clusterprofiles",
    ),
    ("patch", "multicluster.x-k8s.io/clusterprofiles/status"),
];

/// What OCM's own role grants, as far as it is about the same.
const OCMS: [(&str, &str); 24] = [
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
    ("create", "authentication.k8s.io/tokenreviews"),
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

/// The right to follow each policy of Berth and its binding.
fn follows() -> BTreeSet<String> {
    let each = PolicyName::all().iter().flat_map(|policy| {
        let resources = [policy.kind.policies(), policy.kind.bindings()];
        resources.into_iter().flat_map(|resource| {
            let object = format!("admissionregistration.k8s.io/{resource} {}", policy.name);
            ["list", "watch"].map(|verb| format!("{verb} {object}"))
        })
    });
    each.collect()
}

/// The right to bind the two roles that all agents share.
fn binds() -> BTreeSet<String> {
    let names = [names::REGISTRATION_ROLE, names::WORK_ROLE];
    names
        .map(|name| format!("bind rbac.authorization.k8s.io/clusterroles {name}"))
        .into()
}

#[test]
fn the_controllers_role_grants_what_it_does_and_what_it_grants_and_no_more() {
    let granted = permissions(object(CONTROLLER_ROLE, "ClusterRole"));
    let needed = &spelled_out(&DONE) | &in_the_roles_of_clusters();
    assert_eq!(granted, &(&needed | &binds()) | &follows());
    let more = permissions(object(AUTO_APPROVAL_ROLE, "ClusterRole"));
    assert_eq!(more, BTreeSet::from([AUTO_APPROVAL.to_owned()]));
    let profiles = permissions(object(CLUSTER_PROFILES_ROLE, "ClusterRole"));
    assert_eq!(profiles, spelled_out(&CLUSTER_PROFILES));
    assert!(!granted.iter().any(|right| right.starts_with("escalate")));
    let others: BTreeSet<_> = &in_the_shared_roles() - &needed;
    assert!(granted.is_disjoint(&others), "what agents have it need not");
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
    let granted = &in_the_roles_of_clusters() | &in_the_shared_roles();
    let mut needed = &spelled_out(&DONE) | &granted;
    needed.insert(AUTO_APPROVAL.to_owned());
    assert!(needed.remove(FOREIGN_LABELS));
    assert_eq!(spelled_out(&OCMS), needed);
}

#[test]
fn each_role_is_bound_to_the_account_that_needs_it_and_to_no_other() {
    for (file, account) in [
        (DEPLOYMENT, GATES_ACCOUNT),
        (CONTROLLER, CONTROLLERS_ACCOUNT),
    ] {
        let pod = pod_of(file);
        assert_eq!(pod.service_account_name.as_deref(), Some(account));
        assert_eq!(pod.automount_service_account_token, Some(true));
    }
    let accounts = read(ACCOUNTS);
    let accounts: Vec<_> = accounts.iter().map(|it| &it["metadata"]["name"]).collect();
    assert_eq!(accounts, [GATES_ACCOUNT, CONTROLLERS_ACCOUNT]);
    let mut bound = Vec::new();
    for file in [
        ROLE,
        EXTRA_ROLE,
        CONTROLLER_ROLE,
        CERTIFICATES_ROLE,
        AUTO_APPROVAL_ROLE,
        CLUSTER_PROFILES_ROLE,
    ] {
        let objects = read(file);
        for binding in objects.iter().filter(|it| it["roleRef"].is_object()) {
            let (kind, name) = (&binding["roleRef"]["kind"], &binding["roleRef"]["name"]);
            assert_eq!(
                binding["kind"],
                format!("{}Binding", kind.as_str().unwrap_or_default())
            );
            assert_eq!(&binding["metadata"]["name"], name, "{file}");
            assert!(
                objects
                    .iter()
                    .any(|it| it["kind"] == *kind && it["metadata"]["name"] == *name),
                "{file}: no {kind} {name}"
            );
            let subjects = binding["subjects"].clone();
            let subjects: Vec<Subject> =
                serde_json::from_value(subjects).expect("a binding has subjects");
            let account = subjects[0].name.clone();
            assert_is_account(file, &account, &subjects);
            bound.push((account, name.as_str().unwrap_or_default().to_owned()));
        }
    }
    bound.sort();
    // In the overlay for OCM's operator, too.
    bound.dedup();
    let of = |account: &str| -> Vec<&str> {
        let of = bound.iter().filter(|(bound, _)| bound == account);
        of.map(|(_, role)| role.as_str()).collect()
    };
    // These two names are all that the gate has: one that asks, one that reads the certificate.
    assert_eq!(
        of(GATES_ACCOUNT),
        [
            "berth-registration:certificates-reader",
            "open-cluster-management:berth-registration:webhook",
        ]
    );
    assert_eq!(
        of(CONTROLLERS_ACCOUNT),
        [
            "berth-registration:certificates",
            "berth-registration:election",
            "open-cluster-management:berth-registration:auto-approval",
            "open-cluster-management:berth-registration:certificates",
            "open-cluster-management:berth-registration:cluster-profiles",
            "open-cluster-management:berth-registration:controller",
        ]
    );
}

/// This name of the gate's role was OCM's, whose operator takes it over, with fewer rights, while the gate still runs.
const RENAMED: &str = "open-cluster-management:cluster-manager-registration:webhook";

/// roleRef cannot be changed, and what is not applied any more stays: so an upgrade must find each object by its name.
#[test]
fn an_upgrade_leaves_no_object_of_the_former_manifests_behind() {
    let id = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
    let ours: Vec<_> = resources("manifests/server")
        .iter()
        .flat_map(|file| read(file))
        .collect();
    let before = read("tests/data/upgrade/one-deployment.yaml").into_iter();
    for before in before.filter(|it| it["metadata"]["name"] != RENAMED) {
        let now = ours.iter().find(|it| id(it) == id(&before));
        let now = now.unwrap_or_else(|| panic!("left over: {}", id(&before)));
        assert_eq!(now["roleRef"], before["roleRef"], "{}", id(&before));
        assert_eq!(
            now["spec"]["selector"],
            before["spec"]["selector"],
            "{}",
            id(&before)
        );
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
fn events_and_leases_name_the_controllers_replica() {
    assert_eq!(container().env, None);
    let env = container_of(CONTROLLER).env.unwrap_or_default();
    let names: Vec<_> = env.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["POD_NAME", "POD_UID"]);
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
    for file in [DEPLOYMENT, CONTROLLER] {
        let command = container_of(file).command.unwrap_or_default();
        assert_eq!(command, ["/berth"]);
    }
}
