//! Label selectors: checked once, then matched without errors.
//!
//! [`Selector::parse`] accepts the same label selectors as the API server, and reports every error with its field; a [`Selector`] then
//! matches as in Kubernetes. The rules:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>; the messages
//! of the errors: `ValidateLabelSelector` in `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.
//!
//! In Kubernetes an *absent* selector matches nothing, and an empty selector matches everything. Callers must distinguish the two.

pub mod text;
mod wider;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::names;

/// Maximum length in characters of a value in an error, because a value can be as large as a request.
const QUOTED_MAX: usize = 100;

/// Upper bound on the values of a requirement in a text.
const VALUES_SHOWN: usize = 5;

/// A valid label selector. An object must meet all requirements; the default selector has none, so it matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
}

/// Upper bound on the errors that [`listed`] names; it counts the others.
const ERRORS_LISTED: usize = 5;

/// An error in a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct SelectorError {
    /// The path in the selector, such as `matchExpressions[0].operator`.
    pub field: String,
    /// Kubernetes' message, such as `Invalid value: "Has": not a valid selector operator`.
    pub reason: String,
}

/// Returns the errors of a selector as one line of text, each with the path of its field in the object. A long list is cut.
#[must_use]
pub fn listed(path: &str, errors: &[SelectorError]) -> String {
    let mut words = String::new();
    for (index, error) in errors.iter().take(ERRORS_LISTED).enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        // Writing to a string does not fail.
        let _ = write!(words, "{separator}{path}.{error}");
    }
    if let Some(more @ 1..) = errors.len().checked_sub(ERRORS_LISTED) {
        let _ = write!(words, "; and {more} more");
    }
    words
}

// === impl Selector ===

impl Selector {
    /// Checks a selector.
    ///
    /// # Errors
    ///
    /// All errors that the API server would report, at least one: an operator other than `In`, `NotIn`, `Exists`, `DoesNotExist`;
    /// missing or forbidden values; invalid label keys and values.
    pub fn parse(selector: &LabelSelector) -> Result<Self, Vec<SelectorError>> {
        let mut requirements = Vec::new();
        let mut errors = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            let field = "matchLabels";
            errors.extend(
                names::qualified_name(key)
                    .iter()
                    .map(|why| SelectorError::invalid(field, key, why)),
            );
            errors.extend(
                names::label_value(value)
                    .iter()
                    .map(|why| SelectorError::invalid(field, value, why)),
            );
            requirements.push(Requirement {
                key: key.clone(),
                test: Test::In([value.clone()].into()),
            });
        }
        for (index, expression) in selector.match_expressions.iter().flatten().enumerate() {
            requirements.extend(Requirement::parse(
                expression,
                &format!("matchExpressions[{index}]"),
                &mut errors,
            ));
        }
        if errors.is_empty() {
            Ok(Self { requirements })
        } else {
            Err(errors)
        }
    }

    /// The keys of the labels that [`Self::matches`] reads; a key may be repeated.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.requirements
            .iter()
            .map(|requirement| requirement.key.as_str())
    }

    /// The comparisons that [`Self::matches`] takes at most, apart from the search for a label.
    #[must_use]
    pub fn tests(&self) -> u64 {
        let tests = self.requirements.iter().map(|it| match &it.test {
            Test::In(values) | Test::NotIn(values) => 1 + u64::from(values.len().max(1).ilog2()),
            Test::Exists | Test::DoesNotExist => 1,
        });
        tests.sum()
    }

    /// A label (key and value) that every selected object has, if one exists.
    pub fn required(&self) -> Option<(&str, &str)> {
        self.requirements.iter().find_map(|requirement| {
            let Test::In(values) = &requirement.test else {
                return None;
            };
            let value = values.first().filter(|_| values.len() == 1)?;
            Some((&*requirement.key, &**value))
        })
    }

    /// Returns the first requirement that these labels do not meet, as text: `env in (test, prod)`. `None` if the object is selected.
    #[must_use]
    pub fn unmet(&self, labels: &BTreeMap<String, String>) -> Option<String> {
        let mut requirements = self.requirements.iter();
        let unmet = requirements.find(|requirement| !requirement.matches(labels));
        unmet.map(ToString::to_string)
    }

    /// Returns the key of the requirement that [`Self::unmet`] returns.
    #[must_use]
    pub fn unmet_key(&self, labels: &BTreeMap<String, String>) -> Option<&str> {
        let mut requirements = self.requirements.iter();
        let unmet = requirements.find(|requirement| !requirement.matches(labels));
        unmet.map(|requirement| requirement.key.as_str())
    }

    /// Returns whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels))
    }
}

