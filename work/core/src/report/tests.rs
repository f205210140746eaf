use berth_api::conditions::condition_of;
use berth_api::work::{FeedbackRule, Manifest};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use super::*;
use crate::config::Identity;
use crate::evaluate::{FeedbackSettings, Programs, evaluate};

mod laws;

/// A ManifestWork whose status is reported again and again.
struct Work(ManifestWork);

/// An object of it.
#[derive(Clone, Debug)]
struct Object {
    meta: ManifestResourceMeta,
    live: State,
    applied: Option<Applied>,
    drift: Option<Drift>,
}

#[derive(Clone, Debug)]
enum State {
    Found(Value),
    Missing,
    Postponed,
    Failed(&'static str),
    Withheld(Option<bool>),
    Incomplete,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

impl Work {
    fn new(manifests: usize, configs: Value) -> Self {
        let manifest = Manifest::new(&json!({})).unwrap();
        let mut work = ManifestWork::default();
        work.metadata.generation = Some(1);
        work.spec.manifest_configs = serde_json::from_value(configs).unwrap();
        work.spec.workload.manifests = vec![manifest; manifests];
        Self(work)
    }

    fn report(&mut self, second: i64, objects: &[Object]) {
        let configs = self.0.spec.manifest_configs.clone();
        let programs = Programs::default();
        let settings = FeedbackSettings::default();
        let evaluated: Vec<_> = objects
            .iter()
            .map(|it| match &it.live {
                State::Found(object) => {
                    let rules = Rules::of(&configs, &Identity::from(&it.meta));
                    evaluate(&it.meta, &rules, object, &settings, &programs).0
                }
                _ => Evaluated::default(),
            })
            .collect();
        let observed = objects
            .iter()
            .zip(&evaluated)
            .map(|(it, evaluated)| Observed {
                meta: it.meta.clone(),
                applied: it.applied.clone(),
                live: match it.live {
                    State::Found(_) => Live::Evaluated(evaluated),
                    State::Missing => Live::Missing,
                    State::Postponed => Live::Postponed,
                    State::Failed(error) => Live::Failed(error),
                    State::Withheld(exists) => Live::Withheld {
                        exists,
                        refusal: "not allowed",
                    },
                    State::Incomplete => Live::Incomplete,
                },
                drift: it.drift.clone(),
                rules: Rules::of(&configs, &Identity::from(&it.meta)),
            });
        let observed: Vec<_> = observed.collect();
        let status = report(&self.0, &observed, 0, at(second));
        // What is reported is settled.
        self.0.status = Some(status.clone());
        let mut settled: Vec<_> = observed.clone();
        for it in &mut settled {
            it.applied = None;
        }
        for again in [&observed, &settled] {
            assert_eq!(report(&self.0, again, 0, at(second + 1000)), status);
        }
    }

    /// The conditions of the ManifestWork: type, status, reason, message.
    fn lines(&self) -> Vec<String> {
        lines(&self.0.status.as_ref().unwrap().conditions)
    }

    fn manifest(&self, at: usize) -> &ManifestCondition {
        &self.0.status.as_ref().unwrap().resource_status.manifests[at]
    }

    /// The conditions of an object.
    fn lines_of(&self, at: usize) -> Vec<String> {
        lines(&self.manifest(at).conditions)
    }

    /// The second in which a condition got its status.
    fn since(&self, of: Option<usize>, type_: &str) -> i64 {
        let conditions = match of {
            Some(at) => &self.manifest(at).conditions,
            None => &self.0.status.as_ref().unwrap().conditions,
        };
        let condition = conditions.iter().find(|it| it.type_ == type_).unwrap();
        condition.last_transition_time.0.as_second() - 1_700_000_000
    }

    fn values(&self, at: usize) -> Vec<String> {
        let values = &self.manifest(at).status_feedback.values;
        let value = |it: &berth_api::work::FeedbackValue| {
            let field = &it.field_value;
            let text = field
                .string
                .clone()
                .or(field.integer.map(|it| it.to_string()));
            format!("{}={}", it.name, text.unwrap())
        };
        values.iter().map(value).collect()
    }
}

fn lines(conditions: &[Condition]) -> Vec<String> {
    let line = |it: &Condition| format!("{} {} {}: {}", it.type_, it.status, it.reason, it.message);
    conditions.iter().map(line).collect()
}

fn meta(ordinal: i32, group: &str, kind: &str, name: &str) -> ManifestResourceMeta {
    ManifestResourceMeta {
        ordinal,
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        resource: format!("{}s", kind.to_lowercase()),
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

fn object(meta: ManifestResourceMeta, live: State) -> Object {
    Object {
        meta,
        live,
        applied: Some(Applied::Complete),
        drift: None,
    }
}

fn config_map(ordinal: i32, name: &str) -> Object {
    object(
        meta(ordinal, "", "ConfigMap", name),
        State::Found(json!({"data": {}})),
    )
}

fn failed() -> Option<Applied> {
    Some(Applied::Failed {
        reason: manifest::APPLIED_FAILED,
        message: "Failed to apply manifest: namespaces \"none\" not found".to_owned(),
    })
}

fn config(resource: &str, name: &str, rules: Value) -> Value {
    let group = match resource {
        "jobs" => "batch",
        "deployments" => "apps",
        "widgets" => "example.com",
        _ => "",
    };
    let mut config = rules;
    config["resourceIdentifier"] =
        json!({"group": group, "resource": resource, "namespace": "default", "name": name});
    config
}

fn cel(condition: &str, expression: &str) -> Value {
    json!({"type": "CEL", "condition": condition, "celExpressions": [expression]})
}

const APPLIED: &str = "Applied True AppliedManifestComplete: Apply manifest complete";
const AVAILABLE: &str = "Available True ResourceAvailable: Resource is available";
const NO_FEEDBACK: &str = "StatusFeedbackSynced True NoStatusFeedbackSynced: ";
const WORK_APPLIED: &str = "Applied True AppliedManifestWorkComplete: Apply manifest work complete";
const WORK_AVAILABLE: &str = "Available True ResourcesAvailable: All resources are available";
const DONE: &str = "Progressing False ConditionRulesAggregated: All objects are done";
const SOUND: &str = "Degraded False ConditionRulesAggregated: No failure is reported";

#[test]
fn one_object_of_three_is_refused() {
    let mut work = Work::new(3, json!([]));
    let mut refused = config_map(0, "cm1");
    refused.live = State::Missing;
    refused.applied = failed();
    let objects = [refused, config_map(1, "cm2"), config_map(2, "cm3")];
    work.report(0, &objects);
    assert_eq!(
        work.lines_of(0)[..2],
        [
            "Applied False AppliedManifestFailed: Failed to apply manifest: namespaces \"none\" not found",
            "Available False ResourceNotAvailable: Resource is not available",
        ]
    );
    assert_eq!(work.lines_of(1), [APPLIED, AVAILABLE, NO_FEEDBACK]);
    assert_eq!(
        work.lines(),
        [
            "Applied False AppliedManifestWorkFailed: Failed to apply manifest work",
            "Available False ResourcesNotAvailable: 1 of 3 resources are not available",
            "Progressing True ConditionRulesAggregated: ConfigMap default/cm1: The object does not exist",
            SOUND,
        ]
    );
    // The first one is mended, the third one is dropped.
    work.0.metadata.generation = Some(2);
    work.0.spec.workload.manifests.pop();
    work.report(60, &[config_map(0, "cm1"), config_map(1, "cm2")]);
    assert_eq!(work.lines()[..2], [WORK_APPLIED, WORK_AVAILABLE]);
    assert_eq!(
        work.0
            .status
            .as_ref()
            .unwrap()
            .resource_status
            .manifests
            .len(),
        2
    );
    assert_eq!(
        (
            work.since(None, "Applied"),
            work.since(Some(0), "Available")
        ),
        (60, 60)
    );
    assert_eq!(
        (
            work.since(Some(1), "Applied"),
            work.since(Some(1), "Available")
        ),
        (0, 0)
    );
    let of_work = &work.0.status.as_ref().unwrap().conditions;
    let all = of_work.iter().chain(&work.manifest(1).conditions);
    assert!(all.into_iter().all(|it| it.observed_generation == Some(2)));
}

#[test]
fn availability_of_each_kind() {
    let mut unknown = config_map(0, "a");
    unknown.live = State::Failed("connection refused");
    let mut incomplete = config_map(1, "");
    incomplete.live = State::Incomplete;
    let mut missing = config_map(2, "c");
    missing.live = State::Missing;
    for (objects, expected, of_first) in [
        (
            vec![],
            "Available Unknown ResourcesStatusUnknown: cannot get any available resource ",
            None,
        ),
        (
            vec![unknown.clone(), incomplete.clone()],
            "Available Unknown ResourcesStatusUnknown: 2 of 2 resources have unknown status",
            Some(
                "Available Unknown FetchingResourceFailed: Failed to fetch resource: connection refused",
            ),
        ),
        (
            vec![incomplete, config_map(2, "c")],
            "Available Unknown ResourcesStatusUnknown: 1 of 2 resources have unknown status",
            Some("Available Unknown IncompleteResourceMeta: Resource meta is incomplete"),
        ),
        (
            vec![missing, unknown],
            "Available False ResourcesNotAvailable: 1 of 2 resources are not available",
            Some("Available False ResourceNotAvailable: Resource is not available"),
        ),
        (
            vec![config_map(0, "a"), config_map(1, "b")],
            WORK_AVAILABLE,
            Some(AVAILABLE),
        ),
    ] {
        let mut work = Work::new(objects.len(), json!([]));
        work.report(0, &objects);
        assert!(
            work.lines().contains(&expected.to_owned()),
            "{:?}",
            work.lines()
        );
        if let Some(of_first) = of_first {
            assert_eq!(work.lines_of(0)[1], of_first);
        }
    }
}

#[test]
fn applied_waits_for_each_object() {
    let mut work = Work::new(2, json!([]));
    let mut later = config_map(1, "b");
    later.applied = None;
    later.live = State::Missing;
    work.report(0, &[config_map(0, "a"), later.clone()]);
    assert!(
        !work.lines()[0].starts_with("Applied"),
        "{:?}",
        work.lines()
    );
    later.applied = failed();
    work.report(5, &[config_map(0, "a"), later.clone()]);
    assert_eq!(work.since(None, "Applied"), 5);
    // The next generation is not reported before each object was applied again.
    work.0.metadata.generation = Some(2);
    later.applied = None;
    work.report(6, &[config_map(0, "a"), later]);
    let status = work.0.status.as_ref().unwrap();
    let applied = status
        .conditions
        .iter()
        .find(|it| it.type_ == "Applied")
        .unwrap();
    assert_eq!(
        (applied.observed_generation, &*applied.status),
        (Some(1), "False")
    );
}

#[test]
fn objects_are_found_after_they_moved() {
    let mut work = Work::new(2, json!([]));
    work.report(0, &[config_map(0, "a"), config_map(1, "b")]);
    work.0.metadata.generation = Some(2);
    work.report(9, &[config_map(0, "c"), config_map(1, "a")]);
    assert_eq!(work.since(Some(0), "Applied"), 9);
    assert_eq!(
        (
            work.since(Some(1), "Applied"),
            work.since(Some(1), "Available")
        ),
        (0, 0)
    );
    assert_eq!(work.lines_of(1), [APPLIED, AVAILABLE, NO_FEEDBACK]);
}

#[test]
fn reported_fields_follow_the_object() {
    let rules: Vec<FeedbackRule> =
        serde_json::from_value(json!([{"type": "JSONPaths", "jsonPaths": [
        {"name": "a", "path": ".data.a"}, {"name": "b", "path": ".data.b"}]}]))
        .unwrap();
    let mut work = Work::new(
        1,
        json!([config("configmaps", "cm", json!({"feedbackRules": rules}))]),
    );
    let with = |data: Value| {
        let data = json!({ "data": data });
        [object(meta(0, "", "ConfigMap", "cm"), State::Found(data))]
    };
    let synced = "StatusFeedbackSynced True StatusFeedbackSynced: ";
    for (second, data, values, condition, since) in [
        (0, json!({"a": "x", "b": 1}), &["a=x", "b=1"][..], synced, 0),
        (
            1,
            json!({"a": "x", "b": 1, "c": 2}),
            &["a=x", "b=1"],
            synced,
            0,
        ),
        (2, json!({"a": "x", "b": 2}), &["a=x", "b=2"], synced, 2),
        (3, json!({"b": 2}), &["b=2"], synced, 3),
        (
            4,
            json!({"a": [], "b": 2}),
            &["b=2"],
            "StatusFeedbackSynced False StatusFeedbackSyncFailed: Sync status feedback failed with error \
             the type []interface {} of the value for a is not found",
            4,
        ),
        (5, json!({"b": 3}), &["b=3"], synced, 5),
    ] {
        work.report(second, &with(data));
        assert_eq!(work.values(0), values, "{second}");
        assert_eq!(work.lines_of(0)[2], condition, "{second}");
        assert_eq!(
            work.since(Some(0), "StatusFeedbackSynced"),
            since,
            "{second}"
        );
        assert_eq!(work.since(Some(0), "Available"), 0, "{second}");
    }
    // A missing object changes Available only.
    let missing = [object(meta(0, "", "ConfigMap", "cm"), State::Missing)];
    work.report(6, &missing);
    assert_eq!(work.values(0), ["b=3"]);
    assert_eq!(work.since(Some(0), "StatusFeedbackSynced"), 5);
    // What costs too much now is evaluated later.
    let postponed = object(meta(0, "", "ConfigMap", "cm"), State::Postponed);
    work.report(7, &[postponed]);
    assert_eq!(work.values(0), ["b=3"]);
    let [available, synced] = [1, 2].map(|at| work.lines_of(0)[at].clone());
    assert_eq!(
        available,
        "Available True ResourceAvailable: Resource is available"
    );
    let words = "StatusFeedbackSynced False StatusFeedbackSyncFailed: the ignored fields, feedback rules and condition rules of all objects \
                 of a ManifestWork may cost 10000000 steps at once";
    assert!(synced.starts_with(words), "{synced}");
    // The rules are gone.
    work.0.spec.manifest_configs.clear();
    work.0.metadata.generation = Some(2);
    work.report(7, &with(json!({"b": 3})));
    assert_eq!(work.lines_of(0)[2], NO_FEEDBACK);
    assert_eq!(
        (
            work.values(0).len(),
            work.since(Some(0), "StatusFeedbackSynced")
        ),
        (0, 7)
    );
}

fn job(ordinal: i32, name: &str, is_complete: bool) -> Object {
    let status = if is_complete { "True" } else { "False" };
    let job =
        json!({"status": {"active": 1, "conditions": [{"type": "Complete", "status": status}]}});
    object(meta(ordinal, "batch", "Job", name), State::Found(job))
}

#[test]
fn a_job_completes() {
    let rule =
        json!({"conditionRules": [{"type": "WellKnownConditions", "condition": "Complete"}]});
    let mut work = Work::new(1, json!([config("jobs", "j", rule)]));
    work.report(0, &[job(0, "j", false)]);
    let evaluated = "Complete False ConditionRuleEvaluated: Job is not finished";
    assert_eq!(work.lines_of(0)[3], evaluated);
    assert_eq!(
        work.lines()[2],
        "Complete False ConditionRulesAggregated: Job is not finished"
    );
    work.report(1, &[job(0, "j", true)]);
    assert_eq!(
        work.lines()[2],
        "Complete True ConditionRulesAggregated: Job is finished"
    );
    assert_eq!(
        (
            work.since(None, "Complete"),
            work.since(Some(0), "Complete")
        ),
        (1, 1)
    );
    // It is removed after it was finished.
    let mut gone = job(0, "j", true);
    gone.live = State::Missing;
    work.report(2, &[gone.clone()]);
    assert_eq!(
        work.lines(),
        [
            WORK_APPLIED,
            "Available False ResourcesNotAvailable: 1 of 1 resources are not available",
            "Complete True ConditionRulesAggregated: Job is finished",
            "Progressing False ConditionRulesAggregated: The Job is complete",
            SOUND,
        ]
    );
    // It stays complete when something else in the ManifestWork changes.
    work.0.metadata.generation = Some(2);
    work.report(3, &[gone.clone()]);
    assert_eq!(
        work.lines()[2],
        "Complete True ConditionRulesAggregated: Job is finished"
    );
    assert_eq!(work.since(Some(0), "Complete"), 1);
    // Without the rule it does not.
    work.0.metadata.generation = Some(3);
    work.0.spec.manifest_configs.clear();
    work.report(4, &[gone]);
    assert!(!work.lines().iter().any(|it| it.starts_with("Complete")));
}

#[test]
fn rules_of_the_first_config_that_has_some() {
    let mut work = Work::new(
        2,
        json!([
            config(
                "jobs",
                "job1",
                json!({"conditionRules": [{"type": "WellKnownConditions", "condition": "Complete"}]})
            ),
            config(
                "jobs",
                "job*",
                json!({"conditionRules": [cel("Complete", "object.invalid")]})
            ),
        ]),
    );
    work.report(0, &[job(0, "job1", false), job(1, "job2", false)]);
    assert_eq!(
        work.lines_of(0)[3],
        "Complete False ConditionRuleEvaluated: Job is not finished"
    );
    assert_eq!(
        work.lines_of(1)[3],
        "Complete False ConditionRuleExpressionError: no such key: invalid"
    );
    assert_eq!(
        work.lines()[2],
        "Complete False ConditionRulesAggregated: Aggregated from 2 manifest conditions"
    );
    // A kind without well-known conditions.
    let rule =
        json!({"conditionRules": [{"type": "WellKnownConditions", "condition": "Complete"}]});
    let mut work = Work::new(1, json!([config("configmaps", "*", rule)]));
    work.report(0, &[config_map(0, "a")]);
    let available = format!(
        "{AVAILABLE}; v1 ConfigMap has no well-known conditions [\"Complete\"]: use rules of the type CEL"
    );
    assert_eq!(work.lines_of(0), [APPLIED, available.as_str(), NO_FEEDBACK]);
    assert_eq!(work.lines(), [WORK_APPLIED, WORK_AVAILABLE, DONE, SOUND]);
}

#[test]
fn a_rule_that_is_removed_removes_its_condition() {
    let rule = json!({"conditionRules": [cel("OneActive", "object.status.active == 1")]});
    let mut work = Work::new(1, json!([config("jobs", "j", rule)]));
    work.report(0, &[job(0, "j", true)]);
    assert_eq!(
        work.lines_of(0)[3],
        "OneActive True ConditionRuleEvaluated: Manifest is OneActive"
    );
    work.0.spec.manifest_configs.clear();
    work.0.metadata.generation = Some(2);
    work.report(1, &[job(0, "j", true)]);
    let all = [work.lines(), work.lines_of(0)].concat();
    assert!(all.iter().all(|it| !it.starts_with("OneActive")), "{all:?}");
}

#[test]
fn conditions_of_several_objects() {
    let rules = |first: &str, second: &str| {
        json!([
            config(
                "widgets",
                "a",
                json!({"conditionRules": [cel("Progressing", first), cel("Degraded", first), cel("Custom", first)]})
            ),
            config(
                "widgets",
                "b",
                json!({"conditionRules": [cel("Progressing", second), cel("Degraded", second), cel("Custom", second)]})
            ),
        ])
    };
    let widget = |ordinal, name| {
        object(
            meta(ordinal, "example.com", "Widget", name),
            State::Found(json!({})),
        )
    };
    for (first, second, expected) in [
        ("true", "true", ["True", "True", "True"]),
        ("true", "false", ["True", "False", "False"]),
        ("false", "false", ["False", "False", "False"]),
    ] {
        let mut work = Work::new(2, rules(first, second));
        work.report(0, &[widget(0, "a"), widget(1, "b")]);
        for (type_, status) in ["Progressing", "Degraded", "Custom"]
            .into_iter()
            .zip(expected)
        {
            let line = format!(
                "{type_} {status} ConditionRulesAggregated: Aggregated from 2 manifest conditions"
            );
            assert!(
                work.lines().contains(&line),
                "{first} {second}: {:?}",
                work.lines()
            );
        }
    }
}

fn deployment(ordinal: i32, name: &str, status: Value) -> Object {
    object(
        meta(ordinal, "apps", "Deployment", name),
        State::Found(json!({ "status": status })),
    )
}

#[test]
fn built_in_conditions_end_a_rollout() {
    let mut work = Work::new(3, json!([]));
    let objects = |a: Value, b: Value| {
        [
            config_map(0, "cm"),
            deployment(1, "a", a),
            deployment(2, "b", b),
        ]
    };
    let up = json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1});
    let late = json!({"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]});
    work.report(0, &objects(json!({}), json!({})));
    assert_eq!(
        work.lines()[2..],
        [
            "Progressing True ConditionRulesAggregated: Deployment default/a: Pods are being updated (and 1 more)",
            SOUND,
        ]
    );
    assert_eq!(
        work.lines_of(1)[3..],
        [
            "Progressing True ConditionRuleBuiltIn: Pods are being updated",
            "Degraded False ConditionRuleBuiltIn: No failure is reported",
        ]
    );
    work.report(1, &objects(up.clone(), late));
    assert_eq!(
        work.lines()[2..],
        [
            "Progressing True ConditionRulesAggregated: Deployment default/b: The progress deadline is exceeded",
            "Degraded True ConditionRulesAggregated: Deployment default/b: The progress deadline is exceeded",
        ]
    );
    work.report(2, &objects(up.clone(), up));
    assert_eq!(work.lines()[2..], [DONE, SOUND]);
    assert_eq!(
        (
            work.since(None, "Progressing"),
            work.since(None, "Degraded")
        ),
        (2, 2)
    );
    assert_eq!(work.lines_of(0), [APPLIED, AVAILABLE, NO_FEEDBACK]);
}

#[test]
fn rules_win_over_built_in_conditions() {
    let rule = json!({"conditionRules": [cel("Progressing", "false")]});
    let mut work = Work::new(2, json!([config("deployments", "a", rule)]));
    work.report(
        0,
        &[deployment(0, "a", json!({})), deployment(1, "b", json!({}))],
    );
    assert_eq!(
        work.lines_of(0)[3..],
        [
            "Progressing False ConditionRuleEvaluated: Manifest is not Progressing",
            "Degraded False ConditionRuleBuiltIn: No failure is reported",
        ]
    );
    // As with OCM, the object without a rule has no say.
    assert_eq!(
        work.lines()[2..],
        [
            "Progressing False ConditionRulesAggregated: Manifest is not Progressing",
            SOUND
        ]
    );
}

#[test]
fn objects_without_rules_of_any_kind_have_no_say() {
    let widget = object(
        meta(0, "example.com", "Widget", "w"),
        State::Found(json!({})),
    );
    let mut work = Work::new(1, json!([]));
    work.report(0, std::slice::from_ref(&widget));
    assert_eq!(work.lines(), [WORK_APPLIED, WORK_AVAILABLE]);
    let mut unread = config_map(1, "a");
    unread.live = State::Failed("timeout");
    let mut work = Work::new(2, json!([]));
    work.report(0, &[widget, unread]);
    assert_eq!(
        work.lines()[2],
        "Progressing Unknown ConditionRulesAggregated: Not all objects could be read"
    );
}

#[test]
fn what_was_read_of_an_object_goes_when_it_is_withheld() {
    let rules = json!({
        "conditionRules": [cel("Known", "true"), cel("Complete", "true")],
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".metadata.name"}]}],
    });
    let mut work = Work::new(1, json!([config("deployments", "a", rules)]));
    let live = State::Found(json!({"metadata": {"name": "a"}}));
    let mut read = object(meta(0, "apps", "Deployment", "a"), live);
    read.drift = Some(Drift::Differs("spec.replicas".to_owned()));
    work.report(0, std::slice::from_ref(&read));
    assert_eq!(work.values(0), ["a=a"]);
    let types = |work: &Work| -> Vec<_> {
        let conditions = work.manifest(0).conditions.iter();
        conditions.map(|it| it.type_.clone()).collect()
    };
    for type_ in ["Known", "Progressing", "Drifted", "StatusFeedbackSynced"] {
        assert!(types(&work).iter().any(|it| it == type_), "{type_}");
    }
    for (exists, available) in [
        (Some(true), "True ResourceAvailable: Resource is available"),
        (
            Some(false),
            "False ResourceNotAvailable: Resource is not available",
        ),
        (
            None,
            "Unknown FetchingResourceFailed: Failed to fetch resource: not allowed",
        ),
    ] {
        let withheld = Object {
            live: State::Withheld(exists),
            ..read.clone()
        };
        work.report(1, &[withheld]);
        assert!(work.values(0).is_empty());
        // An object that is complete must not be updated again.
        assert_eq!(types(&work), ["Applied", "Available", "Complete"]);
        assert_eq!(work.lines_of(0)[1], format!("Available {available}"));
    }
}

