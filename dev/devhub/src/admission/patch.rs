//! Reads the JSON patch of a webhook.

use json_patch::Patch;
use serde_json::Value;

const OPERATIONS: [&str; 6] = ["add", "copy", "move", "remove", "replace", "test"];

/// Why a patch cannot be read.
#[derive(Debug, PartialEq)]
pub(super) enum Unreadable {
    /// It is no patch.
    Undecodable(String),
    /// A patch with an unknown operation.
    Unknown(String),
}

/// Reads a patch.
pub(super) fn read(json: &[u8]) -> Result<Patch, Unreadable> {
    let undecodable = |error: serde_json::Error| Unreadable::Undecodable(error.to_string());
    let value: Value = serde_json::from_slice(json).map_err(undecodable)?;
    let sort = match &value {
        Value::Array(_) | Value::Null => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Object(_) => Some("object"),
    };
    if let Some(sort) = sort {
        let why = format!("json: cannot unmarshal {sort} into Go value of type jsonpatch.Patch");
        return Err(Unreadable::Undecodable(why));
    }
    let operations = value.as_array().into_iter().flatten();
    for operation in operations.filter_map(Value::as_object) {
        let name = operation.get("op").and_then(Value::as_str);
        let name = name.unwrap_or("unknown");
        if !OPERATIONS.contains(&name) {
            return Err(Unreadable::Unknown(format!("Unexpected kind: {name}")));
        }
    }
    if value.is_null() {
        return Ok(Patch(Vec::new()));
    }
    serde_json::from_value(value).map_err(undecodable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_patch_is_told_from_one_with_unknown_operations() {
        let undecodable = |why: &str| Err(Unreadable::Undecodable(why.to_owned()));
        let unknown = |why: &str| Err(Unreadable::Unknown(why.to_owned()));
        let rows = [
            (
                "{}",
                undecodable("json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
            ),
            ("[{\"op\":\"frob\"}]", unknown("Unexpected kind: frob")),
            ("[{}]", unknown("Unexpected kind: unknown")),
            ("null", Ok(Patch(Vec::new()))),
        ];
        for (json, expected) in rows {
            assert_eq!(read(json.as_bytes()), expected, "{json}");
        }
        assert!(matches!(read(b"["), Err(Unreadable::Undecodable(_))));
    }
}
