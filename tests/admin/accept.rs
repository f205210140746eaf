//! `berth accept`: which clusters and CSRs it accepts, and what it prints.

use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Issued;
use jiff::Timestamp;
use rcgen::PublicKeyData;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::house::{CLUSTERS, House};
use crate::terminal::at_a_terminal;
use berth_testkit::cluster::{Cluster, Credentials, Person, fresh, rule, say_skipped};
use berth_testkit::csr::{Asked, Csr, groups_of, user_of};
use berth_testkit::{eventually, when};

const GATE: &str = "register.open-cluster-management.io";

pub fn cluster_path(name: &str) -> String {
    format!("{CLUSTERS}/{name}")
}

/// Somebody with a bootstrap token for registering clusters; as far as the hub can tell.
pub async fn bootstrap<C: Deref<Target = Cluster>>(house: &House<C>) -> Person {
    let user = format!("system:bootstrap:{}", fresh("token"));
    let groups = ["system:bootstrappers:managedcluster"];
    let person = house.cluster.user(&user, &groups).await;
    may_send(house, &person).await;
    person
}

async fn may_send<C: Deref<Target = Cluster>>(house: &House<C>, person: &Person) {
    let requests = &["certificatesigningrequests"];
    let rule = rule(&["create"], "certificates.k8s.io", requests, &[]);
    house.cluster.grant(person, &[rule]).await;
}

/// The agent reports that it has joined.
pub async fn joins<C: Deref<Target = Cluster>>(house: &House<C>, name: &str) {
    let path = cluster_path(name);
    loop {
        let object = house.admin.get(&path).await.unwrap().ok().clone();
        let mut conditions = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        conditions.push(json!({
            "type": "ManagedClusterJoined", "status": "True", "reason": "ManagedClusterJoined",
            "message": "", "lastTransitionTime": Timestamp::now(),
        }));
        let patch = json!({
            "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
            "status": {"conditions": conditions},
        });
        let path = format!("{path}/status");
        let answer = house.admin.merge(&path, &patch).await.unwrap();
        if answer.code == 200 {
            return;
        }
        assert_eq!(answer.code, 409, "{answer:?}");
    }
}

async fn object<C: Deref<Target = Cluster>>(house: &House<C>, path: &str) -> Value {
    house.admin.get(path).await.unwrap().ok().clone()
}

/// The fingerprint of the key, as openssl tells it.
fn fingerprint(csr: &Csr) -> String {
    let key = digest(&SHA256, &csr.key.subject_public_key_info());
    let digits: String = key
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("SHA256:{digits}")
}

/// Whether nobody has decided about the CSR.
async fn is_pending<C: Deref<Target = Cluster>>(house: &House<C>, csr: &Csr) -> bool {
    object(house, &csr.path()).await["status"]["conditions"].is_null()
}

/// Whether the cluster is accepted.
pub async fn is_accepted<C: Deref<Target = Cluster>>(house: &House<C>, name: &str) -> bool {
    object(house, &cluster_path(name)).await["spec"]["hubAcceptsClient"] == true
}

