//! The policies of a hub, as the controller's account sees them.

use berth_policies::installed::PolicyName;
use berth_policies::{Options, policies};
use berth_testkit::cluster::{Cluster, Person, path_of, say_skipped};
use berth_testkit::process::{Controller, install, scrape};
use berth_testkit::{eventually, when};
use serde_json::Value;

const NAME: &str = "berth_admission_policies";

/// The series that are 1, as `policy state`, or `None` if there are no series.
async fn states(cluster: &Cluster, controller: &Controller) -> Option<Vec<String>> {
    let metrics = scrape(cluster, controller.port).await;
    let mut series = metrics
        .lines()
        .filter(|line| line.starts_with(NAME))
        .peekable();
    series.peek()?;
    let shown = series.filter(|line| line.ends_with(" 1")).map(|line| {
        let words: Vec<&str> = line.split('"').collect();
        format!("{} {}", words[1], words[3])
    });
    Some(shown.collect())
}

async fn once(cluster: &Cluster, controller: &Controller, is: impl Fn(&[String]) -> bool) {
    eventually("the states of the policies", async || {
        when(states(cluster, controller).await, |it| {
            it.as_deref().is_some_and(&is)
        })
    })
    .await;
}

async fn remove(admin: &Person, objects: &[Value]) {
    for object in objects {
        admin.delete(&path_of(object)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_goes_is_reported() {
    let Some(hub) = Cluster::start_kubernetes(&[]).await else {
        say_skipped("devhub has no policies");
        return;
    };
    install(&hub).await;
    let mut controller = Controller::start(&hub, &[]).await;
    controller.leads();
    assert_eq!(states(&hub, &controller).await, None);

    let policies: Vec<Value> = policies(&Options::default())
        .iter()
        .map(|document| serde_json::to_value(document).unwrap())
        .collect();
    hub.apply(&policies).await;
    let all = PolicyName::all().len();
    let are = |state: &'static str| {
        move |states: &[String]| {
            states.len() == all && states.iter().all(|it| it.ends_with(&format!(" {state}")))
        }
    };
    once(&hub, &controller, are("enforced")).await;

    let admin = hub.admin().await;
    let is_of_clusters = |it: &&Value| {
        it["kind"] == "ValidatingAdmissionPolicy"
            && it["metadata"]["name"] == "managedclusters.berth.open-cluster-management.io"
    };
    let of_clusters = policies.iter().find(is_of_clusters).unwrap();
    admin.delete(&path_of(of_clusters)).await.unwrap().ok();
    once(&hub, &controller, |states| {
        states.contains(&"managedclusters missing".to_owned())
            && states.contains(&"managedclustersets enforced".to_owned())
    })
    .await;
    let logged = controller.logged(|line| line["state"] == "missing");
    assert_eq!(
        logged["policy"],
        "managedclusters.berth.open-cluster-management.io"
    );

    // All of them, too.
    remove(&admin, &policies).await;
    once(&hub, &controller, are("missing")).await;
}
