//! When the gate cannot get an answer, it does not allow the write, and its message says that this is not a denial.

use std::time::Instant;

use serde_json::{Value, json};

use crate::e2e::relay::relayed;
use crate::e2e::sentences::cannot_accept;
use berth_testkit::cluster::{fresh, kubectl_is_there, path_of};
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{SET_LABEL, accepted, cluster, member};
use berth_testkit::{eventually, when};

const DENIED: &str = "admission webhook \"managedclustervalidators.admission.cluster.open-cluster-management.io\" denied \
                      the request: ";

const ROLE: &str = "manifests/server/cluster-role.yaml";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_does_not_answer_in_time_leaves_it_open() {
    let (hub, relay) = relayed().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join("default")]).await;

    relay.hold(&["accept"]);
    let path = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
    let begun = Instant::now();
    let answer = dev.post(path, &accepted(&name)).await.unwrap();
    let message = answer.refused(500, "InternalError");
    let question = format!(
        "{DENIED}cannot decide whether user \"{user}\" may update or create \
         managedclusters/accept.register.open-cluster-management.io \"{name}\": "
    );
    assert!(message.starts_with(&question), "{message}");
    assert!(
        message.ends_with(": this is not a denial, try again"),
        "{message}"
    );
    assert_eq!(answer.body["details"]["retryAfterSeconds"], 1);
    // The registration gives it five seconds.
    let took = begun.elapsed();
    assert!((4.0..5.0).contains(&took.as_secs_f32()), "{took:?}");

    // What is surely missing is said, whatever else cannot be found out.
    relay.hold(&["join"]);
    let mut member_of_default = member(&name, "default");
    member_of_default["spec"]["hubAcceptsClient"] = true.into();
    let answer = dev.post(path, &member_of_default).await.unwrap();
    let message = answer.refused(403, "Forbidden");
    assert_eq!(message, format!("{DENIED}{}", cannot_accept(&name, &user)));

    relay.hold(&[]);
    let answer = dev.post(path, &member(&name, "default")).await.unwrap();
    assert_eq!(answer.ok()["metadata"]["labels"][SET_LABEL], "default");

    // A default is nothing that must be there.
    relay.hold(&["join"]);
    let name = fresh("c");
    let answer = dev.post(path, &cluster(&name)).await.unwrap();
    assert_eq!(answer.ok()["metadata"]["labels"], Value::Null);
    let [warning] = &answer.warnings[..] else {
        panic!("{answer:?}")
    };
    let start = format!(
        "ManagedCluster \"{name}\" was not put into ManagedClusterSet \"default\": cannot find out whether user \"{user}\" may \
         join it: "
    );
    assert!(warning.starts_with(&start), "{warning}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_without_its_rights_says_what_it_lacks() {
    let hub = Guarded::private(&[]).await;
    let admin = hub.cluster.admin().await;
    let role = "open-cluster-management:berth-registration:webhook";
    let binding = format!("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{role}");
    let cluster = member(&fresh("c"), "default");
    admin
        .post(
            "/apis/cluster.open-cluster-management.io/v1/managedclusters",
            &cluster,
        )
        .await
        .unwrap()
        .ok();
    admin.delete(&binding).await.unwrap().ok();
    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    // The hub may go by the binding for a moment yet.
    let path = format!("{}?dryRun=All", path_of(&cluster));
    let answer = eventually("a gate without its rights", async || {
        let answer = admin.merge(&path, &accept).await.unwrap();
        when(answer, |it| it.code != 200)
    })
    .await;
    assert_eq!(answer.retry_after.as_deref(), Some("1"));
    let message = answer.refused(500, "InternalError");
    let lacks = format!(
        "the gate itself may not create subjectaccessreviews, grant it the ClusterRole {role} of its manifests: "
    );
    assert!(message.contains(&lacks), "{message}");

    if kubectl_is_there() {
        // It tries again for ten seconds, as it is told to; meanwhile somebody reads the message, and acts.
        let patch = accept.to_string();
        let name = cluster["metadata"]["name"].as_str().unwrap();
        let args = [
            "patch",
            "managedcluster",
            name,
            "--type=merge",
            "-p",
            &patch,
        ];
        let patched = admin.kubectl(&args);
        let undecided = async || {
            let metrics = hub.gate.metrics().await;
            let lines = metrics
                .lines()
                .filter(|it| it.contains("outcome=\"undecided\""));
            let counts = lines.map(|it| it.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
            counts.sum::<u64>()
        };
        let before = undecided().await;
        let granted = async {
            // kubectl was refused once, and waits.
            eventually("a refusal of kubectl's request", async || {
                when(undecided().await, |it| *it > before)
            })
            .await;
            hub.cluster.apply_manifests(&[ROLE]).await;
        };
        let (patched, ()) = tokio::join!(patched, granted);
        let done = format!("managedcluster.cluster.open-cluster-management.io/{name} patched\n");
        assert_eq!(patched.ok(), done);
    }
}
