//! Label selectors as people write them: `env in (test, prod), !retired, tier=web`
//! (<https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>).
//!
//! The grammar is the API server's, oddities included (`a in (,b)` names the empty value as well), and so are the words of
//! errors. What is accepted can be matched without errors.

use berth_api::names;

use crate::object::Object;
use crate::status::FieldError;

/// A label selector. All its requirements must hold; the default one has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// What is wrong with it, as the API server says it.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        Parser::new(selector).selector()
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it selects the object.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        if self.requirements.is_empty() {
            return true;
        }
        let labels = object.at(&["metadata", "labels"]);
        self.requirements.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key)?.as_str());
            requirement.test.holds(value)
        })
    }
}

impl Test {
    fn holds(&self, label: Option<&str>) -> bool {
        let number = || label.and_then(go_int);
        match self {
            Self::In(values) => {
                label.is_some_and(|label| values.iter().any(|value| value == label))
            }
            Self::NotIn(values) => {
                label.is_none_or(|label| values.iter().all(|value| value != label))
            }
            Self::Exists => label.is_some(),
            Self::DoesNotExist => label.is_none(),
            Self::Greater(than) => number().is_some_and(|number| number > *than),
            Self::Less(than) => number().is_some_and(|number| number < *than),
        }
    }
}

/// As Go's `strconv.ParseInt` reads a number; Rust's parser agrees with it.
fn go_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value, or one of the words `in` and `notin`, which are operators only where one is looked for.
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Token<'a> {
    /// As errors quote it.
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

    /// The token at hand; the one after it is looked at next.
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

    /// The first `length` bytes, which end before a symbol, a space, or the end, so between characters.
    fn cut(&mut self, length: usize) -> &'a str {
        let (cut, rest) = self.rest.split_at(length);
        self.rest = rest;
        cut
    }

    fn selector(mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.next {
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|why| format!("unable to parse requirement: {why}"))?;
                    requirements.push(requirement);
                    match self.take() {
                        Token::End => return Ok(LabelSelector { requirements }),
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
                Token::End => return Ok(LabelSelector { requirements }),
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
            // "!a=b": what follows the key is not looked at here, and is no comma.
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

    /// `(a, b)`; sorted, each once.
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
        // The list ends before it.
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
    format!("{field}: {}", FieldError::invalid(field, value, why).body())
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