#[tokio::test]
async fn a_cluster_joins_by_the_double_opt_in() {
    let house = House::shared().await;
    let name = fresh("joining");
    house.managed_cluster(&name, &[]).await;
    let mut csr = Csr::new(&name, "agent1");
    csr.body["metadata"]["labels"]["mine"] = json!("yes");
    csr.body["metadata"]["annotations"] = json!({"mine.example.com/note": "kept"});
    let csr = csr.sent_by(&bootstrap(&house).await).await;
    let sent = object(&house, &csr.path()).await;
    let quoted = |value: &Value| format!("{:?}", value.as_str().unwrap());
    let groups = sent["spec"]["groups"].as_array().unwrap().iter();
    let groups = groups.map(quoted).collect::<Vec<_>>().join(", ");
    let before = [
        object(&house, &csr.path()).await,
        object(&house, &cluster_path(&name)).await,
    ];
    let stage = || {
        let stage = house.stage().with("c", &name).with("csr", &csr.name);
        let stage = stage.with("sender", &quoted(&sent["spec"]["username"]));
        stage
            .with("groups", &groups)
            .with("key", &fingerprint(&csr))
    };
    stage()
        .plays(
            "
$ berth accept {c} --dry-run
set hubAcceptsClient to true for managed cluster {c} (dry run)
CSR {csr} approved: sent [..]s ago by {sender} (groups {groups}), key {key} (dry run)
$ berth accept {c} --dry-run=server --wait
set hubAcceptsClient to true for managed cluster {c} (server dry run)
CSR {csr} approved: sent [..]s ago by {sender} (groups {groups}), key {key} (server dry run)
",
        )
        .await;
    let after = [
        object(&house, &csr.path()).await,
        object(&house, &cluster_path(&name)).await,
    ];
    assert_eq!(before, after);

    stage()
        .plays(
            "
$ berth accept {c}
set hubAcceptsClient to true for managed cluster {c}
CSR {csr} approved: sent [..]s ago by {sender} (groups {groups}), key {key}
$ berth accept --clusters {c} -c {c}
hubAcceptsClient already set for managed cluster {c}
CSR {csr} already approved
",
        )
        .await;
    let approved = object(&house, &csr.path()).await;
    let metadata = &approved["metadata"];
    assert_eq!(metadata["labels"], csr.body["metadata"]["labels"]);
    assert_eq!(metadata["annotations"], csr.body["metadata"]["annotations"]);
    let [condition] = &approved["status"]["conditions"].as_array().unwrap()[..] else {
        panic!("{approved}")
    };
    assert_eq!(
        ["type", "status", "reason", "message"].map(|key| condition[key].as_str().unwrap()),
        [
            "Approved",
            "True",
            "BerthAccept",
            "This CSR was approved by berth accept."
        ]
    );

    if house.cluster.has_background_work() {
        let issued = house
            .once(&csr.path(), "issued", |it| {
                it["status"]["certificate"].is_string()
            })
            .await;
        let certificate = issued["status"]["certificate"].as_str().unwrap();
        let credentials = Credentials::Certificate(Issued {
            certificate_pem: String::from_utf8(STANDARD.decode(certificate).unwrap()).unwrap(),
            key_pem: csr.key.serialize_pem(),
            ca_pem: String::new(),
            not_before: Timestamp::MIN,
            not_after: Timestamp::MAX,
        });
        let user = user_of(&name, "agent1");
        let agent = house.cluster.person(&user, &credentials).await;
        house
            .once(&cluster_path(&name), "accepted", |it| {
                it["status"]["conditions"][0]["reason"] == "HubClusterAdminAccepted"
            })
            .await;
        let path = cluster_path(&name);
        // The hub may need a moment to go by the new roles.
        let seen = eventually("the agent's right to read its cluster", async || {
            when(agent.get(&path).await.unwrap(), |it| it.code != 403)
        });
        seen.await.ok();
    } else {
        say_skipped("nobody issues certificates here");
    }

    // The hub forgets CSRs after an hour.
    house.admin.delete(&csr.path()).await.unwrap().ok();
    stage()
        .plays(
            "
$ berth accept {c}
hubAcceptsClient already set for managed cluster {c}
no CSR to approve for cluster {c} yet: its agent sends one when it reaches the hub; --wait waits for it
",
        )
        .await;
    joins(&house, &name).await;
    stage()
        .plays(
            "
$ berth accept {c}
hubAcceptsClient already set for managed cluster {c}
Your managed cluster {c} has joined the Hub successfully.
$ berth accept {c} --wait
hubAcceptsClient already set for managed cluster {c}
Your managed cluster {c} has joined the Hub successfully.
",
        )
        .await;
}

