//! The console in a pod: its account may do nothing, and by the overlay with impersonation it may do that and no more.

use serde_json::{Value, json};

use super::files::read;
use super::objects::assert_is_its_kind;
use super::overlays::{CONSOLE, args, build, deployment, given};

const ACCOUNT: &str = "berth-console-sa";
const PLAIN: &str = "manifests/overlays/console";
const IMPERSONATION: &str = "manifests/overlays/console-impersonation";

/// The kinds of sources in the volume at the path of a pod's credentials.
fn credentials(objects: &[Value]) -> Vec<String> {
    let pod = &deployment(objects, CONSOLE)["spec"]["template"]["spec"];
    let mounts = pod["containers"][0]["volumeMounts"].as_array();
    let mount = mounts.expect("mounts").iter().find(|it| {
        it["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount" && it["readOnly"] == true
    });
    let name = &mount.expect("the path of credentials")["name"];
    let volumes = pod["volumes"].as_array().expect("volumes");
    let volume = volumes.iter().find(|it| it["name"] == *name);
    let sources = volume.expect("its volume")["projected"]["sources"].as_array();
    let sources = sources.expect("it is projected").iter();
    let sources = sources.flat_map(|it| it.as_object().expect("a source").keys());
    sources.cloned().collect()
}

/// All bindings of all files, since users combine overlays.
#[test]
fn no_role_is_bound_to_the_consoles_account_but_by_the_overlay_with_impersonation() {
    let mut bound = Vec::new();
    for manifest in berth_manifests::files::ALL {
        for object in manifest.documents() {
            let subjects = object["subjects"].as_array().into_iter().flatten();
            if subjects.clone().any(|it| it["name"] == ACCOUNT) {
                bound.push(manifest.path);
            }
            // Not by a group either, except those that every account has.
            let mut groups = subjects.filter(|it| it["kind"] == "Group");
            let every = |it: &Value| {
                let name = it["name"].as_str().unwrap_or_default();
                name.starts_with("system:serviceaccounts") || name == "system:authenticated"
            };
            assert!(!groups.any(every), "{}: {object}", manifest.path);
        }
    }
    assert_eq!(
        bound,
        ["manifests/overlays/console-impersonation/role.yaml"]
    );
}

#[test]
fn the_consoles_pod_has_no_token() {
    let Some(objects) = build(PLAIN) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    assert_eq!(given(&objects, ACCOUNT), [""; 0]);
    let pod = &deployment(&objects, CONSOLE)["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], ACCOUNT);
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["volumes"].as_array().map(Vec::len), Some(1));
    assert_eq!(credentials(&objects), ["configMap", "downwardAPI"]);
    let is_account =
        |it: &&Value| it["kind"] == "ServiceAccount" && it["metadata"]["name"] == ACCOUNT;
    let account = objects.iter().find(is_account).expect("its account");
    assert_eq!(account["automountServiceAccountToken"], false);
    assert_eq!(
        args(&objects, CONSOLE),
        json!(["console", "--serve", "--public-url=https://localhost:8443"])
    );
}

/// The verbs that docs/console.md names.
#[test]
fn with_the_overlay_the_console_impersonates_users_and_groups_and_does_nothing_else() {
    let Some(objects) = build(IMPERSONATION) else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    assert_eq!(
        given(&objects, ACCOUNT),
        [
            r#"null {"apiGroups":[""],"resources":["groups"],"verbs":["impersonate"]}"#,
            r#"null {"apiGroups":[""],"resources":["users"],"verbs":["impersonate"]}"#,
        ]
    );
    assert_eq!(
        credentials(&objects),
        ["configMap", "downwardAPI", "serviceAccountToken"]
    );
    // Only the certificate of the CA, from a Secret that may have its key, too.
    let pod = &deployment(&objects, CONSOLE)["spec"]["template"]["spec"];
    let ca = &pod["volumes"][1]["secret"];
    assert_eq!(ca["items"], json!([{"key": "ca.crt", "path": "ca.crt"}]));
    let mount = &pod["containers"][0]["volumeMounts"][1];
    assert_eq!(mount["name"], pod["volumes"][1]["name"]);
    let file = mount["mountPath"].as_str().expect("a path");
    let flag = format!("--requestheader-client-ca-file={file}/ca.crt");
    let args = args(&objects, CONSOLE);
    assert!(args.as_array().expect("arguments").contains(&json!(flag)));
}

/// One replica, because sessions are in its memory: no two at once, and no PodDisruptionBudget that would block a drain.
#[test]
fn the_console_has_one_replica_and_a_service_that_leads_to_it() {
    let Some(objects) = build("manifests/console") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let spec = &deployment(&objects, CONSOLE)["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["strategy"], json!({"type": "Recreate"}));
    let labels = &spec["template"]["metadata"]["labels"];
    assert_eq!(spec["selector"]["matchLabels"], *labels);
    let service = objects.iter().find(|it| it["kind"] == "Service");
    let service = &service.expect("a Service")["spec"];
    assert_eq!(service["selector"], *labels);
    assert_eq!(
        service["ports"],
        json!([{"name": "console", "port": 443, "targetPort": "console"}])
    );
    let container = &spec["template"]["spec"]["containers"][0];
    let ports = json!([
        {"name": "console", "containerPort": 8443},
        {"name": "metrics", "containerPort": 8080},
        {"name": "health", "containerPort": 8000},
    ]);
    assert_eq!(container["ports"], ports);
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        let get = json!({"path": path, "port": "health"});
        assert_eq!(container[probe]["httpGet"], get);
    }
    assert!(objects.iter().all(|it| it["kind"] != "PodDisruptionBudget"));
}

#[test]
fn prometheus_scrapes_the_console() {
    let [Some(console), Some(monitoring)] =
        ["manifests/console", "manifests/monitoring"].map(build)
    else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let find = |kind: &str, name: &str| {
        let is_it = |it: &&Value| it["kind"] == kind && it["metadata"]["name"] == name;
        let found = monitoring.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no {kind} {name}")).clone()
    };
    let (service, monitor) = (
        find("Service", "berth-console-metrics"),
        find("ServiceMonitor", CONSOLE),
    );
    let template = &deployment(&console, CONSOLE)["spec"]["template"];
    let labels = &template["metadata"]["labels"];
    assert_eq!(service["spec"]["selector"], *labels);
    let port = &service["spec"]["ports"][0];
    let ports = template["spec"]["containers"][0]["ports"].as_array();
    let target = json!({"name": port["targetPort"], "containerPort": 8080});
    assert!(ports.expect("ports").contains(&target));
    let selected = &monitor["spec"]["selector"]["matchLabels"]["app"];
    assert_eq!(service["metadata"]["labels"]["app"], *selected);
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["port"], port["name"]);
    assert_eq!(endpoint["relabelings"][0]["replacement"], CONSOLE);
}

