//! `berth doctor` on hubs with faults: a test makes each fault, the check of that fault finds it, and the test removes it.

use std::ops::Deref;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::{Authority, Issued};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::house::{Berth, CLUSTERS, House, SETS};
use berth_testkit::cluster::{Cluster, Private, documents_of, fresh, path_of, rule, say_skipped};
use berth_testkit::csr::{CSRS, Csr};
use berth_testkit::{eventually, repository, when};

const NAMESPACE: &str = "open-cluster-management-hub";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const OF_CLUSTERS: &str = "managedclustervalidators.admission.cluster.open-cluster-management.io";
const OF_SETS: &str = "managedclustersetvalidators.admission.cluster.open-cluster-management.io";
const OF_BINDINGS: &str =
    "managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments";

/// A finding that is waited for.
struct Expected<'a> {
    check: &'a str,
    severity: &'a str,
    /// The name of its object; empty for none.
    object: &'a str,
    says: &'a str,
    /// What its remedy has in it.
    remedy: &'a str,
}

/// A sound installation, of which each test has its own.
struct Ward {
    house: House<Private>,
    _berth: Berth,
    /// The registrations as they are when all is well.
    registrations: Vec<Value>,
}

impl Deref for Ward {
    type Target = House<Private>;

    fn deref(&self) -> &House<Private> {
        &self.house
    }
}

impl Ward {
    async fn new() -> Self {
        let (house, berth) = House::private().await;
        let registrations = berth.registrations();
        let ward = Self {
            house,
            _berth: berth,
            registrations,
        };
        ward.empty().await;
        ward
    }

    /// Takes away what earlier tests have left on a hub that is lent.
    async fn empty(&self) {
        let bindings = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersetbindings";
        for list in [bindings, CLUSTERS, SETS, CSRS] {
            eventually(&format!("an empty list of {list}"), async || {
                let items = self.admin.get(list).await.unwrap();
                let mut left = Vec::new();
                for item in items.ok()["items"].as_array().unwrap() {
                    let name = item["metadata"]["name"].as_str().unwrap();
                    if list == SETS && ["default", "global"].contains(&name) {
                        continue;
                    }
                    left.push(match item["metadata"]["namespace"].as_str() {
                        Some(namespace) => {
                            list.replace("v1beta2/", &format!("v1beta2/namespaces/{namespace}/"))
                                + "/"
                                + name
                        }
                        None => format!("{list}/{name}"),
                    });
                }
                for path in &left {
                    self.admin.delete(path).await.unwrap();
                }
                when(left, Vec::is_empty)
            })
            .await;
        }
    }

    async fn doctor(&self) -> (i32, Value) {
        let output = self.berth("doctor -o json").await;
        assert_eq!(output.stderr, "", "{output:?}");
        (output.code, serde_json::from_str(&output.stdout).unwrap())
    }

