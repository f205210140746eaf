//! `charts/berth-hub` by the real helm, each major that is installed: what it installs and removes, and what it leaves alone.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use berth_testkit::cluster::{
    Cluster, Output, Person, finish, fresh, kubectl_is_there, rule, say_skipped,
    wait_until_in_force,
};
use berth_testkit::eventually;
use berth_testkit::hub_node::HubNode;
use berth_testkit::objects::{CLUSTER_GROUP, cluster};
use berth_testkit::writers::Writers;
use serde_json::{Value, json};

use crate::house::CLUSTERS;

const NAMESPACE: &str = "open-cluster-management-hub";
const SECRET: &str =
    "/api/v1/namespaces/open-cluster-management-hub/secrets/berth-webhook-certificates";
const GATE: &str = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/cluster-manager-registration-webhook";
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/managedclustersetvalidators.admission.cluster.open-cluster-management.io";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/managedclusters.cluster.open-cluster-management.io";

/// A helm, on a hub of its own.
struct Helm {
    program: &'static str,
    admin: Person,
}

/// Each helm on the PATH, reported if one is missing.
pub fn programs() -> Vec<&'static str> {
    let is_there = |program: &&str| match Command::new(program).arg("version").output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            say_skipped(&format!("no {program} on PATH"));
            false
        }
        _ => true,
    };
    ["helm", "helm3"].into_iter().filter(is_there).collect()
}

impl Helm {
    /// Runs it at the hub, with its own files only.
    async fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(self.program);
        // As kubectl is run.
        for (name, value) in self.admin.kubectl_command(&[]).get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(args).args(["--namespace", NAMESPACE]);
        finish(command, "").await
    }

    /// Installs or upgrades the release with this value.
    async fn set(&self, verb: &str, value: &str) {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/berth-hub");
        let chart = chart.to_str().unwrap();
        let mut args = vec![verb, "hub", chart, "--set", value];
        if verb == "install" {
            // On a real server, other tests have installed CRDs before.
            args.extend(["--create-namespace", "--take-ownership"]);
        }
        self.run(&args).await.ok();
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.admin.get(path).await.unwrap();
        match answer.code {
            200 => answer.body,
            404 => Value::Null,
            _ => panic!("{answer:?}"),
        }
    }

    async fn bundle(&self) -> Value {
        self.get(REGISTRATION).await["webhooks"][0]["clientConfig"]["caBundle"].clone()
    }

    async fn replicas(&self) -> Value {
        self.get(GATE).await["spec"]["replicas"].clone()
    }
}

/// The objects that hold what is not Helm's: the certificate, its authority, the clusters.
#[tokio::test]
async fn helm_takes_nothing_from_the_controller_and_deletes_no_fleet() {
    if !kubectl_is_there() {
        return;
    }
    for program in programs() {
        let hub = Cluster::private().await;
        let helm = Helm {
            program,
            admin: hub.admin().await,
        };

        let name = fresh("fleet");

        // First without registrations, as on a hub in use.
        helm.set("install", "registrations.enabled=false").await;
        assert_eq!(helm.get(REGISTRATION).await, Value::Null);
        assert_eq!(helm.replicas().await, 3);
        let notes = helm.run(&["get", "notes", "hub"]).await;
        let next = "--set registrations.enabled=true";
        assert!(notes.ok().contains(next), "{notes:?}");
        eventually("a hub that serves clusters", async || {
            match helm.admin.post(CLUSTERS, &cluster(&name)).await.unwrap() {
                answer if answer.code == 404 => Err(answer),
                answer => Ok(answer.ok().clone()),
            }
        })
        .await;

        // The controller fills what Helm has made.
        let filled = json!({"data": {"tls.crt": "Y2VydGlmaWNhdGU=", "tls.key": "a2V5"}});
        helm.admin.merge(SECRET, &filled).await.unwrap().ok();
        helm.set("upgrade", "registrations.enabled=true").await;
        assert_eq!(helm.bundle().await, Value::Null);
        let path = "/webhooks/0/clientConfig/caBundle";
        let patch = json!([{"op": "add", "path": path, "value": "Y2E="}]).to_string();
        let registration = REGISTRATION.rsplit('/').next().unwrap();
        let patched = [
            "patch",
            "validatingwebhookconfiguration",
            registration,
            "--type=json",
            "-p",
            &patch,
        ];
        helm.admin.kubectl(&patched).await.ok();

        // Helm leaves it alone, whatever else changes.
        helm.set("upgrade", "size=small").await;
        assert_eq!(helm.replicas().await, 2);
        assert_eq!(helm.get(SECRET).await["data"], filled["data"], "{program}");
        assert_eq!(helm.bundle().await, "Y2E=", "{program}");
        helm.run(&["rollback", "hub", "2"]).await.ok();
        assert_eq!(helm.replicas().await, 3);
        assert_eq!(helm.get(SECRET).await["data"], filled["data"], "{program}");
        assert_eq!(helm.bundle().await, "Y2E=", "{program}");

        // Back before the registrations: they go, so that no write waits for a gate.
        helm.run(&["rollback", "hub", "1"]).await.ok();
        assert_eq!(helm.get(REGISTRATION).await, Value::Null);
        helm.set("upgrade", "registrations.enabled=true").await;
        assert_ne!(helm.get(REGISTRATION).await, Value::Null);

        let uninstalled = helm.run(&["uninstall", "hub", "--debug"]).await;
        uninstalled.ok();
        if helm
            .run(&["version", "--short"])
            .await
            .ok()
            .starts_with("v4.")
        {
            // Helm 3 deletes the registrations last, so charts/README.md turns them off before.
            let at = |kind: &str| {
                let mut lines = uninstalled.stderr.lines();
                lines.position(|line| line.contains("delete") && line.contains(kind))
            };
            let (registrations, gate) = (at("ValidatingWebhookConfiguration"), at("Deployment"));
            assert!(
                registrations.is_some() && registrations < gate,
                "{uninstalled:?}"
            );
        }
        for path in [REGISTRATION, GATE, SECRET] {
            eventually("an uninstalled release", async || {
                match helm.get(path).await {
                    Value::Null => Ok(()),
                    left => Err(left),
                }
            })
            .await;
        }
        let crd = helm.get(CRD).await;
        assert_eq!(crd["metadata"]["deletionTimestamp"], Value::Null);
        assert_ne!(crd, Value::Null);
        let fleet = helm.get(&format!("{CLUSTERS}/{name}")).await;
        assert_eq!(fleet["metadata"]["name"], name);
        assert_eq!(fleet["metadata"]["deletionTimestamp"], Value::Null);
    }
}

