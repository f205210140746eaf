//! `berth deny`: who asks, what is said, and what is left.

use serde_json::json;

use crate::accept::{bootstrap, cluster_path, is_accepted, joins};
use crate::cluster::{fresh, rule};
use crate::csr::Csr;
use crate::house::House;
use crate::terminal::at_a_terminal;

/// The name of a cluster that is accepted.
async fn accepted(house: &House<&'static crate::cluster::Cluster>) -> String {
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
Error: turning clusters out takes away their agents' rights, and nobody is there to be asked: add --yes
? 2
",
        )
        .await;
    let command = || house.admin.berth_command(&["deny", &name]);
    let question = format!("Turn out managed cluster {name}? [y/N] ");
    for answer in ["n\n", "\n", "\u{4}"] {
        let (seen, code) = at_a_terminal(command(), 80, answer).await;
        assert_eq!(code, 1, "{seen}");
        let lost = format!("{name}: its agent loses its rights: the role bindings in namespace");
        assert!(seen.contains(&lost), "{seen}");
        assert!(seen.contains(&question), "{seen}");
        assert!(seen.contains("Nothing is changed."), "{seen}");
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
{a}: its agent loses its rights: the role bindings in namespace \"{a}\", and all of ClusterRole \"open-cluster-management:managedcluster:{a}\" but to see its ManagedCluster
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
{c}: the certificate of its agent stays valid until it ends, but gives no rights any more; the hub does not renew it
{c}: CSR {csr} is pending, and stays so; to deny it: kubectl certificate deny {csr}
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
            "{name}: whether CSRs are pending is not known: certificatesigningrequests.certificates.k8s.io is forbidden"
        )),
        "{output:?}"
    );
}

#[tokio::test]
async fn work_that_is_left_is_counted() {
    let (house, _berth) = House::private().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "manifestworks.work.open-cluster-management.io"},
        "spec": {
            "group": "work.open-cluster-management.io",
            "scope": "Namespaced",
            "names": {"kind": "ManifestWork", "plural": "manifestworks"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    house.cluster.apply(&[crd]).await;
    let name = fresh("in");
    house.managed_cluster(&name, &[]).await;
    house.berth(&format!("accept {name}")).await.ok();
    house
        .once(&format!("/api/v1/namespaces/{name}"), "there", |_| true)
        .await;
    let works = format!("/apis/work.open-cluster-management.io/v1/namespaces/{name}/manifestworks");
    house.once(&works, "served", |_| true).await;
    for work in ["one", "two"] {
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"name": work},
        });
        house.admin.post(&works, &work).await.unwrap().ok();
    }
    let output = house.berth(&format!("deny {name} --yes")).await;
    output.ok();
    let words = format!(
        "{name}: 2 ManifestWorks are in namespace \"{name}\": until they are deleted, its agent keeps the right to work on them\n"
    );
    assert!(output.stderr.contains(&words), "{output:?}");
}