    /// Returns when the finding is there, with its exit code, and nothing is wrong that does not concern these checks.
    #[track_caller]
    fn finds<'a>(
        &'a self,
        expected: Expected<'a>,
        besides: &'a [&'a str],
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let awaited = format!("{caller}: {}, and nothing besides", expected.check);
            eventually(&awaited, async || {
                let (code, report) = self.doctor().await;
                let findings = report["findings"].as_array().unwrap();
                let found = findings.iter().find(|it| {
                    it["check"] == expected.check
                        && it["severity"] == expected.severity
                        && it["object"]["name"].as_str().unwrap_or_default() == expected.object
                        && it["message"].as_str().unwrap().contains(expected.says)
                });
                let bad = |it: &&Value| it["severity"] != "note";
                let other = findings.iter().filter(bad).find(|it| {
                    it["check"] != expected.check && !besides.iter().any(|ok| it["check"] == *ok)
                });
                if let (Some(found), None) = (found, other) {
                    let remedy = found["remedy"].as_str().unwrap_or_default();
                    assert!(remedy.contains(expected.remedy), "{caller}: {found}");
                    let worst = findings.iter().any(|it| it["severity"] == "fault");
                    assert_eq!(code, i32::from(worst), "{caller}: {report}");
                    let checks = report["checks"].as_array().unwrap();
                    let check = checks.iter().find(|it| it["id"] == expected.check);
                    assert_ne!(check.unwrap()["result"], "passed", "{caller}");
                    return Ok(());
                }
                Err(json!(findings).to_string())
            })
            .await;
        }
    }

    /// Returns when nothing is found any more.
    #[track_caller]
    fn is_sound(&self) -> impl Future<Output = ()> + '_ {
        let caller = std::panic::Location::caller();
        async move {
            eventually(&format!("{caller}: no finding"), async || {
                when(self.berth("doctor").await, |it| {
                    (it.code, it.stdout.as_str(), it.stderr.as_str()) == (0, "", "")
                })
            })
            .await;
        }
    }

    /// The object at a path, with something done to it; returns what it was.
    async fn change(&self, path: &str, change: impl Fn(&mut Value)) -> Value {
        loop {
            let before = self.admin.get(path).await.unwrap().ok().clone();
            let mut after = before.clone();
            change(&mut after);
            let answer = self.admin.put(path, &after).await.unwrap();
            if answer.code != 409 {
                answer.ok();
                return before;
            }
        }
    }

    /// Makes the object at a path again what it was, but for what the hub keeps.
    async fn restore(&self, path: &str, before: &Value) {
        let before = before.clone();
        self.change(path, |object| {
            let version = object["metadata"]["resourceVersion"].clone();
            object.clone_from(&before);
            object["metadata"]["resourceVersion"] = version;
        })
        .await;
    }

    async fn change_registration(&self, name: &str, change: impl Fn(&mut Value)) {
        let path = format!("{VALIDATING}/{name}");
        self.change(&path, |object| change(&mut object["webhooks"][0]))
            .await;
    }

    /// Writes the registrations as they are when all is well.
    async fn register(&self) {
        for registration in &self.registrations {
            let path = path_of(registration);
            if self.admin.get(&path).await.unwrap().code == 404 {
                let list = path.rsplit_once('/').unwrap().0;
                self.admin.post(list, registration).await.unwrap().ok();
            } else {
                let webhooks = registration["webhooks"].clone();
                self.change(&path, |object| object["webhooks"] = webhooks.clone())
                    .await;
            }
        }
        berth_testkit::cluster::wait_until_in_force(&self.cluster).await;
    }

    async fn unregister(&self, name: &str) {
        let path = format!("{VALIDATING}/{name}");
        self.admin.delete(&path).await.unwrap().ok();
        berth_testkit::cluster::wait_until_in_force(&self.cluster).await;
    }

    async fn make(&self, list: &str, object: Value) {
        self.admin.post(list, &object).await.unwrap().ok();
    }
}

fn cluster(name: &str, accepted: bool) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"hubAcceptsClient": accepted},
    })
}

fn binding(set: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": set},
        "spec": {"clusterSet": set},
    })
}

fn bindings_in(namespace: &str) -> String {
    format!(
        "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/{namespace}/managedclustersetbindings"
    )
}

/// Some CA's certificate, PEM, and one that it issued.
fn issued(name: &str) -> (String, Issued) {
    let month = Duration::from_secs(30 * 24 * 3600);
    let now = Timestamp::now();
    let authority = Authority::new("somebody", month, now).unwrap();
    let leaf = authority.leaf(&[name], &[], month, now).unwrap();
    (authority.certificate_pem().to_owned(), leaf)
}