/// All of them with the victim's label, and sent by somebody who may register clusters.
#[tokio::test]
async fn a_csr_that_is_not_truly_the_clusters_is_never_approved() {
    let house = House::shared().await;
    let [name, other] = [fresh("victim"), fresh("other")];
    house.managed_cluster(&name, &[]).await;
    let sender = bootstrap(&house).await;
    let me = user_of(&name, "agent1");
    let [mine, all] = groups_of(&name);
    let [theirs, _] = groups_of(&other);
    let (mine, all, theirs) = (mine.as_str(), all.as_str(), theirs.as_str());
    type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a str);
    let rows: [Row<'_>; 4] = [
        (
            &user_of(&other, "agent1"),
            &[theirs, all],
            &[],
            "the organizations are [",
        ),
        ("admin", &[mine, all], &[], "the common name is \"admin\""),
        (
            &me,
            &["admins", all],
            &[],
            "the organizations are [\"admins\"",
        ),
        (
            &me,
            &[mine, all],
            &["hub.example.com"],
            "it asks for subject alternative names",
        ),
    ];
    let mut sent = Vec::new();
    for (common_name, organizations, alternative_names, why) in rows {
        let asked = Asked {
            common_name,
            organizations,
            alternative_names,
        };
        sent.push((Csr::asking(&name, &asked).sent_by(&sender).await, why));
    }
    let mut foreign = Csr::new(&name, "agent1");
    foreign.body["spec"]["signerName"] = json!("example.com/signer");
    sent.push((
        foreign.sent_by(&sender).await,
        "its signer is \"example.com/signer\"",
    ));
    let mut addons = Csr::new(&name, "agent1");
    addons.body["metadata"]["labels"]["open-cluster-management.io/addon-name"] = json!("a");
    let addons = addons.sent_by(&sender).await;

    let house = &house;
    for flags in [
        "",
        " --skip-approve-check",
        &format!(" --requesters {me},admin"),
    ] {
        let output = house.berth(&format!("accept {name}{flags}")).await;
        assert_eq!(output.code, 1, "{output:?}");
        for (csr, why) in &sent {
            let told = format!("Error: {name}: CSR {} is not approved: {why}", csr.name);
            let lines = output.stderr.lines().filter(|line| line.starts_with(&told));
            assert_eq!(lines.count(), 1, "{told}: {output:?}");
            assert!(is_pending(house, csr).await, "{flags}: {why}");
        }
        assert!(!output.stderr.contains(&addons.name), "{output:?}");
        assert!(is_pending(house, &addons).await);
    }
    // They do not keep the cluster out, nor hide its own.
    assert!(is_accepted(house, &name).await);
    let good = Csr::new(&name, "agent1").sent_by(&sender).await;
    let output = house.berth(&format!("accept {name}")).await;
    assert!(
        output
            .ok()
            .contains(&format!("CSR {} approved: ", good.name))
    );
    let (evil, why) = &sent[0];
    let told = format!("CSR {} is not approved: {why}", evil.name);
    assert!(output.stdout.contains(&told), "{output:?}");
    assert!(is_pending(house, evil).await);
}

#[tokio::test]
async fn senders_are_checked_unless_the_admin_does_not_want_it() {
    let house = House::shared().await;
    let name = fresh("sender");
    house.managed_cluster(&name, &[]).await;
    let dev = house.cluster.user(&fresh("dev"), &["developers"]).await;
    may_send(&house, &dev).await;
    let csr = Csr::new(&name, "agent1").sent_by(&dev).await;
    let stage = || {
        let stage = house.stage().with("c", &name).with("csr", &csr.name);
        stage.with("dev", &dev.user)
    };
    stage()
        .plays(
            "
$ berth accept {c}
set hubAcceptsClient to true for managed cluster {c}
Error: {c}: CSR {csr} is not approved: its sender \"{dev}\" is not a user that clusters register as; --skip-approve-check approves it anyway
? 1
$ berth accept {c} -o json
[
  {
    \"target\": \"{c}\",
    \"succeeded\": true,
    \"changed\": false,
    \"message\": \"hubAcceptsClient already set for managed cluster {c}\"
  },
  {
    \"target\": \"{c}\",
    \"succeeded\": false,
    \"changed\": false,
    \"message\": \"CSR {csr} is not approved: [..]\"
  }
]
? 1
",
        )
        .await;
    assert!(is_pending(&house, &csr).await);
    stage()
        .plays(
            "
$ berth accept {c} --skip-approve-check
hubAcceptsClient already set for managed cluster {c}
CSR {csr} approved: [..]
",
        )
        .await;
}

