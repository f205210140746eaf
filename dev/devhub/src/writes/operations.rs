//! JSON patches, of clients and of webhooks, applied as the library does that kube-apiserver uses: not in all as RFC 6902 has
//! it.

use json_patch::jsonptr::Pointer;
use json_patch::{AddOperation, Patch, PatchError, PatchErrorKind, PatchOperation};
use serde_json::Value;

/// By how much copies may make an object larger, as in kube-apiserver: a few of them could fill the memory.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// The object with the patch applied.
///
/// # Errors
/// An operation does not apply; the words are kube-apiserver's.
pub(crate) fn apply(mut object: Value, patch: &Patch) -> Result<Value, String> {
    let mut copied = 0;
    for operation in &patch.0 {
        if let PatchOperation::Copy(copy) = operation
            && let Some(source) = object.pointer(copy.from.as_str())
        {
            copied += source.to_string().len();
            if copied > MAX_COPIED {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
                ));
            }
        }
        let lenient = lenient(&object, operation);
        let applied = match &lenient {
            Some(None) => continue,
            Some(Some(other)) => other,
            None => operation,
        };
        json_patch::patch_unsafe(&mut object, std::slice::from_ref(applied))
            .map_err(|error| in_words(&object, operation, &error))?;
    }
    Ok(object)
}

/// What becomes of an operation on a field that an object lacks: it counts as null, so that it can be replaced, copied, and
/// tested. None: nothing special. Some(None): there is nothing to be done.
fn lenient(object: &Value, operation: &PatchOperation) -> Option<Option<PatchOperation>> {
    let add = |path: &json_patch::jsonptr::PointerBuf, value: Value| {
        let path = path.clone();
        Some(Some(PatchOperation::Add(AddOperation { path, value })))
    };
    match operation {
        PatchOperation::Replace(it) if lacks(object, &it.path) => add(&it.path, it.value.clone()),
        PatchOperation::Copy(it) if lacks(object, &it.from) => add(&it.path, Value::Null),
        PatchOperation::Test(it) if it.value.is_null() && lacks(object, &it.path) => Some(None),
        _ => None,
    }
}

/// Whether the path is that of a field in an object that exists and has no such field.
fn lacks(object: &Value, path: &Pointer) -> bool {
    let parent = path
        .parent()
        .and_then(|parent| object.pointer(parent.as_str()));
    parent.is_some_and(Value::is_object) && object.pointer(path.as_str()).is_none()
}

fn in_words(object: &Value, operation: &PatchOperation, error: &PatchError) -> String {
    let path = operation.path();
    let key = |path: &Pointer| {
        path.last()
            .map(|key| key.decoded().into_owned())
            .unwrap_or_default()
    };
    let missing = |from: &Pointer| {
        let key = key(from);
        format!("Unable to remove nonexistent key: {key}: missing value")
    };
    match (operation, &error.kind) {
        (_, PatchErrorKind::TestFailed) => format!("testing value {path} failed: test failed"),
        (PatchOperation::Test(_), _) if lacks(object, path) => {
            format!("testing value {path} failed: test failed")
        }
        (PatchOperation::Test(_), _) => {
            format!("test operation does not apply: is missing path: {path}: missing value")
        }
        (PatchOperation::Move(it), PatchErrorKind::InvalidFromPointer)
            if lacks(object, &it.from) =>
        {
            format!(
                "error in move for path: '{}': {}",
                key(&it.from),
                missing(&it.from)
            )
        }
        (PatchOperation::Move(it), PatchErrorKind::InvalidFromPointer) => {
            let from = &it.from;
            format!(
                "move operation does not apply: doc is missing from path: {from}: missing value"
            )
        }
        (PatchOperation::Copy(it), PatchErrorKind::InvalidFromPointer) => {
            let from = &it.from;
            format!(
                "copy operation does not apply: doc is missing from path: {from}: missing value"
            )
        }
        (PatchOperation::Remove(_), _) if lacks(object, path) => {
            format!("error in remove for path: '{path}': {}", missing(path))
        }
        (PatchOperation::Remove(_), _) => {
            format!(
                "remove operation does not apply: doc is missing path: \"{path}\": missing value"
            )
        }
        (PatchOperation::Add(_), _) => {
            format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
        }
        (PatchOperation::Replace(_), _) => {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        }
        (PatchOperation::Move(_) | PatchOperation::Copy(_), _) => {
            let name = if matches!(operation, PatchOperation::Copy(_)) {
                "copy"
            } else {
                "move"
            };
            format!(
                "{name} operation does not apply: doc is missing destination path: {path}: missing value"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(operations: Value) -> Patch {
        serde_json::from_value(operations).expect("a patch")
    }

    #[test]
    fn operations_apply_in_order() {
        let patch = patch(json!([
            { "op": "add", "path": "/a", "value": {} },
            { "op": "add", "path": "/a/b", "value": [1] },
            { "op": "add", "path": "/a/b/-", "value": 2 },
            { "op": "copy", "from": "/a/b", "path": "/c" },
            { "op": "remove", "path": "/a" },
        ]));
        assert_eq!(apply(json!({}), &patch), Ok(json!({ "c": [1, 2] })));
    }

    #[test]
    fn what_does_not_apply_is_named() {
        let rows = [
            (
                json!({ "op": "add", "path": "/a/b", "value": 1 }),
                "add operation does not apply: doc is missing path: \"/a/b\": missing value",
            ),
            (
                json!({ "op": "remove", "path": "/a" }),
                "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
            ),
            (
                json!({ "op": "remove", "path": "/a/b" }),
                "remove operation does not apply: doc is missing path: \"/a/b\": missing value",
            ),
            (
                json!({ "op": "replace", "path": "/a/b", "value": 1 }),
                "replace operation does not apply: doc is missing path: /a/b: missing value",
            ),
            (
                json!({ "op": "copy", "from": "/a/c", "path": "/b" }),
                "copy operation does not apply: doc is missing from path: /a/c: missing value",
            ),
            (
                json!({ "op": "move", "from": "/a", "path": "/b" }),
                "error in move for path: 'a': Unable to remove nonexistent key: a: missing value",
            ),
            (
                json!({ "op": "test", "path": "/x", "value": 2 }),
                "testing value /x failed: test failed",
            ),
            (
                json!({ "op": "test", "path": "/a", "value": 2 }),
                "testing value /a failed: test failed",
            ),
        ];
        for (operation, expected) in rows {
            let patch = patch(json!([operation]));
            assert_eq!(apply(json!({ "x": 1 }), &patch), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_field_that_is_not_there_is_taken_for_null() {
        let rows = [
            (
                json!({ "op": "replace", "path": "/a", "value": 1 }),
                json!({ "x": 1, "a": 1 }),
            ),
            (
                json!({ "op": "copy", "from": "/a", "path": "/b" }),
                json!({ "x": 1, "b": null }),
            ),
            (
                json!({ "op": "test", "path": "/a", "value": null }),
                json!({ "x": 1 }),
            ),
        ];
        for (operation, expected) in rows {
            let patch = patch(json!([operation]));
            assert_eq!(
                apply(json!({ "x": 1 }), &patch),
                Ok(expected),
                "{operation}"
            );
        }
    }

    #[test]
    fn copies_do_not_fill_the_memory() {
        let doubling = json!({ "op": "copy", "from": "/x", "path": "/x/-" });
        let patch = patch(Value::Array(vec![doubling; 64]));
        let object = json!({ "x": ["0123456789"] });
        let error = apply(object, &patch).expect_err("it would be too large");
        assert!(error.starts_with("Unable to complete the copy"), "{error}");
    }
}
