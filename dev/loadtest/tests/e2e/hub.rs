//! Writes to a hub that calls the gate.

use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_devhub::{DevHub, Options};
use berth_manifests::files::CRDS;
use berth_manifests::{Manifest, ShippedWebhook, webhooks};
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::gate::{Gate, runtime};
use crate::{loadtest, read, report};

const WEBHOOKS: [&ShippedWebhook; 3] = [
    &webhooks::MUTATE_CLUSTER,
    &webhooks::VALIDATE_CLUSTER,
    &webhooks::VALIDATE_BINDING,
];

/// A devhub with the gate in front of it.
struct Guarded {
    gate: Option<Gate>,
    client: Client,
    folder: TempDir,
    _hub: DevHub,
    runtime: Runtime,
}

impl Guarded {
    fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (gate, runtime) = (Gate::start(), runtime());
        let hub = runtime.block_on(DevHub::start(Options::default())).unwrap();
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, hub.kubeconfig("admin", &["system:masters"]).unwrap()).unwrap();
        let client = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&file).unwrap();
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            Client::try_from(config.unwrap()).unwrap()
        });
        let guarded = Self {
            gate: Some(gate),
            client,
            folder,
            _hub: hub,
            runtime,
        };
        guarded.install();
        guarded
    }

    fn install(&self) {
        let gate = self.gate.as_ref().unwrap();
        for object in CRDS.iter().flat_map(Manifest::documents) {
            self.apply(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                &object,
            );
        }
        // A hub can take a moment to serve a new CRD.
        wait("the hub serves the clusters", || {
            self.names("managedclusters").is_ok()
        });
        let ca = std::fs::read(gate.ca()).unwrap();
        for webhook in WEBHOOKS {
            let mut object = webhook.registration();
            let webhook = &mut object["webhooks"][0];
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
            let url = format!("{}{path}", gate.url());
            let ca = BASE64_STANDARD.encode(&ca);
            webhook["clientConfig"] = json!({"url": url, "caBundle": ca});
            let kind = object["kind"].as_str().unwrap().to_lowercase();
            let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}s");
            self.apply(&path, &object);
        }
    }

    fn apply(&self, path: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let request = Request::patch(format!("{path}/{name}?fieldManager=test&force=true"))
            .header("content-type", "application/apply-patch+yaml")
            .body(object.to_string().into_bytes());
        let applied = self.client.request_text(request.unwrap());
        self.runtime.block_on(applied).unwrap();
    }

    /// Returns the names of all objects of a resource that the load tool created.
    fn names(&self, resource: &str) -> Result<Vec<String>, kube::Error> {
        let path = match resource {
            "namespaces" => "/api/v1/namespaces".to_owned(),
            "managedclusters" => format!("/apis/cluster.open-cluster-management.io/v1/{resource}"),
            _ => format!("/apis/cluster.open-cluster-management.io/v1beta2/{resource}"),
        };
        let request = Request::get(path).body(Vec::new()).unwrap();
        let list: Value = self.runtime.block_on(self.client.request(request))?;
        let items = list["items"].as_array().into_iter().flatten();
        let names = items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
        Ok(names.filter(|name| name.starts_with("loadtest-")).collect())
    }

    fn kubeconfig(&self) -> String {
        self.folder
            .path()
            .join("kubeconfig")
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// Checks that no objects are left; namespaces take a moment to be deleted.
    fn is_clean(&self) {
        for resource in [
            "managedclusters",
            "managedclustersets",
            "managedclustersetbindings",
        ] {
            let left = self.names(resource).unwrap();
            assert!(left.is_empty(), "{resource}: {left:?}");
        }
        wait("namespaces are gone", || {
            self.names("namespaces").unwrap().is_empty()
        });
    }
}

fn wait(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{what}: not in time"
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn dry_runs_and_real_writes_are_decided_and_leave_nothing() {
    let hub = Guarded::start();
    let kubeconfig = hub.kubeconfig();
    let mix = "update=1,create=1,accept=1,move=1,bind=1";
    for writes in ["dry-run", "real"] {
        let args = [
            "--kubeconfig",
            &kubeconfig,
            "--writes",
            writes,
            "--mix",
            mix,
        ];
        let (code, report, said) = report("2", &[&args[..], &["--expect", "allowed"]].concat());
        assert_eq!(code, 0, "{writes}: {report:#} {said}");
        for kind in report["kinds"].as_array().unwrap() {
            assert!(kind["allowed"].as_u64().unwrap() > 0, "{writes}: {kind}");
        }
        let words = if writes == "real" {
            "writes of"
        } else {
            "dry runs of"
        };
        assert!(report["sent"].as_str().unwrap().starts_with(words));
        hub.is_clean();
    }
}

#[test]
fn a_denial_is_an_answer_and_a_webhook_without_one_is_a_failure() {
    let mut hub = Guarded::start();
    let kubeconfig = hub.kubeconfig();
    // The group gives permissions on the hub; the gate's files do not contain it.
    let user = ["--user", "bob=system:masters"];
    let args = ["--kubeconfig", &kubeconfig, "--mix", "accept=1"];
    let (code, allowed, said) = report("2", &[&args[..], &user].concat());
    assert_eq!(code, 0, "{allowed:#} {said}");

    let (code, forbidden, _) = report("2", &[&args[..], &["--user", "bob"]].concat());
    assert_eq!(code, 1);
    let first = &forbidden["failures"]["status"]["first"];
    assert!(
        first.as_str().unwrap().contains("status 403"),
        "RBAC is no webhook: {first}"
    );

    // Bob may patch clusters now, but not accept them.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "writer"},
        "rules": [{"apiGroups": ["cluster.open-cluster-management.io"], "resources": ["*"], "verbs": ["*"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "writer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    hub.apply(&format!("{rbac}/clusterroles"), &role);
    hub.apply(&format!("{rbac}/clusterrolebindings"), &binding);
    let denied = ["--user", "bob", "--expect", "denied"];
    let (code, denied, said) = report("2", &[&args[..], &denied].concat());
    assert_eq!(code, 0, "{denied:#} {said}");
    assert!(denied["verdicts"]["denied"].as_u64().unwrap() > 0);
    hub.is_clean();

    // Without the gate, creating the clusters fails, and the objects created before are deleted.
    hub.gate = None;
    let (code, _, said) = report("2", &args);
    assert_eq!(code, 1);
    assert!(
        said.contains("cannot create ManagedCluster loadtest-"),
        "{said}"
    );
    hub.is_clean();
}

#[test]
fn a_signal_ends_the_run_with_a_report_and_everything_cleaned_up() {
    let hub = Guarded::start();
    let kubeconfig = hub.kubeconfig();
    let args = [
        "--kubeconfig",
        &kubeconfig,
        "--writes",
        "real",
        "-o",
        "json",
    ];
    let mut command = loadtest("600", &args);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let child = Running(Some(child));
    wait("three writers have clusters", || {
        hub.names("managedclusters").unwrap().len() >= 3
    });
    let output = child.interrupt();
    let (code, report, said) = read(output);
    assert_eq!(code, 1, "{report:#} {said}");
    // Otherwise the run had not begun.
    assert!(
        report["interrupted"] == true || said.contains("interrupted"),
        "{report:#} {said}"
    );
    hub.is_clean();
}

/// A program under test; it is killed when this is dropped.
struct Running(Option<Child>);

impl Running {
    /// Sends SIGINT, as Ctrl-C does, and returns the result.
    fn interrupt(mut self) -> Output {
        let child = self.0.take().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