#[tokio::test]
async fn faults_of_an_installation_are_found_one_by_one() {
    let ward = Ward::new().await;
    ward.is_sound().await;

    // 1. A CRD whose schema lacks what the gate guards.
    let crd = "managedclusters.cluster.open-cluster-management.io";
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}");
    let before = ward
        .change(&path, |crd| {
            let root = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let spec = &mut root["properties"]["spec"]["properties"];
            let item = &mut spec["managedClusterClientConfigs"]["items"]["properties"];
            item.as_object_mut().unwrap().remove("caBundle").unwrap();
        })
        .await;
    let expected = Expected {
        check: "crds",
        severity: "fault",
        object: crd,
        says: "its schema lacks spec.managedClusterClientConfigs[].caBundle",
        remedy: "kubectl apply -k manifests/crds",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 2. A registration that is not there.
    ward.unregister(OF_BINDINGS).await;
    let expected = Expected {
        check: "registrations",
        severity: "fault",
        object: OF_BINDINGS,
        says: "it does not exist: whoever may write bindings may bind any set",
        remedy: "kubectl apply -k",
    };
    ward.finds(expected, &[]).await;
    ward.register().await;
    ward.is_sound().await;

    // 3. A registration that fails open.
    ward.change_registration(OF_CLUSTERS, |it| it["failurePolicy"] = json!("Ignore"))
        .await;
    let expected = Expected {
        check: "registrations",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "failurePolicy is \"Ignore\"; the shipped value is \"Fail\"",
        remedy: r#"-p '[{"op":"add","path":"/webhooks/0/failurePolicy","value":"Fail"}]'"#,
    };
    ward.finds(expected, &[]).await;
    ward.register().await;

    // What is only to be warned of fails on demand.
    ward.change_registration(OF_CLUSTERS, |it| it["timeoutSeconds"] = json!(20))
        .await;
    ward.berth("doctor").await.ok();
    let strict = ward.berth("doctor --strict").await;
    assert_eq!(strict.code, 1, "{strict:?}");
    ward.register().await;
    ward.is_sound().await;

    // 4. A caBundle that is another CA's.
    let (ca, _) = issued("somebody.svc");
    ward.change_registration(OF_CLUSTERS, |it| {
        it["clientConfig"]["caBundle"] = json!(STANDARD.encode(&ca));
    })
    .await;
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "its caBundle does not match the certificate that certificate/https://127.0.0.1:",
        remedy: "kubectl patch validatingwebhookconfiguration",
    };
    ward.finds(expected, &["dry-run"]).await;
    // And the API server says the same.
    let expected = Expected {
        check: "dry-run",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "the API server cannot call the webhook",
        remedy: "see webhook-certificate",
    };
    ward.finds(expected, &["webhook-certificate"]).await;
    ward.register().await;
    ward.is_sound().await;

    // 5. Nobody at the address.
    ward.change_registration(OF_CLUSTERS, |it| {
        let url = it["clientConfig"]["url"].as_str().unwrap();
        let path = url.rsplit_once('/').unwrap().1;
        it["clientConfig"]["url"] = json!(format!("https://127.0.0.1:1/{path}"));
    })
    .await;
    let expected = Expected {
        check: "dry-run",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "the API server cannot call the webhook",
        remedy: "check that the gate runs",
    };
    ward.finds(expected, &["webhook-certificate"]).await;
    ward.register().await;
    ward.is_sound().await;

    // 6. Rights of the controller that somebody took away.
    let role = "open-cluster-management:berth-registration:controller";
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let before = ward
        .change(&path, |role| {
            let rules = role["rules"].as_array_mut().unwrap();
            rules.retain(|it| it["resources"][0] != "certificatesigningrequests/approval");
        })
        .await;
    let account = format!(
        "system:serviceaccount:{NAMESPACE}:{}",
        berth_testkit::shipped::CONTROLLER
    );
    let expected = Expected {
        check: "controller-rights",
        severity: "fault",
        object: &account,
        says: "it lacks verb \"update\" on certificatesigningrequests/approval.certificates.k8s.io: the controller",
        remedy: "kubectl apply -f manifests/server/controller-role.yaml",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 7. Rights of the gate that somebody took away.
    let role = "open-cluster-management:cluster-manager-registration:webhook";
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let before = ward.change(&path, |role| role["rules"] = json!([])).await;
    let account = format!(
        "system:serviceaccount:{NAMESPACE}:{}",
        berth_testkit::shipped::GATE
    );
    let expected = Expected {
        check: "gate-rights",
        severity: "fault",
        object: &account,
        says: "it lacks verb \"get\" on namespaces; verb \"create\" on subjectaccessreviews.authorization.k8s.io",
        remedy: "kubectl apply -f manifests/server/cluster-role.yaml",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 7a. A role that all agents share and somebody edited: the controller's account may not mend it.
    let role = "open-cluster-management:managedcluster:work";
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let before = ward
        .change(&path, |role| role["rules"][0]["verbs"] = json!(["create"]))
        .await;
    let expected = Expected {
        check: "agent-roles",
        severity: "warning",
        object: role,
        says: "its rules differ from those that ship",
        remedy: "kubectl apply -f manifests/server/agent-roles.yaml",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 8. A registration of OCM's under another name.
    let mut old = ward.registrations[1].clone();
    old["metadata"]["name"] = json!("cluster-manager-old");
    old["webhooks"][0]["name"] = json!("old.admission.cluster.open-cluster-management.io");
    ward.make(VALIDATING, old).await;
    let expected = Expected {
        check: "ocm-leftovers",
        severity: "warning",
        object: "cluster-manager-old",
        says: "it covers the same objects as the gate",
        remedy: "kubectl delete validatingwebhookconfiguration cluster-manager-old",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{VALIDATING}/cluster-manager-old");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 9. OCM's controller beside ours.
    let gate = documents_of("manifests/server/deployment.yaml").remove(0);
    ward.make(DEPLOYMENTS, gate).await;
    let mut ours = documents_of("manifests/server/controller-deployment.yaml").remove(0);
    ward.make(DEPLOYMENTS, ours.clone()).await;
    ward.is_sound().await;
    let controller = "cluster-manager-registration-controller";
    ours["metadata"]["name"] = json!(controller);
    ours["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["/registration"]);
    ours["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["controller"]);
    ward.make(DEPLOYMENTS, ours).await;
    let expected = Expected {
        check: "ocm-leftovers",
        severity: "warning",
        object: controller,
        says: "OCM's controller runs beside Berth's",
        remedy: "scale deployment/cluster-manager-registration-controller --replicas=0",
    };
    ward.finds(expected, &[]).await;
    for name in [
        controller,
        "berth-registration-controller",
        "cluster-manager-registration-webhook",
    ] {
        let path = format!("{DEPLOYMENTS}/{name}");
        ward.admin.delete(&path).await.unwrap().ok();
    }
    ward.is_sound().await;

    // 10. A namespace in which nobody is elected.
    let elsewhere = ward.berth("doctor -n elsewhere").await;
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
    assert!(
        elsewhere
            .stdout
            .starts_with("WARNING controller: lease/registration-controller-lock in elsewhere\n  it does not exist, so"),
        "{elsewhere:?}"
    );
}

#[tokio::test]
async fn what_is_wrong_with_sets_bindings_and_clusters_is_found_one_by_one() {
    let ward = Ward::new().await;
    ward.is_sound().await;

    // 1. A default set that does not come back.
    let path = format!("{SETS}/global");
    ward.change(&path, |set| {
        set["metadata"]["finalizers"] = json!(["tests.berth/held"])
    })
    .await;
    ward.admin.delete(&path).await.unwrap().ok();
    let expected = Expected {
        check: "default-sets",
        severity: "fault",
        object: "global",
        says: "it is being deleted, and held by the finalizers \"tests.berth/held\"",
        remedy: "kubectl edit managedclusterset global",
    };
    ward.finds(expected, &[]).await;
    let off = json!({"metadata": {"finalizers": null}});
    ward.admin.merge(&path, &off).await.unwrap().ok();
    ward.is_sound().await;

    // 2. A set from a time without a gate.
    ward.unregister(OF_SETS).await;
    let set = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": "odd"},
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {
            "matchExpressions": [{"key": "a", "operator": "Near"}]}}},
    });
    ward.make(SETS, set).await;
    ward.register().await;
    let expected = Expected {
        check: "sets",
        severity: "fault",
        object: "odd",
        says: "it selects no clusters, since its selector is invalid: spec.clusterSelector.labelSelector.matchExpressions[0]",
        remedy: "kubectl edit managedclusterset odd",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{SETS}/odd");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 3. A binding of a set that is not there.
    ward.make(&bindings_in("default"), binding("nobody")).await;
    let expected = Expected {
        check: "bindings",
        severity: "warning",
        object: "nobody",
        says: "it is not effective: ManagedClusterSet \"nobody\" does not exist",
        remedy: "berth create clusterset nobody",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{}/nobody", bindings_in("default"));
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 4. A cluster that waits, and why its request is not approved.
    ward.make(CLUSTERS, cluster("c1", false)).await;
    let csr = Csr::new("c1", "agent").sent_by(&ward.admin).await;
    let says = format!(
        "it waits for acceptance; CertificateSigningRequest {:?}: an admin has to approve the first CSR, of user \"admin\"",
        csr.name
    );
    let expected = Expected {
        check: "pending-clusters",
        severity: "warning",
        object: "c1",
        says: &says,
        remedy: "berth accept c1",
    };
    ward.finds(expected, &[]).await;

    // 5. It is accepted, its request is not approved.
    let accept = json!({"spec": {"hubAcceptsClient": true}});
    let path = format!("{CLUSTERS}/c1");
    ward.admin.merge(&path, &accept).await.unwrap().ok();
    let expected = Expected {
        check: "certificate-requests",
        severity: "warning",
        object: &csr.name,
        says: "the agent of the accepted ManagedCluster \"c1\" waits: an admin has to approve the first CSR",
        remedy: "berth accept c1",
    };
    ward.finds(expected, &[]).await;
    ward.admin.delete(&csr.path()).await.unwrap().ok();
    ward.is_sound().await;

    // 6. A set bound in its namespace, at a time without a gate.
    ward.once("/api/v1/namespaces/c1", "there", |_| true).await;
    ward.unregister(OF_BINDINGS).await;
    ward.make(&bindings_in("c1"), binding("default")).await;
    ward.register().await;
    let expected = Expected {
        check: "cluster-namespaces",
        severity: "fault",
        object: "default",
        says: "the namespace is that of the accepted ManagedCluster \"c1\"",
        remedy: "kubectl -n c1 delete managedclustersetbinding default",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{}/default", bindings_in("c1"));
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 7. Its agent is silent.
    let short = json!({"spec": {"leaseDurationSeconds": 1}});
    let path = format!("{CLUSTERS}/c1");
    ward.admin.merge(&path, &short).await.unwrap().ok();
    let expected = Expected {
        check: "unknown-clusters",
        severity: "warning",
        object: "",
        says: "the agent of \"c1\" sends no heartbeats",
        remedy: "kubectl get lease -n c1 managed-cluster-lease",
    };
    ward.finds(expected, &[]).await;
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 8. A cluster whose name is the hub's own, from before the gate was there.
    ward.unregister(OF_CLUSTERS).await;
    ward.make(CLUSTERS, cluster("kube-c", true)).await;
    ward.register().await;
    let expected = Expected {
        check: "accepted-clusters",
        severity: "fault",
        object: "kube-c",
        says: "it is accepted, but its setup failed (Error): Not accepted: the name",
        remedy: "kubectl describe managedcluster kube-c",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{CLUSTERS}/kube-c");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;
}

#[tokio::test]
async fn a_service_and_its_certificate_are_looked_at() {
    let ward = Ward::new().await;
    // The sets' registration calls the Service, as the manifests have it: nobody runs it here, the rest is as it should be.
    let service = documents_of("manifests/server/service.yaml").remove(0);
    let shipped =
        documents_of("manifests/registrations/managedclustersets/managedclustersetvalidators.yaml");
    let name = "cluster-manager-registration-webhook";
    let (ca, leaf) = issued(&format!("{name}.{NAMESPACE}.svc"));
    ward.change_registration(OF_SETS, |it| {
        it["clientConfig"] = shipped[0]["webhooks"][0]["clientConfig"].clone();
        it["clientConfig"]["caBundle"] = json!(STANDARD.encode(&ca));
    })
    .await;
    let besides = ["dry-run", "webhook-certificate"];
    let expected = Expected {
        check: "webhook-service",
        severity: "fault",
        object: name,
        says: "it does not exist",
        remedy: "kubectl apply -k manifests/server",
    };
    ward.finds(expected, &besides).await;

    let services = format!("/api/v1/namespaces/{NAMESPACE}/services");
    ward.make(&services, service).await;
    if ward.cluster.is_real() {
        let nobody = || Expected {
            check: "webhook-service",
            severity: "fault",
            object: name,
            says: "it has no ready endpoint",
            remedy: "kubectl -n open-cluster-management-hub rollout status",
        };
        ward.finds(nobody(), &besides).await;
        let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
        let slice = |ready: bool| {
            json!({
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": ready}}],
                "ports": [{"name": "webhook", "port": 9443, "protocol": "TCP"}],
            })
        };
        ward.make(&slices, slice(false)).await;
        ward.finds(nobody(), &besides).await;
        let path = format!("{slices}/by-hand");
        let ready = slice(true);
        ward.change(&path, |it| it["endpoints"] = ready["endpoints"].clone())
            .await;
        ward.finds(dry_run_fails(), &["webhook-certificate"]).await;
        ward.admin.delete(&path).await.unwrap().ok();
    } else {
        say_skipped("devhub has no EndpointSlices");
    }

    let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    let secret = |issued: &Issued| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "registration-webhook-serving-cert"},
            "type": "kubernetes.io/tls",
            "data": {
                "tls.crt": STANDARD.encode(&issued.certificate_pem),
                "tls.key": STANDARD.encode(&issued.key_pem),
            },
        })
    };
    let besides = ["dry-run", "webhook-service"];
    // In order: then the certificate is not spoken of.
    ward.make(&secrets, secret(&leaf)).await;
    ward.finds(dry_run_fails(), &["webhook-service"]).await;
    // Of another CA, and for another name.
    let (_, other) = issued("other.svc");
    let path = format!("{secrets}/registration-webhook-serving-cert");
    ward.change(&path, |it| it["data"] = secret(&other)["data"].clone())
        .await;
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: OF_SETS,
        says: "its caBundle does not match the certificate that secret/registration-webhook-serving-cert in",
        remedy: "kubectl patch validatingwebhookconfiguration",
    };
    ward.finds(expected, &besides).await;
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: "registration-webhook-serving-cert",
        says: "the certificate does not have the name \"cluster-manager-registration-webhook.open-cluster-management-hub.svc\"",
        remedy: "subjectAltName=DNS:cluster-manager-registration-webhook.open-cluster-management-hub.svc",
    };
    ward.finds(expected, &besides).await;

    ward.admin.delete(&path).await.unwrap().ok();
    let path = format!("{services}/{name}");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.register().await;
    ward.is_sound().await;
}

