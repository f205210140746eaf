//! The kustomizations build, and each overlay adds what it is for.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::process::Command;

use berth_manifests::{Hub, Mode};
use serde_json::{Value, json};

use crate::manifests::files::{documents, in_repository, read};
use crate::manifests::objects::{Certificate, assert_is_its_kind};

/// What `kubectl kustomize` makes of a folder; `None` if there is no kubectl.
pub(crate) fn build(folder: &str) -> Option<Vec<Value>> {
    let output = match Command::new("kubectl")
        .arg("kustomize")
        .arg(in_repository(folder))
        .output()
    {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.expect("kubectl can be started"),
    };
    let (built, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{folder}: {errors}");
    Some(documents(folder, &built))
}

#[test]
fn kustomizations_build_the_objects() {
    for (folder, expected) in [
        ("manifests", 66),
        ("manifests/overlays/cert-manager", 63),
        ("manifests/overlays/replace-ocm", 9),
        ("manifests/overlays/replace-ocm-work", 3),
        ("manifests/overlays/hub", 64),
        ("manifests/overlays/ocm-names", 66),
        ("manifests/overlays/auto-approval", 68),
        ("manifests/overlays/cluster-profiles", 70),
        ("manifests/overlays/sig-placement-decisions", 72),
        ("manifests/overlays/network-policies", 69),
        ("manifests/overlays/client-certificates", 66),
        ("manifests/overlays/policies", 57),
        ("manifests/overlays/policies/monitoring", 11),
        ("manifests/overlays/policies-with-webhook", 71),
        ("manifests/monitoring", 12),
        ("manifests/bootstrap", 5),
        ("manifests/operator", 11),
        ("manifests/operator/klusterlet", 8),
        ("manifests/agent", 18),
        ("manifests/overlays/agent-without-admin", 17),
        ("manifests/overlays/agent-impersonation", 19),
        ("manifests/agent-monitoring", 10),
        ("manifests/overlays/placement-apart", 68),
        ("manifests/overlays/console", 69),
        ("manifests/overlays/console-impersonation", 71),
    ] {
        let Some(objects) = build(folder) else {
            eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
            return;
        };
        assert_eq!(objects.len(), expected, "{folder}");
        for object in &objects {
            assert_is_its_kind(folder, object);
        }
    }
}

/// `berth init` installs what kustomize makes of the overlays.
#[test]
fn each_mode_has_the_objects_of_its_overlay() {
    for (mode, folder) in [
        (Mode::Webhooks, "manifests"),
        (Mode::Policies, "manifests/overlays/policies"),
        (
            Mode::PoliciesWithWebhook,
            "manifests/overlays/policies-with-webhook",
        ),
        (Mode::Hub, "manifests/overlays/hub"),
    ] {
        let Some(built) = build(folder) else {
            eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
            return;
        };
        let built = by_name(&built);
        let hub = Hub::of(mode, "berth");
        let ours: Vec<Value> = hub.objects().cloned().collect();
        let ours = by_name(&ours);
        let names: Vec<_> = built.keys().collect();
        assert_eq!(ours.keys().collect::<Vec<_>>(), names, "{folder}");
        for (name, object) in &built {
            assert_eq!(&ours[name], object, "{folder}: {name}");
        }
    }
}

fn by_name(objects: &[Value]) -> BTreeMap<String, Value> {
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        format!(
            "{} {} {}",
            object["kind"], metadata["namespace"], metadata["name"]
        )
    };
    let numbered = objects
        .iter()
        .map(|it| (name(it), with_whole_numbers(it.clone())));
    numbered.collect()
}

/// kustomize prints `0.0` as `0`.
fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => json!(whole as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (name, with_whole_numbers(value)))
                .collect()
        }
        other => other,
    }
}

