//! Certificates of the agents of add-ons: which requests are approved. Numbers are those of OCM's scenarios.

use berth_testkit::cluster::{AsAdmin, Person, rule};
use berth_testkit::csr::{Asked, Csr, groups_of, user_of};
use berth_testkit::process::once;
use serde_json::{Value, json};

use super::hub::Hub;

const API_SERVER: &str = "kubernetes.io/kube-apiserver-client";

/// What the agent of an add-on asks for.
pub struct Request<'a> {
    pub cluster: &'a str,
    pub signer: &'a str,
    pub user: String,
    pub groups: [String; 2],
    pub dns_names: Vec<String>,
    pub usages: Value,
}

impl<'a> Request<'a> {
    /// The request of the agent of the add-on `a` on this cluster.
    pub fn new(hub: &Hub, cluster: &'a str) -> Self {
        let addon = hub.named("a");
        let group = format!("system:open-cluster-management:cluster:{cluster}:addon:{addon}");
        Self {
            cluster,
            signer: API_SERVER,
            user: format!("{group}:agent:{addon}-agent"),
            groups: [
                group,
                format!("system:open-cluster-management:addon:{addon}"),
            ],
            dns_names: vec![format!("{addon}.addon.open-cluster-management.io")],
            usages: json!(["digital signature", "key encipherment", "client auth"]),
        }
    }

    /// Sends it.
    pub async fn sent_by(self, hub: &Hub, person: &Person) -> Csr {
        let groups = self.groups.each_ref().map(String::as_str);
        let names: Vec<_> = self.dns_names.iter().map(String::as_str).collect();
        let asked = Asked {
            common_name: &self.user,
            organizations: &groups,
            alternative_names: &names,
        };
        let mut csr = Csr::asking(self.cluster, &asked);
        csr.name = format!("addon-{}", csr.name);
        let metadata = &mut csr.body["metadata"];
        metadata["name"] = json!(csr.name);
        metadata["labels"]["open-cluster-management.io/addon-name"] = json!(hub.named("a"));
        csr.body["spec"]["signerName"] = json!(self.signer);
        csr.body["spec"]["usages"] = self.usages;
        csr.sent_by(person).await
    }
}

impl Hub {
    /// An agent of a cluster, which may create CSRs.
    pub async fn agent(&self, cluster: &str) -> Person {
        let groups = groups_of(cluster);
        let groups = groups.each_ref().map(String::as_str);
        let agent = self.cluster.user(&user_of(cluster, "agent"), &groups).await;
        let resources = ["certificatesigningrequests"];
        let create = rule(&["create"], "certificates.k8s.io", &resources, &[]);
        self.cluster.grant(&agent, &[create]).await;
        agent
    }

    /// Installs the add-on `a` on these clusters, with these registrations of its agents, and waits until it is registered there.
    pub async fn register(&self, clusters: &[String], registration: Value) {
        self.place("p", clusters).await;
        self.registering("t", json!([]), registration).await;
        let p = self.of("p", json!({"type": "All"}), json!([]));
        let defaults = json!([self.template_reference("t")]);
        self.define("a", None, defaults, Some(json!([p]))).await;
        for cluster in clusters {
            once(&self.admin, &self.on(cluster, "a"), "registered", |it| {
                !it["status"]["registrations"].is_null()
            })
            .await;
        }
    }

    /// Waits until a CSR is approved, as OCM approves it.
    pub async fn approved(&self, csr: &Csr) {
        let object = once(&self.admin, &csr.path(), "approved", |it| {
            it["status"]["conditions"].is_array()
        })
        .await;
        let approved = &object["status"]["conditions"][0];
        let words = ["type", "status", "reason", "message"].map(|key| &approved[key]);
        assert_eq!(
            words,
            [
                "Approved",
                "True",
                "AutoApprovedByHubCSRApprovingController",
                "Auto approving addon agent certificate."
            ]
        );
        assert_eq!(object["metadata"]["labels"], csr.body["metadata"]["labels"]);
    }

    /// Waits for the Event that a CSR gets no certificate, and returns its note.
    pub async fn left(&self, csr: &Csr) -> String {
        self.left_for(csr, "").await
    }

