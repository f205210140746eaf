//! Agents create CSRs for their own cluster only, and nobody else those for add-ons there; the API server does not call the gate for
//! other CSRs.

use serde_json::{Value, json};

use crate::e2e::sentences::REQUEST_VALIDATORS;
use berth_testkit::by_each_client;
use berth_testkit::cluster::{Person, fresh, rule};
use berth_testkit::csr::{Csr, groups_of, user_of};
use berth_testkit::guarded::Guarded;
use berth_testkit::writes::By;

by_each_client![
    an_agent_files_requests_for_its_own_cluster_only,
    an_agent_whose_name_is_no_agents_labels_none,
    requests_for_addons_come_from_the_agent_of_the_cluster,
    requests_of_others_do_not_wait_for_the_gate,
];

const LABEL: &str = "open-cluster-management.io/cluster-name";
const ADDON: &str = "open-cluster-management.io/addon-name";

/// Somebody with these groups who may file requests.
async fn filing(hub: &berth_testkit::cluster::Cluster, user: &str, groups: &[String]) -> Person {
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let person = hub.user(user, &groups).await;
    let requests = ["certificatesigningrequests"];
    let file = rule(
        &["create", "get", "patch"],
        "certificates.k8s.io",
        &requests,
        &[],
    );
    hub.grant(&person, &[file]).await;
    person
}

fn labelled(mut request: Csr, cluster: Option<&str>) -> (String, Value) {
    request.body["metadata"]["labels"] =
        cluster.map_or(Value::Null, |cluster| json!({ LABEL: cluster }));
    (request.name, request.body)
}

fn denial(name: &str, user: &str, cluster: &str, remedy: &str) -> String {
    format!(
        "certificatesigningrequests.certificates.k8s.io \"{name}\" is forbidden: user \"{user}\" cannot file a request for \
         ManagedCluster \"{cluster}\": {remedy}"
    )
}

async fn an_agent_files_requests_for_its_own_cluster_only(by: By) {
    let hub = Guarded::shared().await;
    let (own, other) = (fresh("c"), fresh("c"));
    let user = user_of(&own, "a1");
    let agent = filing(hub.cluster, &user, &groups_of(&own)).await;
    let agent = agent.by(by);
    let remedy = format!(
        "an agent files requests for its own cluster only: set the label {LABEL}=\"{own}\", or omit it"
    );
    let (name, foreign) = labelled(Csr::new(&own, "a1"), Some(&other));
    let written = agent.create(&foreign).await;
    let refused = denial(&name, &user, &other, &remedy);
    written.denied(REQUEST_VALIDATORS, 403, "Forbidden", &[&refused]);

    let (_, renewal) = labelled(Csr::new(&own, "a1"), Some(&own));
    agent.create(&renewal).await.ok();
    // OCM's agents leave the name to the hub.
    let (_, mut renewal) = labelled(Csr::new(&own, "a1"), Some(&own));
    renewal["metadata"]["name"].take();
    renewal["metadata"]["generateName"] = format!("{own}-").into();
    agent.create(&renewal).await.ok();
    let (name, unlabelled) = labelled(Csr::new(&own, "a1"), None);
    agent.create(&unlabelled).await.ok();
    // Nor does it become another's later.
    let label = json!({ "metadata": { "labels": { LABEL: other } } });
    let written = agent.merge(&unlabelled, &label).await;
    let refused = denial(&name, &user, &other, &remedy);
    written.denied(REQUEST_VALIDATORS, 403, "Forbidden", &[&refused]);
}