#[tokio::test]
async fn of_different_requesters_none_is_approved_until_one_is_named() {
    let house = House::shared().await;
    let name = fresh("ambiguous");
    house.managed_cluster(&name, &[]).await;
    let sender = bootstrap(&house).await;
    let first = Csr::new(&name, "agent1").sent_by(&sender).await;
    let second = Csr::new(&name, "agent2").sent_by(&sender).await;
    let [one, two] = [user_of(&name, "agent1"), user_of(&name, "agent2")];
    let stage = || {
        let stage = house.stage().with("c", &name);
        let stage = stage
            .with("first", &first.name)
            .with("second", &second.name);
        stage.with("one", &one).with("two", &two)
    };
    let before = object(&house, &cluster_path(&name)).await;
    stage()
        .plays(
            "
$ berth accept {c}
Error: {c}: There are CSRs of different requesters: {one},{two}; nothing was changed: select requesters with --requesters, or set --skip-approve-check if all CSRs need to be approved
? 1
",
        )
        .await;
    assert!(is_pending(&house, &first).await && is_pending(&house, &second).await);
    assert_eq!(object(&house, &cluster_path(&name)).await, before);

    let output = house
        .berth(&format!("accept {name} --requesters {two},nobody"))
        .await;
    output.ok();
    assert!(
        output
            .stdout
            .contains(&format!("CSR {} approved: ", second.name)),
        "{output:?}"
    );
    let left = format!(
        "CSR {} is not approved: its requester {one} is not in the approve list\n",
        first.name
    );
    assert!(output.stdout.contains(&left), "{output:?}");
    assert!(is_pending(&house, &first).await);

    // The other comes too late: somebody is this cluster's agent already.
    let output = house.berth(&format!("accept {name}")).await;
    let words = format!("There are CSRs of different requesters: {one},{two}; nothing was changed");
    assert!(output.failed().contains(&words), "{output:?}");
    assert!(is_pending(&house, &first).await);
    house
        .berth(&format!("accept {name} --skip-approve-check"))
        .await
        .ok();
    assert!(!is_pending(&house, &first).await);
}

