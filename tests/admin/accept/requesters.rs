//! Whose CSRs `berth accept` approves, and whose it leaves.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Issued;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    bootstrap, cluster_path, fingerprint, is_accepted, is_pending, joins, may_send, object,
};
use crate::house::House;
use berth_testkit::cluster::{Credentials, fresh, say_skipped};
use berth_testkit::csr::{Asked, Csr, groups_of, user_of};
use berth_testkit::{eventually, when};

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
    let before = object(&house, &csr.path()).await;
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
    assert_eq!(object(&house, &csr.path()).await, before);
    assert!(!is_accepted(&house, &name).await);

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
    // Nobody else may file one.
    let agent = house.cluster.user(&me, &[mine, all]).await;
    may_send(&house, &agent).await;
    let addons = addons.sent_by(&agent).await;

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
