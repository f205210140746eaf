//! `berth doctor` on hubs with faults: a test makes each fault, the check of that fault finds it, and the test removes it.

mod installation;
mod objects;
mod policies;
mod requesters;
mod serving;

use std::ops::Deref;
use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::house::{Berth, CLUSTERS, House, SETS};
use berth_testkit::cluster::{Private, path_of};
use berth_testkit::csr::CSRS;
use berth_testkit::{eventually, when};

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
