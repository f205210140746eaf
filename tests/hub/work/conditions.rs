//! Conditions that condition rules set, and what Complete means for updates.

use berth_testkit::cluster::Cluster;
use serde_json::{Value, json};

use super::world::{World, condition, of_manifest, said};

/// A config for objects of a kind in the namespace, with these condition rules.
fn judging(world: &World, (group, resource, name): (&str, &str, &str), rules: Value) -> Value {
    json!({
        "resourceIdentifier": {
            "group": group, "resource": resource, "namespace": world.namespace, "name": name,
        },
        "conditionRules": rules,
    })
}

fn job(world: &World, name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "a", "image": "example.com/a:1"}],
        }}},
    })
}

/// The Job's controller finds it complete.
async fn finish(world: &World, name: &str) {
    let path = format!(
        "/apis/batch/v1/namespaces/{}/jobs/{name}/status",
        world.namespace
    );
    let now = jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string();
    let is_true = |type_| json!({"type": type_, "status": "True", "lastTransitionTime": now, "lastProbeTime": now});
    let status = json!({
        "startTime": now, "completionTime": now, "succeeded": 1,
        "conditions": [is_true("SuccessCriteriaMet"), is_true("Complete")],
    });
    world.change(&path, json!({ "status": status })).await;
}

const WELL_KNOWN: &str = "WellKnownConditions";

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_complete_when_it_is_finished() {
    if !Cluster::shared().await.only_real("devhub has no Jobs") {
        return;
    }
    let world = World::new().await;
    let _agent = world.agent();
    let well_known = json!([{"condition": "Complete", "type": WELL_KNOWN}]);
    let bad =
        json!([{"condition": "Complete", "type": "CEL", "celExpressions": ["object.invalid"]}]);
    let spec = json!({"manifestConfigs": [
        judging(&world, ("batch", "jobs", "job1"), well_known),
        judging(&world, ("batch", "jobs", "job*"), bad),
    ]});
    let jobs = ["job1", "job2"].map(|name| job(&world, name));
    world.create_with("jobs", &jobs, spec).await;
    let work = world.reports("jobs", "TT", "TT").await;
    let error = [
        "False",
        "ConditionRuleExpressionError",
        "no such key: invalid",
    ];
    assert_eq!(
        said(&of_manifest(&work, 0, "Complete")),
        ["False", "ConditionRuleEvaluated", "Job is not finished"]
    );
    assert_eq!(said(&of_manifest(&work, 1, "Complete")), error);
    finish(&world, "job1").await;
    let finished = ["True", "ConditionRuleEvaluated", "Job is finished"];
    let work = world
        .work_has("jobs", "the first one is complete", |it| {
            said(&of_manifest(it, 0, "Complete")) == finished
        })
        .await;
    assert_eq!(said(&of_manifest(&work, 1, "Complete")), error);
    let message = "Aggregated from 2 manifest conditions";
    assert_eq!(
        said(&condition(&work["status"], "Complete")),
        ["False", "ConditionRulesAggregated", message]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn for_each_object_the_rules_of_the_first_config_count() {
    let world = World::new().await;
    let _agent = world.agent();
    let rule = |expression: &str| json!([{"condition": "Complete", "type": "CEL", "celExpressions": [expression]}]);
    let spec = json!({"manifestConfigs": [
        judging(&world, ("", "configmaps", "map1"), rule("object.data.key == '1'")),
        judging(&world, ("", "configmaps", "map*"), rule("object.invalid")),
    ]});
    let maps = ["map1", "map2"].map(|name| world.map(name, "1"));
    world.create_with("maps", &maps, spec).await;
    let work = world.reports("maps", "TT", "TT").await;
    assert_eq!(
        said(&of_manifest(&work, 0, "Complete")),
        ["True", "ConditionRuleEvaluated", "Manifest is Complete"]
    );
    assert_eq!(
        said(&of_manifest(&work, 1, "Complete")),
        [
            "False",
            "ConditionRuleExpressionError",
            "no such key: invalid"
        ]
    );
    let message = "Aggregated from 2 manifest conditions";
    assert_eq!(
        said(&condition(&work["status"], "Complete")),
        ["False", "ConditionRulesAggregated", message]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_sets_a_condition_of_its_own_with_its_own_messages() {
    let world = World::new().await;
    let _agent = world.agent();
    let rules = json!([
        {
            "condition": "OneActive", "type": "CEL",
            "celExpressions": ["has(object.metadata.labels)", "object.metadata.labels.active == '1'"],
            "messageExpression": "result ? 'one is active' : object.metadata.name + ': not one is active'",
        },
        {"condition": "Named", "type": "CEL", "celExpressions": ["object.metadata.name == 'a'"], "message": "it has a name"},
        {"condition": "Plain", "type": "CEL", "celExpressions": ["false"]},
    ]);
    let config = judging(&world, ("", "configmaps", "a"), rules);
    let spec = json!({"manifestConfigs": [config]});
    world
        .create_with("rules", &[world.map("a", "1")], spec)
        .await;
    let work = world.reports("rules", "T", "T").await;
    let (evaluated, aggregated) = ("ConditionRuleEvaluated", "ConditionRulesAggregated");
    for (type_, status, message) in [
        ("OneActive", "False", "a: not one is active"),
        ("Named", "True", "it has a name"),
        ("Plain", "False", "Manifest is not Plain"),
    ] {
        let of_object = of_manifest(&work, 0, type_);
        assert_eq!(said(&of_object), [status, evaluated, message]);
        let of_work = condition(&work["status"], type_);
        assert_eq!(said(&of_work), [status, aggregated, message]);
    }
    let labels = json!({"metadata": {"labels": {"active": "1"}}});
    world.change(&world.map_path("a"), labels).await;
    let work = world
        .work_has("rules", "one is active", |it| {
            condition(&it["status"], "OneActive")["status"] == "True"
        })
        .await;
    assert_eq!(
        said(&of_manifest(&work, 0, "OneActive")),
        ["True", evaluated, "one is active"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_without_well_known_conditions_gets_none() {
    let world = World::new().await;
    let _agent = world.agent();
    let rules = json!([
        {"condition": "Complete", "type": WELL_KNOWN},
        {"condition": "There", "type": "CEL", "celExpressions": ["true"]},
    ]);
    let config = judging(&world, ("", "configmaps", "a"), rules);
    let spec = json!({"manifestConfigs": [config]});
    world
        .create_with("no-conditions", &[world.map("a", "1")], spec)
        .await;
    let work = world.reports("no-conditions", "T", "T").await;
    assert_eq!(of_manifest(&work, 0, "There")["status"], "True");
    assert_eq!(of_manifest(&work, 0, "Complete"), Value::Null);
    assert_eq!(condition(&work["status"], "Complete"), Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_work_is_frozen_until_its_rule_is_gone() {
    let world = World::new().await;
    let _agent = world.agent();
    let done = "has(object.metadata.labels) && has(object.metadata.labels.done)";
    let rules = json!([{"condition": "Complete", "type": "CEL", "celExpressions": [done]}]);
    let config = judging(&world, ("", "configmaps", "a"), rules);
    let spec = json!({"manifestConfigs": [config]});
    world
        .create_with("frozen", &[world.map("a", "1")], spec)
        .await;
    world.reports("frozen", "T", "T").await;
    let path = world.map_path("a");
    let labels = json!({"metadata": {"labels": {"done": "yes"}}});
    world.change(&path, labels).await;
    let complete = |generation: u64| {
        move |work: &Value| {
            let complete = condition(&work["status"], "Complete");
            let ["True", "ConditionRulesAggregated", "Manifest is Complete"] = said(&complete)
            else {
                return false;
            };
            complete["observedGeneration"] == generation
        }
    };
    world.work_has("frozen", "complete", complete(1)).await;
    // The agent has seen its own report when it has seen a later work.
    world.create("later", &[world.map("later", "1")]).await;
    world.reports("later", "T", "T").await;
    let theirs = json!({"data": {"key": "theirs"}});
    world.change(&path, theirs).await;
    let manifests = [world.map("a", "2"), world.map("b", "1")];
    world.update("frozen", &manifests).await;
    // The agent has seen the new generation.
    let work = world.work_has("frozen", "complete", complete(2)).await;
    assert_eq!(of_manifest(&work, 1, "Applied"), Value::Null);
    let map = world.has(&path, "there", |_| true).await;
    assert_eq!(map["data"]["key"], "theirs");
    world.lacks(&world.map_path("b")).await;

    world
        .patch("frozen", json!({"manifestConfigs": null}))
        .await;
    let work = world.reports("frozen", "TT", "TT").await;
    assert_eq!(condition(&work["status"], "Complete"), Value::Null);
    world
        .has(&path, "updated", |it| it["data"]["key"] == "2")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_complete_is_reported_for_each_generation_and_updated_without_the_rule() {
    let world = World::new().await;
    let _agent = world.agent();
    let rule = |expression: &str| json!([{"condition": "Complete", "type": "CEL", "celExpressions": [expression]}]);
    let done = judging(&world, ("", "configmaps", "done"), rule("true"));
    let open = judging(&world, ("", "configmaps", "open"), rule("false"));
    let spec = json!({"manifestConfigs": [done, open]});
    let maps = |value: &str| [world.map("done", value), world.map("open", value)];
    world.create_with("partly", &maps("1"), spec).await;
    world.reports("partly", "TT", "TT").await;
    world.update("partly", &maps("2")).await;
    let work = world.reports("partly", "TT", "TT").await;
    assert_eq!(work["metadata"]["generation"], 2);
    let value = |it: &Value, value: &str| it["data"]["key"] == value;
    world
        .has(&world.map_path("open"), "updated", |it| value(it, "2"))
        .await;
    let path = world.map_path("done");
    world.has(&path, "not updated", |it| value(it, "1")).await;
    world
        .patch("partly", json!({"manifestConfigs": [open]}))
        .await;
    world.has(&path, "updated", |it| value(it, "2")).await;
    world.reports("partly", "TT", "TT").await;
}
