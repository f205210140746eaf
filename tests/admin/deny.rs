//! `berth deny`: its confirmation, its output, and the objects that it leaves.

use serde_json::json;

use crate::accept::{bootstrap, cluster_path, is_accepted, joins};
use crate::house::House;
use crate::terminal::at_a_terminal;
use berth_testkit::cluster::{fresh, rule};
use berth_testkit::csr::Csr;
use berth_testkit::filled::fill;
use berth_testkit::objects;

/// The name of a cluster that is accepted.
async fn accepted(house: &House<&'static berth_testkit::cluster::Cluster>) -> String {
    let name = fresh("in");
    house.managed_cluster(&name, &[]).await;
    let patch = json!({"spec": {"hubAcceptsClient": true}});
    let path = cluster_path(&name);
    house.admin.merge(&path, &patch).await.unwrap().ok();
    name
}

#[tokio::test]
async fn nothing_is_revoked_without_a_yes() {
    let house = House::shared().await;
    let name = accepted(&house).await;
    house
        .stage()
        .with("c", &name)
        .plays(
            "
$ berth deny {c}
Error: a denial revokes the rights of the clusters' agents; without a terminal to confirm it on, add --yes
? 2
",
        )
        .await;
    let command = || house.admin.berth_command(&["deny", &name]);
    let question = format!("Deny managed cluster {name}? [y/N] ");
    for answer in ["n\n", "\n", "\u{4}"] {
        let (seen, code) = at_a_terminal(command(), 80, answer).await;
        assert_eq!(code, 1, "{seen}");
        let lost = format!("{name}: its agent loses its rights: the role bindings in namespace");
        assert!(seen.contains(&lost), "{seen}");
        assert!(seen.contains(&question), "{seen}");
        assert!(seen.contains("Nothing was changed."), "{seen}");
        assert!(is_accepted(&house, &name).await);
    }
    let (seen, code) = at_a_terminal(command(), 80, "y\n").await;
    assert_eq!(code, 0, "{seen}");
    let told = format!("set hubAcceptsClient to false for managed cluster {name}\r\n");
    assert!(seen.ends_with(&told), "{seen}");
    assert!(!is_accepted(&house, &name).await);
    // Nothing to ask about.
    let (seen, code) = at_a_terminal(command(), 80, "").await;
    assert_eq!(code, 0, "{seen}");
    assert_eq!(
        seen,
        format!("hubAcceptsClient is not set for managed cluster {name}\r\n")
    );
}

#[tokio::test]
async fn several_are_turned_out_and_each_is_told() {
    let house = House::shared().await;
    let [a, b] = [accepted(&house).await, accepted(&house).await];
    let stage = || house.stage().with("a", &a).with("b", &b);
    stage()
        .plays(
            "
$ berth deny {a} --dry-run=server
set hubAcceptsClient to false for managed cluster {a} (server dry run)
{a}: its agent loses its rights: the role bindings in namespace \"{a}\", and every right of ClusterRole \"open-cluster-management:managedcluster:{a}\" except reading its ManagedCluster
$ berth deny {a} --dry-run -o yaml
- target: {a}
  succeeded: true
  changed: true
  message: set hubAcceptsClient to false for managed cluster {a} (dry run)
",
        )
        .await;
    assert!(is_accepted(&house, &a).await);
    stage()
        .plays(
            "
$ berth deny {a} --clusters {b},x{b} -y
set hubAcceptsClient to false for managed cluster {a}
set hubAcceptsClient to false for managed cluster {b}
Error: x{b}: managedclusters.cluster.open-cluster-management.io \"x{b}\" not found; did you mean \"{b}\"?
{a}: its agent loses its rights: [..]
{b}: its agent loses its rights: [..]
? 1
$ berth deny {a} {b} --yes
hubAcceptsClient is not set for managed cluster {a}
hubAcceptsClient is not set for managed cluster {b}
",
        )
        .await;
    assert!(!is_accepted(&house, &a).await && !is_accepted(&house, &b).await);
}

#[tokio::test]
async fn what_stays_is_told() {
    let house = House::shared().await;
    let name = accepted(&house).await;
    joins(&house, &name).await;
    let csr = Csr::new(&name, "agent2")
        .sent_by(&bootstrap(&house).await)
        .await;
    house
        .stage()
        .with("c", &name)
        .with("csr", &csr.name)
        .plays(
            "
$ berth deny {c} --yes
set hubAcceptsClient to false for managed cluster {c}
{c}: its agent loses its rights: [..]
{c}: the certificate of its agent stays valid until it expires, but has no rights; the hub does not renew it
{c}: CSR {csr} stays pending; to deny it: kubectl certificate deny {csr}
",
        )
        .await;
}

