//! Expressions on one cluster, and what any expression cannot do.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One line for each expression: what it says, and its text.
const EXPRESSIONS: &str = include_str!("expressions.txt");

fn cluster() -> CelObject {
    CelObject::new(&json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "c1", "labels": {"region": "eu-1", "env": "prod"}},
        "spec": {"hubAcceptsClient": true, "taints": [{"key": "a", "effect": "PreferNoSelect"}]},
        "status": {
            "clusterClaims": [{"name": "cloud", "value": "Amazon"}],
            "allocatable": {"cpu": "3500m", "memory": "16Gi"},
            "version": {"kubernetes": "v1.31.0"},
        },
    }))
}

fn scores() -> BTreeMap<(&'static str, &'static str), Scores> {
    let of = |values: &[(&str, i32)]| Scores {
        values: values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        // Expressions see scores that expired, as in OCM.
        valid_until: Some(jiff::Timestamp::UNIX_EPOCH),
    };
    let demo = of(&[("cpu", 90), ("memory", 70)]);
    [
        (("c1", "demo"), demo),
        (("c1", "expired"), of(&[("cpu", 1)])),
    ]
    .into()
}

/// What an expression says: `yes`, `no`, `fails` or `invalid`, and why.
fn says(text: &str) -> (&'static str, String) {
    says_within(text, CLUSTER_BUDGET)
}

fn says_within(text: &str, mut budget: u64) -> (&'static str, String) {
    let expression = match Expression::new(text) {
        Ok(expression) => expression,
        Err(mistake) => return ("invalid", mistake.to_string()),
    };
    let (cluster, scores) = (cluster(), scores());
    let scores = |cluster: &str, name: &str| {
        let mut all = scores.iter();
        let found = all.find(|((of, it), _)| (*of, *it) == (cluster, name));
        found.map(|(_, scores)| scores)
    };
    match expression.selects(&cluster, &scores, &mut budget) {
        Ok(true) => ("yes", String::new()),
        Ok(false) => ("no", String::new()),
        Err(failure) => ("fails", failure.to_string()),
    }
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = EXPRESSIONS.lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| line.split_once(' ').unwrap_or((line, "")))
}