// === impl Requirement ===

impl Requirement {
    /// Returns `None` only if it added an error.
    fn parse(
        expression: &LabelSelectorRequirement,
        field: &str,
        errors: &mut Vec<SelectorError>,
    ) -> Option<Self> {
        let values = expression.values.as_deref().unwrap_or_default();
        let set = || values.iter().cloned().collect();
        let test = match expression.operator.as_str() {
            "In" => Some(Test::In(set())),
            "NotIn" => Some(Test::NotIn(set())),
            "Exists" => Some(Test::Exists),
            "DoesNotExist" => Some(Test::DoesNotExist),
            other => {
                let why = "not a valid selector operator";
                errors.push(SelectorError::invalid(
                    &format!("{field}.operator"),
                    other,
                    why,
                ));
                None
            }
        };
        match test {
            Some(Test::In(_) | Test::NotIn(_)) if values.is_empty() => errors.push(SelectorError {
                field: format!("{field}.values"),
                reason: "Required value: must be specified when `operator` is 'In' or 'NotIn'"
                    .to_owned(),
            }),
            Some(Test::Exists | Test::DoesNotExist) if !values.is_empty() => errors
                .push(SelectorError {
                field: format!("{field}.values"),
                reason:
                    "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                        .to_owned(),
            }),
            _ => {}
        }
        let key = &expression.key;
        let key_field = format!("{field}.key");
        errors.extend(
            names::qualified_name(key)
                .iter()
                .map(|why| SelectorError::invalid(&key_field, key, why)),
        );
        for (index, value) in values.iter().enumerate() {
            let field = format!("{field}.values[{index}]");
            errors.extend(
                names::label_value(value)
                    .iter()
                    .map(|why| SelectorError::invalid(&field, value, why)),
            );
        }
        Some(Self {
            key: key.clone(),
            test: test?,
        })
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
        }
    }
}

/// As users type it. A long list of values is cut.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let (operator, values) = match &self.test {
            Test::Exists => return f.write_str(key),
            Test::DoesNotExist => return write!(f, "!{key}"),
            Test::In(values) => ("in", values),
            Test::NotIn(values) => ("notin", values),
        };
        let shown: Vec<_> = values.iter().take(VALUES_SHOWN).cloned().collect();
        write!(f, "{key} {operator} ({}", shown.join(", "))?;
        match values.len().saturating_sub(VALUES_SHOWN) {
            0 => f.write_str(")"),
            more => write!(f, ", and {more} more)"),
        }
    }
}

// === impl SelectorError ===

