//! Label selectors of a query. [`berth_api::selector::text`] reads them; this module matches them.

use berth_api::selector::text::{self, Requirement, Test};

use crate::object::Object;

/// A label selector. All its requirements must hold; the default one has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// What is wrong with it, as the API server says it.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        text::parse(selector).map(|requirements| Self { requirements })
    }

    /// Returns true if it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns true if it selects the object.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        if self.requirements.is_empty() {
            return true;
        }
        let labels = object.at(&["metadata", "labels"]);
        self.requirements.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key)?.as_str());
            holds(&requirement.test, value)
        })
    }
}

fn holds(test: &Test, label: Option<&str>) -> bool {
    let number = || label.and_then(go_int);
    match test {
        Test::In(values) => label.is_some_and(|label| values.iter().any(|value| value == label)),
        Test::NotIn(values) => label.is_none_or(|label| values.iter().all(|value| value != label)),
        Test::Exists => label.is_some(),
        Test::DoesNotExist => label.is_none(),
        Test::Greater(than) => number().is_some_and(|number| number > *than),
        Test::Less(than) => number().is_some_and(|number| number < *than),
    }
}
/// As Go's `strconv.ParseInt` reads a number; Rust's parser agrees with it.
fn go_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn object(labels: serde_json::Value) -> Object {
        Object::try_from(json!({"metadata": {"labels": labels}})).unwrap()
    }

    #[test]
    fn a_selector_selects_as_the_api_server_does() {
        let web = json!({"env": "prod", "tier": "web", "n": "7", "empty": ""});
        let rows = [
            ("nothing is required", "", true),
            ("equal", "env=prod", true),
            ("equal, written twice", "env==prod", true),
            ("another value", "env=test", false),
            ("an absent key is equal to nothing", "x=", false),
            ("an empty value", "empty=", true),
            ("not equal", "env!=test", true),
            ("not equal, but it is", "env!=prod", false),
            ("an absent key differs from everything", "x!=y", true),
            ("one of", "env in (test, prod)", true),
            ("none of", "env notin (test,prod)", false),
            ("an absent key is in no set", "x notin (a)", true),
            ("spaces do not matter", " env\tin( prod ) ", true),
            ("the empty set names the empty value", "empty in ()", true),
            (
                "a leading comma names the empty value",
                "empty in (,a)",
                true,
            ),
            ("a trailing comma does, too", "empty in (a,)", true),
            ("it exists", "tier", true),
            ("it does not", "!tier", false),
            ("absent", "!x", true),
            ("all of them", "env=prod,tier in (web),!x,n", true),
            ("all but one", "env=prod,tier in (db)", false),
            ("greater", "n>6", true),
            ("not greater", "n>7", false),
            ("less", "n<8", true),
            ("what is no number is never less", "env<8", false),
            ("in as a value", "env=in", false),
            ("notin as a key", "notin", false),
        ];
        for (sentence, selector, expected) in rows {
            let parsed = LabelSelector::parse(selector).unwrap();
            assert_eq!(parsed.matches(&object(web.clone())), expected, "{sentence}");
        }
        assert!(
            !LabelSelector::parse("a")
                .unwrap()
                .matches(&Object::default())
        );
    }

    #[test]
    fn what_is_no_selector_is_refused_in_the_words_of_the_api_server() {
        let rows = [
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a in x",
                "unable to parse requirement: found 'x' expected: '('",
            ),
            (
                "a in (x",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "a in (=",
                "unable to parse requirement: found '=', expected: ',', ')' or identifier",
            ),
            (
                "a in (x,=)",
                "unable to parse requirement: found '=', expected: ',', or identifier",
            ),
            ("a,", "found '', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                ",",
                "found ',', expected: !, identifier, or 'end of string'",
            ),
            (
                "=x",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            (
                "!",
                "unable to parse requirement: found '', expected: identifier",
            ),
            (
                "a=(",
                "unable to parse requirement: found '(', expected: identifier",
            ),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            (
                "/a",
                "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty",
            ),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ];
        for (selector, expected) in rows {
            assert_eq!(
                LabelSelector::parse(selector).unwrap_err(),
                expected,
                "{selector}"
            );
        }
        let long = LabelSelector::parse("a in (-b,ok)").unwrap_err();
        assert!(
            long.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be"),
            "{long}"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z=!(),<> /\\PC]{0,24}") {
            let _ = LabelSelector::parse(&text);
        }
    }
}