#[test]
fn with_cert_manager_every_registration_gets_the_ca_of_the_serving_certificate() {
    let Some(objects) = build("manifests/overlays/cert-manager") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let registrations: Vec<_> = objects
        .iter()
        .filter(|object| object.get("webhooks").is_some())
        .collect();
    assert_eq!(registrations.len(), 12);
    for registration in registrations {
        assert_eq!(
            registration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
            "open-cluster-management-hub/registration-webhook-serving-cert"
        );
    }
}

#[test]
fn the_serving_certificate_names_the_service_and_lands_in_the_mounted_secret() {
    let objects = read("manifests/overlays/cert-manager/server/certificate.yaml");
    let certificate = objects
        .iter()
        .find(|object| object["metadata"]["name"] == "registration-webhook-serving-cert")
        .expect("there is a serving certificate");
    let spec: Certificate = serde_json::from_value(certificate["spec"].clone())
        .expect("the tests of objects found it to be one");
    assert!(!spec.is_ca);
    let service = &read("manifests/server/service.yaml")[0]["metadata"];
    let name = format!(
        "{}.{}.svc",
        service["name"].as_str().expect("it has a name"),
        service["namespace"].as_str().expect("it has a namespace")
    );
    assert!(spec.dns_names.contains(&name), "{:?}", spec.dns_names);
    let patch = read("manifests/overlays/cert-manager/server/deployment.yaml");
    let volume = &patch[0]["spec"]["template"]["spec"]["volumes"][0];
    assert_eq!(volume["secret"]["secretName"], json!(spec.secret_name));
}

#[test]
fn with_cert_manager_the_gate_serves_what_is_mounted_and_makes_no_certificate() {
    let Some(objects) = build("manifests/overlays/cert-manager") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let pod = &deployment(&objects, GATE)["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["args"], json!(["webhook-server"]));
    assert_eq!(args(&objects, CONTROLLER), json!(["controller"]));
    assert_eq!(container["image"], "berth", "what the patch leaves alone");
    let mount = &container["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/tmp/k8s-webhook-server/serving-certs");
    assert_eq!(mount["name"], pod["volumes"][0]["name"]);
    let secret = &pod["volumes"][0]["secret"];
    assert_eq!(secret["secretName"], "registration-webhook-serving-cert");
    assert_eq!(secret["defaultMode"], 0o440);
    let is_of_certificates = |object: &&Value| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        name.contains("berth-registration:certificates") || name == "berth-webhook-certificates"
    };
    assert_eq!(objects.iter().filter(is_of_certificates).count(), 0);
    let base = build("manifests").expect("there is kubectl");
    assert_eq!(base.iter().filter(is_of_certificates).count(), 7);
}

pub(crate) const GATE: &str = "cluster-manager-registration-webhook";
pub(crate) const CONTROLLER: &str = "berth-registration-controller";
pub(crate) const CONSOLE: &str = "berth-console";

pub(super) fn deployment<'v>(objects: &'v [Value], name: &str) -> &'v Value {
    let is_it = |it: &&Value| it["kind"] == "Deployment" && it["metadata"]["name"] == name;
    let found = objects.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no Deployment {name}"))
}

pub(crate) fn args(objects: &[Value], name: &str) -> Value {
    deployment(objects, name)["spec"]["template"]["spec"]["containers"][0]["args"].clone()
}

/// Each rule that this account is given, with where it counts.
pub(super) fn given(objects: &[Value], account: &str) -> Vec<String> {
    let mut given = Vec::new();
    for binding in objects.iter().filter(|it| it["roleRef"].is_object()) {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        if subjects.clone().all(|it| it["name"] != account) {
            continue;
        }
        let role = &binding["roleRef"];
        let role = objects
            .iter()
            .find(|it| it["kind"] == role["kind"] && it["metadata"]["name"] == role["name"]);
        let rules = role.expect("its role is there, too")["rules"].as_array();
        for rule in rules.into_iter().flatten() {
            given.push(format!("{} {rule}", binding["metadata"]["namespace"]));
        }
    }
    given.sort();
    given
}

