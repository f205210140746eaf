//! JSONPath in Kubernetes' dialect, for printer columns: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`,
//! `.metadata.labels.example\.com/a`, `.spec.list[-1]`.
//!
//! A path is translated to the standard (RFC 9535), which requires the root `$` and has no escapes in names.

use jsonpath_rust::parser::{model::JpQuery, parse_json_path};
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

/// A path that can be evaluated.
#[derive(Clone, Debug)]
pub(crate) struct JsonPath(JpQuery);

impl JsonPath {
    /// Reads a path without the braces around it; `None` if the text is not a path, or has two `..`, which could find too much.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let path = standard(text)?;
        let path = parse_json_path(&path).ok()?;
        Some(Self(path))
    }

    /// The first value that the path finds.
    pub(crate) fn first<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        let found = js_path_process(&self.0, value).ok()?;
        found.into_iter().next().map(|found| found.val)
    }
}

fn standard(text: &str) -> Option<String> {
    if text.matches("..").count() > 1 {
        return None;
    }
    let mut path = "$".to_owned();
    let mut rest = text.trim_start_matches('$');
    while let Some(first) = rest.chars().next() {
        if first == '[' {
            let end = bracket_end(rest)?;
            path.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        rest = rest.strip_prefix('.')?;
        if let Some(below) = rest.strip_prefix('.') {
            path.push_str("..");
            rest = below;
        }
        let mut name = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next() {
                Some((_, '\\')) => name.extend(chars.next().map(|(_, escaped)| escaped)),
                Some((at, '.' | '[')) => break at,
                Some((_, other)) => name.push(other),
                None => break rest.len(),
            }
        };
        match name.as_str() {
            "" => {}
            "*" => path.push_str("[*]"),
            name => path.push_str(&format!("[{}]", Value::from(name))),
        }
        rest = &rest[end..];
    }
    Some(path)
}

/// Where a bracket at the start ends; brackets in quotes do not count.
fn bracket_end(text: &str) -> Option<usize> {
    let (mut open, mut quote) = (0, None);
    for (at, next) in text.char_indices() {
        match (quote, next) {
            (Some(mark), _) if mark == next => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(next),
            (None, '[') => open += 1,
            (None, ']') => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn sample() -> Value {
        json!({
            "metadata": {"labels": {"a.b/c": "label"}},
            "spec": {
                "num": 5,
                "list": ["l0", "l1", "l2"],
                "objs": [{"name": "o1", "m": 1}, {"name": "o2", "m": 2, "flag": false}],
                "sub": {"deep": "here"},
                "nul": null,
            },
            "status": {"conditions": [
                {"type": "A", "status": "True"},
                {"type": "B)", "status": "False"},
            ]},
        })
    }

    #[test]
    fn a_path_finds_what_kubernetes_finds() {
        let sample = sample();
        for (path, expected) in [
            (".spec.num", Some(json!(5))),
            ("$.spec.num", Some(json!(5))),
            (".spec.nope.more", None),
            (".spec.num.more", None),
            (".spec.nul", Some(json!(null))),
            (".metadata.labels.a\\.b/c", Some(json!("label"))),
            (".metadata.labels['a.b/c']", Some(json!("label"))),
            (".spec.list", Some(json!(["l0", "l1", "l2"]))),
            (".spec.list[*]", Some(json!("l0"))),
            (".spec.list[1]", Some(json!("l1"))),
            (".spec.list[-1]", Some(json!("l2"))),
            (".spec.list[9]", None),
            (".spec.list[1:]", Some(json!("l1"))),
            (".spec.list[0:3:2]", Some(json!("l0"))),
            (".spec[0]", None),
            ("..deep", Some(json!("here"))),
            (".spec.sub.*", Some(json!("here"))),
            (".spec.objs[?(@.m>1)].name", Some(json!("o2"))),
            (".spec.objs[?(@.m==\"1\")].name", None),
            (".spec.objs[?(@.name!=\"o1\")].m", Some(json!(2))),
            (".spec.objs[?(@.flag)].name", Some(json!("o2"))),
            (
                ".status.conditions[?(@.type==\"A\")].status",
                Some(json!("True")),
            ),
            (
                ".status.conditions[?(@.type=='B)')].status",
                Some(json!("False")),
            ),
            (".status.conditions[?(@.type==\"C\")].status", None),
        ] {
            let parsed = JsonPath::parse(path).unwrap();
            assert_eq!(parsed.first(&sample).cloned(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in ["spec", ".a[", ".a[x]", ".a[1:2:3:4]", ".a[?(@.b", "..a..b"] {
            assert!(JsonPath::parse(path).is_none(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(path in "[.a@\\[\\]?()*'\"\\\\0-9:,=<> $}é-]{0,20}") {
            if let Some(path) = JsonPath::parse(&path) {
                let _ = path.first(&sample());
            }
        }
    }
}
