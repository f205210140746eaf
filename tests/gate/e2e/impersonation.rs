//! The gate asks about exactly the user whom the hub authenticated, or the user whom that user impersonates.

use serde_json::{Value, json};

use crate::e2e::relay::relayed;
use crate::e2e::sentences::{VALIDATORS, cannot_accept, not_in_default};
use berth_testkit::by_each_client;
use berth_testkit::cluster::{Identity, Person, fresh, path_of, rule};
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{accepted, member};
use berth_testkit::writes::By;
use berth_testkit::{eventually, when};

by_each_client![
    whoever_somebody_acts_as_is_asked_about_with_every_extra,
    acting_as_somebody_takes_permissions,
    everything_that_the_hub_knows_of_a_user_is_asked_about,
];

async fn whoever_somebody_acts_as_is_asked_about_with_every_extra(by: By) {
    let (hub, relay) = relayed().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    hub.developer(&user, &[]).await;
    let identity = Identity {
        user: &user,
        uid: "0815",
        groups: &["team-b", "team-a"],
        extra: &[
            ("example.org/team", &["b", "a"]),
            ("scopes", &["read write"]),
        ],
    };
    let admin = hub.cluster.admin().await.acting_as(&identity).await;
    let written = admin.by(by).create(&accepted(&name)).await;
    let denial = cannot_accept(&name, &user);
    let warning = not_in_default(&name, &user);
    written.denied_with_warning(&warning, VALIDATORS, 403, "Forbidden", &[&denial]);

    let asked = relay.asked_about(&user);
    let about = |spec: &Value| spec["resourceAttributes"]["subresource"].clone();
    let mut subresources: Vec<_> = asked.iter().map(about).collect();
    subresources.sort_by_key(Value::to_string);
    // Either of two verbs is enough to accept.
    assert_eq!(subresources, ["accept", "accept", "join"]);
    for spec in asked {
        assert_eq!(spec["uid"], "0815");
        let groups = json!(["team-b", "team-a", "system:authenticated"]);
        assert_eq!(spec["groups"], groups);
        let extra = json!({ "example.org/team": ["b", "a"], "scopes": ["read write"] });
        assert_eq!(spec["extra"], extra);
    }
}

async fn acting_as_somebody_takes_permissions(by: By) {
    let hub = Guarded::shared().await;
    let (name, user, deputy) = (fresh("c"), fresh("dev"), fresh("deputy"));
    hub.developer(&user, &[]).await;
    let deputy = hub.cluster.user(&deputy, &[]).await;
    let users = rule(&["impersonate"], "", &["users"], &[&user]);
    hub.cluster.grant(&deputy, &[users]).await;
    let identity = Identity {
        user: &user,
        extra: &[("scopes", &["read"])],
        ..Identity::default()
    };
    let acting = deputy.acting_as(&identity).await;
    // Which permission it names, and on what, differs by the hub's version.
    let refusal = match by {
        By::Kube => {
            let answer = acting.get("/api").await.unwrap();
            answer.refused(403, "Forbidden").to_owned()
        }
        By::Kubectl => {
            let output = acting.kubectl(&["get", "--raw", "/api"]).await;
            let refusal = output
                .failed()
                .strip_prefix("Error from server (Forbidden): ");
            refusal.unwrap().to_owned()
        }
    };
    let fragment = format!("User \"{}\" cannot impersonate", deputy.user);
    assert!(refusal.contains(&fragment), "{refusal}");

    let group = "authentication.k8s.io";
    let scopes = rule(&["impersonate"], group, &["userextras/scopes"], &["read"]);
    hub.cluster.grant(&deputy, &[scopes]).await;
    let written = acting.by(by).create(&accepted(&name)).await;
    let denial = cannot_accept(&name, &user);
    let warning = not_in_default(&name, &user);
    written.denied_with_warning(&warning, VALIDATORS, 403, "Forbidden", &[&denial]);
}

async fn everything_that_the_hub_knows_of_a_user_is_asked_about(by: By) {
    let (hub, relay) = relayed().await;
    let dev = hub.cluster.user(&fresh("dev"), &["b", "a"]).await;
    let robot = hub
        .cluster
        .service_account("default", &fresh("robot"))
        .await;
    for person in [dev, robot] {
        hub.may_write(&person, &[]).await;
        let known = user_info(&person).await;
        let written = person.by(by).create(&accepted(&fresh("c"))).await;
        written.is_refused();
        let asked = relay.asked_about(&person.user);
        assert!(!asked.is_empty());
        for spec in asked {
            for field in ["uid", "groups", "extra"] {
                assert_eq!(spec[field], known[field], "{field} of {known}");
            }
        }
    }
}

/// Who somebody is, by the hub's own account.
async fn user_info(person: &Person) -> Value {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let answer = person.post(path, &review).await.unwrap();
    answer.ok()["status"]["userInfo"].clone()
}

/// How many reviews a gate is deciding.
fn in_flight(metrics: &str) -> u64 {
    let lines = metrics
        .lines()
        .filter(|it| it.starts_with("controller_runtime_webhook_requests_in_flight{"));
    let counts = lines.map(|it| it.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    counts.sum()
}

/// The same question is on its way once, whoever waits for the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_want_to_know_at_once_is_asked_once() {
    let (hub, relay) = relayed().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let object = member(&name, "default");
    dev.by(By::Kube).create(&object).await.ok();
    relay.hold(&["accept"]);
    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    let path = path_of(&object);
    let writes: Vec<_> = (0..8).map(|_| dev.merge(&path, &accept)).collect();
    let release = async {
        // All of them wait for the one answer.
        eventually("eight reviews in flight", async || {
            when(in_flight(&hub.gate.metrics().await), |it| *it == 8)
        })
        .await;
        relay.hold(&[]);
    };
    let (answers, ()) = tokio::join!(futures::future::join_all(writes), release);
    for answer in answers {
        answer.unwrap().refused(403, "Forbidden");
    }
    let asked = relay.asked_about(&user);
    let about = |verb: &str| {
        let it = asked.iter().map(|spec| &spec["resourceAttributes"]);
        it.filter(|it| it["subresource"] == "accept" && it["verb"] == verb)
            .count()
    };
    assert_eq!([about("update"), about("create")], [1, 1], "{asked:?}");
}