#[test]
fn berth_hub_has_the_rights_of_both_accounts_and_no_more() {
    let (Some(hub), Some(base)) = (build("manifests/overlays/hub"), build("manifests")) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    assert_eq!(
        args(&hub, GATE),
        json!(["hub", "--certificate-source=secret"])
    );
    let (gate, controller) = (
        "registration-webhook-sa",
        "berth-registration-controller-sa",
    );
    let mut both = given(&base, gate);
    both.extend(given(&base, controller));
    both.sort();
    assert_eq!(given(&hub, gate), both);
    for object in &hub {
        assert!(!object.to_string().contains(controller), "{object}");
    }
    let deployments = hub.iter().filter(|it| it["kind"] == "Deployment");
    assert_eq!(deployments.count(), 1);
    let comment =
        std::fs::read_to_string(in_repository("manifests/overlays/hub/kustomization.yaml"));
    assert!(
        comment
            .expect("it is there")
            .contains("has the rights of both")
    );
}

#[test]
fn apart_the_placement_controller_has_its_own_account_and_rights() {
    let (Some(apart), Some(base)) = (
        build("manifests/overlays/placement-apart"),
        build("manifests"),
    ) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let (controller, placement) = (
        "berth-registration-controller-sa",
        "berth-placement-controller-sa",
    );
    let mut both = given(&apart, controller);
    both.extend(given(&apart, placement));
    both.sort();
    assert_eq!(given(&base, controller), both);
    assert!(!given(&apart, placement).is_empty());
    let own = deployment(&apart, "berth-placement-controller");
    let pod = &own["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], placement);
    let own = args(&apart, "berth-placement-controller");
    assert_eq!(own, json!(["placement", "controller"]));
    let others = args(&apart, CONTROLLER);
    assert_eq!(
        others,
        json!([
            "controller",
            "--keep-certificates",
            "--controllers=*,-placement"
        ])
    );
}

/// `manifests/cluster-manager/management/registration/deployment.yaml` of OCM. A selector cannot be changed.
#[test]
fn by_ocms_names_the_controller_replaces_ocms() {
    let Some(objects) = build("manifests/overlays/ocm-names") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let deployment = deployment(&objects, "cluster-manager-registration-controller");
    assert_eq!(
        deployment["metadata"]["labels"]["app"],
        "cluster-manager-registration-controller"
    );
    let selected = json!({"app": "clustermanager-registration-controller"});
    assert_eq!(
        deployment["spec"]["selector"],
        json!({"matchLabels": selected})
    );
    let pods = &deployment["spec"]["template"];
    assert_eq!(pods["metadata"]["labels"]["app"], selected["app"]);
    assert_eq!(
        pods["metadata"]["labels"]["berth.open-cluster-management.io/component"],
        "controller"
    );
    let pod = &pods["spec"];
    assert_eq!(pod["containers"][0]["name"], "hub-registration-controller");
    // Whatever OCM's account has been granted, it is not ours.
    assert_eq!(
        pod["serviceAccountName"],
        "berth-registration-controller-sa"
    );
    let berths = objects
        .iter()
        .filter(|it| it["metadata"]["name"] == CONTROLLER);
    assert_eq!(berths.count(), 0);
}

#[test]
fn to_accept_clusters_is_granted_by_the_overlay_alone() {
    let (Some(base), Some(overlay)) = (
        build("manifests"),
        build("manifests/overlays/auto-approval"),
    ) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let account = "berth-registration-controller-sa";
    let accepts = |rules: Vec<String>| rules.iter().any(|it| it.contains("managedclusters/accept"));
    assert!(!accepts(given(&base, account)));
    assert!(accepts(given(&overlay, account)));
    assert!(!accepts(given(&overlay, "registration-webhook-sa")));
    let args = args(&overlay, CONTROLLER).to_string();
    assert!(args.contains("--keep-certificates"), "{args}");
    assert!(args.contains("ManagedClusterAutoApproval=true"), "{args}");
}

#[test]
fn cluster_profiles_are_kept_with_the_overlay_alone() {
    let (Some(base), Some(overlay)) = (
        build("manifests"),
        build("manifests/overlays/cluster-profiles"),
    ) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let account = "berth-registration-controller-sa";
    let writes = |rules: Vec<String>| rules.iter().any(|it| it.contains("clusterprofiles"));
    assert!(!writes(given(&base, account)));
    assert!(writes(given(&overlay, account)));
    assert!(!writes(given(&overlay, "registration-webhook-sa")));
    let args = args(&overlay, CONTROLLER).to_string();
    assert!(args.contains("ClusterProfile=true"), "{args}");
}

#[test]
fn decisions_of_the_sig_are_kept_with_the_overlay_alone() {
    let (Some(profiles), Some(overlay)) = (
        build("manifests/overlays/cluster-profiles"),
        build("manifests/overlays/sig-placement-decisions"),
    ) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let account = "berth-registration-controller-sa";
    let more = given(&overlay, account).len() - given(&profiles, account).len();
    assert_eq!(more, 1);
    let gate = "registration-webhook-sa";
    assert_eq!(given(&overlay, gate), given(&profiles, gate));
    // Both gates: a later flag adds to an earlier one.
    let args = args(&overlay, CONTROLLER).to_string();
    assert!(args.contains("ClusterProfile=true"), "{args}");
    assert!(args.contains("SIGPlacementDecision=true"), "{args}");
}

/// Ingress by port from anywhere, and no list for egress: both depend on the cluster.
#[test]
fn network_policies_open_the_ports_of_the_pods_and_no_others() {
    let folders = ["manifests/overlays/network-policies", "manifests/console"];
    let [Some(mut objects), Some(console)] = folders.map(build) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    objects.extend(console);
    for (name, policy) in [(GATE, GATE), (CONTROLLER, CONTROLLER), (CONSOLE, CONSOLE)] {
        let pods = &deployment(&objects, name)["spec"]["template"];
        let is_it = |it: &&Value| it["kind"] == "NetworkPolicy" && it["metadata"]["name"] == policy;
        let policy = objects.iter().find(is_it).expect("there is one");
        let spec = &policy["spec"];
        for (key, value) in spec["podSelector"]["matchLabels"]
            .as_object()
            .expect("labels")
        {
            assert_eq!(pods["metadata"]["labels"][key], *value, "{name}");
        }
        assert_eq!(spec["policyTypes"], json!(["Ingress"]));
        let rules = spec["ingress"].as_array().expect("rules");
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].get("from"), None);
        let opened: Vec<_> = rules[0]["ports"]
            .as_array()
            .expect("ports")
            .iter()
            .collect();
        let ports = pods["spec"]["containers"][0]["ports"]
            .as_array()
            .expect("ports");
        assert_eq!(opened.len(), ports.len(), "{name}");
        for port in ports {
            assert!(opened.iter().any(|it| it["port"] == port["name"]), "{port}");
        }
    }
}

