use berth_api::work::ManifestResourceMeta;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn meta(group: &str, kind: &str) -> ManifestResourceMeta {
    ManifestResourceMeta {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        ..ManifestResourceMeta::default()
    }
}

const POD: ObjectKind<'static> = ("", "v1", "Pod");

fn rules(value: serde_json::Value) -> Vec<ConditionRule> {
    serde_json::from_value(value).unwrap()
}

fn evaluated(
    meta: &ManifestResourceMeta,
    value: serde_json::Value,
    object: &serde_json::Value,
) -> Vec<RuleCondition> {
    let programs = Programs::default();
    conditions(meta, &rules(value), object, &programs, &mut {
        OBJECT_BUDGET
    })
}

/// Status, reason and message of each condition.
fn written(conditions: &[RuleCondition]) -> Vec<String> {
    let line = |it: &RuleCondition| {
        let reason = it.reason.trim_start_matches("ConditionRule");
        format!("{} {}/{reason}: {}", it.type_, it.status, it.message)
    };
    conditions.iter().map(line).collect()
}

fn job() -> serde_json::Value {
    json!({"metadata": {"name": "j", "generation": 2}, "status": {"active": 1, "conditions": [{"type": "Complete", "status": "True"}]}})
}

#[test]
fn a_rule_of_expressions() {
    for (rule, expected) in [
        (
            json!({"celExpressions": ["object.status.active == 1", "object.metadata.name == 'j'"]}),
            "C True/Evaluated: Manifest is C",
        ),
        (
            json!({"celExpressions": ["object.status.active == 2"]}),
            "C False/Evaluated: Manifest is not C",
        ),
        (
            // The first expression that is false ends it.
            json!({"celExpressions": ["false", "object.status.invalid == 1"]}),
            "C False/Evaluated: Manifest is not C",
        ),
        (
            json!({"celExpressions": ["true"], "message": "one is active"}),
            "C True/Evaluated: one is active",
        ),
        (
            // A mistake in a later expression is reported all the same.
            json!({"celExpressions": ["false", "result"]}),
            "C False/ExpressionError: compilation failed: ERROR: <input>:1:1: undeclared reference to 'result'",
        ),
        (
            json!({"celExpressions": ["false"], "message": "m", "messageExpression": "result ? 'done' : 'active: ' + string(object.status.active)"}),
            "C False/Evaluated: active: 1",
        ),
        (
            json!({"celExpressions": ["true"], "message": "m", "messageExpression": "''"}),
            "C True/Evaluated: m",
        ),
        (
            json!({"celExpressions": ["true"], "messageExpression": "object.invalid"}),
            "C True/Evaluated: no such key: invalid",
        ),
        (
            json!({"celExpressions": ["false"], "messageExpression": "1"}),
            "C False/Evaluated: expected string result, got int",
        ),
        (
            json!({"celExpressions": ["'a'"]}),
            "C False/ExpressionError: expected bool result, got string",
        ),
        (
            json!({"celExpressions": ["object.status.invalid == 1"]}),
            "C False/ExpressionError: no such key: invalid",
        ),
        (
            json!({"celExpressions": ["object.status.active =="]}),
            "C False/ExpressionError: compilation failed: ERROR: <input>:1:24: ",
        ),
        (
            json!({"celExpressions": ["result"]}),
            "C False/ExpressionError: compilation failed: ERROR: <input>:1:1: undeclared reference to 'result'",
        ),
        (json!({}), "C False/Invalid: celExpressions is empty"),
        (
            json!({"type": "Rego"}),
            r#"C False/Invalid: the type "Rego" is unknown"#,
        ),
    ] {
        let mut whole = json!({"type": "CEL", "condition": "C"});
        whole
            .as_object_mut()
            .unwrap()
            .extend(rule.as_object().unwrap().clone());
        let conditions = evaluated(&meta("batch", "Job"), json!([whole]), &job());
        let lines = written(&conditions);
        assert_eq!(lines.len(), 1, "{rule}");
        let matches = if expected.ends_with(": ") {
            lines[0].starts_with(expected)
        } else {
            lines[0] == expected
        };
        assert!(matches, "{rule}: {lines:?}");
    }
}

