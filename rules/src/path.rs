//! The path of the field at which the decoding of a JSON text failed, as in `request.object.spec.taints[0].key`.
//!
//! The decoder of the hot path knows only the position of an error. The path is found from it when there is an error: the
//! text before the position is read once more, without decoding it.

use std::borrow::Cow;
use std::fmt::Write;

use berth_api::text::shorten;

use crate::display::Plain;

/// The maximum number of parts of a path. No field that the gate reads is deeper.
const DEEPEST: usize = 16;

/// The maximum length of a key in a path, in bytes of its text. The rest is cut.
const LONGEST_KEY: usize = 128;

/// The maximum length of an error in bytes.
const LONGEST_ERROR: usize = 512;

/// An object or a list that the position is in.
enum Level {
    /// An object, and the key of the value at the position, in quotes. `None` between two values.
    Object(Option<(usize, usize)>),
    /// A list, and the number of the item at the position. `None` before the first.
    List(Option<usize>),
}

/// Returns the error of a decoder with the path of the field, if it is in one.
pub fn explain(text: &[u8], error: &serde_json::Error) -> String {
    let path = path_at(text, offset(text, error));
    if path.is_empty() {
        error.to_string()
    } else {
        format!("{path}: {error}")
    }
}

/// Returns the same without the position, which says nothing where the text is not the user's.
pub fn explain_field(text: &[u8], error: &serde_json::Error) -> String {
    let explained = explain(text, error);
    let position = format!(" at line {} column {}", error.line(), error.column());
    let field = explained.strip_suffix(&position).unwrap_or(&explained);
    field.to_owned()
}

/// Returns the same of the text of a field, whose own path is `field`.
pub fn explain_in(field: &str, text: &[u8], error: &serde_json::Error) -> String {
    let explained = explain_field(text, error);
    match path_at(text, offset(text, error)) {
        path if path.is_empty() => format!("{field}: {explained}"),
        path if path.starts_with('[') => format!("{field}{explained}"),
        _ => format!("{field}.{explained}"),
    }
}

/// Returns the error of the decoder of a spec with the path of the field, fit for a message.
pub(crate) fn explain_spec(text: &str, error: &serde_json::Error) -> String {
    let error = explain_in("spec", text.as_bytes(), error);
    Plain(&shorten(&error, LONGEST_ERROR)).to_string()
}

/// Returns why a value is not of a type, with the path of the field; `field` is that of the value. `None`: it is.
pub fn unreadable<T: serde::de::DeserializeOwned>(
    field: &str,
    value: &serde_json::Value,
) -> Option<String> {
    let text = value.to_string();
    let error = serde_json::from_str::<T>(&text).err()?;
    let explained = explain_in(field, text.as_bytes(), &error);
    Some(
        explained
            .trim_start_matches(['.', ':'])
            .trim_start()
            .to_owned(),
    )
}

/// Returns the number of bytes before the position of an error.
fn offset(text: &[u8], error: &serde_json::Error) -> usize {
    let line = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    let offset = (line + error.column()).min(text.len());
    if error.is_syntax() {
        // The position is behind the invalid character.
        offset.saturating_sub(1)
    } else if text[..offset].trim_ascii_end().ends_with(b"[") && !is_of_list(error) {
        // It is before the first item.
        (offset + 1).min(text.len())
    } else {
        offset
    }
}

/// Returns true if a list is in the place of something else. The position of this error is behind `[`, except that of a list
/// as the first item of a list of strings: its path lacks `[0]`.
fn is_of_list(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("invalid type: sequence")
}

/// Returns the path of the value that ends or begins at a position. An object's own path stands for its keys.
fn path_at(text: &[u8], offset: usize) -> String {
    let mut levels = Vec::new();
    // Lists and objects below the deepest level.
    let mut deeper = 0_usize;
    let mut key = (0, 0);
    let mut string = None;
    let mut escaped = false;
    for (i, byte) in text[..offset].iter().copied().enumerate() {
        if let Some(start) = string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => (string, key) = (None, (start, i + 1)),
                _ => {}
            }
            continue;
        }
        if let Some(Level::List(item @ None)) = levels.last_mut()
            && !byte.is_ascii_whitespace()
            && byte != b']'
        {
            *item = Some(0);
        }
        match byte {
            b'"' => string = Some(i),
            b'{' | b'[' if levels.len() == DEEPEST => deeper += 1,
            b'{' => levels.push(Level::Object(None)),
            b'[' => levels.push(Level::List(None)),
            b'}' | b']' if deeper > 0 => deeper -= 1,
            b'}' | b']' => {
                levels.pop();
            }
            b':' | b',' if deeper == 0 => match (byte, levels.last_mut()) {
                (b':', Some(Level::Object(of))) => *of = Some(key),
                (b',', Some(Level::Object(of))) => *of = None,
                (b',', Some(Level::List(Some(item)))) => *item += 1,
                _ => {}
            },
            _ => {}
        }
    }
    levels.iter().fold(String::new(), |mut path, level| {
        match level {
            Level::Object(Some((start, end))) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&shown(&text[*start..*end]));
            }
            Level::List(Some(item)) => {
                let _ = write!(path, "[{item}]");
            }
            Level::Object(None) | Level::List(None) => {}
        }
        path
    })
}