#[tokio::test]
async fn what_the_gate_denies_is_told_once() {
    let house = House::shared().await;
    let name = accepted(&house).await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let output = house.berth_as(&dev, &format!("deny {name} --yes")).await;
    let told = format!(
        "Error: {name}: managedclusters/accept.cluster.open-cluster-management.io \"{name}\" is forbidden: "
    );
    assert_eq!(output.failed().matches(&told).count(), 1, "{output:?}");
    assert!(is_accepted(&house, &name).await);
    // What is only good to know is not known, and said so; the gate decides all the same.
    let rights = [
        rule(
            &["get", "patch"],
            "cluster.open-cluster-management.io",
            &["managedclusters"],
            &[],
        ),
        rule(
            &["update"],
            "register.open-cluster-management.io",
            &["managedclusters/accept"],
            &[],
        ),
    ];
    let blind = house.cluster.user(&fresh("blind"), &[]).await;
    house.cluster.grant(&blind, &rights).await;
    let output = house.berth_as(&blind, &format!("deny {name} --yes")).await;
    output.ok();
    assert!(
        output.stderr.contains(&format!(
            "{name}: pending CSRs cannot be listed: certificatesigningrequests.certificates.k8s.io is forbidden"
        )),
        "{output:?}"
    );
}

#[tokio::test]
async fn work_that_is_left_is_counted() {
    let (house, _berth) = House::private().await;
    let name = fresh("in");
    house.managed_cluster(&name, &[]).await;
    house.berth(&format!("accept {name}")).await.ok();
    house
        .once(&format!("/api/v1/namespaces/{name}"), "there", |_| true)
        .await;
    let works = format!("/apis/work.open-cluster-management.io/v1/namespaces/{name}/manifestworks");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}});
    for work in ["one", "two"] {
        let mut work = objects::work(work, json!({"workload": {"manifests": [object]}}));
        work["metadata"]["namespace"] = json!(name);
        house.admin.post(&works, &work).await.unwrap().ok();
    }
    let output = house
        .berth(&format!("deny {name} --yes --now --dry-run=server"))
        .await;
    output.ok();
    let words = format!(
        "{name}: 2 ManifestWorks are in namespace \"{name}\": its agent loses its rights on them immediately; they keep \
         their finalizers, and what they deployed stays on the cluster\n"
    );
    assert!(output.stderr.contains(&words), "{output:?}");
    let output = house.berth(&format!("deny {name} --yes")).await;
    output.ok();
    let words = format!(
        "{name}: 2 ManifestWorks are in namespace \"{name}\": its agent keeps its rights on them until they are deleted\n"
    );
    assert!(output.stderr.contains(&words), "{output:?}");
}

#[tokio::test]
async fn the_denial_of_a_cluster_that_waits_is_noted_once() {
    let house = House::shared().await;
    let name = fresh("waits");
    house.managed_cluster(&name, &[]).await;
    let noted = async || {
        let cluster = house.admin.get(&cluster_path(&name)).await.unwrap();
        cluster.ok()["metadata"]["annotations"][DENIED_ON].clone()
    };
    house
        .stage()
        .with("c", &name)
        .plays(
            "
$ berth deny {c} --yes
recorded the denial of managed cluster {c}: the hub does not accept it automatically
",
        )
        .await;
    let since = noted().await;
    let time: jiff::Timestamp = since.as_str().unwrap().parse().unwrap();
    assert!(time <= jiff::Timestamp::now());
    house
        .stage()
        .with("c", &name)
        .plays(
            "
$ berth deny {c} --yes
hubAcceptsClient is not set for managed cluster {c}
",
        )
        .await;
    assert_eq!(noted().await, since);
}

/// The record of a denial.
const DENIED_ON: &str = "open-cluster-management.io/denied-on";
/// The annotation of a denial that takes effect immediately.
const NOW: &str = "open-cluster-management.io/deny-now";

#[tokio::test]
async fn a_denial_now_is_annotated_until_the_cluster_is_accepted_again() {
    let house = House::shared().await;
    let name = accepted(&house).await;
    let stage = || house.stage().with("c", &name);
    stage()
        .plays(
            "
$ berth deny {c} --yes
set hubAcceptsClient to false for managed cluster {c}
{c}: its agent loses its rights: [..]
$ berth deny {c} --yes --now
set hubAcceptsClient to false for managed cluster {c}, effective immediately
{c}: its agent loses its rights: [..]
$ berth deny {c} --yes --now
hubAcceptsClient is not set for managed cluster {c}
",
        )
        .await;
    let annotation = async |key: &str| {
        let object = house.admin.get(&cluster_path(&name)).await.unwrap();
        object.ok()["metadata"]["annotations"][key].clone()
    };
    assert_eq!(annotation(NOW).await, "true");
    house.berth(&format!("accept {name}")).await.ok();
    assert!(is_accepted(&house, &name).await);
    assert!(annotation(NOW).await.is_null());
    // The record stays: automatic approval of CSRs stays off for this cluster.
    assert!(annotation(DENIED_ON).await.is_string());
}

