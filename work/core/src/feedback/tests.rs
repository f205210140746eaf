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

fn rules(value: Value) -> Vec<FeedbackRule> {
    serde_json::from_value(value).unwrap()
}

fn paths(paths: &[(&str, &str)]) -> Vec<FeedbackRule> {
    let paths: Vec<_> = paths
        .iter()
        .map(|(name, path)| json!({"name": name, "path": path}))
        .collect();
    rules(json!([{"type": "JSONPaths", "jsonPaths": paths}]))
}

fn deployment() -> Value {
    json!({
        "metadata": {"name": "web", "generation": 3},
        "spec": {"paused": false, "ratio": 0.5, "large": 18_446_744_073_709_551_615_u64, "nothing": null},
        "status": {
            "replicas": 3, "readyReplicas": 2, "phase": "Running",
            "conditions": [{"type": "Cond1", "status": "True"}, {"type": "Cond2"}, {"type": "Cond3", "status": "True"}],
        },
    })
}

const OFF: FeedbackSettings = FeedbackSettings {
    raw: false,
    max_raw: 1024,
};
const ON: FeedbackSettings = FeedbackSettings {
    raw: true,
    max_raw: 1024,
};

/// Within the budget of an object.
fn feedback(
    meta: &ManifestResourceMeta,
    rules: &[FeedbackRule],
    object: &Value,
    settings: &FeedbackSettings,
) -> Feedback {
    super::feedback(meta, rules, object, settings, &mut { OBJECT_VISITS })
}

/// The values as `name=value`, those of other types than the value's JSON with their type.
fn written(feedback: &Feedback) -> Vec<String> {
    let value = |it: &FeedbackValue| {
        let FieldValue {
            boolean,
            integer,
            json_raw,
            string,
            r#type,
        } = &it.field_value;
        let value = match (boolean, integer, string, json_raw, r#type) {
            (Some(value), None, None, None, ValueType::Boolean) => value.to_string(),
            (None, Some(value), None, None, ValueType::Integer) => value.to_string(),
            (None, None, Some(value), None, ValueType::String) => format!("{value:?}"),
            (None, None, None, Some(value), ValueType::JsonRaw) => format!("raw {value}"),
            other => panic!("{other:?}"),
        };
        format!("{}={value}", it.name)
    };
    feedback.values.iter().map(value).collect()
}

#[test]
fn scalars_are_reported_by_their_types() {
    let rules = paths(&[
        ("generation", ".metadata.generation"),
        ("paused", ".spec.paused"),
        ("phase", ".status.phase"),
        ("ratio", ".spec.ratio"),
        ("large", ".spec.large"),
        ("nothing", ".spec.nothing"),
        ("missing", ".spec.missing.more"),
    ]);
    let found = feedback(&meta("apps", "Deployment"), &rules, &deployment(), &OFF);
    assert_eq!(
        written(&found),
        [
            "generation=3",
            "paused=false",
            "phase=\"Running\"",
            "ratio=raw 0.5",
            "large=raw 18446744073709551615",
        ]
    );
    assert_eq!(found.error, None);
}