#[test]
fn clients_certificates_are_verified_by_the_mounted_ca() {
    let Some(objects) = build("manifests/overlays/client-certificates") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let pod = &deployment(&objects, GATE)["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let mount = &container["volumeMounts"][0];
    let file = format!(
        "--client-ca-file={}/ca.crt",
        mount["mountPath"].as_str().unwrap_or_default()
    );
    let args = container["args"].as_array().expect("arguments");
    assert!(args.contains(&json!(file)), "{args:?}");
    assert!(
        args.contains(&json!("--certificate-source=secret")),
        "{args:?}"
    );
    assert_eq!(mount["name"], pod["volumes"][0]["name"]);
}

/// With a token, and the right to use it: the account, the role and the ServiceMonitor fit.
fn assert_prometheus_reads(objects: &[Value], job: &str, service: &str) {
    let find = |kind: &str, name: &str| {
        let is_it = |it: &&Value| it["kind"] == kind && it["metadata"]["name"] == name;
        objects
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    let monitor = find("ServiceMonitor", job);
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["scheme"], "https");
    assert_eq!(endpoint["relabelings"][0]["replacement"], job);
    let credentials = &endpoint["authorization"]["credentials"];
    let token = find("Secret", credentials["name"].as_str().unwrap_or_default());
    assert_eq!(token["type"], "kubernetes.io/service-account-token");
    let account = &token["metadata"]["annotations"]["kubernetes.io/service-account.name"];
    find("ServiceAccount", account.as_str().unwrap_or_default());
    let rules = given(objects, account.as_str().unwrap_or_default());
    assert_eq!(
        rules,
        [r#"null {"nonResourceURLs":["/metrics"],"verbs":["get"]}"#]
    );
    let service = find("Service", service);
    let wanted = &monitor["spec"]["selector"]["matchLabels"]["app"];
    assert_eq!(service["metadata"]["labels"]["app"], *wanted);
}

#[test]
fn without_admin_the_agent_writes_only_the_kinds_of_roles_with_the_label() {
    let folders = [
        "manifests/agent",
        "manifests/overlays/agent-without-admin",
        "manifests/overlays/agent-impersonation",
    ];
    let [Some(agent), Some(without), Some(impersonating)] = folders.map(build) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let roles = |objects: &[Value]| -> Vec<String> {
        let bindings = objects
            .iter()
            .filter(|it| it["kind"] == "ClusterRoleBinding");
        let role = |it: &Value| {
            it["roleRef"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let mut roles: Vec<_> = bindings.map(role).collect();
        roles.sort();
        roles
    };
    let prefix = "open-cluster-management:berth-agent";
    let own = ["", "-applied-works", "-work"].map(|it| format!("{prefix}{it}"));
    assert_eq!(roles(&without), own);
    let with = |role: &str| {
        let mut all = own.to_vec();
        all.push(role.to_owned());
        all.sort();
        all
    };
    assert_eq!(roles(&agent), with("admin"));
    let impersonation = format!("{prefix}-work-impersonation");
    assert_eq!(roles(&impersonating), with(&impersonation));
}

#[test]
fn prometheus_may_read_the_controllers_metrics() {
    let Some(objects) = build("manifests/monitoring") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let service = "berth-registration-controller-metrics";
    assert_prometheus_reads(&objects, "berth-controller", service);
    let is_gates =
        |it: &&Value| it["kind"] == "ServiceMonitor" && it["metadata"]["name"] == "berth";
    let gates = objects.iter().find(is_gates).expect("a ServiceMonitor");
    assert_eq!(
        gates["spec"]["endpoints"][0]["relabelings"][0]["replacement"],
        "berth"
    );
}

/// The agent's own account gets the permission to check a scraper's token, which it has only here.
#[test]
fn prometheus_may_read_the_agents_metrics() {
    let folders = ["manifests/agent", "manifests/agent-monitoring"];
    let [Some(agent), Some(objects)] = folders.map(build) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    assert_prometheus_reads(&objects, "berth-agent", "berth-agent-metrics");
    assert_eq!(
        given(&objects, "berth-agent"),
        [
            r#"null {"apiGroups":["authentication.k8s.io"],"resources":["tokenreviews"],"verbs":["create"]}"#,
            r#"null {"apiGroups":["authorization.k8s.io"],"resources":["subjectaccessreviews"],"verbs":["create"]}"#,
        ]
    );
    let of = |objects: &[Value], kind: &str| {
        let found = objects.iter().find(|it| it["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}")).clone()
    };
    let (service, deployment) = (of(&objects, "Service"), of(&agent, "Deployment"));
    let pod = &deployment["spec"]["template"];
    let selected = service["spec"]["selector"].as_object().expect("a selector");
    for (key, value) in selected {
        assert_eq!(pod["metadata"]["labels"][key], *value, "{key}");
    }
    let port = &pod["spec"]["containers"][0]["ports"][0];
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    assert_eq!(
        service["metadata"]["namespace"],
        deployment["metadata"]["namespace"]
    );
}