#[tokio::test]
async fn named_requesters_are_meant_also_when_there_is_but_one_other() {
    let house = House::shared().await;
    let name = fresh("named");
    house.managed_cluster(&name, &[]).await;
    let csr = Csr::new(&name, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let stage = house.stage().with("c", &name).with("csr", &csr.name);
    stage
        .with("one", &user_of(&name, "agent1"))
        .plays(
            "
$ berth accept {c} --requesters somebody
set hubAcceptsClient to true for managed cluster {c}
Error: {c}: CSR {csr} is not approved: its requester {one} is not in the approve list
? 1
",
        )
        .await;
    assert!(is_pending(&house, &csr).await);
}

#[tokio::test]
async fn who_has_a_bootstrap_token_does_not_become_a_cluster_in_use() {
    let house = House::shared().await;
    let name = fresh("inuse");
    house.managed_cluster(&name, &[]).await;
    house.berth(&format!("accept {name}")).await.ok();
    joins(&house, &name).await;
    let thief = Csr::new(&name, "thief")
        .sent_by(&bootstrap(&house).await)
        .await;
    let stage = house.stage().with("c", &name).with("csr", &thief.name);
    stage
        .with("thief", &user_of(&name, "thief"))
        .plays(
            "
$ berth accept {c}
hubAcceptsClient already set for managed cluster {c}
CSR {csr} is not approved: the cluster has already joined, and its agent sends heartbeats; if {thief} is another agent of it, approve it with --requesters
Your managed cluster {c} has joined the Hub successfully.
",
        )
        .await;
    assert!(is_pending(&house, &thief).await);
    let command = format!("accept {name} --requesters {}", user_of(&name, "thief"));
    house.berth(&command).await.ok();
    assert!(!is_pending(&house, &thief).await);
}

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
async fn with_wait_it_waits_for_all_that_is_still_to_come() {
    let house = House::shared().await;
    let name = fresh("late");
    let sender = bootstrap(&house).await;
    let command = format!("accept {name} --wait --timeout 60 --yes");
    let steps = async {
        house.managed_cluster(&name, &[]).await;
        let path = cluster_path(&name);
        house
            .once(&path, "accepted", |it| {
                it["spec"]["hubAcceptsClient"] == true
            })
            .await;
        let csr = Csr::new(&name, "agent1").sent_by(&sender).await;
        house
            .once(&csr.path(), "approved", |it| {
                it["status"]["conditions"][0]["type"] == "Approved"
            })
            .await;
        joins(&house, &name).await;
        csr
    };
    let (output, csr) = tokio::join!(house.berth(&command), steps);
    let said: Vec<&str> = output.ok().lines().collect();
    let [accepted, approved, joined] = said[..] else {
        panic!("{output:?}");
    };
    assert_eq!(
        accepted,
        format!("set hubAcceptsClient to true for managed cluster {name}")
    );
    let start = format!("CSR {} approved: sent ", csr.name);
    assert!(approved.starts_with(&start), "{approved}");
    assert_eq!(
        joined,
        format!("Your managed cluster {name} has joined the Hub successfully.")
    );
    // A line for each change, of which not all need be met.
    assert!(
        output.stderr.lines().all(|line| {
            line.starts_with(&format!("{name}: waiting: ")) || line.starts_with("Warning: ")
        }),
        "{output:?}"
    );
}

/// Who has a bootstrap token can send a request for a cluster at the very moment that its admin waits for it.
#[tokio::test]
async fn what_comes_while_it_waits_is_approved_by_its_key_or_not_at_all() {
    let house = House::shared().await;
    let [name, named] = [(); 2].map(|()| fresh("watched"));
    let sender = bootstrap(&house).await;
    let accepted = async |name: &str| {
        house.managed_cluster(name, &[]).await;
        let path = cluster_path(name);
        let is = |it: &Value| it["spec"]["hubAcceptsClient"] == true;
        house.once(&path, "accepted", is).await;
    };

    // Nobody is there to be asked.
    let command = format!("accept {name} --wait --timeout 60");
    let steps = async {
        accepted(&name).await;
        Csr::new(&name, "agent1").sent_by(&sender).await
    };
    let (output, csr) = tokio::join!(house.berth(&command), steps);
    let key = fingerprint(&csr);
    let told = format!(
        "Error: {name}: CSR {} is not approved: it arrived after this command started, and no terminal is available to ask on: sent ",
        csr.name
    );
    assert!(output.failed().contains(&told), "{output:?}");
    let remedy = format!(
        ", key {key}; add --fingerprint {key} to approve this key, or --yes to approve any key\n"
    );
    assert!(output.failed().contains(&remedy), "{output:?}");
    assert!(is_pending(&house, &csr).await);
    // Once it is there, it is known.
    let line = format!("accept {name} --wait --timeout 1500ms");
    let output = house.berth(&line).await;
    let approved = format!("CSR {} approved: ", csr.name);
    assert!(output.stdout.contains(&approved), "{output:?}");

    // The key was named before; another one waits, whoever sends it.
    let right = Csr::new(&named, "agent1");
    let key = fingerprint(&right);
    let command = format!("accept {named} --wait --timeout 60 --fingerprint {key}");
    let steps = async {
        accepted(&named).await;
        let wrong = Csr::new(&named, "agent1").sent_by(&sender).await;
        let right = right.sent_by(&sender).await;
        let is = |it: &Value| it["status"]["conditions"][0]["type"] == "Approved";
        house.once(&right.path(), "approved", is).await;
        joins(&house, &named).await;
        (wrong, right)
    };
    let (output, (wrong, right)) = tokio::join!(house.berth(&command), steps);
    let approved = format!("CSR {} approved: ", right.name);
    assert!(output.ok().contains(&approved), "{output:?}");
    assert!(is_pending(&house, &wrong).await);
    house
        .stage()
        .with("c", &named)
        .with("csr", &wrong.name)
        .with("right", &right.name)
        .with("key", &key)
        .plays(
            "
$ berth accept {c} --fingerprint {key}
hubAcceptsClient already set for managed cluster {c}
CSR {right} already approved
CSR {csr} is not approved: the cluster has already joined, [..]
Your managed cluster {c} has joined the Hub successfully.
$ berth accept {c} --fingerprint SHA256:00
error: invalid value 'SHA256:00' for '--fingerprint <SHA256:HEX,...>': expected SHA256: and 64 hexadecimal digits
...
? 2
",
        )
        .await;
}

#[tokio::test]
async fn at_a_terminal_it_asks_about_what_came_while_it_waited() {
    let house = House::shared().await;
    let sender = bootstrap(&house).await;
    for (typed, approves) in [("y\n", true), ("n\n", false)] {
        let name = fresh("asked");
        let args = ["accept", &name, "--wait", "--timeout", "60"];
        let command = house.admin.berth_command(&args);
        let steps = async {
            house.managed_cluster(&name, &[]).await;
            let path = cluster_path(&name);
            let is = |it: &Value| it["spec"]["hubAcceptsClient"] == true;
            house.once(&path, "accepted", is).await;
            let csr = Csr::new(&name, "agent1").sent_by(&sender).await;
            if approves {
                let is = |it: &Value| it["status"]["conditions"][0]["type"] == "Approved";
                house.once(&csr.path(), "approved", is).await;
                joins(&house, &name).await;
            }
            csr
        };
        let ((seen, code), csr) = tokio::join!(at_a_terminal(command, 80, typed), steps);
        let key = fingerprint(&csr);
        assert!(
            seen.contains(&format!(
                "CSR {} arrived after this command started: sent ",
                csr.name
            )),
            "{seen}"
        );
        assert!(seen.contains(&key), "{seen}");
        let question = format!("Approve it for managed cluster {name}? [y/N] ");
        assert_eq!(seen.matches(&question).count(), 1, "{seen}");
        assert_eq!(code, i32::from(!approves), "{seen}");
        assert_eq!(is_pending(&house, &csr).await, !approves);
        let refused =
            "is not approved: it arrived after this command started, and you did not agree";
        assert_eq!(seen.contains(refused), !approves, "{seen}");
    }
}

#[tokio::test]
async fn when_the_time_is_up_it_says_what_is_missing() {
    let house = House::shared().await;
    let [absent, silent, other, joining] = [(); 4].map(|()| fresh("timeout"));
    for name in [&silent, &other, &joining] {
        house.managed_cluster(name, &[]).await;
    }
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    may_send(&house, &dev).await;
    let wrong = Csr::new(&other, "agent1").sent_by(&dev).await;
    Csr::new(&joining, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let output = house
        .berth(&format!(
            "accept {absent} {silent} {other} {joining} --wait --timeout 1500ms"
        ))
        .await;
    let told = |name: &str, what: &str| {
        let line = format!("Error: {name}: timed out after 1.5s: {what}");
        assert!(output.failed().contains(&line), "{line}: {output:?}");
        let line = format!("{name}: waiting: {what}");
        let lines = output.stderr.lines().filter(|it| it.starts_with(&line));
        assert_eq!(lines.count(), 1, "{line}: {output:?}");
    };
    told(&absent, "the ManagedCluster does not exist");
    told(&silent, "its agent has not sent a CSR yet");
    told(
        &other,
        &format!(
            "no CSR can be approved: CSR {} is not approved: its sender",
            wrong.name
        ),
    );
    told(&joining, "its agent has not joined yet");

    // A narrow terminal has one line, which is rewritten, and wiped in the end.
    let args = ["accept", &silent, "--wait", "--timeout", "1500ms"];
    let (seen, code) = at_a_terminal(house.admin.berth_command(&args), 40, "").await;
    assert_eq!(code, 1, "{seen}");
    let drawn: Vec<&str> = seen
        .split('\r')
        .filter(|it| it.starts_with("Waiting ("))
        .collect();
    assert!(drawn.len() >= 2, "{seen:?}");
    for line in drawn {
        let line = line
            .strip_suffix("\u{1b}[K")
            .unwrap_or_else(|| panic!("{seen:?}"));
        assert_eq!(line.chars().count(), 39, "{seen:?}");
    }
    assert!(seen.contains("\r\u{1b}[KError: "), "{seen:?}");
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