/// Both lead to a port of the Service, at one host, over TLS.
#[test]
fn the_examples_lead_to_the_console() {
    let service = &read("manifests/console/service.yaml")[0];
    let (name, port) = (&service["metadata"]["name"], &service["spec"]["ports"][0]);
    let ingress = &read("examples/console/ingress.yaml")[0];
    assert_is_its_kind("examples/console/ingress.yaml", ingress);
    let spec = &ingress["spec"];
    let rule = &spec["rules"][0];
    assert_eq!(spec["tls"][0]["hosts"], json!([rule["host"]]));
    let backend = &rule["http"]["paths"][0]["backend"]["service"];
    let expected = json!({"name": name, "port": {"name": port["name"]}});
    assert_eq!(*backend, expected);

    let gateway = read("examples/console/gateway.yaml");
    let route = gateway.iter().find(|it| it["kind"] == "HTTPRoute");
    let route = &route.expect("a route");
    let spec = &route["spec"];
    let expected = json!([{"name": name, "port": port["port"]}]);
    assert_eq!(spec["rules"][0]["backendRefs"], expected);
    let listener = &gateway[0]["spec"]["listeners"][0];
    assert_eq!(listener["protocol"], "HTTPS");
    assert_eq!(spec["hostnames"], json!([listener["hostname"]]));
    assert_eq!(
        spec["parentRefs"][0]["name"],
        gateway[0]["metadata"]["name"]
    );
    for object in gateway.iter().chain([ingress]) {
        assert_eq!(
            object["metadata"]["namespace"],
            service["metadata"]["namespace"]
        );
    }
}