#[test]
fn a_rule_cannot_set_what_the_agent_sets() {
    let rule = json!({"conditionRules": [cel("Available", "false"), cel("Applied", "false"), cel("Deleting", "true"),
                                         cel("StatusFeedbackSynced", "false"), cel("not a type", "true")]});
    let mut work = Work::new(1, json!([config("configmaps", "*", rule)]));
    // As OCM's agent leaves it.
    let condition = |reason: &str| json!({"type": "Available", "status": "False", "reason": reason, "message": "", "observedGeneration": 1, "lastTransitionTime": "2023-01-01T00:00:00Z"});
    let mut deleting = condition("ConditionRulesAggregated");
    deleting["type"] = json!("Deleting");
    work.0.status = serde_json::from_value(json!({
        "conditions": [condition("ConditionRulesAggregated"), deleting],
        "resourceStatus": {"manifests": [{"resourceMeta": meta(0, "", "ConfigMap", "a"), "conditions": [condition("ConditionRuleEvaluated")]}]},
    }))
    .unwrap();
    work.report(0, &[config_map(0, "a")]);
    assert_eq!(
        work.lines_of(0),
        [
            r#"Available True ResourceAvailable: Resource is available; condition rules cannot set ["Available", "Applied", "Deleting", "StatusFeedbackSynced", "not a type"]"#,
            APPLIED,
            NO_FEEDBACK,
        ]
    );
    assert_eq!(work.lines(), [WORK_AVAILABLE, WORK_APPLIED, DONE, SOUND]);
}

