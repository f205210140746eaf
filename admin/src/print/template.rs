//! kubectl's JSONPath templates (`-o jsonpath`): text with paths and ranges in braces.
//! <https://kubernetes.io/docs/reference/kubectl/jsonpath/>
//!
//! `{.a}` prints the values of a path with spaces between, `{"\n"}` a text, `{range .items[*]}...{end}` its content for each value.

use berth_work_core::jsonpath::Path;
use serde_json::Value;

use super::visits::Visits;

/// The most bytes of a template.
const LONGEST: usize = 16 << 10;
/// How deep ranges may be nested.
const DEEPEST: usize = 8;

/// A template, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    /// `{@}`: the value itself.
    Itself,
    Values(Path),
    Range(Path, Vec<Part>),
}

// === impl Template ===

impl Template {
    /// Parses a template. A path without braces is a template, too, as in kubectl.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the template has more than {LONGEST} bytes"));
        }
        if !text.contains('{') {
            return Ok(Self(vec![Part::Values(Path::parse(text)?)]));
        }
        let mut rest = text;
        let parts = parts(&mut rest, 0)?;
        Ok(Self(parts))
    }

    /// Returns the text for an object.
    ///
    /// # Errors
    /// A path is not for this object, or too many values would be visited.
    pub(crate) fn render(&self, object: &Value) -> Result<String, String> {
        let mut out = String::new();
        let mut visits = Visits::default();
        for part in &self.0 {
            part.render(object, &mut visits, &mut out)?;
        }
        Ok(out)
    }
}

/// Parses up to the end, or to the `{end}` of a range.
fn parts(rest: &mut &str, depth: usize) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    loop {
        let (text, after) = rest.split_once('{').unwrap_or((*rest, ""));
        if !text.is_empty() {
            parts.push(Part::Text(text.to_owned()));
        }
        if text.len() == rest.len() {
            *rest = "";
            return match depth {
                0 => Ok(parts),
                _ => Err("a {range} has no {end}".to_owned()),
            };
        }
        let end = closing(after).ok_or_else(|| "a { has no }".to_owned())?;
        let inside = after[..end].trim();
        *rest = &after[end + 1..];
        match inside {
            "end" if depth > 0 => return Ok(parts),
            "end" => return Err("an {end} has no {range}".to_owned()),
            _ => {}
        }
        if let Some(path) = inside.strip_prefix("range ") {
            if depth == DEEPEST {
                return Err(format!("more than {DEEPEST} ranges are in each other"));
            }
            let path = Path::parse(path.trim())?;
            let inner = self::parts(rest, depth + 1)?;
            parts.push(Part::Range(path, inner));
        } else if inside.starts_with(['"', '\'']) {
            parts.push(Part::Text(literal(inside)?));
        } else if ["@", "$", "."].contains(&inside) {
            parts.push(Part::Itself);
        } else {
            parts.push(Part::Values(Path::parse(inside)?));
        }
    }
}

/// Returns the position of the brace that ends a part. Braces in quotes do not.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(at),
            (None, _) => {}
        }
    }
    None
}

/// The text of a literal in quotes.
fn literal(quoted: &str) -> Result<String, String> {
    let wrong = || format!("{quoted} is no text in quotes");
    let quote = quoted.chars().next().ok_or_else(wrong)?;
    let inner = quoted[quote.len_utf8()..].strip_suffix(quote);
    let mut text = String::new();
    let mut chars = inner.ok_or_else(wrong)?.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next().ok_or_else(wrong)? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            },
            c => c,
        });
    }
    Ok(text)
}

impl Part {
    fn render(&self, root: &Value, visits: &mut Visits, out: &mut String) -> Result<(), String> {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Itself => out.push_str(&text_of(root)),
            Self::Values(path) => {
                let found = visits.find(path, root)?;
                let texts: Vec<String> = found.into_iter().map(text_of).collect();
                out.push_str(&texts.join(" "));
            }
            Self::Range(path, parts) => {
                for value in visits.find(path, root)? {
                    for part in parts {
                        part.render(value, visits, out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A value as text: a string as it is, everything else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(template: &str) -> Result<String, String> {
        let object = json!({
            "kind": "List",
            "items": [
                {"metadata": {"name": "a", "labels": {"x/y": "1"}}, "spec": {"n": 1}},
                {"metadata": {"name": "b"}, "spec": {"n": 2, "l": ["p", "q"]}},
            ],
        });
        Template::parse(template)?.render(&object)
    }

    /// The same as `kubectl get -o jsonpath=...` prints.
    #[test]
    fn templates_are_kubectls() {
        for (template, text) in [
            ("{.kind}", "List"),
            (".kind", "List"),
            ("{.items[*].metadata.name}", "a b"),
            ("{.items[0].metadata.labels.x\\/y}", "1"),
            ("{.items[?(@.spec.n>1)].metadata.name}", "b"),
            (
                "{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.n}{\"\\n\"}{end}",
                "a\t1\nb\t2\n",
            ),
            (
                "{range .items[*]}{range .spec.l[*]}<{@}>{end}{end}",
                "<p><q>",
            ),
            ("x {.items[1].spec} y", "x {\"l\":[\"p\",\"q\"],\"n\":2} y"),
            ("{.none}", ""),
            ("{\"}\"}{'{'}", "}{"),
        ] {
            assert_eq!(rendered(template).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn a_wrong_template_says_what_is_wrong() {
        for (template, words) in [
            ("{.a", "a { has no }"),
            ("{end}", "an {end} has no {range}"),
            ("{range .a}", "a {range} has no {end}"),
            ("{\"a}", "a { has no }"),
            ("{.a[}", ""),
            ("{}", "the path is empty"),
            (&"{range .a}".repeat(20), "more than 8 ranges"),
            (&"x".repeat(LONGEST + 1), "more than 16384 bytes"),
        ] {
            let error = rendered(template).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
