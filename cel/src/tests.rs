//! Expressions on one object, and what no expression can do.

mod costs;
mod second_reader;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One line for each expression: what it says, and its text.
const EXPRESSIONS: &str = include_str!("tests/expressions.txt");

const ENVIRONMENT: Environment = Environment {
    variables: &["managedCluster", "unset"],
    functions: &[Function::of_host("scores", true, &[2])],
};

/// One ManagedCluster, and the scores `demo`.
struct Cluster(Value);

impl Host for Cluster {
    fn variable(&self, name: &str) -> Option<&Value> {
        (name == "managedCluster").then_some(&self.0)
    }

    fn call(&self, function: &str, args: &[Value]) -> Result<Value, String> {
        let score = |name: &str, value| {
            Value::map([("name", Value::from(name)), ("value", Value::Int(value))])
        };
        match (function, args) {
            ("scores", [Value::Map(_), Value::String(name)]) if **name == *"demo" => {
                Ok(Value::list([score("cpu", 90), score("memory", 70)]))
            }
            ("scores", [Value::Map(_), Value::String(name)]) => Err(format!("no scores {name}")),
            _ => Err(NO_OVERLOAD.to_owned()),
        }
    }
}

fn cluster() -> Cluster {
    Cluster(Value::from(&cluster_json()))
}

fn cluster_json() -> serde_json::Value {
    json!({
        "metadata": {"name": "c1", "labels": {"region": "eu-1", "env": "prod"}},
        "spec": {"hubAcceptsClient": true, "taints": [{"key": "a", "effect": "PreferNoSelect", "timeAdded": null}]},
        "status": {
            "clusterClaims": [{"name": "cloud", "value": "Amazon"}],
            "allocatable": {"cpu": "3500m", "memory": "16Gi"},
            "version": {"kubernetes": "v1.31.0"},
            "conditions": null,
        },
    })
}

/// What an expression says: `yes`, `no`, `fails` or `invalid`, and why.
fn says(text: &str) -> (&'static str, String) {
    says_within(text, BUDGET)
}