#[test]
fn each_fault_of_a_rule_is_in_a_condition() {
    let mut rules = vec![
        cel("Broken", "object."),
        json!({"type": "CEL", "condition": "Later", "celExpressions": ["false", "result"]}),
        json!({"type": "CEL", "condition": "Empty"}),
        json!({"type": "Rego", "condition": "Unknown"}),
        cel("Applied", "true"),
    ];
    rules.extend((rules.len()..101).map(|it| cel(&format!("C{it}"), "true")));
    let path = json!({"name": "v", "path": ".status["});
    let feedback = json!([{"type": "All"}, {"type": "JSONPaths", "jsonPaths": [path]}]);
    let rules = json!({"conditionRules": rules, "feedbackRules": feedback});
    let mut work = Work::new(1, json!([config("configmaps", "*", rules)]));
    work.report(0, &[config_map(0, "a")]);
    let lines = work.lines_of(0);
    for (condition, fault) in [
        (
            "Broken False ConditionRuleExpressionError",
            "compilation failed",
        ),
        (
            "Later False ConditionRuleExpressionError",
            "undeclared reference to 'result'",
        ),
        (
            "Empty False ConditionRuleInvalid",
            "celExpressions is empty",
        ),
        (
            "Unknown False ConditionRuleInvalid",
            r#"the type "Rego" is unknown"#,
        ),
        (
            "Available True ResourceAvailable",
            r#"condition rules cannot set ["Applied"]"#,
        ),
        (
            "Available True ResourceAvailable",
            "there are 101 condition rules; the first 100 are evaluated",
        ),
        (
            "StatusFeedbackSynced False StatusFeedbackSyncFailed",
            r#"the type "All" of a feedback rule is unknown"#,
        ),
        (
            "StatusFeedbackSynced False StatusFeedbackSyncFailed",
            r#"the path ".status[" of the value v cannot be used"#,
        ),
    ] {
        let line = lines.iter().find(|it| it.starts_with(condition));
        let line = line.unwrap_or_else(|| panic!("no {condition}: {lines:?}"));
        assert!(line.contains(fault), "{line}");
    }
}