/// Returns a key without its quotes.
fn shown(key: &[u8]) -> Cow<'_, str> {
    if key.len() > LONGEST_KEY {
        let beginning = String::from_utf8_lossy(&key[1..LONGEST_KEY]);
        return format!("{beginning}...").into();
    }
    serde_json::from_slice::<String>(key).map_or(Cow::Borrowed("?"), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde::de::Deserialize;

    use super::*;
    use crate::object::{Cluster, ClusterSet};

    #[test]
    fn the_path_is_that_of_the_value_at_the_position() {
        for (text, path) in [
            ("", ""),
            ("{", ""),
            (r#"{"a""#, ""),
            (r#"{"a":"#, "a"),
            (r#"{"a": 7"#, "a"),
            (r#"{"a": 7,"#, ""),
            (r#"{"a": 7, "b": "x"#, "b"),
            (r#"{"a":{"b.c":"#, "a.b.c"),
            (r#"{"a":{"b":1}"#, "a"),
            (r#"{"a":["#, "a"),
            (r#"{"a":[ "#, "a"),
            (r#"{"a":[1"#, "a[0]"),
            (r#"{"a":[[],{"b":"],}\"","#, "a[1]"),
            (r#"{"a":[[],{"b":"],}\"","c\u0041":"#, "a[1].cA"),
            (r#"{"a":[1,2]"#, "a"),
            (r#"{"a":[1,2]}"#, ""),
            (r#"[[[1, 2"#, "[0][0][1]"),
            ("}]x", ""),
        ] {
            assert_eq!(path_at(text.as_bytes(), text.len()), path, "{text}");
        }
        let long = format!(r#"{{"{}":"#, "k".repeat(1_000));
        let path = path_at(long.as_bytes(), long.len());
        assert_eq!(path, format!("{}...", "k".repeat(LONGEST_KEY - 1)));
        let deep = format!(r#"{{"a":{}"#, "[".repeat(100_000));
        let path = path_at(deep.as_bytes(), deep.len());
        assert_eq!(path, format!("a{}", "[0]".repeat(DEEPEST - 1)));
        let closed = format!(r#"{deep}{}, "b": "#, "]".repeat(100_000));
        assert_eq!(path_at(closed.as_bytes(), closed.len()), "b");
    }

    /// Replaces each value of an object in turn, and compares with the path that a decoder finds that keeps it.
    fn compare<'a, O: Deserialize<'a> + std::fmt::Debug>(object: &'a str, wrong: &'a [String]) {
        assert!(serde_json::from_str::<O>(object).is_ok(), "{object}");
        let mut refused = 0;
        for text in wrong {
            let read = serde_json::from_slice::<O>(text.as_bytes());
            let Some(error) = read.err().filter(serde_json::Error::is_data) else {
                continue;
            };
            let mut decoder = serde_json::Deserializer::from_slice(text.as_bytes());
            let expected = serde_path_to_error::deserialize::<_, O>(&mut decoder).unwrap_err();
            assert_eq!(
                explain(text.as_bytes(), &error),
                match expected.path().iter().next() {
                    Some(_) => format!("{}: {error}", expected.path()),
                    None => error.to_string(),
                },
                "{text}"
            );
            refused += 1;
        }
        assert!(refused > 20, "{refused} were refused");
    }

    /// Replaces what begins at each `:`, `[` and `,` by values of other types, and doubles each key.
    fn wrong(object: &str) -> Vec<String> {
        let ends = |at: usize| {
            let mut value = serde_json::Deserializer::from_str(&object[at..])
                .into_iter::<&serde_json::value::RawValue>();
            value.next()?.ok()?;
            Some(at + value.byte_offset())
        };
        let begins = object.char_indices().filter(|(_, c)| ":[,{".contains(*c));
        begins
            .filter_map(|(i, _)| Some((i + 1, ends(i + 1)?)))
            .flat_map(|(start, end)| {
                let with = |text: &str| format!("{}{text}{}", &object[..start], &object[end..]);
                let entry = |text: &str| with(&format!("{}:{text},{0}", &object[start..end]));
                [
                    with("7"),
                    with("-0.5"),
                    with("null"),
                    with("true"),
                    with(r#""x""#),
                    if object[..start].ends_with('[') {
                        with("{}")
                    } else {
                        with(r#" [ {"x": [1]}, 2 ] "#)
                    },
                    with("{\"x\": []}"),
                    with("{}"),
                    with(r#"{"matchLabels": {"a": 1}}"#),
                    entry("null"),
                    entry("{}"),
                    entry(r#""a""#),
                ]
            })
            .collect()
    }

    #[test]
    fn paths_equal_those_of_a_decoder_that_keeps_them() {
        let cluster = r#"{"apiVersion":"v1","kind":"k","metadata":{"name":"c1","deletionTimestamp":"t","labels":{
            "cluster.open-cluster-management.io/clusterset":"a","zone":"b"},"annotations":{
            "open-cluster-management.io/deny-now":"true"}},"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":60,
            "managedClusterClientConfigs":[{"url":"https://a","caBundle":"AA=="},{"url":"b"}],
            "taints":[{"key":"a","value":"b","effect":"NoSelect","timeAdded":"2026-01-01T00:00:00Z"}]}}"#;
        compare::<Cluster<'_>>(cluster, &wrong(cluster));
        let set = r#"{"apiVersion":"v1","kind":"k","metadata":{"name":"c1"},"spec":{"clusterSelector":{
            "selectorType":"LabelSelector","labelSelector":{"matchLabels":{"a":"b"},"matchExpressions":[
            {"key":"a","operator":"In","values":["b","c"]}]}}}}"#;
        compare::<ClusterSet<'_>>(set, &wrong(set));
    }
}
