//! JSON patches of clients and webhooks, applied as by the library of kube-apiserver, which deviates from RFC 6902 in some
//! points.

use json_patch::jsonptr::Pointer;
use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

/// By how much copies may make an object larger, as in kube-apiserver: a few of them could fill the memory.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// The object with the patch applied.
///
/// # Errors
/// An operation does not apply.
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
            .map_err(|error| error.to_string())?;
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

/// Returns true if the path is that of a field in an object that exists and has no such field.
fn lacks(object: &Value, path: &Pointer) -> bool {
    let parent = path
        .parent()
        .and_then(|parent| object.pointer(parent.as_str()));
    parent.is_some_and(Value::is_object) && object.pointer(path.as_str()).is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(operations: Value) -> Patch {
        serde_json::from_value(operations).expect("a patch")
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