#[test]
fn drift_is_reported_with_the_first_difference() {
    let mut work = Work::new(2, json!([]));
    let with = |first: Option<Drift>, second: Option<Drift>| {
        let mut objects = [config_map(0, "a"), config_map(1, "b")];
        objects[0].drift = first;
        objects[1].drift = second;
        objects
    };
    let same = || Some(Drift::Same);
    let differs = || Some(Drift::Differs(".data.a: ours x, theirs y".to_owned()));
    work.report(0, &with(same(), same()));
    let none = "Drifted False ConditionRulesAggregated: All objects are as their manifests say";
    assert_eq!((&*work.lines()[4], work.lines_of(0).len()), (none, 3));
    work.report(1, &with(same(), differs()));
    assert_eq!(
        work.lines()[4],
        "Drifted True ConditionRulesAggregated: 1 of 2 objects differs from its manifest: ConfigMap default/b"
    );
    assert_eq!(
        work.lines_of(1)[3],
        "Drifted True ConditionRuleBuiltIn: .data.a: ours x, theirs y"
    );
    work.report(2, &with(differs(), differs()));
    assert_eq!(
        work.lines()[4],
        "Drifted True ConditionRulesAggregated: 2 of 2 objects differ from their manifests; the first is ConfigMap default/a"
    );
    assert_eq!(
        (work.since(None, "Drifted"), work.since(Some(1), "Drifted")),
        (1, 1)
    );
    work.report(3, &with(same(), same()));
    assert_eq!(work.lines()[4], none);
    assert_eq!(
        work.lines_of(1)[3],
        "Drifted False ConditionRuleBuiltIn: The object is as its manifest says"
    );
    work.report(4, &with(None, None));
    assert_eq!((work.lines().len(), work.lines_of(1).len()), (4, 3));
}

