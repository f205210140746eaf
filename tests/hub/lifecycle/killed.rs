//! Reconcilers that are killed at any point: their successors reach the same objects.

use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, HubWithReconcilers, cluster_path, config, owned_paths, reconcile,
};
use berth_testkit::cluster::{AsAdmin, Private};

/// The number of kills.
const KILLS: u64 = 100;

/// The shortest life. No life is long enough to do everything; in most of them something is done.
const SHORTEST: Duration = Duration::from_millis(25);

/// Clusters that are accepted; accepted and denied; accepted, denied and accepted again; accepted and deleted; deleted.
pub const KINDS: [&str; 5] = ["in", "out", "back", "left", "never"];

type Own = HubWithReconcilers<Private>;

/// Takes a cluster of a kind through its life. Each step begins when the previous one has its effect.
pub async fn live(hub: &Own, name: &str, kind: &str) {
    let path = cluster_path(name);
    let accept = |accepts: bool| json!({"spec": {"hubAcceptsClient": accepts}});
    if kind == "never" {
        hub.cluster(name, json!({"hubAcceptsClient": false})).await;
        hub.once(&path, "seen", |object| {
            object["metadata"]["finalizers"].is_array()
        })
        .await;
    } else {
        hub.accepted(name).await;
    }
    if ["out", "back"].contains(&kind) {
        hub.patch(&path, accept(false)).await;
        hub.condition(name, ACCEPTED, "False", "HubClusterAdminDenied")
            .await;
    }
    if kind == "back" {
        hub.patch(&path, accept(true)).await;
        hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
    }
    if ["left", "never"].contains(&kind) {
        hub.delete(&path).await;
        hub.gone(&path).await;
    }
}

/// The objects of each cluster, without the fields that differ from run to run, once nothing is written any more.
pub async fn states(hub: &Own, names: &[&str]) -> Vec<Vec<Value>> {
    let paths = names
        .iter()
        .map(|name| [owned_paths(name), vec![cluster_path(name)]].concat());
    let paths: Vec<_> = paths.collect();
    let mut objects = hub.quiet(&paths.concat()).await.into_iter();
    let states = names.iter().zip(&paths).map(|(name, paths)| {
        let mut objects: Vec<_> = objects.by_ref().take(paths.len()).collect();
        objects.iter_mut().for_each(forget);
        let text = serde_json::to_string(&objects).unwrap();
        // The clusters have different names.
        serde_json::from_str(&text.replace(*name, "NAME")).unwrap()
    });
    states.collect()
}

/// Removes the fields that differ from run to run.
pub fn forget(value: &mut Value) {
    const OF_THE_DAY: [&str; 9] = [
        "creationTimestamp",
        "generation",
        "lastTransitionTime",
        "managedFields",
        "renewTime",
        "resourceVersion",
        "timeAdded",
        "uid",
        "details",
    ];
    forget_these(value, &OF_THE_DAY);
}

/// Removes the fields of these names, at all depths.
pub fn forget_these(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|it| forget_these(it, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| forget_these(it, names)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_a_hundred_times_it_ends_in_the_same_objects() {
    let mut hub = HubWithReconcilers::private(config()).await;
    for kind in KINDS {
        live(&hub, &format!("calm-{kind}"), kind).await;
    }

    let lent = hub.reconcilers.lent();
    let mut reconcilers = std::mem::replace(&mut hub.reconcilers, lent);
    let kills = async {
        let mut chance = fastrand::Rng::with_seed(1);
        for _ in 0..KILLS {
            let more = Duration::from_micros(chance.u64(..60_000));
            tokio::time::sleep(SHORTEST + more).await;
            reconcilers.kill().await;
            reconcilers = reconcile(&hub.cluster, config()).await;
        }
    };
    let lives = async {
        let mut round = 0;
        while round < 3 {
            let names = KINDS.map(|kind| (format!("killed-{kind}-{round}"), kind));
            join_all(names.iter().map(|(name, kind)| live(&hub, name, kind))).await;
            round += 1;
        }
    };
    tokio::join!(kills, lives);

    for kind in KINDS {
        let mut names = vec![format!("calm-{kind}")];
        names.extend((0..3).map(|round| format!("killed-{kind}-{round}")));
        let states = states(&hub, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for (name, state) in names.iter().zip(&states) {
            assert_eq!(*state, states[0], "{name}");
        }
    }
    // Other tests use the hub after this one.
    for kind in KINDS {
        for name in ["calm", "killed"] {
            for round in ["", "-0", "-1", "-2"] {
                let path = cluster_path(&format!("{name}-{kind}{round}"));
                if hub.get(&path).await.code == 200 {
                    hub.delete(&path).await;
                    hub.gone(&path).await;
                }
            }
        }
    }
    reconcilers.stop().await;
}