#[tokio::test]
async fn nobody_denies_now_without_the_permission_to_accept() {
    let house = House::shared().await;
    let name = fresh("waiting");
    house.managed_cluster(&name, &[]).await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let output = house
        .berth_as(&dev, &format!("deny {name} --yes --now"))
        .await;
    let told = format!(
        "Error: {name}: managedclusters/accept.cluster.open-cluster-management.io \"{name}\" is forbidden: user \"{}\" cannot \
         set annotation {NOW}, which takes all rights from the cluster's agent at once: needs verb \"update\" on \
         managedclusters/accept",
        dev.user
    );
    assert!(output.failed().contains(&told), "{output:?}");
    let mut object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": fresh("new"), "annotations": {NOW: "true"}},
    });
    let answer = dev.post(crate::house::CLUSTERS, &object).await.unwrap();
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (403, &json!("Forbidden"))
    );
    object["metadata"]["annotations"] = json!({"a": "b"});
    dev.post(crate::house::CLUSTERS, &object)
        .await
        .unwrap()
        .ok();
}

#[tokio::test]
async fn a_cluster_of_which_a_field_cannot_be_read_is_denied_accepted_and_deleted() {
    let house = House::shared().await;
    let name = fresh("hidden");
    house.managed_cluster(&name, &[]).await;
    let path = cluster_path(&name);
    let condition = json!({
        "type": "Hidden", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "9999-12-31T23:59:59Z",
    });
    let patch = json!({"status": {"conditions": [condition]}});
    let answer = house.admin.merge(&format!("{path}/status"), &patch).await;
    answer.unwrap().ok();
    let output = house.berth(&format!("accept {name}")).await;
    output.ok();
    let note = format!(
        "these fields of ManagedCluster {name} cannot be read: status.conditions[0].lastTransitionTime"
    );
    assert!(output.stderr.contains(&note), "{output:?}");
    assert!(is_accepted(&house, &name).await);
    let is = |object: &serde_json::Value, type_: &str, status: &str| {
        let conditions = object["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let mut of_type = conditions.filter(|it| it["type"] == type_);
        of_type.any(|it| it["status"] == status)
    };
    const ACCEPTED: &str = "HubAcceptedManagedCluster";
    house
        .once(&path, "accepted", |it| is(it, ACCEPTED, "True"))
        .await;
    house.berth(&format!("deny {name} --yes")).await.ok();
    house
        .once(&path, "denied", |it| is(it, ACCEPTED, "False"))
        .await;

    // The gate lets the finalizers of what is being deleted go, whatever its taints say.
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    house.admin.merge(&path, &hold).await.unwrap().ok();
    house.admin.delete(&path).await.unwrap();
    let taint = json!({"key": "a", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00-26:00"});
    let patch = json!({"spec": {"taints": [taint]}});
    house.admin.merge(&path, &patch).await.unwrap().ok();
    house
        .once(&path, "let go", |it| {
            it["metadata"]["finalizers"] == json!(["example.com/hold"])
        })
        .await;
    let release = json!({"metadata": {"finalizers": null}});
    house.admin.merge(&path, &release).await.unwrap().ok();
    assert_eq!(house.admin.get(&path).await.unwrap().code, 404);
}

#[tokio::test]
async fn a_full_object_is_denied() {
    let house = House::shared().await;
    let name = accepted(&house).await;
    let path = cluster_path(&name);
    fill(&house.admin, &path).await;
    let deny = json!({"spec": {"hubAcceptsClient": false}});
    let answer = house.admin.merge(&path, &deny).await.unwrap();
    assert!([413, 500].contains(&answer.code), "{answer:?}");
    assert!(is_accepted(&house, &name).await);
    let output = house.berth(&format!("deny {name} --yes --now")).await;
    output.ok();
    let note = format!(
        "{name}: the ManagedCluster is at the size limit of the hub: removed its claims (status.clusterClaims)\n"
    );
    assert!(output.stderr.contains(&note), "{output:?}");
    assert!(!is_accepted(&house, &name).await);
}