#[test]
fn a_deleted_work_keeps_its_objects() {
    let mut work = Work::new(2, json!([]));
    work.report(0, &[config_map(0, "a"), config_map(1, "b")]);
    work.0.metadata.deletion_timestamp = Some(Time(at(5)));
    work.0.metadata.generation = Some(2);
    work.report(5, &[]);
    let deleting = "Deleting True WorkDeleting: ManifestWork is being deleted";
    assert_eq!(
        work.lines(),
        [WORK_APPLIED, WORK_AVAILABLE, DONE, SOUND, deleting]
    );
    assert_eq!(
        work.0
            .status
            .as_ref()
            .unwrap()
            .resource_status
            .manifests
            .len(),
        2
    );
    // The second one is gone, the first one has a finalizer.
    let mut gone = config_map(1, "b");
    gone.live = State::Missing;
    gone.applied = None;
    work.report(6, &[gone]);
    assert_eq!(
        work.lines()[1],
        "Available False ResourcesNotAvailable: 1 of 2 resources are not available"
    );
    assert_eq!(work.lines_of(0)[1], AVAILABLE);
    assert_eq!(work.since(None, "Deleting"), 5);
    // Deleted before anything was applied.
    let mut work = Work::new(1, json!([]));
    work.0.metadata.deletion_timestamp = Some(Time(at(5)));
    work.report(5, &[]);
    assert_eq!(work.lines(), [deleting]);
}