#[test]
fn expressions_say_what_they_say_in_ocm() {
    let mut wrong = Vec::new();
    for (expected, text) in rows() {
        let (found, why) = says(text);
        let is_expected = match expected {
            "late" => found != "invalid",
            expected => found == expected,
        };
        if !is_expected {
            wrong.push(format!("{text}: {found} ({why}), not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_function_has_a_row() {
    let missing = functions::all().filter(|function| {
        let call = format!(
            "{}{}(",
            if function.is_member { "." } else { "" },
            function.name
        );
        !rows().any(|(_, text)| text.contains(&call))
    });
    let missing: Vec<_> = missing.map(|function| function.name).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn mistakes_say_where_they_are() {
    for (text, expected) in [
        (
            "invalid.expression",
            "1:1: undeclared reference to 'invalid'",
        ),
        ("true &&\n  (", "2:4: unexpected end"),
        ("a b", "1:3: unexpected \"b\""),
        ("true #", "1:6: unexpected character '#'"),
        (
            "size(1, 2, 3)",
            "1:1: found no matching overload for 'size'",
        ),
    ] {
        let (found, why) = says(text);
        assert_eq!(found, "invalid", "{text}");
        assert_eq!(
            why,
            format!("compilation failed: ERROR: <input>:{expected}")
        );
    }
}

#[test]
fn length_and_nesting_are_bounded() {
    let nested =
        |open: &str, close: &str, count| format!("{}1{}", open.repeat(count), close.repeat(count));
    for (sentence, text) in [
        ("parentheses", nested("(", ")", 5_000)),
        ("lists", nested("[", "]", 5_000)),
        ("calls", nested("size(", ")", 2_500)),
        ("macros", nested("[1].all(x, ", ")", 1_000)),
        ("unclosed parentheses", "(".repeat(16_000)),
        ("nots", format!("{}true", "!".repeat(16_000))),
        ("minuses", format!("{}1", "-".repeat(16_000))),
        (
            "conditionals",
            format!("{}true", "true?true:".repeat(1_600)),
        ),
        ("sums", format!("1{}", "+1".repeat(8_000))),
        (
            "selections",
            format!("managedCluster{}", ".a".repeat(8_000)),
        ),
        ("indices", format!("managedCluster{}", "[0]".repeat(5_000))),
        ("relations", format!("1{}", "<1".repeat(8_000))),
    ] {
        let (found, why) = says(&text);
        assert_eq!(found, "invalid", "{sentence}");
        assert!(
            why.ends_with("nested more than 64 levels deep"),
            "{sentence}: {why}"
        );
    }
    let (found, why) = says(&" ".repeat(16 * 1024 + 1));
    assert_eq!(found, "invalid");
    assert!(
        why.ends_with("the expression has 16385 bytes, more than 16384"),
        "{why}"
    );
    // A chain is not nested.
    let chain = vec!["true"; 2_000].join("&&");
    assert_eq!(says(&chain).0, "yes");
    assert_eq!(says(&nested("(", ")", 20)).0, "fails");
}

#[test]
fn what_costs_too_much_is_stopped() {
    let ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let loops = |count: usize, body: &str| {
        let all = |_| format!("{ten}.all(x, ");
        let open: String = (0..count).map(all).collect();
        format!("{open}{body}{}", ")".repeat(count))
    };
    let doubled = |count: usize| {
        let open = "optional.of(";
        let maps: String = (0..count).map(|_| ".optMap(x, x + x)").collect();
        format!("{open}\"aaaaaaaaaaaaaaaa\"){maps}.value() == \"\"")
    };
    for (sentence, text) in [
        ("nested loops", loops(12, "true")),
        (
            "nested loops that make lists",
            loops(7, "[1, 2, 3].map(y, y) == [1, 2, 3]"),
        ),
        ("a text that doubles", doubled(40)),
        (
            "regular expressions",
            loops(
                5,
                "!\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\".matches(\"(a|b)*c\")",
            ),
        ),
    ] {
        let (found, why) = says_within(&text, 20_000);
        assert_eq!(
            (found, why.as_str()),
            ("fails", "it costs too much"),
            "{sentence}"
        );
    }
    assert_eq!(says(&loops(3, "true")).0, "yes");
}

#[test]
fn the_budget_is_shared_by_the_expressions_of_a_predicate() {
    let expression = Expression::new("[1, 2, 3].all(x, x > 0)").unwrap();
    let cluster = cluster();
    let none = |_: &str, _: &str| None;
    let mut budget = 40;
    assert_eq!(expression.selects(&cluster, &none, &mut budget), Ok(true));
    assert!(budget < 20, "{budget}");
    assert_eq!(
        expression.selects(&cluster, &none, &mut budget),
        Err(Failure::TooCostly)
    );
    assert_eq!(budget, 0);
}

#[test]
fn an_object_without_anything_has_the_fields_that_ocm_writes() {
    let cluster = CelObject::new(&json!({"metadata": {"name": "c1"}, "kind": "ManagedCluster"}));
    let none = |_: &str, _: &str| None;
    for text in [
        "managedCluster.metadata.creationTimestamp == null",
        "!managedCluster.spec.hubAcceptsClient",
        "managedCluster.status.conditions == null",
        "managedCluster.status.version == {}",
        "!has(managedCluster.kind)",
    ] {
        let mut budget = BUDGET;
        let expression = Expression::new(text).unwrap();
        assert_eq!(
            expression.selects(&cluster, &none, &mut budget),
            Ok(true),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_says_something(text in "[-a-z0-9 .,()\\[\\]{}\"'!?:&|<>=+*/%]{0,40}") {
        says(&text);
    }

    /// Pieces of valid expressions in any order.
    #[test]
    fn any_pieces_say_something(pieces in prop::collection::vec(prop::sample::select(vec![
        "managedCluster", ".metadata", ".labels", "[\"region\"]", ".?a", "[?0]", "1", "2u", "1.5", "\"a\"", "b'b'", "null", "true", "(", ")",
        "[", "]", "{", "}", ",", ":", "?", "+", "-", "*", "/", "%", "==", "<", "in", "&&", "||", "!", ".size()", ".all(x, ", ".map(x, ",
        ".exists(x, ", "x", "has(", "optional.of(", ".value()", "quantity(", "ip(", "semver(", "url(", ".format([", "duration(", ".matches(",
    ]), 0..24)) {
        says(&pieces.concat());
        says(&pieces.join(" "));
    }

    /// No function panics, whatever it is called with.
    #[test]
    fn every_function_takes_any_arguments(seed in prop::collection::vec(0_usize..24, 4)) {
        let values = [
            "1", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615u", "1.5", "-1e300", "\"a\"", "\"\"", "\"%s%d%.3f\"",
            "\"1.2.3\"", "b\"a\"", "[]", "[1, 2]", "[\"a\", 1]", "{\"a\": 1}", "null", "true", "timestamp(\"2020-01-01T00:00:00Z\")",
            "duration(\"1h\")", "optional.of(1)", "quantity(\"1.5\")", "cidr(\"0.0.0.0/0\")", "url(\"https://a/p\")",
        ];
        for function in functions::all() {
            for count in function.arguments {
                let args: Vec<&str> = seed.iter().take(*count).map(|index| values[*index]).collect();
                let call = match args.split_first() {
                    Some((target, rest)) if function.is_member => format!("({target}).{}({})", function.name, rest.join(", ")),
                    _ => format!("{}({})", function.name, args.join(", ")),
                };
                says(&format!("{call} == 1"));
            }
        }
    }
}
