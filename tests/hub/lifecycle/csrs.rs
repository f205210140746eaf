//! Agents' certificates: which CSRs are approved automatically, and which are not.

use std::collections::BTreeSet;

use berth_lifecycle_core::config::{Config, Gates};
use serde_json::json;

use crate::lifecycle::agent::{Asked, Csr, groups_of, user_of};
use crate::lifecycle::hub::{
    ACCEPTED, AVAILABLE, CSRS, HubWithReconcilers, cluster_path, condition, config, lease_path,
};
use berth_testkit::cluster::{AsAdmin, fresh};
use berth_testkit::{eventually, when};

const AUTO_ACCEPTED_ON: &str = "open-cluster-management.io/automatically-accepted-on";

/// From the first request to the renewed certificate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_joins_by_the_double_opt_in() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("joining");
    let bootstrap = hub.cluster.user(&fresh("bootstrap"), &[]).await;
    hub.may_send(&bootstrap).await;
    hub.cluster(&name, json!({})).await;
    let mut csr = Csr::new(&name, "agent1");
    csr.body["metadata"]["labels"]["mine"] = json!("yes");
    csr.body["metadata"]["annotations"] = json!({"mine.example.com/note": "kept"});
    let csr = csr.sent_by(&bootstrap).await;
    let (kind, note) = hub.left(&csr).await;
    assert_eq!(kind, "Normal");
    let command = format!("`kubectl certificate approve {}`", csr.name);
    assert!(note.contains(&command), "{note}");
    assert!(note.contains("ManagedClusterAutoApproval is off"), "{note}");

    // A person says yes, twice.
    hub.decide(&csr, "Approved").await;
    hub.patch(
        &cluster_path(&name),
        json!({"spec": {"hubAcceptsClient": true}}),
    )
    .await;
    hub.condition(&name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    if !hub.cluster.has_background_work() {
        berth_testkit::cluster::say_skipped("nobody issues certificates here");
        return;
    }

    // The agent has what it needs, and nothing of others.
    let agent = hub.issued(&csr, &user_of(&name, "agent1")).await;
    let mut lease = hub.once(&lease_path(&name), "there", |_| true).await;
    lease["spec"]["renewTime"] = json!(format!("{:.6}", jiff::Timestamp::now()));
    // The hub may need a moment to go by the new roles.
    eventually("the agent's right to renew its lease", async || {
        let answer = agent.put(&lease_path(&name), &lease).await.unwrap();
        when(answer, |it| it.code == 200)
    })
    .await;
    agent.get(&cluster_path(&name)).await.unwrap().ok();
    let other = fresh("other");
    hub.accepted(&other).await;
    for path in [cluster_path(&other), lease_path(&other)] {
        agent.get(&path).await.unwrap().refused(403, "Forbidden");
    }

    // It renews its certificate itself.
    let mut csr = Csr::new(&name, "agent1");
    csr.body["metadata"]["labels"]["mine"] = json!("yes");
    csr.body["metadata"]["annotations"] = json!({"mine.example.com/note": "kept"});
    let csr = csr.sent_by(&agent).await;
    let object = hub.approved(&csr).await;
    let metadata = &object["metadata"];
    assert_eq!(metadata["labels"], csr.body["metadata"]["labels"]);
    assert_eq!(metadata["annotations"], csr.body["metadata"]["annotations"]);
    let agent = hub.issued(&csr, &user_of(&name, "agent1")).await;
    agent.get(&cluster_path(&name)).await.unwrap().ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_renews_while_its_cluster_is_accepted_and_not_before_or_after() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("renewal");
    let agent = hub.agent(&name, "agent1").await;
    hub.may_send(&agent).await;
    hub.cluster(&name, json!({})).await;
    let early = Csr::new(&name, "agent1").sent_by(&agent).await;
    let (kind, note) = hub.left(&early).await;
    assert_eq!(kind, "Warning");
    assert!(
        note.contains("the ManagedCluster is not accepted"),
        "{note}"
    );

    // What was asked for too early is granted when it may be.
    let accept = |accepts: bool| json!({"spec": {"hubAcceptsClient": accepts}});
    hub.patch(&cluster_path(&name), accept(true)).await;
    hub.approved(&early).await;
    let csr = Csr::new(&name, "agent1").sent_by(&agent).await;
    hub.approved(&csr).await;
    // Old agents are not in the group of all.
    let asked = Asked {
        common_name: &user_of(&name, "agent1"),
        organizations: &[&groups_of(&name)[0]],
        alternative_names: &[],
    };
    let csr = Csr::asking(&name, &asked).sent_by(&agent).await;
    hub.approved(&csr).await;

    hub.patch(&cluster_path(&name), accept(false)).await;
    hub.condition(&name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    let late = Csr::new(&name, "agent1").sent_by(&agent).await;
    let (kind, note) = hub.left(&late).await;
    assert_eq!(kind, "Warning");
    assert!(
        note.contains("the ManagedCluster is not accepted"),
        "{note}"
    );
}

/// All of them sent by an agent that may renew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_more_than_an_agents_certificate() {
    let hub = HubWithReconcilers::shared().await;
    let [name, other] = [fresh("attacker"), fresh("victim")];
    hub.accepted(&name).await;
    hub.accepted(&other).await;
    let agent = hub.agent(&name, "agent1").await;
    hub.may_send(&agent).await;
    let me = user_of(&name, "agent1");
    let victim = user_of(&other, "agent1");
    let [mine, all] = groups_of(&name);
    let [theirs, _] = groups_of(&other);
    let (mine, all, theirs) = (mine.as_str(), all.as_str(), theirs.as_str());
    let too_long = format!("{me}:more");
    let longer_name = user_of(&format!("{name}x"), "agent1");
    let nobody = user_of(&name, "");
    type Row<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str], &'a str);
    let rows: [Row<'_>; 10] = [
        (
            "another cluster's subject",
            &victim,
            &[theirs, all],
            &[],
            "organizations",
        ),
        (
            "another cluster's name",
            &victim,
            &[mine, all],
            &[],
            "common name",
        ),
        (
            "a name that begins as its own",
            &longer_name,
            &[mine, all],
            &[],
            "common name",
        ),
        (
            "a name with too many parts",
            &too_long,
            &[mine, all],
            &[],
            "common name",
        ),
        ("no agent's name", &nobody, &[mine, all], &[], "common name"),
        (
            "its own group and another's",
            &me,
            &[mine, theirs],
            &[],
            "organizations",
        ),
        (
            "the group of admins",
            &me,
            &["admins", all],
            &[],
            "organizations",
        ),
        ("no group", &me, &[], &[], "organizations"),
        ("the group of all only", &me, &[all], &[], "organizations"),
        (
            "an alternative name",
            &me,
            &[mine, all],
            &["hub.example.com"],
            "alternative names",
        ),
    ];
    let mut sent = Vec::new();
    for (what, common_name, organizations, alternative_names, why) in rows {
        let asked = Asked {
            common_name,
            organizations,
            alternative_names,
        };
        let csr = Csr::asking(&name, &asked).sent_by(&agent).await;
        sent.push((what, csr, why));
    }
    for (what, usages) in [
        (
            "a server's certificate",
            json!(["digital signature", "client auth", "server auth"]),
        ),
        (
            "no client's certificate",
            json!(["digital signature", "key encipherment"]),
        ),
        ("to sign others", json!(["cert sign", "client auth"])),
    ] {
        let mut csr = Csr::new(&name, "agent1");
        csr.body["spec"]["usages"] = usages;
        // The API server itself may not want such for this signer.
        let answer = agent.post(CSRS, &csr.body).await.unwrap();
        assert!([201, 422].contains(&answer.code), "{answer:?}");
        if answer.code == 201 {
            sent.push((what, csr, "usage"));
        }
    }
    for (what, csr, why) in sent {
        let (kind, note) = hub.left(&csr).await;
        assert_eq!(kind, "Warning", "{what}: {note}");
        assert!(note.contains(why), "{what}: {note}");
        assert!(note.contains(&name), "{what}: {note}");
    }

    // Requests to others are others' business, as are add-ons', and those without a cluster.
    let mut foreign = Csr::new(&name, "agent1");
    foreign.body["spec"]["signerName"] = json!("example.com/signer");
    let mut addons = Csr::new(&name, "agent1");
    addons.body["metadata"]["labels"]["open-cluster-management.io/addon-name"] = json!("a");
    let mut unlabelled = Csr::new(&name, "agent1");
    unlabelled.body["metadata"]["labels"] = json!({});
    let mut ignored = Vec::new();
    for csr in [foreign, addons, unlabelled] {
        ignored.push(csr.sent_by(&agent).await);
    }
    let witness = Csr::new(&name, "agent1").sent_by(&agent).await;
    hub.approved(&witness).await;
    for csr in ignored {
        let object = hub.get(&csr.path()).await.body;
        assert!(object["status"]["conditions"].is_null(), "{object}");
        let told = hub.events("default", &csr.name, "ManagedClusterCSRNotApproved");
        assert!(told.await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listed_users_bring_clusters_that_are_new_or_silent_and_no_others() {
    let [listed, unlisted] = [fresh("listed"), fresh("unlisted")];
    let mut hub = HubWithReconcilers::private(Config {
        gates: Gates {
            auto_approval: true,
            auto_rebootstrap: true,
            ..Gates::default()
        },
        auto_approved_users: BTreeSet::from([listed.clone()]),
        ..config()
    })
    .await;
    let listed = hub.cluster.user(&listed, &[]).await;
    let unlisted = hub.cluster.user(&unlisted, &[]).await;
    hub.may_send(&listed).await;
    hub.may_send(&unlisted).await;

    // The request and the cluster come in either order.
    let [first, second, third, fourth, fifth] = [(); 5].map(|()| fresh("auto"));
    let mut csrs = vec![Csr::new(&first, "agent1").sent_by(&listed).await];
    hub.cluster(&first, json!({"leaseDurationSeconds": 1}))
        .await;
    hub.cluster(&second, json!({})).await;
    csrs.push(Csr::new(&second, "agent1").sent_by(&listed).await);
    for (csr, name) in csrs.iter().zip([&first, &second]) {
        let cluster = hub
            .condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
        let annotations = &cluster["metadata"]["annotations"];
        assert!(annotations[AUTO_ACCEPTED_ON].is_string(), "{cluster}");
        assert_eq!(cluster["spec"]["hubAcceptsClient"], true);
        hub.approved(csr).await;
    }
    hub.report(
        &first,
        "ManagedClusterJoined",
        "True",
        "ManagedClusterJoined",
    )
    .await;
    hub.report_available(&first, "True").await;
    hub.renew(&first).await;
    let again = Csr::new(&first, "agent2").sent_by(&listed).await;
    let (kind, note) = hub.left(&again).await;
    assert_eq!(kind, "Warning");
    assert!(note.contains("the cluster has joined already"), "{note}");

    // Nobody vouches for these.
    hub.cluster(&third, json!({})).await;
    let csr = Csr::new(&third, "agent1").sent_by(&unlisted).await;
    let (kind, note) = hub.left(&csr).await;
    assert_eq!(kind, "Normal");
    assert!(note.contains("--auto-approved-csr-users"), "{note}");
    // A request that is none of an agent's vouches for nothing, whoever sent it.
    hub.cluster(&fourth, json!({})).await;
    let asked = Asked {
        common_name: "somebody",
        organizations: &["admins"],
        alternative_names: &[],
    };
    let csr = Csr::asking(&fourth, &asked).sent_by(&listed).await;
    assert_eq!(hub.left(&csr).await.0, "Warning");

    // Nor does one that a person has refused.
    let csr = Csr::new(&fifth, "agent1").sent_by(&listed).await;
    hub.decide(&csr, "Denied").await;
    // What is told of a later request shows that the refusal has been seen.
    let later = Csr::new(&third, "agent2").sent_by(&unlisted).await;
    hub.left(&later).await;
    hub.cluster(&fifth, json!({})).await;

    // A denial stands, and a new request does not change it.
    let denial = json!({"spec": {"hubAcceptsClient": false}});
    hub.patch(&cluster_path(&second), denial).await;
    hub.condition(&second, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    Csr::new(&second, "agent1").sent_by(&listed).await;
    // The response to a later request shows that this one has been seen.
    let later = Csr::new(&third, "agent3").sent_by(&unlisted).await;
    hub.left(&later).await;

    // Its agent is silent: it may have lost its certificate.
    hub.condition(
        &first,
        AVAILABLE,
        "Unknown",
        "ManagedClusterLeaseUpdateStopped",
    )
    .await;
    hub.approved(&again).await;

    let quiet = [&second, &third, &fourth, &fifth].map(|name| cluster_path(name));
    for cluster in hub.quiet(&quiet).await {
        assert_ne!(cluster["spec"]["hubAcceptsClient"], true, "{cluster}");
        let accepted = condition(&cluster, ACCEPTED).map(|it| &it["status"]);
        assert!(accepted.is_none_or(|status| status == "False"), "{cluster}");
    }
    for name in [&first, &second, &third, &fourth, &fifth] {
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
    }
    hub.reconcilers.stop().await;
}
