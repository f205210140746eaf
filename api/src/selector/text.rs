//! Label selectors as text, as users type them: `env in (test, prod), !retired, tier=web`
//! (<https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>).
//!
//! The grammar and the messages of errors are the API server's, including oddities (`a in (,b)` contains the empty value). An accepted
//! selector can be matched without errors.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::names;

/// A requirement of a selector on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// The requirement on its value.
    pub test: Test,
}

/// A requirement on the value of a label. Values are sorted and unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The value is one of these.
    In(Vec<String>),
    /// The value is not one of these, or the label is absent.
    NotIn(Vec<String>),
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The value is a number greater than this. Selectors in objects do not support it.
    Greater(i64),
    /// The value is a number less than this. Selectors in objects do not support it.
    Less(i64),
}

/// Parses a selector; the empty text has no requirements.
///
/// # Errors
/// The API server's message.
pub fn parse(selector: &str) -> Result<Vec<Requirement>, String> {
    Parser::new(selector).selector()
}

/// Parses a selector for a field of an object.
///
/// # Errors
/// The API server's message, or that the selector compares numbers.
pub fn label_selector(selector: &str) -> Result<LabelSelector, String> {
    let mut stored = LabelSelector::default();
    for Requirement { key, test } in parse(selector)? {
        let (operator, values) = match test {
            Test::In(values) => match <[String; 1]>::try_from(values) {
                Ok([value]) => {
                    let equal = stored.match_labels.get_or_insert_default();
                    if equal.get(&key).is_none_or(|other| *other == value) {
                        equal.insert(key, value);
                        continue;
                    }
                    // Contradictory requirements match nothing, but the user wrote them.
                    ("In", Some(vec![value]))
                }
                Err(values) => ("In", Some(values)),
            },
            Test::NotIn(values) => ("NotIn", Some(values)),
            Test::Exists => ("Exists", None),
            Test::DoesNotExist => ("DoesNotExist", None),
            Test::Greater(_) | Test::Less(_) => {
                return Err(format!(
                    "{key}: a selector that is stored cannot compare numbers with < or >"
                ));
            }
        };
        let expressions = stored.match_expressions.get_or_insert_default();
        expressions.push(LabelSelectorRequirement {
            key,
            operator: operator.to_owned(),
            values,
        });
    }
    Ok(stored)
}

/// Formats a selector of an object as text; the empty selector is the empty text. An invalid selector is formatted as far as
/// possible.
pub fn written(selector: &LabelSelector) -> String {
    let equal = selector.match_labels.iter().flatten();
    let equal = equal.map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|it| {
        let LabelSelectorRequirement {
            key,
            operator,
            values,
        } = it;
        let values = values.as_deref().unwrap_or_default().join(",");
        match operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            other => format!("{key} {other} ({values})"),
        }
    });
    equal.chain(expressions).collect::<Vec<_>>().join(",")
}