impl SelectorError {
    fn invalid(field: &str, value: &str, why: &str) -> Self {
        let end = value.char_indices().nth(QUOTED_MAX).map(|(at, _)| at);
        let reason = match end {
            None => format!("Invalid value: {value:?}: {why}"),
            Some(at) => format!("Invalid value: {:?}...: {why}", &value[..at]),
        };
        Self {
            field: field.to_owned(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn parse(selector: Value) -> Result<Selector, Vec<String>> {
        let selector: LabelSelector = serde_json::from_value(selector).expect("a label selector");
        Selector::parse(&selector)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn expression(operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": "env", "operator": operator, "values": values}]})
    }

    #[test]
    fn selectors_match_as_in_kubernetes() {
        let none: &[(&str, &str)] = &[];
        let dev = &[("env", "dev")][..];
        let both = json!({
            "matchLabels": {"env": "dev"},
            "matchExpressions": [{"key": "region", "operator": "Exists"}],
        });
        for (sentence, selector, on, expected) in [
            ("the empty selector matches labels", json!({}), dev, true),
            (
                "the empty selector matches an object without labels",
                json!({}),
                none,
                true,
            ),
            (
                "empty lists are the empty selector",
                json!({"matchLabels": {}, "matchExpressions": []}),
                dev,
                true,
            ),
            (
                "matchLabels wants the value",
                json!({"matchLabels": {"env": "dev"}}),
                dev,
                true,
            ),
            (
                "matchLabels refuses another value",
                json!({"matchLabels": {"env": "prod"}}),
                dev,
                false,
            ),
            (
                "matchLabels refuses an absent key",
                json!({"matchLabels": {"env": "dev"}}),
                none,
                false,
            ),
            (
                "an empty value is not an absent key",
                json!({"matchLabels": {"env": ""}}),
                none,
                false,
            ),
            (
                "an empty value matches itself",
                json!({"matchLabels": {"env": ""}}),
                &[("env", "")],
                true,
            ),
            (
                "In wants one of the values",
                expression("In", &["prod", "dev"]),
                dev,
                true,
            ),
            (
                "In refuses any other value",
                expression("In", &["prod"]),
                dev,
                false,
            ),
            (
                "In refuses an absent key",
                expression("In", &["dev"]),
                none,
                false,
            ),
            (
                "NotIn refuses the values",
                expression("NotIn", &["prod", "dev"]),
                dev,
                false,
            ),
            (
                "NotIn takes any other value",
                expression("NotIn", &["prod"]),
                dev,
                true,
            ),
            (
                "NotIn takes an absent key",
                expression("NotIn", &["dev"]),
                none,
                true,
            ),
            ("Exists wants the key", expression("Exists", &[]), dev, true),
            (
                "Exists refuses an absent key",
                expression("Exists", &[]),
                none,
                false,
            ),
            (
                "DoesNotExist refuses the key",
                expression("DoesNotExist", &[]),
                dev,
                false,
            ),
            (
                "DoesNotExist takes an absent key",
                expression("DoesNotExist", &[]),
                none,
                true,
            ),
            (
                "all requirements hold",
                both.clone(),
                &[("env", "dev"), ("region", "eu")],
                true,
            ),
            (
                "one unmet requirement is enough to refuse",
                both.clone(),
                dev,
                false,
            ),
            (
                "the other unmet requirement is enough, too",
                both,
                &[("env", "prod"), ("region", "eu")],
                false,
            ),
        ] {
            let parsed = parse(selector).expect(sentence);
            assert_eq!(parsed.matches(&labels(on)), expected, "{sentence}");
        }
    }

    #[test]
    fn an_unmet_requirement_is_named_as_users_type_it() {
        let values = ["1", "2", "3", "4", "5", "6", "7"];
        for (selector, on, expected) in [
            (
                json!({"matchLabels": {"env": "dev"}}),
                &[][..],
                Some("env in (dev)"),
            ),
            (
                json!({"matchLabels": {"env": "dev"}}),
                &[("env", "dev")],
                None,
            ),
            (
                expression("In", &values),
                &[],
                Some("env in (1, 2, 3, 4, 5, and 2 more)"),
            ),
            (
                expression("NotIn", &["dev", "prod"]),
                &[("env", "prod")],
                Some("env notin (dev, prod)"),
            ),
            (expression("Exists", &[]), &[], Some("env")),
            (
                expression("DoesNotExist", &[]),
                &[("env", "")],
                Some("!env"),
            ),
            (
                json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}),
                &[("a", "b")],
                Some("c"),
            ),
        ] {
            let parsed = parse(selector).expect("valid");
            assert_eq!(parsed.unmet(&labels(on)).as_deref(), expected);
        }
    }

    #[test]
    fn the_default_selector_equals_the_empty_selector() {
        assert_eq!(parse(json!({})).expect("valid"), Selector::default());
    }

    #[test]
    fn errors_have_the_field_and_message_of_kubernetes() {
        let required = "Required value: must be specified when `operator` is 'In' or 'NotIn'";
        let forbidden =
            "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        let operator =
            |value: &str| format!("Invalid value: {value:?}: not a valid selector operator");
        for (sentence, selector, field, reason) in [
            (
                "In needs values",
                expression("In", &[]),
                "matchExpressions[0].values",
                required.to_owned(),
            ),
            (
                "NotIn needs values",
                expression("NotIn", &[]),
                "matchExpressions[0].values",
                required.to_owned(),
            ),
            (
                "Exists takes none",
                expression("Exists", &["a"]),
                "matchExpressions[0].values",
                forbidden.to_owned(),
            ),
            (
                "nor does DoesNotExist",
                expression("DoesNotExist", &["a"]),
                "matchExpressions[0].values",
                forbidden.to_owned(),
            ),
            (
                "Gt is for nodes only",
                expression("Gt", &["1"]),
                "matchExpressions[0].operator",
                operator("Gt"),
            ),
            (
                "operators are case-sensitive",
                expression("in", &["a"]),
                "matchExpressions[0].operator",
                operator("in"),
            ),
            (
                "an operator is needed",
                expression("", &[]),
                "matchExpressions[0].operator",
                operator(""),
            ),
            (
                "the index is that of the expression",
                json!({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Has"}]}),
                "matchExpressions[1].operator",
                operator("Has"),
            ),
        ] {
            assert_eq!(
                parse(selector),
                Err(vec![format!("{field}: {reason}")]),
                "{sentence}"
            );
        }
    }

    #[test]
    fn keys_and_values_must_be_valid_in_labels() {
        for (sentence, selector, start, end) in [
            (
                "a key of matchLabels",
                json!({"matchLabels": {"en v": "dev"}}),
                "matchLabels: Invalid value: \"en v\": name part must consist of",
                "[A-Za-z0-9]')",
            ),
            (
                "a value of matchLabels",
                json!({"matchLabels": {"env": "d v"}}),
                "matchLabels: Invalid value: \"d v\": a valid label must be",
                "?')",
            ),
            (
                "the key of an expression",
                json!({"matchExpressions": [{"key": "a/b/c", "operator": "Exists"}]}),
                "matchExpressions[0].key: Invalid value: \"a/b/c\": a valid label key must consist of",
                "(e.g. 'example.com/MyName')",
            ),
            (
                "the second value of an expression",
                expression("In", &["dev", "p d"]),
                "matchExpressions[0].values[1]: Invalid value: \"p d\": a valid label must be",
                "?')",
            ),
        ] {
            let errors = parse(selector).expect_err(sentence);
            assert_eq!(errors.len(), 1, "{sentence}: {errors:?}");
            assert!(
                errors[0].starts_with(start) && errors[0].ends_with(end),
                "{sentence}: {errors:?}"
            );
        }
    }

    #[test]
    fn every_error_is_reported_and_long_values_are_cut() {
        let long = "ä".repeat(500);
        let errors = parse(json!({
            "matchLabels": {"env": long},
            "matchExpressions": [{"key": "", "operator": "Has", "values": ["-"]}],
        }))
        .expect_err("not valid");
        let fields: Vec<_> = errors
            .iter()
            .map(|error| error.split_once(": ").expect("field: reason").0)
            .collect();
        assert_eq!(
            fields,
            [
                "matchLabels",
                "matchLabels",
                "matchExpressions[0].operator",
                "matchExpressions[0].key",
                "matchExpressions[0].key",
                "matchExpressions[0].values[0]",
            ]
        );
        let cut = format!(
            "matchLabels: Invalid value: \"{}\"...: must be no more than 63 bytes",
            "ä".repeat(100)
        );
        assert_eq!(errors[0], cut);
    }

    proptest! {
        /// On any labels, `NotIn` and `DoesNotExist` are the opposites of `In` and `Exists`.
        #[test]
        fn operators_come_in_opposites(
            values in proptest::collection::vec("[ab]{1,2}", 1..3),
            on in proptest::collection::btree_map("env|region", "[ab]{0,2}", 0..3),
        ) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let hit = |operator, values: &[&str]| parse(expression(operator, values)).expect("valid").matches(&on);
            prop_assert_ne!(hit("In", &values), hit("NotIn", &values));
            prop_assert_ne!(hit("Exists", &[]), hit("DoesNotExist", &[]));
        }

        /// A selector that was prepared for many objects selects the same ones.
        #[test]
        fn a_prepared_selector_selects_the_same(
            requirements in proptest::collection::vec(
                ("env|region|tier", "In|NotIn|Exists|DoesNotExist", proptest::collection::vec("[ab]{1,2}", 1..3)),
                0..6,
            ),
            on in proptest::collection::btree_map("env|region|tier|other", "[ab]{0,2}", 0..5),
        ) {
            let requirements = requirements.iter().map(|(key, operator, values)| {
                let values = if operator.ends_with("In") { &values[..] } else { &[] };
                json!({"key": key, "operator": operator, "values": values})
            });
            let requirements: Vec<_> = requirements.collect();
            let selector = parse(json!({"matchExpressions": requirements})).expect("valid");
            prop_assert_eq!(selector.by_key().matches(&on), selector.matches(&on));
        }

        /// Every decoded selector gives either a `Selector` or at least one error.
        #[test]
        fn every_selector_is_parsed_or_refused(key in any::<String>(), operator in any::<String>(), value in any::<String>()) {
            let selector = json!({
                "matchLabels": {key.as_str(): value},
                "matchExpressions": [{"key": key, "operator": operator, "values": [value]}],
            });
            let parsed = parse(selector);
            prop_assert!(parsed.is_ok() || parsed.is_err_and(|errors| !errors.is_empty()));
        }
    }
}
