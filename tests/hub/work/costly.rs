//! Works that cost much: each of their expressions and paths is within its bound, and all together are not.

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
