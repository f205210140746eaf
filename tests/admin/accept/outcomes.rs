//! What `berth accept` changes and prints when it cannot do all, or has nothing to approve.

use serde_json::{Value, json};

use super::{GATE, bootstrap, cluster_path, is_accepted, is_pending, may_send, object};
use crate::house::{CLUSTERS, House};
use crate::terminal::at_a_terminal;
use berth_testkit::cluster::{fresh, rule};
use berth_testkit::csr::{Csr, groups_of, user_of};

#[tokio::test]
async fn what_the_gate_denies_is_told_once_and_leaves_nothing_approved() {
    let house = House::shared().await;
    let [name, second] = [fresh("denied"), fresh("denied")];
    house.managed_cluster(&name, &[]).await;
    house.managed_cluster(&second, &[]).await;
    let csr = Csr::new(&name, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let rules = [
        rule(
            &["update"],
            "certificates.k8s.io",
            &["certificatesigningrequests/approval"],
            &[],
        ),
        rule(
            &["approve"],
            "certificates.k8s.io",
            &["signers"],
            &["kubernetes.io/kube-apiserver-client"],
        ),
        rule(&["update"], GATE, &["managedclusters/accept"], &[&second]),
    ];
    let dev = house.developer(&fresh("dev"), &rules).await;
    let stage = house.stage_of(&dev).with("c", &name).with("d", &second);
    stage
        .with("dev", &dev.user)
        .plays(
            "
$ berth accept {c} {d}
set hubAcceptsClient to true for managed cluster {d}
no CSR to approve for cluster {d} yet: its agent sends one when it reaches the hub; --wait waits for it
...
Error: {c}: managedclusters/accept.cluster.open-cluster-management.io \"{c}\" is forbidden: user \"{dev}\" cannot update the HubAcceptsClient field: needs verb \"update\" on managedclusters/accept in API group register.open-cluster-management.io, name \"{c}\"; check: berth can-i accept {c}
...
? 1
",
        )
        .await;
    assert!(is_pending(&house, &csr).await);
    assert!(!is_accepted(&house, &name).await);
    let output = house
        .berth_as(&dev, &format!("accept {name} --dry-run=server"))
        .await;
    assert_eq!(
        output.failed().matches("is forbidden").count(),
        1,
        "{output:?}"
    );
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[tokio::test]
async fn who_may_accept_but_not_approve_is_told_what_is_missing() {
    let house = House::shared().await;
    let name = fresh("half");
    house.managed_cluster(&name, &[]).await;
    let csr = Csr::new(&name, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let rules = [rule(&["update"], GATE, &["managedclusters/accept"], &[])];
    let dev = house.developer(&fresh("dev"), &rules).await;
    let output = house.berth_as(&dev, &format!("accept {name}")).await;
    let told = format!(
        "Error: {name}: CSR {} is not approved: certificatesigningrequests",
        csr.name
    );
    assert!(output.failed().contains(&told), "{output:?}");
    assert!(output.stderr.contains("(Forbidden)"), "{output:?}");
    assert!(is_accepted(&house, &name).await);
    assert!(is_pending(&house, &csr).await);
}

#[tokio::test]
async fn every_target_is_tried_and_a_wrong_name_is_told_with_the_nearest() {
    let house = House::shared().await;
    let name = fresh("nearby");
    house.managed_cluster(&name, &[]).await;
    house
        .stage()
        .with("c", &name)
        .plays(
            "
$ berth accept x{c} --clusters {c}
set hubAcceptsClient to true for managed cluster {c}
no CSR to approve for cluster {c} yet: its agent sends one when it reaches the hub; --wait waits for it
Error: x{c}: managedclusters.cluster.open-cluster-management.io \"x{c}\" not found; did you mean \"{c}\"?
? 1
",
        )
        .await;
    for (line, words) in [
        ("accept", "required"),
        ("accept ../x", "no ManagedCluster can have this name"),
        (
            "accept --clusters a,,b",
            "no ManagedCluster can have this name",
        ),
        ("accept x -l a=b", "cannot be used with"),
        ("accept -l a=b", "--all-pending"),
        ("accept x --all-pending", "cannot be used with"),
    ] {
        let output = house.berth(line).await;
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
    }
}

#[tokio::test]
async fn a_cluster_that_registers_by_aws_needs_no_csr() {
    let house = House::shared().await;
    let name = fresh("eks");
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": name,
            "annotations": {
                "agent.open-cluster-management.io/managed-cluster-arn": "arn:aws:eks:eu:1:cluster/c",
            },
        },
    });
    let answer = house.admin.post(CLUSTERS, &object).await.unwrap();
    assert_eq!(answer.code, 201, "{answer:?}");
    let csr = Csr::new(&name, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    house
        .stage()
        .with("c", &name)
        .plays("\n$ berth accept {c}\nset hubAcceptsClient to true for managed cluster {c}\n")
        .await;
    assert!(is_pending(&house, &csr).await);
}

#[tokio::test]
async fn a_renewal_is_left_to_the_hub() {
    let house = House::shared().await;
    let name = fresh("renewing");
    house.managed_cluster(&name, &[]).await;
    let groups = groups_of(&name);
    let groups = groups.each_ref().map(String::as_str);
    let agent = house.cluster.user(&user_of(&name, "agent1"), &groups).await;
    may_send(&house, &agent).await;
    let csr = Csr::new(&name, "agent1").sent_by(&agent).await;
    house
        .stage()
        .with("c", &name)
        .with("csr", &csr.name)
        .plays(
            "
$ berth accept {c}
set hubAcceptsClient to true for managed cluster {c}
CSR {csr} is a renewal: the hub approves it, since the cluster is accepted
",
        )
        .await;
    let reason = "AutoApprovedByHubCSRApprovingController";
    house
        .once(&csr.path(), "approved by the hub", |it| {
            it["status"]["conditions"][0]["reason"] == reason
        })
        .await;
}

#[tokio::test]
async fn a_csr_that_a_person_denied_stays_denied() {
    let house = House::shared().await;
    let name = fresh("refused");
    house.managed_cluster(&name, &[]).await;
    let csr = Csr::new(&name, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let mut denied = object(&house, &csr.path()).await;
    denied["status"]["conditions"] =
        json!([{"type": "Denied", "status": "True", "reason": "No", "message": ""}]);
    let path = format!("{}/approval", csr.path());
    house.admin.put(&path, &denied).await.unwrap().ok();
    house
        .stage()
        .with("c", &name)
        .with("csr", &csr.name)
        .plays(
            "
$ berth accept {c}
set hubAcceptsClient to true for managed cluster {c}
Error: {c}: CSR {csr} already denied
? 1
",
        )
        .await;
}

#[tokio::test]
async fn all_pending_are_those_that_nobody_has_decided_about() {
    let house = House::shared().await;
    let region = fresh("region");
    let [a, b, out] = [(); 3].map(|()| fresh("pending"));
    let labels = [("region", region.as_str())];
    let stage = || {
        let stage = house.stage().with("region", &region);
        stage.with("a", &a).with("b", &b).with("out", &out)
    };
    stage()
        .plays("\n$ berth accept --all-pending -l region={region}\nNo pending clusters found.\n")
        .await;
    for name in [&a, &b, &out] {
        house.managed_cluster(name, &labels).await;
    }
    house.berth(&format!("accept {out}")).await.ok();
    let told =
        |reason: &'static str| move |it: &Value| it["status"]["conditions"][0]["reason"] == reason;
    let path = cluster_path(&out);
    house
        .once(&path, "accepted", told("HubClusterAdminAccepted"))
        .await;
    house.berth(&format!("deny {out} --yes")).await.ok();
    house
        .once(&path, "turned out", told("HubClusterAdminDenied"))
        .await;

    // Who sits at a terminal is asked.
    let args = ["accept", "--all-pending", "-l", &format!("region={region}")];
    let command = || house.admin.berth_command(&args);
    let (seen, code) = at_a_terminal(command(), 80, "n\n").await;
    assert_eq!(code, 1, "{seen}");
    assert!(
        seen.contains(&format!("{a}\r\n{b}\r\nAccept these 2 clusters? [y/N] ")),
        "{seen}"
    );
    assert!(seen.contains("Nothing was changed."), "{seen}");
    assert!(!is_accepted(&house, &a).await);

    stage()
        .plays(
            "
$ berth accept --all-pending -l region={region} --dry-run=server
{out} is skipped: it was accepted and then denied; 'berth accept {out}' accepts it again
set hubAcceptsClient to true for managed cluster {a} (server dry run)
no CSR to approve for cluster {a} yet: its agent sends one when it reaches the hub; --wait waits for it
set hubAcceptsClient to true for managed cluster {b} (server dry run)
no CSR to approve for cluster {b} yet: its agent sends one when it reaches the hub; --wait waits for it
",
        )
        .await;
    let (seen, code) = at_a_terminal(command(), 80, "y\n").await;
    assert_eq!(code, 0, "{seen}");
    assert!(is_accepted(&house, &a).await && is_accepted(&house, &b).await);
    assert!(!is_accepted(&house, &out).await);
    stage()
        .plays(
            "
$ berth accept --all-pending -l region={region}
{out} is skipped: it was accepted and then denied; 'berth accept {out}' accepts it again
No pending clusters found.
",
        )
        .await;
}

#[tokio::test]
async fn who_may_not_see_csrs_changes_nothing() {
    let house = House::shared().await;
    let name = fresh("blind");
    house.managed_cluster(&name, &[]).await;
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let rules = [
        rule(&["get", "patch"], group, &["managedclusters"], &[]),
        rule(&["update"], GATE, &["managedclusters/accept"], &[]),
    ];
    house.cluster.grant(&dev, &rules).await;
    let output = house.berth_as(&dev, &format!("accept {name}")).await;
    assert!(
        output
            .failed()
            .contains("cannot list resource \"certificatesigningrequests\""),
        "{output:?}"
    );
    assert!(!is_accepted(&house, &name).await);
}

#[tokio::test]
async fn several_who_accept_at_once_do_not_get_into_each_others_way() {
    let house = House::shared().await;
    let name = fresh("crowd");
    house.managed_cluster(&name, &[]).await;
    let csr = Csr::new(&name, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let line = format!("accept {name}");
    let all = futures::future::join_all((0..5).map(|_| house.berth(&line))).await;
    for output in &all {
        output.ok();
        let acceptance = output
            .stdout
            .lines()
            .filter(|line| line.contains("hubAcceptsClient"));
        assert_eq!(acceptance.count(), 1, "{output:?}");
        let approval = output
            .stdout
            .lines()
            .filter(|line| line.contains(&csr.name));
        assert_eq!(approval.count(), 1, "{output:?}");
    }
    let told = |words: &str| all.iter().filter(|it| it.stdout.contains(words)).count();
    assert_eq!(told("set hubAcceptsClient to true"), 1, "{all:?}");
    assert_eq!(told(&format!("CSR {} approved", csr.name)), 1, "{all:?}");
    let conditions = object(&house, &csr.path()).await["status"]["conditions"].clone();
    assert_eq!(conditions.as_array().unwrap().len(), 1, "{conditions}");
}

#[tokio::test]
async fn a_hub_that_hangs_is_told_in_time() {
    let house = House::shared().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let person = house.cluster.person_at(&url).await;
    let begun = std::time::Instant::now();
    let output = house
        .berth_as(&person, "accept c1 c2 --wait --timeout 1")
        .await;
    let words =
        format!("Error: c1: timed out after 1s: the hub at {url} did not answer in 1s (get ");
    assert!(output.failed().contains(&words), "{output:?}");
    let output = house
        .berth_as(&person, "accept c1 c2 --request-timeout 1s")
        .await;
    // The next one would meet the same.
    let words = format!("Error: the hub at {url} did not answer in 1s (get ");
    assert!(output.failed().starts_with(&words), "{output:?}");
    let output = house
        .berth_as(&person, "deny c1 c2 --yes --request-timeout 1s")
        .await;
    assert!(output.failed().starts_with(&words), "{output:?}");
    // Two minutes are the default.
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(60),
        "{output:?}"
    );
}