/// With the rights of `helm test` no check is left out. What they find is not asserted: no gate runs.
#[tokio::test]
async fn the_account_of_helm_test_may_run_every_check() {
    if !kubectl_is_there() {
        return;
    }
    for program in programs() {
        let hub = Cluster::private().await;
        let admin = hub.admin().await;
        let helm = Helm { program, admin };
        helm.set("install", "mode=webhooks").await;
        let hooks = helm.run(&["get", "hooks", "hub"]).await;
        let roles: Vec<Value> = serde_saphyr::from_multiple(hooks.ok()).unwrap();
        let (pods, roles): (Vec<_>, Vec<_>) = roles.into_iter().partition(|it| it["kind"] == "Pod");
        for role in &roles {
            let applied = helm
                .admin
                .kubectl_reading(&role.to_string(), &["apply", "-f", "-"])
                .await;
            applied.ok();
        }
        let account = pods[0]["spec"]["serviceAccountName"].as_str().unwrap();
        let doctor = hub.service_account(NAMESPACE, account).await;
        let output = doctor.berth(&["doctor", "--strict", "-o", "json"]).await;
        let printed: Value = serde_json::from_str(&output.stdout).unwrap();
        let checks = printed["checks"].as_array().unwrap();
        assert!(checks.len() > 10, "{output:?}");
        let findings = printed["findings"].as_array().unwrap();
        let mut unknown: Vec<_> = findings
            .iter()
            .filter(|it| it["severity"] == "unknown")
            .collect();
        // A hub for development has no endpoints, because it runs no pods.
        unknown.retain(|it| {
            let message = it["message"].as_str().unwrap();
            !message.contains("the API server has no endpointslices.discovery.k8s.io")
        });
        assert!(unknown.is_empty(), "{unknown:#?}");
        helm.run(&["uninstall", "hub"]).await.ok();
    }
}

/// The Deployments of a release run as processes, and its registrations lead to them: no write fails while helm upgrades the release
/// and rolls it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_helm_installed_is_guarded_while_it_is_upgraded_and_rolled_back() {
    if !kubectl_is_there() {
        return;
    }
    for program in programs() {
        let mut node = HubNode::with_replicas(Duration::from_millis(500), Vec::new()).await;
        let admin = node.cluster.admin().await;
        let helm = Helm { program, admin };
        tokio::join!(helm.set("install", "image.tag=v1"), node.runs_the_hub());
        wait_until_in_force(&node.cluster).await;

        // What is denied is denied by the gate.
        let name = fresh("guarded");
        let person = node.cluster.user(&fresh("nobody"), &[]).await;
        let write = rule(&["create"], CLUSTER_GROUP, &["managedclusters"], &[]);
        node.cluster.grant(&person, &[write]).await;
        let mut accepted = cluster(&name);
        accepted["spec"]["hubAcceptsClient"] = json!(true);
        let denied = person.post(CLUSTERS, &accepted).await.unwrap();
        assert_eq!(denied.code, 403, "{denied:?}");
        let why = denied.body["message"].as_str().unwrap();
        assert!(why.contains("managedclusters/accept"), "{why}");

        let mut writers = Writers::start(&node.cluster).await;
        node.rolls_while(helm.set("upgrade", "image.tag=v2")).await;
        writers.go_on(40).await;
        let rollback = async {
            helm.run(&["rollback", "hub", "1"]).await.ok();
        };
        node.rolls_while(rollback).await;
        node.replaced_have_ended().await;
        writers.go_on(40).await;
        writers.stop().await;
        let image = helm.get(GATE).await["spec"]["template"]["spec"]["containers"][0].clone();
        assert_eq!(image["image"], "berth:v1", "{program}");
    }
}