fn dry_run_fails() -> Expected<'static> {
    Expected {
        check: "dry-run",
        severity: "fault",
        object: OF_SETS,
        says: "the API server cannot call the webhook",
        remedy: "registration",
    }
}

#[tokio::test]
async fn who_may_not_look_is_told_what_is_missing() {
    let house = House::shared().await;
    let nobody = house.cluster.user(&fresh("nobody"), &[]).await;
    let output = house.berth_as(&nobody, "doctor").await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(
        output
            .stderr
            .starts_with("Error: you have none of the permissions that the checks need on the hub at https://127.0.0.1:"),
        "{output:?}"
    );

    // Whoever may read clusters and sets alone gets that far.
    let reader = house.cluster.user(&fresh("reader"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let read = rule(
        &["list"],
        group,
        &["managedclusters", "managedclustersets"],
        &[],
    );
    house.cluster.grant(&reader, &[read]).await;
    let output = house.berth_as(&reader, "doctor").await;
    for line in [
        "UNKNOWN registrations:\n  could not be checked: the mutatingwebhookconfigurations: you need verb \"list\" on \
         mutatingwebhookconfigurations.admissionregistration.k8s.io\n",
        "UNKNOWN dry-run: validatingwebhookconfiguration/managedclustervalidators.admission.cluster.open-cluster-management.io\n  \
         could not be checked: whether Berth refuses a malformed ManagedCluster: you need verb \"create\" on \
         managedclusters.cluster.open-cluster-management.io\n",
        "UNKNOWN controller: lease/registration-controller-lock in open-cluster-management-hub\n",
        "UNKNOWN certificate-requests:\n",
    ] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    assert!(!output.stdout.contains("UNKNOWN sets"), "{}", output.stdout);
    let strict = house.berth_as(&reader, "doctor --strict").await;
    assert_eq!(strict.code, 1, "{strict:?}");
}

#[tokio::test]
async fn the_documented_role_is_enough() {
    let ward = Ward::new().await;
    ward.is_sound().await;
    let page = std::fs::read_to_string(repository("docs/doctor.md")).unwrap();
    let (_, role) = page.split_once("```yaml\n").unwrap();
    let (role, _) = role.split_once("```").unwrap();
    let role: Value = serde_saphyr::from_str(role).unwrap();
    let doctor = ward.cluster.user(&fresh("doctor"), &[]).await;
    let rules = role["rules"].as_array().unwrap();
    ward.cluster.grant(&doctor, rules).await;
    let output = ward.berth_as(&doctor, "doctor --strict").await;
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");

    // And nothing of it is too much.
    for (index, rule) in rules.iter().enumerate() {
        // Nothing here is called by a Service.
        let needless = ["services", "endpointslices"];
        if needless.iter().any(|it| rule["resources"][0] == *it) {
            continue;
        }
        let lacking = ward.cluster.user(&fresh("lacking"), &[]).await;
        let mut others = rules.clone();
        others.remove(index);
        ward.cluster.grant(&lacking, &others).await;
        let output = ward.berth_as(&lacking, "doctor --strict").await;
        assert_eq!(output.code, 1, "without {rule}: {output:?}");
        let group = rule["apiGroups"][0].as_str().unwrap();
        let named = format!("{}.{group}", rule["resources"][0].as_str().unwrap());
        assert!(output.stdout.contains(&named), "without {rule}: {output:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_served_is_looked_at() {
    let ward = Ward::new().await;
    ward.is_sound().await;
    // Served by somebody else, with what they have: of the right CA, but for another name.
    let now = Timestamp::now();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let authority = Authority::new("served", minutes(600), now).unwrap();
    let leaf = authority
        .leaf(&["else.example"], &[], minutes(60), now)
        .unwrap();
    let port = serve(&leaf).await;
    ward.change_registration(OF_CLUSTERS, |it| {
        let url = it["clientConfig"]["url"].as_str().unwrap();
        let path = url.rsplit_once('/').unwrap().1;
        it["clientConfig"] = json!({
            "url": format!("https://127.0.0.1:{port}/{path}"),
            "caBundle": STANDARD.encode(authority.certificate_pem()),
        });
    })
    .await;
    let object = format!("https://127.0.0.1:{port}");
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: &object,
        says: "the certificate does not have the name \"127.0.0.1\", which the API server expects; it has \"else.example\"",
        remedy: "manifests/README.md",
    };
    ward.finds(expected, &["dry-run"]).await;
    ward.register().await;
    ward.is_sound().await;
}

/// Serves TLS with this certificate, and nothing over it.
async fn serve(issued: &Issued) -> u16 {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let certificate = CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Who does not like the certificate goes.
            let _ = acceptor.accept(stream).await;
        }
    });
    port
}