async fn an_agent_whose_name_is_no_agents_labels_none(by: By) {
    let hub = Guarded::shared().await;
    let cluster = fresh("c");
    let user = format!("{}:x", user_of(&cluster, "a1"));
    let agent = filing(hub.cluster, &user, &groups_of(&cluster)).await;
    let agent = agent.by(by);
    let remedy = format!("this is not the user name of a cluster's agent: omit the label {LABEL}");
    let (name, request) = labelled(Csr::new(&cluster, "a1"), Some(&cluster));
    let written = agent.create(&request).await;
    let refused = denial(&name, &user, &cluster, &remedy);
    written.denied(REQUEST_VALIDATORS, 403, "Forbidden", &[&refused]);
    let (_, unlabelled) = labelled(Csr::new(&cluster, "a1"), None);
    agent.create(&unlabelled).await.ok();
}

async fn requests_for_addons_come_from_the_agent_of_the_cluster(by: By) {
    let hub = Guarded::shared().await;
    let (own, other) = (fresh("c"), fresh("c"));
    let agent = filing(hub.cluster, &user_of(&own, "a1"), &groups_of(&own)).await;
    let admin = filing(hub.cluster, &fresh("admin"), &["admins".to_owned()]).await;
    let for_addon = |cluster: Option<&str>| {
        let (name, mut request) = labelled(Csr::new(&own, "a1"), cluster);
        request["metadata"]["labels"][ADDON] = "proxy".into();
        (name, request)
    };
    let (_, request) = for_addon(Some(&own));
    agent.by(by).create(&request).await.ok();
    // What the agent filed may be labelled otherwise.
    let label = json!({ "metadata": { "labels": { "team": "a" } } });
    admin.by(by).merge(&request, &label).await.ok();

    let denial = |name: &str, user: &str, of: &str| {
        format!(
            "certificatesigningrequests.certificates.k8s.io \"{name}\" is forbidden: user \"{user}\" cannot file an add-on's \
             request for {of}: only the agent of the cluster in the label {LABEL} does: omit the label {ADDON}"
        )
    };
    for (person, cluster) in [
        (&agent, Some(&*other)),
        (&agent, None),
        (&admin, Some(&*own)),
        (&admin, None),
    ] {
        let (name, request) = for_addon(cluster);
        let of = cluster.map_or("no ManagedCluster".to_owned(), |it| {
            format!("ManagedCluster \"{it}\"")
        });
        let refused = denial(&name, &person.user, &of);
        let written = person.by(by).create(&request).await;
        written.denied(REQUEST_VALIDATORS, 403, "Forbidden", &[&refused]);
    }
    // Nor does a request become an add-on's later.
    let (name, plain) = labelled(Csr::new(&own, "a1"), Some(&own));
    agent.by(by).create(&plain).await.ok();
    let label = json!({ "metadata": { "labels": { ADDON: "proxy" } } });
    let refused = denial(&name, &admin.user, &format!("ManagedCluster \"{own}\""));
    let written = admin.by(by).merge(&plain, &label).await;
    written.denied(REQUEST_VALIDATORS, 403, "Forbidden", &[&refused]);
}

async fn requests_of_others_do_not_wait_for_the_gate(by: By) {
    let hub = Guarded::private(&[]).await;
    let cluster = fresh("c");
    let bootstrap = filing(&hub.cluster, &fresh("bootstrap"), &["bootstrap".to_owned()]).await;
    let agent = filing(&hub.cluster, &user_of(&cluster, "a1"), &groups_of(&cluster)).await;
    let before = hub.gate.answered().await;
    let (_, request) = labelled(Csr::new(&cluster, "a1"), Some(&cluster));
    bootstrap.by(by).create(&request).await.ok();
    assert_eq!(hub.gate.answered().await, before);
    let (_, request) = labelled(Csr::new(&cluster, "a1"), Some(&cluster));
    agent.by(by).create(&request).await.ok();
    assert_eq!(hub.gate.answered().await, before + 1);

    // Without the gate agents still renew.
    let Guarded { cluster: hub, gate } = hub;
    gate.kill();
    let (_, request) = labelled(Csr::new(&cluster, "a1"), Some(&cluster));
    agent.by(by).create(&request).await.ok();
    drop(hub);
}
