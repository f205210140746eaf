//! Field selectors: `metadata.name=x,status.phase!=Active`
//! (<https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/>).

use crate::object::Object;
use crate::resources::Resource;

/// A field selector. All its terms must hold; the default one has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// What is wrong with it, as the API server says it.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        let mut parts = split(selector);
        // Of several errors, report the one that the API server reports.
        parts.sort_unstable();
        let terms = parts.into_iter().filter(|part| !part.is_empty());
        let terms = terms.map(|part| Term::parse(part, selector));
        Ok(Self {
            terms: terms.collect::<Result<_, _>>()?,
        })
    }

    /// The selector of the object with this name.
    pub(crate) fn name(name: &str) -> Self {
        let term = Term {
            field: "metadata.name".to_owned(),
            equal: true,
            value: name.to_owned(),
        };
        Self { terms: vec![term] }
    }

    /// Returns true if it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that this field must have.
    pub(crate) fn required(&self, field: &str) -> Option<&str> {
        let term = self
            .terms
            .iter()
            .find(|term| term.equal && term.field == field);
        term.map(|term| term.value.as_str())
    }

    /// Checks that the resource supports selection by all fields of the selector.
    ///
    /// # Errors
    /// The first field by which it cannot, in the API server's words.
    pub(crate) fn check(&self, resource: &Resource) -> Result<(), String> {
        let unknown = self
            .terms
            .iter()
            .find(|term| !is_selectable(resource, &term.field));
        match unknown {
            None => Ok(()),
            Some(term) if is_plain(resource) => Err(format!(
                "{:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                term.field
            )),
            Some(term) => Err(format!("field label not supported: {}", term.field)),
        }
    }

    /// Returns true if it selects the object.
    pub(crate) fn matches(&self, resource: &Resource, object: &Object) -> bool {
        self.terms.iter().all(|term| {
            let value = resource.field(object, &term.field);
            (value == term.value) == term.equal
        })
    }
}

impl Term {
    fn parse(part: &str, selector: &str) -> Result<Self, String> {
        let Some(at) = part
            .find(['=', '!'])
            .and_then(|first| operator(part, first))
        else {
            return Err(format!(
                "invalid selector: '{selector}'; can't understand '{part}'"
            ));
        };
        let (field, rest) = part.split_at(at);
        let (equal, value) = match rest.strip_prefix("!=") {
            Some(value) => (false, value),
            None => {
                let value = rest.strip_prefix("==").or(rest.strip_prefix('='));
                (true, value.unwrap_or_default())
            }
        };
        Ok(Self {
            field: field.to_owned(),
            equal,
            value: unescape(value)?,
        })
    }
}

/// Where the first operator begins; a `!` alone is not an operator.
fn operator(part: &str, from: usize) -> Option<usize> {
    part.char_indices()
        .skip_while(|(at, _)| *at < from)
        .find(|(at, _)| part[*at..].starts_with("!=") || part[*at..].starts_with('='))
        .map(|(at, _)| at)
}

/// The terms; a comma after a backslash separates nothing.
fn split(selector: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut escaped) = (0, false);
    for (at, character) in selector.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&selector[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[begin..]);
    parts
}

fn unescape(value: &str) -> Result<String, String> {
    let invalid = |what: &str| format!("invalid field selector: invalid escape sequence: \\{what}");
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => return Err(invalid(&other.to_string())),
                None => return Err(invalid("")),
            },
            ',' | '=' => {
                // Go prints the rune as a number.
                let number = u32::from(character);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {number}"
                ));
            }
            other => plain.push(other),
        }
    }
    Ok(plain)
}

/// Returns true if the resource has none but the fields that every built-in resource has.
fn is_plain(resource: &Resource) -> bool {
    !resource.custom && resource.selectable_fields.is_empty()
}

fn is_selectable(resource: &Resource, field: &str) -> bool {
    match field {
        "metadata.name" => true,
        "metadata.namespace" => resource.namespaced || is_plain(resource),
        _ => resource
            .selectable_fields
            .iter()
            .any(|known| known == field),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::protocol::testing::resource;

    #[test]
    fn a_selector_selects_by_fields() {
        let mut secrets = resource("", "v1", "secrets", "Secret");
        secrets.selectable_fields = vec!["type".into(), "n".into(), "spec.on".into()];
        let object = json!({
            "metadata": {"name": "a", "namespace": "ns"}, "type": "a,b=c\\", "n": 3, "spec": {"on": true},
        });
        let object = Object::try_from(object).unwrap();
        let rows = [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,metadata.namespace=ns", true),
            ("metadata.name!=a", false),
            ("metadata.name=a,metadata.namespace=x", false),
            ("type=a\\,b\\=c\\\\", true),
            ("n=3", true),
            ("spec.on=true", true),
            ("type=", false),
            (",,", true),
        ];
        for (selector, expected) in rows {
            let parsed = FieldSelector::parse(selector).unwrap();
            assert_eq!(parsed.check(&secrets), Ok(()), "{selector}");
            assert_eq!(parsed.matches(&secrets, &object), expected, "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused_in_the_words_of_the_api_server() {
        let rows = [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
            ("a!b", "invalid selector: 'a!b'; can't understand 'a!b'"),
            (
                "a=b=c",
                "invalid field selector: unescaped character in value: 61",
            ),
            (
                "a=\\x",
                "invalid field selector: invalid escape sequence: \\x",
            ),
            (
                "a=b\\",
                "invalid field selector: invalid escape sequence: \\",
            ),
        ];
        for (selector, expected) in rows {
            assert_eq!(
                FieldSelector::parse(selector).unwrap_err(),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn a_name_that_is_required_can_be_asked_for() {
        let selector = FieldSelector::parse("metadata.name=a,metadata.namespace!=b").unwrap();
        assert_eq!(selector.required("metadata.name"), Some("a"));
        assert_eq!(selector.required("metadata.namespace"), None);
        assert_eq!(
            FieldSelector::name("x").required("metadata.name"),
            Some("x")
        );
    }
}