#[test]
fn well_known_conditions_of_each_kind() {
    let rule = |condition: &str| json!([{"type": "WellKnownConditions", "condition": condition}]);
    let failed = json!({"status": {"conditions": [{"type": "Failed", "status": "True"}]}});
    let running = json!({"status": {"conditions": [{"type": "Complete", "status": "False"}]}});
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    for (group, kind, object, expected) in [
        (
            "batch",
            "Job",
            job(),
            Some("Complete True/Evaluated: Job is finished"),
        ),
        (
            "batch",
            "Job",
            failed,
            Some("Complete True/Evaluated: Job is finished"),
        ),
        (
            "batch",
            "Job",
            running,
            Some("Complete False/Evaluated: Job is not finished"),
        ),
        (
            "batch",
            "Job",
            json!({}),
            Some("Complete False/Evaluated: Job is not finished"),
        ),
        (
            "",
            "Pod",
            phase("Succeeded"),
            Some("Complete True/Evaluated: Pod is in phase Succeeded"),
        ),
        (
            "",
            "Pod",
            phase("Failed"),
            Some("Complete True/Evaluated: Pod is in phase Failed"),
        ),
        (
            "",
            "Pod",
            phase("Running"),
            Some("Complete False/Evaluated: Pod is in phase Running"),
        ),
        ("", "ConfigMap", job(), None),
        ("other", "Job", job(), None),
    ] {
        let conditions = evaluated(&meta(group, kind), rule("Complete"), &object);
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(written(&conditions), expected, "{kind} {object}");
    }
    for condition in ["Progressing", ""] {
        let job_meta = meta("batch", "Job");
        let conditions = evaluated(&job_meta, rule(condition), &job());
        assert_eq!(conditions, [], "{condition}");
        let why = format!(
            "v1 Job has no well-known conditions [{condition:?}]: use rules of the type CEL"
        );
        assert_eq!(
            unreported(&job_meta, &rules(rule(condition))),
            std::slice::from_ref(&why)
        );
        assert_eq!(
            faults(kind_of(&job_meta), &rules(rule(condition))),
            [format!("the condition rule {condition:?}: {why}")]
        );
    }
}

#[test]
fn a_well_known_condition_may_have_another_message() {
    for (fields, expected) in [
        (json!({"message": "the import ended"}), "the import ended"),
        (
            json!({"messageExpression": "object.metadata.name + (result ? ' ended' : ' runs')"}),
            "j ended",
        ),
        (json!({"messageExpression": "''", "message": "m"}), "m"),
        (json!({"messageExpression": "''"}), "Job is finished"),
        (
            json!({"messageExpression": "object.spec.x"}),
            "no such key: spec",
        ),
    ] {
        let mut rule = json!({"type": "WellKnownConditions", "condition": "Complete"});
        rule.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let conditions = evaluated(&meta("batch", "Job"), json!([rule]), &job());
        assert_eq!(
            written(&conditions),
            [format!("Complete True/Evaluated: {expected}")],
            "{fields}"
        );
    }
}

#[test]
fn has_conditions_takes_any_value() {
    for (object, expected) in [
        (job(), true),
        (json!({"status": {}}), false),
        (json!({"status": "badtype"}), false),
        (json!({"status": {"conditions": []}}), false),
        (json!({"status": {"conditions": null}}), false),
        (json!({"status": null}), false),
    ] {
        let rule = json!([{"type": "CEL", "condition": "C", "celExpressions": ["hasConditions(object.status)"]}]);
        let conditions = evaluated(&meta("batch", "Job"), rule, &object);
        let not = if expected { "" } else { "not " };
        let status = if expected { "True" } else { "False" };
        assert_eq!(
            written(&conditions),
            [format!("C {status}/Evaluated: Manifest is {not}C")],
            "{object}"
        );
    }
}