    /// As [`Self::left`], for the Event with these words.
    pub async fn left_for(&self, csr: &Csr, words: &str) -> String {
        let events = "/apis/events.k8s.io/v1/namespaces/default/events";
        let of = |it: &Value| {
            let mut events = it["items"].as_array().into_iter().flatten();
            let found = events.find(|it| {
                let note = it["note"].as_str().unwrap_or_default();
                it["regarding"]["name"] == *csr.name
                    && it["reason"] == "AddOnCSRNotApproved"
                    && note.contains(words)
            })?;
            assert_eq!(found["type"], "Warning");
            found["note"].as_str().map(str::to_owned)
        };
        let all = once(&self.admin, events, &csr.name, |it| of(it).is_some()).await;
        of(&all).unwrap()
    }

    /// Asserts that a CSR is not decided.
    pub async fn is_pending(&self, csr: &Csr) {
        let object = self.read(&csr.path()).await;
        assert!(object["status"]["conditions"].is_null(), "{object}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_the_clusters_agent_for_the_add_on_is_approved_and_no_other() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let _managing = hub.start().await;
    hub.register(&clusters, json!([{"type": "KubeClient"}]))
        .await;
    let [one, two] = &clusters[..] else { panic!() };
    let (agent, other) = (hub.agent(one).await, hub.agent(two).await);
    type Change = fn(&mut Request<'_>);
    let table: [(&str, &Person, Change, &str); 6] = [
        // 26.
        (
            "another cluster's agent",
            &other,
            |_| {},
            "not an agent of the cluster",
        ),
        // 27.
        (
            "a foreign group",
            &agent,
            |it| it.groups[1] = "system:nodes".to_owned(),
            "organizations",
        ),
        (
            "another user",
            &agent,
            |it| it.user.push('x'),
            "common name",
        ),
        (
            "no client",
            &agent,
            |it| it.usages = json!(["digital signature"]),
            "client auth",
        ),
        (
            "a server",
            &agent,
            |it| it.usages = json!(["client auth", "server auth"]),
            "server auth",
        ),
        (
            "another name",
            &agent,
            |it| it.dns_names = vec!["hub.example".to_owned()],
            "alternative names",
        ),
    ];
    let mut left = Vec::new();
    for (sentence, sender, change, why) in table {
        let mut request = Request::new(&hub, one);
        change(&mut request);
        left.push((sentence, request.sent_by(&hub, sender).await, why));
    }
    // 25: its name begins with that of the first one.
    let good = Request::new(&hub, one).sent_by(&hub, &agent).await;
    hub.approved(&good).await;
    for (sentence, csr, why) in &left {
        let note = hub.left(csr).await;
        assert!(note.contains(why), "{sentence}: {note}");
        hub.is_pending(csr).await;
    }
    if hub.cluster.has_background_work() {
        once(&hub.admin, &good.path(), "issued", |it| {
            it["status"]["certificate"].is_string()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_waits_for_the_acceptance_of_its_cluster() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let mut managing = hub.start().await;
    hub.register(&clusters, json!([{"type": "KubeClient"}]))
        .await;
    let path = hub.managed_cluster(cluster);
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": false}}))
        .await;
    let agent = hub.agent(cluster).await;
    let csr = Request::new(&hub, cluster).sent_by(&hub, &agent).await;
    let note = hub.left(&csr).await;
    assert!(note.contains("hubAcceptsClient"), "{note}");
    hub.is_pending(&csr).await;
    // What waits is approved by a successor, too.
    managing.kill().await;
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": true}}))
        .await;
    let _successor = hub.start().await;
    hub.approved(&csr).await;
}

/// An add-on without template has another manager, which approves its requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_other_managers_are_left_to_them() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let managing = hub.start().await;
    hub.place("p", &clusters).await;
    hub.install("a").await;
    hub.has("a", &clusters).await;
    let agent = hub.agent(&clusters[0]).await;
    let csr = Request::new(&hub, &clusters[0]).sent_by(&hub, &agent).await;
    // A later add-on is installed after the request was seen.
    hub.install("later").await;
    hub.has("later", &clusters).await;
    hub.is_pending(&csr).await;
    let writes = managing.writes_by_kind();
    let of_requests = writes
        .keys()
        .filter(|it| it.starts_with("addon-certificate-requests"));
    assert_eq!(of_requests.count(), 0, "{writes:?}");
}