#[test]
fn what_others_wrote_stays() {
    let mut work = Work::new(1, json!([]));
    let foreign = json!({"type": "Example", "status": "True", "reason": "Mine", "message": "m", "lastTransitionTime": "2023-01-01T00:00:00Z"});
    work.0.status = serde_json::from_value(json!({"conditions": [foreign, foreign]})).unwrap();
    work.report(0, &[config_map(0, "a")]);
    assert_eq!(
        work.lines(),
        [
            "Example True Mine: m",
            WORK_APPLIED,
            WORK_AVAILABLE,
            DONE,
            SOUND
        ]
    );
}

#[test]
fn long_messages_are_cut() {
    let mut work = Work::new(1, json!([]));
    let mut long = config_map(0, "a");
    long.applied = Some(Applied::Failed {
        reason: manifest::APPLIED_FAILED,
        message: "é".repeat(100_000),
    });
    long.drift = Some(Drift::Differs("x".repeat(100_000)));
    work.report(0, &[long]);
    for line in work.lines_of(0) {
        assert!(line.len() < 1200, "{}", line.len());
    }
}

#[test]
fn the_status_of_very_many_manifests_is_bounded() {
    let count = 3000;
    let mut work = Work::new(count, json!([]));
    let metas: Vec<_> = (0..i32::try_from(count).unwrap())
        .map(|at| config_map(at, &format!("map-{at}")).meta)
        .collect();
    let observed: Vec<_> = (metas.iter())
        .map(|meta| Observed {
            meta: meta.clone(),
            applied: Some(Applied::Complete),
            live: match meta.ordinal {
                2999 => Live::Missing,
                _ => Live::Failed("the cluster is away"),
            },
            drift: None,
            rules: Rules::of(&[], &Identity::from(meta)),
        })
        .collect();
    let size = |status: &ManifestWorkStatus| serde_json::to_vec(status).unwrap().len();
    let status = report(&work.0, &observed, 0, at(0));
    assert!((850_000..=910_000).contains(&size(&status)));
    let half = report(&work.0, &observed, 1, at(0));
    assert!((400_000..=460_000).contains(&size(&half)));
    let none = report(&work.0, &observed, 64, at(0));
    assert_eq!(none.resource_status.manifests, []);
    let manifest = json!({"data": {"k": "v".repeat(900_000)}});
    let mut large = work.0.clone();
    large
        .spec
        .workload
        .manifests
        .push(Manifest::new(&manifest).unwrap());
    let status_of_large = report(&large, &observed, 0, at(0));
    assert!(
        (450_000..=520_000).contains(&size(&status_of_large)),
        "what the manifests take is not there for the states"
    );
    let states = status.resource_status.manifests.len();
    let available = condition_of(&status.conditions, "Available").unwrap();
    let left_out = format!(
        "the status leaves out the states of {} manifests: it would be too large",
        count - states
    );
    assert!(
        available.message.contains(&left_out),
        "{}",
        available.message
    );
    work.0.status = Some(status.clone());
    assert!(
        report(&work.0, &observed, 0, at(1)) == status,
        "nothing has changed"
    );
}