#[test]
fn expressions_have_a_budget_together() {
    let rule = json!([
        {"type": "CEL", "condition": "A", "celExpressions": ["object.status.active == 1"]},
        {"type": "CEL", "condition": "B", "celExpressions": ["true"], "messageExpression": "object.metadata.name"},
    ]);
    let with = |mut budget| {
        let meta = meta("batch", "Job");
        let conditions = conditions(
            &meta,
            &rules(rule.clone()),
            &job(),
            &Programs::default(),
            &mut budget,
        );
        written(&conditions)
    };
    let exceeded = "CEL evaluation budget exceeded: the expressions of all condition rules of the object cost more than 10000000 steps \
                    together; use fewer or simpler ones";
    assert_eq!(
        with(1),
        [
            format!("A False/ExpressionError: {exceeded}"),
            format!("B False/ExpressionError: {exceeded}")
        ]
    );
    assert_eq!(with(OBJECT_BUDGET)[1], "B True/Evaluated: j");
    let exceeded = "CEL evaluation budget exceeded: the expression costs more than 1000000 steps; let it read fewer values";
    let large = json!({"items": vec![0; 3000]});
    let slow = json!([{"type": "CEL", "condition": "A", "celExpressions": ["object.items.all(a, object.items.all(b, a == b))"]}]);
    assert_eq!(
        written(&evaluated(&meta("", "Pod"), slow, &large)),
        [format!("A False/ExpressionError: {exceeded}")]
    );
}

#[test]
fn rules_over_the_limit_are_counted_and_not_named() {
    let rule = |type_: &str| json!({"type": "CEL", "condition": type_, "celExpressions": ["true"]});
    let mut all = vec![rule("Fine"); MOST_RULES - 1];
    all.push(rule("not 99"));
    all.extend((0..4_900).map(|it| rule(&format!("not {it}"))));
    let count = |it| format!("there are {it} condition rules; the first 100 are evaluated");
    assert_eq!(
        unreported(&meta("", "Pod"), &rules(json!(all))),
        [
            r#"condition rules cannot set ["not 99"]"#.to_owned(),
            count(5_000)
        ]
    );
    let long = vec![rule(&"no type ".repeat(30)); 5_000];
    let text = unreported(&meta("", "Pod"), &rules(json!(long))).join(";");
    assert!(text.len() < 2_000, "{}", text.len());
}

#[test]
fn many_long_expressions_cost_by_their_length() {
    let long = format!("object.a == '{}'", "x".repeat(10_000));
    let rule = |it| json!({"type": "CEL", "condition": format!("C{it}"), "celExpressions": vec![&long; 100]});
    let all: Vec<_> = (0..20).map(rule).collect();
    let (mut budget, programs) = (OBJECT_BUDGET, Programs::default());
    let all = conditions(
        &meta("", "Pod"),
        &rules(json!(all)),
        &json!({"a": ""}),
        &programs,
        &mut budget,
    );
    assert_eq!(budget, 0);
    let last = written(&all).pop().unwrap();
    let words = "C19 False/ExpressionError: CEL evaluation budget exceeded: the expressions of all";
    assert!(last.starts_with(words), "{last}");
}