/// Parses a number as Go's `strconv.ParseInt`; Rust's parser accepts the same.
fn go_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value, or one of the words `in` and `notin`, which are operators only where the grammar expects one.
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Token<'a> {
    /// The token as errors quote it.
    fn literal(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

const SYMBOLS: &[u8] = b"=!(),><";

struct Parser<'a> {
    rest: &'a str,
    next: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(selector: &'a str) -> Self {
        let mut parser = Self {
            rest: selector,
            next: Token::End,
        };
        parser.take();
        parser
    }

    /// Returns the current token and moves to the next.
    fn take(&mut self) -> Token<'a> {
        let next = self.scan();
        std::mem::replace(&mut self.next, next)
    }

    fn scan(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let bytes = self.rest.as_bytes();
        let Some(first) = bytes.first() else {
            return Token::End;
        };
        if !SYMBOLS.contains(first) {
            let end = bytes
                .iter()
                .position(|byte| SYMBOLS.contains(byte) || b" \t\r\n".contains(byte));
            return Token::Word(self.cut(end.unwrap_or(bytes.len())));
        }
        match (bytes[0], bytes.get(1)) {
            (b'=' | b'!', Some(b'=')) => Token::Symbol(self.cut(2)),
            _ => Token::Symbol(self.cut(1)),
        }
    }

    /// Cuts off the first `length` bytes. They end before a symbol, a space, or the end, so at a character boundary.
    fn cut(&mut self, length: usize) -> &'a str {
        let (cut, rest) = self.rest.split_at(length);
        self.rest = rest;
        cut
    }

    fn selector(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.next {
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|why| format!("unable to parse requirement: {why}"))?;
                    requirements.push(requirement);
                    match self.take() {
                        Token::End => return Ok(requirements),
                        Token::Symbol(",") => {
                            if !matches!(self.next, Token::Word(_) | Token::Symbol("!")) {
                                let found = self.next.literal();
                                return Err(format!(
                                    "found '{found}', expected: identifier after ','"
                                ));
                            }
                        }
                        other => {
                            let found = other.literal();
                            return Err(format!(
                                "found '{found}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                Token::End => return Ok(requirements),
                other => {
                    let found = other.literal();
                    return Err(format!(
                        "found '{found}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.take();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.take();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.literal()));
        };
        let reasons = names::qualified_name(key);
        if !reasons.is_empty() {
            return Err(line("<nil>", key, &reasons.join("; ")));
        }
        let test = if matches!(self.next, Token::End | Token::Symbol(",")) {
            if negated {
                Test::DoesNotExist
            } else {
                Test::Exists
            }
        } else if negated {
            // In "!a=b" the caller refuses what follows the key.
            Test::DoesNotExist
        } else {
            self.test(key)?
        };
        Ok(Requirement {
            key: key.to_owned(),
            test,
        })
    }

    fn test(&mut self, key: &str) -> Result<Test, String> {
        let operator = self.take();
        let (values, test): (_, fn(Vec<String>) -> Test) = match operator {
            Token::Word("in") => (self.values()?, Test::In),
            Token::Word("notin") => (self.values()?, Test::NotIn),
            Token::Symbol("=" | "==") => (vec![self.value()?], Test::In),
            Token::Symbol("!=") => (vec![self.value()?], Test::NotIn),
            Token::Symbol(symbol @ (">" | "<")) => {
                let value = self.value()?;
                let Some(number) = go_int(&value) else {
                    let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                    return Err(line("values[0]", &value, why));
                };
                return Ok(match symbol {
                    ">" => Test::Greater(number),
                    _ => Test::Less(number),
                });
            }
            other => {
                let found = other.literal();
                return Err(format!(
                    "found '{found}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        let mut errors = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let reasons = names::label_value(value);
            if !reasons.is_empty() {
                errors.push(line(
                    &format!("values[{index}][{key}]"),
                    value,
                    &reasons.join("; "),
                ));
            }
        }
        match errors.as_slice() {
            [] => Ok(test(values)),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    /// Parses `(a, b)` into sorted, unique values.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.take();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.literal()));
        }
        let mut values = Vec::new();
        match self.next {
            Token::Symbol(")") => values.push(String::new()),
            Token::Word(_) | Token::Symbol(",") => self.value_list(&mut values)?,
            other => {
                let found = other.literal();
                return Err(format!("found '{found}', expected: ',', ')' or identifier"));
            }
        }
        // Skip the closing parenthesis.
        self.take();
        values.sort();
        values.dedup();
        Ok(values)
    }

    fn value_list(&mut self, values: &mut Vec<String>) -> Result<(), String> {
        loop {
            match self.take() {
                Token::Word(value) => {
                    values.push(value.to_owned());
                    match self.next {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(()),
                        other => {
                            let found = other.literal();
                            return Err(format!("found '{found}', expected: ',' or ')'"));
                        }
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.next {
                        Token::Symbol(")") => {
                            values.push(String::new());
                            return Ok(());
                        }
                        Token::Symbol(",") => values.push(String::new()),
                        _ => {}
                    }
                }
                other => {
                    let found = other.literal();
                    return Err(format!("found '{found}', expected: ',', or identifier"));
                }
            }
        }
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.next, Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        match self.take() {
            Token::Word(value) => Ok(value.to_owned()),
            other => Err(format!("found '{}', expected: identifier", other.literal())),
        }
    }
}

fn line(field: &str, value: &str, why: &str) -> String {
    format!("{field}: Invalid value: {value:?}: {why}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn stored(selector: &str) -> Value {
        let stored = label_selector(selector).expect(selector);
        serde_json::to_value(stored).expect("JSON")
    }

    #[test]
    fn a_selector_is_stored_as_it_is_typed() {
        let expression = |key: &str, operator: &str, values: &[&str]| {
            let values = (!values.is_empty()).then_some(values);
            let mut expression = json!({"key": key, "operator": operator});
            if let Some(values) = values {
                expression["values"] = json!(values);
            }
            expression
        };
        for (sentence, selector, expected, again) in [
            ("blank text has no requirements", " ", json!({}), ""),
            (
                "equality is a label",
                "env=prod, tier==web",
                json!({"matchLabels": {"env": "prod", "tier": "web"}}),
                "env=prod,tier=web",
            ),
            (
                "a repeated requirement is stored once",
                "env=prod,env in (prod)",
                json!({"matchLabels": {"env": "prod"}}),
                "env=prod",
            ),
            (
                "a contradiction is kept",
                "env=prod,env=test",
                json!({"matchLabels": {"env": "prod"}, "matchExpressions": [expression("env", "In", &["test"])]}),
                "env=prod,env in (test)",
            ),
            (
                "the rest are expressions",
                "env in (test,prod),a!=b,c notin (d, e),f,!g",
                json!({"matchExpressions": [
                    expression("env", "In", &["prod", "test"]),
                    expression("a", "NotIn", &["b"]),
                    expression("c", "NotIn", &["d", "e"]),
                    expression("f", "Exists", &[]),
                    expression("g", "DoesNotExist", &[]),
                ]}),
                "env in (prod,test),a notin (b),c notin (d,e),f,!g",
            ),
        ] {
            assert_eq!(stored(selector), expected, "{sentence}");
            let selector = label_selector(selector).expect(sentence);
            assert_eq!(written(&selector), again, "{sentence}");
            let parsed = super::super::Selector::parse(&selector);
            assert!(parsed.is_ok(), "{sentence}: {parsed:?}");
            let reread = label_selector(again).expect(sentence);
            let parsed_again = super::super::Selector::parse(&reread);
            assert_eq!(parsed, parsed_again, "{sentence}");
        }
        let numbers = label_selector("n>5").expect_err("numbers are not compared");
        assert_eq!(
            numbers,
            "n: a selector that is stored cannot compare numbers with < or >"
        );
    }
}
