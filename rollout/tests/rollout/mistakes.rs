//! Strategies that cannot be read.

use berth_rollout::{RolloutError, RolloutRules, rollout};
use serde_json::{Value, json};

use crate::bench::{check, groups, now, rules, states};

fn mistake(strategy: Value) -> Option<RolloutError> {
    RolloutRules::new(&serde_json::from_value(strategy).unwrap()).err()
}

#[test]
fn concurrency_is_a_number_or_a_percentage() {
    let names: Vec<_> = (0..100).map(|n| format!("c{n:02}")).collect();
    let groups = groups(&format!(": {}", names.join(" ")));
    for (value, expected) in [
        (json!(50), 50),
        (json!("30%"), 30),
        (json!(0), 100),
        (json!(-1), 100),
        (json!(101), 100),
        (json!("200%"), 100),
        (json!("0.5%"), 1),
        (Value::Null, 100),
    ] {
        let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": value}});
        let states = states("");
        let result = rollout(&rules(&strategy), &groups, &states, now());
        assert_eq!(result.clusters.len(), expected, "R9: {value} of 100");
    }
}

#[test]
fn other_texts_are_reported_with_their_field() {
    let of = |value: &str| {
        format!("'{value}' is an invalid maximum threshold value: string is not a percentage")
    };
    for value in ["invalid", "", "5", "%", "a%", "5 %"] {
        let concurrency = json!({"type": "Progressive", "progressive": {"maxConcurrency": value}});
        let error = mistake(concurrency).expect(value);
        assert_eq!(error, RolloutError::MaxConcurrency(value.to_owned()));
        let expected = format!("failed to parse the provided maxConcurrency: {}", of(value));
        assert_eq!(error.to_string(), expected, "R9: {value}");

        for (name, field) in [
            ("Progressive", "progressive"),
            ("ProgressivePerGroup", "progressivePerGroup"),
        ] {
            let error = mistake(json!({"type": name, field: {"maxFailures": value}})).expect(value);
            assert_eq!(error, RolloutError::MaxFailures(value.to_owned()));
            let expected = format!("failed to parse the provided maxFailures: {}", of(value));
            assert_eq!(error.to_string(), expected, "{value}");
        }
    }
}

#[test]
fn a_deadline_is_none_or_a_duration() {
    for (name, field) in [
        ("All", "all"),
        ("Progressive", "progressive"),
        ("ProgressivePerGroup", "progressivePerGroup"),
    ] {
        let strategy =
            |deadline: &str| json!({"type": name, field: {"progressDeadline": deadline}});
        for (deadline, next) in [
            ("2h", "; next 7200"),
            ("None", ""),
            ("", ""),
            ("1h1s", "; next 3601"),
            ("5m500ms", "; next 300"),
        ] {
            let expected = format!("c1 Progressing{next}");
            let rows = [("R10", ": c1", "c1 Progressing 0", expected.as_str())];
            check(&strategy(deadline), &rows);
        }
        for deadline in [
            "2d", "0", "10g", "-5s", "1.5h", "h", "none", "xNone", "10s5", "10|", "3000000h",
        ] {
            let error = mistake(strategy(deadline)).expect(deadline);
            assert_eq!(error, RolloutError::ProgressDeadline(deadline.to_owned()));
            let expected = format!(
                "invalid timeout format: progressDeadline is '{deadline}', and must be None or a duration such as 90s or 1h30m"
            );
            assert_eq!(error.to_string(), expected, "R10: {name}");
        }
    }
}

#[test]
fn a_soak_is_a_duration() {
    let strategy =
        |time: &str| json!({"type": "Progressive", "progressive": {"minSuccessTime": time}});
    for (time, expected) in [
        ("0", ""),
        ("", ""),
        ("-1m", ""),
        ("1.5h", "c1 Succeeded; next 5400"),
    ] {
        check(
            &strategy(time),
            &[(time, ": c1", "c1 Succeeded 0", expected)],
        );
    }
    for time in ["1", "None", "1d"] {
        let error = mistake(strategy(time)).expect(time);
        assert_eq!(
            error.to_string(),
            format!("minSuccessTime is '{time}', and must be a duration such as 90s or 1h30m")
        );
    }
}

#[test]
fn an_unknown_type_is_reported() {
    let error = mistake(json!({"type": "Canary"})).unwrap();
    assert_eq!(error, RolloutError::Type("Canary".to_owned()));
    assert_eq!(error.to_string(), "incorrect rollout strategy type Canary");
}

#[test]
fn only_the_settings_of_the_own_type_are_read() {
    let wrong = json!({"progressDeadline": "x", "minSuccessTime": "x", "maxFailures": "x"});
    let strategy = json!({
        "type": "All", "progressive": wrong, "progressivePerGroup": wrong,
        "all": {"minSuccessTime": "x", "maxFailures": "x"},
    });
    assert_eq!(mistake(strategy), None);
}