#[test]
fn conditions_that_the_agent_sets_itself_are_left_to_it() {
    let rule = |condition: &str| json!({"type": "CEL", "condition": condition, "celExpressions": ["true"], "message": condition});
    let all = json!([
        rule("Applied"),
        rule("Available"),
        rule("Deleting"),
        rule("StatusFeedbackSynced"),
        rule("not a type"),
        rule("example.com/Fine"),
        rule("Fine"),
        {"type": "CEL", "condition": "Fine", "celExpressions": ["false"]},
        rule(""),
    ]);
    let conditions = evaluated(&meta("", "Pod"), all.clone(), &json!({}));
    assert_eq!(
        written(&conditions),
        [
            "example.com/Fine True/Evaluated: example.com/Fine",
            "Fine True/Evaluated: Fine"
        ]
    );
    let all = rules(all);
    let left: Vec<_> = not_settable(&all).collect();
    assert_eq!(
        left,
        [
            "Applied",
            "Available",
            "Deleting",
            "StatusFeedbackSynced",
            "not a type"
        ]
    );
    let meta = meta("", "Pod");
    assert!(sets(&meta, &all, "Fine") && !sets(&meta, &all, "Applied"));
    let expected = [
        r#"the condition rule "Applied": the agent sets this condition itself"#,
        r#"the condition rule "Available": the agent sets this condition itself"#,
        r#"the condition rule "Deleting": the agent sets this condition itself"#,
        r#"the condition rule "StatusFeedbackSynced": the agent sets this condition itself"#,
        r#"the condition rule "not a type": this is no valid type of a condition"#,
        r#"the condition rule "Fine": an earlier rule sets this condition"#,
    ];
    assert_eq!(faults(POD, &all), expected);
}

#[test]
fn faults_are_named_without_an_object() {
    let rules = rules(json!([
        {"type": "CEL", "condition": "A", "celExpressions": ["true", "a"], "messageExpression": "b"},
        {"type": "CEL", "condition": "B"},
        {"type": "Rego", "condition": "C"},
    ]));
    assert_eq!(
        faults(POD, &rules),
        [
            r#"the condition rule "A": the expression "a": compilation failed: ERROR: <input>:1:1: undeclared reference to 'a'"#,
            r#"the condition rule "A": the expression "b": compilation failed: ERROR: <input>:1:1: undeclared reference to 'b'"#,
            r#"the condition rule "B": celExpressions is empty"#,
            r#"the condition rule "C": the type "Rego" is unknown"#,
        ]
    );
}

#[test]
fn types_that_the_api_server_accepts() {
    for (type_, expected) in [
        ("Ready", true),
        ("a", true),
        ("a-b_c.D", true),
        ("example.com/Ready", true),
        ("", false),
        ("/Ready", false),
        ("Example.com/Ready", false),
        ("a/b/c", false),
        ("-a", false),
        ("a.", false),
        ("a b", false),
        ("é", false),
        (&"a".repeat(316), true),
        (&"a".repeat(317), false),
    ] {
        assert_eq!(is_condition_type(type_), expected, "{type_}");
    }
}

#[test]
fn messages_have_a_bound_together() {
    let rule = |condition: usize| json!({"type": "CEL", "condition": format!("C{condition}"), "celExpressions": ["true"], "messageExpression": "object.text"});
    let all: Vec<_> = (0..200).map(rule).collect();
    let object = json!({"text": "é".repeat(20_000)});
    let conditions = evaluated(&meta("", "Pod"), json!(all), &object);
    assert_eq!(conditions.len(), MOST_RULES);
    let lengths: Vec<_> = conditions.iter().map(|it| it.message.len()).collect();
    assert!(lengths[0] > 32_000 && lengths[0] <= LONGEST_MESSAGE);
    assert!(lengths.iter().sum::<usize>() <= MOST_BYTES);
    let rules = rules(json!(all));
    assert_eq!(
        faults(POD, &rules),
        ["there are 200 condition rules; the first 100 are evaluated"]
    );
}

proptest! {
    #[test]
    fn any_rule_is_taken(
        texts in prop::collection::vec("[a-z.()?:'0-9 ={}\\[\\]]{0,12}", 0..3),
        message in "[a-z.()+' ]{0,12}", condition in "\\PC{0,6}", type_ in "(CEL|WellKnownConditions|x)",
    ) {
        let rule = json!([{"type": type_, "condition": condition, "celExpressions": texts, "messageExpression": message}]);
        let found = evaluated(&meta("", "Pod"), rule.clone(), &job());
        prop_assert!(found.len() <= 1);
        let _ = faults(POD, &rules(rule));
    }
}
