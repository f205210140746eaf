//! Works that cost much: each of their expressions and paths is within its bound, and all together are not.

use berth_testkit::cluster::Cluster;
use serde_json::{Value, json};

use super::world::{World, of_manifest, said};

fn config(world: &World, name: &str, more: Value) -> Value {
    let mut config = more;
    config["resourceIdentifier"] =
        json!({"group": "", "resource": "configmaps", "name": name, "namespace": world.namespace});
    json!({"manifestConfigs": [config]})
}

#[tokio::test(flavor = "multi_thread")]
async fn costly_works_say_so_hold_up_no_other_and_can_be_deleted() {
    let world = World::new().await;
    let _agent = world.agent();
    let expressions: Vec<_> = (0..10_000).map(|it| format!(".data.f{it}")).collect();
    let ignored = json!([{"condition": "OnSpokePresent", "jqPathExpressions": expressions}]);
    let strategy = json!({"type": "ServerSideApply", "serverSideApply": {"ignoreFields": ignored}});
    let ignores = config(&world, "ignores", json!({ "updateStrategy": strategy }));
    let path = |it| json!({"name": format!("n{it}"), "path": format!("..*..*['{it}']")});
    let paths: Vec<_> = (0..3_000).map(path).collect();
    let rules = json!([{"type": "JSONPaths", "jsonPaths": paths}]);
    let reports = config(&world, "reports", json!({ "feedbackRules": rules }));
    let mut large = world.map("reports", "1");
    large["data"] = (0..2_000)
        .map(|it| (format!("k{it}"), json!("v")))
        .collect();
    world
        .create_with("ignores", &[world.map("ignores", "1")], ignores)
        .await;
    world.create_with("reports", &[large], reports).await;
    world.create("good", &[world.map("good", "1")]).await;

    world.reports("good", "T", "T").await;
    let work = world.reports("ignores", "F", "F").await;
    let applied = of_manifest(&work, 0, "Applied");
    let [_, reason, message] = said(&applied);
    assert_eq!(reason, "AppliedManifestSSAIgnoreFieldError");
    let words = "all ignored fields of a manifest may cost 4000000 together, and these cost more";
    assert!(message.contains(words), "{message}");
    let work = world.reports("reports", "T", "T").await;
    let synced = of_manifest(&work, 0, "StatusFeedbackSynced");
    let [_, _, message] = said(&synced);
    let words = "all paths together go through more than 1000000 values";
    assert!(message.contains(words), "{message}");
    for name in ["ignores", "reports", "good"] {
        world.delete(name).await;
        world.is_gone(name).await;
    }
}

/// Each of the objects is within its own bounds, and all together are not.
#[tokio::test(flavor = "multi_thread")]
async fn a_costly_work_of_many_objects_holds_up_no_other_and_can_be_deleted() {
    // Agents remove what another one of their cluster has not removed yet, and other tests count their requests.
    let cluster = Cluster::private().await;
    let world = World::of(&cluster, &cluster).await;
    let _agent = world.agent();
    let expressions: Vec<_> = (0..45).map(|it| format!(".data.f{it}")).collect();
    let ignored = json!([{"condition": "OnSpokePresent", "jqPathExpressions": expressions}]);
    let strategy = json!({"type": "ServerSideApply", "serverSideApply": {"ignoreFields": ignored}});
    let eight = "[1,2,3,4,5,6,7,8]";
    let all = |of, inner: &str| format!("{eight}.all({of}, {inner})");
    let slow = ["a", "b", "c", "d", "e", "f"].into_iter();
    let slow = slow.fold("object.data.key == '1'".to_owned(), |it, of| all(of, &it));
    let rule = |it| json!({"type": "CEL", "condition": format!("C{it}"), "celExpressions": [slow]});
    let rules: Vec<_> = (0..5).map(rule).collect();
    let cuts = config(&world, "cuts-*", json!({ "updateStrategy": strategy }));
    let reports = config(&world, "reports-*", json!({ "conditionRules": rules }));
    let many = |name: &str| -> Vec<_> {
        let map = |it| world.map(&format!("{name}-{it}"), "1");
        (0..50).map(map).collect()
    };
    world.create_with("cuts", &many("cuts"), cuts).await;
    world
        .create_with("reports", &many("reports"), reports)
        .await;
    world.create("good", &[world.map("good", "1")]).await;
    world.reports("good", "T", "T").await;

    let words = "of all objects of a ManifestWork may cost 10000000 steps at once";
    for (name, type_, reason) in [
        ("cuts", "Applied", "AppliedManifestSSAIgnoreFieldError"),
        (
            "reports",
            "StatusFeedbackSynced",
            "StatusFeedbackSyncFailed",
        ),
    ] {
        let waits = |work: &Value, at: usize| {
            let condition = of_manifest(work, at, type_);
            let [status, of, message] = said(&condition);
            (status, of) == ("False", reason) && message.contains(words)
        };
        let says = |work: &Value| (0..50).any(|at| waits(work, at));
        world.work_has(name, "it says what waits", says).await;
    }
    // To apply objects costs nothing if no fields are cut.
    let all = "T".repeat(50);
    world.reports("reports", &all, &all).await;
    // Drift of the other work is repaired meanwhile.
    let path = world.map_path("good");
    world.change(&path, json!({"data": {"key": "2"}})).await;
    let is_repaired = |it: &Value| it["data"]["key"] == "1";
    world.has(&path, "repaired", is_repaired).await;
    for name in ["cuts", "reports", "good"] {
        world.delete(name).await;
        world.is_gone(name).await;
    }
}