#[tokio::test]
async fn what_is_in_order_is_told_to_those_who_ask() {
    let ward = Ward::new().await;
    ward.is_sound().await;
    let output = ward.berth("doctor -v").await;
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.stdout.matches("ok ").count(), 19, "{output:?}");
    assert!(
        output
            .stdout
            .contains("ok dry-run: Berth refuses malformed writes\n"),
        "{output:?}"
    );
    let output = ward.berth("doctor -o yaml").await;
    assert!(
        output.ok().starts_with("checks:\n- id: crds\n"),
        "{output:?}"
    );
}

#[tokio::test]
async fn what_is_no_hub_is_told_so() {
    let cluster = Cluster::private().await;
    if !cluster.only_devhub("a real one is lent, and has been a hub") {
        return;
    }
    let admin = cluster.admin().await;
    let output = admin.berth(&["doctor"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(
        output
            .stderr
            .starts_with("Error: the API server does not serve managedclusters"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_hub_that_hangs_is_not_waited_for() {
    let house = House::shared().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let person = house.cluster.person_at(&url).await;
    let output = person
        .berth(&["doctor", "--request-timeout", "500ms"])
        .await;
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (
            1,
            format!(
                "Error: the hub at {url} did not answer in 500ms (get /version); --request-timeout sets how long to wait\n"
            )
            .as_str()
        )
    );
}