fn says_within(text: &str, mut budget: u64) -> (&'static str, String) {
    let expression = match Expression::new(text, ENVIRONMENT) {
        Ok(expression) => expression,
        Err(mistake) => return ("invalid", mistake.to_string()),
    };
    match expression.holds(&cluster(), &mut budget) {
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
fn steps_are_estimated_from_the_shape() {
    let list = |items: usize| format!("[{}]", vec!["1"; items].join(","));
    let (sixty, nine) = (list(60), list(9));
    for (text, least, most) in [
        ("true".to_owned(), 1, 1),
        (
            r#"managedCluster.metadata.labels["region"] in ["eu", "us"]"#.to_owned(),
            5,
            20,
        ),
        // Lists of the cluster have 20 items.
        (
            "managedCluster.status.clusterClaims.exists(c, c.name == 'a' && c.value == 'b')"
                .to_owned(),
            100,
            300,
        ),
        (
            "managedCluster.spec.taints.all(t, managedCluster.status.conditions.exists(c, c.type == t.key))"
                .to_owned(),
            2_000,
            5_000,
        ),
        (format!("{sixty}.all(a, {sixty}.all(b, {sixty}.all(c, true)))"), 216_000, 700_000),
        // A variable of a macro may be a list as long as one that is written.
        (format!("[{sixty}].all(a, a.all(b, a.all(c, a.all(d, true))))"), 216_000, 1_500_000),
        (format!("({nine} + {nine}).map(a, a).filter(a, true).all(b, {nine}.all(c, true))"), 324, 1_000),
        (format!("'{}'.split('').all(a, true)", "x".repeat(500)), 500, 1_100),
        (format!("(true ? {sixty} : {nine}).all(a, true)"), 60, 300),
        ("managedCluster.?a.optMap(a, a + a).hasValue()".to_owned(), 5, 20),
        (
            (0..40).fold("true".to_owned(), |inner, _| format!("{nine}.all(a, {inner})")),
            u64::MAX,
            u64::MAX,
        ),
    ] {
        let expression = Expression::new(&text, ENVIRONMENT).unwrap();
        let steps = expression.estimated_steps();
        assert!((least..=most).contains(&steps), "{text}: {steps}");
    }
}

#[test]
fn expressions_that_are_meant_are_estimated_as_cheap() {
    for (_, text) in rows().filter(|(expected, _)| *expected != "invalid") {
        if let Ok(expression) = Expression::new(text, ENVIRONMENT) {
            let steps = expression.estimated_steps();
            assert!(steps < 100_000, "{text}: {steps}");
        }
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
fn a_budget_is_shared_by_expressions() {
    let expression = Expression::new("[1, 2, 3].all(x, x > 0)", ENVIRONMENT).unwrap();
    let cluster = cluster();
    let mut budget = 40;
    assert_eq!(expression.holds(&cluster, &mut budget), Ok(true));
    assert!(budget < 20, "{budget}");
    assert_eq!(
        expression.holds(&cluster, &mut budget),
        Err(EvaluationError::TooCostly)
    );
    assert_eq!(budget, 0);
}

#[test]
fn the_bytes_of_a_value_grow_with_its_content() {
    let bytes = |json: serde_json::Value| Value::from(&json).bytes();
    let (empty, one) = (bytes(json!({})), bytes(json!({"a": "b"})));
    assert!(empty < one);
    let text = "x".repeat(1_000);
    for (sentence, larger) in [
        ("a value", bytes(json!({"a": text}))),
        ("a key", bytes(json!({text.as_str(): "b"}))),
        ("an item of a list", bytes(json!({"a": [text]}))),
        ("inside", bytes(json!({"a": {"b": {"c": text}}}))),
    ] {
        assert!((900 + one..6_000).contains(&larger), "{sentence}: {larger}");
    }
    let many = bytes(json!(vec![0; 1_000]));
    assert!((16_000..100_000).contains(&many), "{many}");
}

#[test]
fn names_are_those_of_the_environment() {
    const OTHER: Environment = Environment {
        variables: &["object"],
        functions: &[],
    };
    for (text, expected) in [
        ("object.a == 1", None),
        (
            "managedCluster.a == 1",
            Some("undeclared reference to 'managedCluster'"),
        ),
        (
            "object.scores('demo') == []",
            Some("undeclared reference to 'scores'"),
        ),
    ] {
        let mistake = Expression::new(text, OTHER).err();
        let mistake = mistake.map(|it| it.to_string());
        let expected = expected.map(|it| format!("compilation failed: ERROR: <input>:1:1: {it}"));
        assert_eq!(mistake, expected, "{text}");
    }
    let (found, why) = says("unset == 1");
    assert_eq!(
        (found, why.as_str()),
        ("fails", "the variable 'unset' has no value")
    );
}

#[test]
fn an_expression_without_names_of_the_host_has_a_constant_value() {
    let error = |message: &str| Err(EvaluationError::Error(message.to_owned()));
    let ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let costly = format!("{ten}.all(x, {ten}.all(y, {ten}.all(z, true)))");
    for (text, expected) in [
        ("true", Some(Ok("bool"))),
        ("[1, 2].exists(x, x > 2)", Some(Ok("bool"))),
        ("'a' + 'b'", Some(Ok("string"))),
        ("1 / 0 == 1", Some(error("division by zero"))),
        ("managedCluster.a == 1", None),
        ("true || managedCluster.a == 1", None),
        ("{}.scores('demo') == []", None),
        // A variable of a macro hides that of the host.
        (
            "[1].all(managedCluster, managedCluster == 1)",
            Some(Ok("bool")),
        ),
        (costly.as_str(), None),
    ] {
        let constant = Expression::new(text, ENVIRONMENT)
            .unwrap()
            .constant(&mut { BUDGET });
        let found = constant.map(|value| value.map(|it| it.type_name()));
        assert_eq!(found, expected, "{text}");
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