#[test]
fn each_path_is_reported_or_named() {
    let filter = r#".status.conditions[?(@.status=="True")].type"#;
    let first = r#".status.conditions[?(@.type=="Cond1")]"#;
    let short = FeedbackSettings {
        raw: true,
        max_raw: 40,
    };
    for (path, settings, expected) in [
        // Several values.
        (filter, OFF, Ok("n=\"Cond1\"")),
        (filter, ON, Ok(r#"n=raw ["Cond1","Cond3"]"#)),
        // A value that is no scalar.
        (
            ".metadata",
            OFF,
            Err("the type map[string]interface {} of the value for n is not found"),
        ),
        (
            ".status.conditions",
            OFF,
            Err("the type []interface {} of the value for n is not found"),
        ),
        (
            ".metadata",
            ON,
            Ok(r#"n=raw {"generation":3,"name":"web"}"#),
        ),
        (
            first,
            short,
            Ok(r#"n=raw {"status":"True","type":"Cond1"}"#),
        ),
        (
            ".status.conditions",
            short,
            Err(
                "the length of returned json raw string for name n is larger than the maximum length 40",
            ),
        ),
        // A path that cannot be used.
        (
            "status.phase",
            OFF,
            Err(
                r#"the path "status.phase" of the value n cannot be used: expected . or [ at character 1"#,
            ),
        ),
        (
            ".status[0]",
            OFF,
            Err(
                r#"the path ".status[0]" of the value n cannot be used: a position needs a list, but the value is an object"#,
            ),
        ),
    ] {
        let rules = paths(&[("n", path), ("other", ".status.replicas")]);
        let found = feedback(
            &meta("apps", "Deployment"),
            &rules,
            &deployment(),
            &settings,
        );
        let values = match expected {
            Ok(value) => vec![value, "other=3"],
            Err(_) => vec!["other=3"],
        };
        assert_eq!(written(&found), values, "{path}");
        assert_eq!(found.error.as_deref(), expected.err(), "{path}");
    }
}

#[test]
fn well_known_values_of_each_kind() {
    let rules = rules(json!([{"type": "WellKnownStatus"}]));
    let job =
        json!({"status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}});
    let pod = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}});
    let daemons = json!({"status": {"numberReady": 1, "desiredNumberScheduled": 2}});
    for (group, kind, object, expected) in [
        (
            "apps",
            "Deployment",
            &deployment(),
            &["ReadyReplicas=2", "Replicas=3"][..],
        ),
        (
            "apps",
            "DaemonSet",
            &daemons,
            &["NumberReady=1", "DesiredNumberScheduled=2"],
        ),
        (
            "batch",
            "Job",
            &job,
            &["JobComplete=\"True\"", "JobSucceeded=1"],
        ),
        (
            "",
            "Pod",
            &pod,
            &["PodReady=\"False\"", "PodPhase=\"Running\""],
        ),
    ] {
        let found = feedback(&meta(group, kind), &rules, object, &OFF);
        assert_eq!(written(&found), expected, "{kind}");
        assert_eq!(found.error, None, "{kind}");
    }
    for (group, expected) in [
        ("", "/v1, Kind=ConfigMap"),
        ("apps", "apps/v1, Kind=ConfigMap"),
    ] {
        let found = feedback(&meta(group, "ConfigMap"), &rules, &json!({}), &OFF);
        let expected =
            format!("cannot find the wellknown statuses for resource with gvk {expected}");
        assert_eq!((found.values, found.error), (Vec::new(), Some(expected)));
    }
}

#[test]
fn the_paths_of_well_known_values_are_valid() {
    for (_, _, kind, paths) in WELL_KNOWN {
        for (name, path) in *paths {
            assert!(Path::parse(path).is_ok(), "{kind} {name}");
        }
    }
}

#[test]
fn errors_are_listed_and_hide_no_value() {
    let rules = rules(json!([
        {"type": "JSONPaths", "jsonPaths": [
            {"name": "old", "path": ".status.phase", "version": "v1beta1"},
            {"name": "phase", "path": ".status.phase", "version": "v1"},
            {"name": "phase", "path": ".status.replicas"}]},
        {"type": "Everything"},
        {"type": "JSONPaths", "jsonPaths": [{"name": "phase", "path": ".status.phase"}]},
    ]));
    let found = feedback(&meta("apps", "Deployment"), &rules, &deployment(), &OFF);
    assert_eq!(written(&found), ["phase=\"Running\""]);
    let expected = "[version set in the path old is not matched for the related resource, \
                        several feedback rules have a value named phase; the first one is reported, \
                        the type \"Everything\" of a feedback rule is unknown]";
    assert_eq!(found.error.as_deref(), Some(expected));
}

#[test]
fn a_value_that_has_no_room_is_not_reported() {
    let object = json!({"a": "x".repeat(60_000), "b": "y".repeat(6_000)});
    let found = feedback(
        &meta("", "ConfigMap"),
        &paths(&[("a", ".a"), ("b", ".b"), ("c", ".a"), ("d", ".b[0]")]),
        &object,
        &OFF,
    );
    assert_eq!(found.values.len(), 1);
    let error = found.error.unwrap();
    let expected = "[the value for b is too long: all values of an object may have 65536 bytes, ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn raw_values_are_as_long_as_the_api_server_accepts() {
    let with = |length: usize| {
        let object = json!({"a": ["x".repeat(length)]});
        let settings = FeedbackSettings {
            raw: true,
            max_raw: 10_000,
        };
        feedback(&meta("", "Pod"), &paths(&[("a", ".a")]), &object, &settings).error
    };
    assert_eq!(with(1020), None);
    let expected =
        "the length of returned json raw string for name a is larger than the maximum length 1024";
    assert_eq!(with(1021).as_deref(), Some(expected));
}

#[test]
fn faults_are_named_without_an_object() {
    let rules = rules(json!([
        {"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".a["}, {"name": "b", "path": ".b"}]},
        {"type": "WellKnownStatus"},
    ]));
    let expected = r#"the path ".a[" of the value a cannot be used: expected a position, a name in quotes, * or a filter at character 4"#;
    assert_eq!(faults(&rules), [expected]);
}

#[test]
fn paths_beyond_the_budget_are_not_read_for_faults() {
    let long = format!(".a{}", "[0]".repeat(1_300));
    let with = |last: &str| {
        let mut all = vec![("n", &*long); 3_000];
        all.push(("last", last));
        faults(&paths(&all))
    };
    let expected = "the 3001 paths of the feedback rules have 11706003 bytes: to read them costs more than the 1000000 that all paths of an \
                    object may cost together; name fewer";
    assert_eq!(with(".a["), [expected]);
}

proptest! {
    /// Whatever the object holds, names are unique and the size is bounded.
    #[test]
    fn names_are_unique_and_sizes_bounded(
        named in prop::collection::vec(("[ab]", "[.*a\\[\\]0]{0,5}"), 0..6),
        text in "[a-z]{0,40}", length in 0_usize..3000, raw: bool,
    ) {
        let named: Vec<_> = named.iter().map(|(name, path)| (name.as_str(), path.as_str())).collect();
        let object = json!({"a": [{"a": text.repeat(length)}, text], "0": 0.5});
        let settings = FeedbackSettings { raw, max_raw: 100 };
        let found = feedback(&meta("", "Pod"), &paths(&named), &object, &settings);
        let names: BTreeSet<_> = found.values.iter().map(|it| &it.name).collect();
        prop_assert_eq!(names.len(), found.values.len());
        prop_assert!(serde_json::to_string(&found.values).unwrap().len() < MOST_BYTES + 1024);
        prop_assert!(found.error.is_none_or(|it| it.len() <= LONGEST_ERROR));
    }
}

/// Each of the paths is within its own bound.
#[test]
fn the_paths_of_an_object_have_a_budget_together() {
    let items: Vec<_> = (0..10_000).map(|it| json!({"a": it})).collect();
    let object = json!({"status": {"items": items, "phase": "Running"}});
    let names: Vec<_> = (0..3_000).map(|it| format!("n{it}")).collect();
    let of = |path: &str| {
        let all: Vec<_> = names.iter().map(|it| (&**it, path)).collect();
        feedback(&meta("apps", "Deployment"), &paths(&all), &object, &OFF)
    };
    let words = "all paths together go through more than 1000000 values";
    let costly = of("..*");
    let error = costly.error.unwrap();
    assert!(error.contains(words), "{error}");
    assert!(costly.values.len() < 100, "{}", costly.values.len());
    let cheap = of(".status.phase");
    assert_eq!((cheap.values.len(), cheap.error), (3_000, None));
}
