//! Requests: the path, the content type and the body of a write.

use berth_api::plan::{Action, Target};
use berth_hub::{APPLY_PATCH, Call, MERGE_PATCH, object_path, segment};
use serde_json::{Value, json};

/// The request of a write; `manager`: the field manager where the action names no other.
pub(super) fn call_of(target: &Target, action: &Action, manager: &str) -> Call {
    let of = |subresource| path(target, subresource);
    match action {
        Action::Apply { manager, body } => {
            let path = format!("{}?fieldManager={manager}&force=true", of(None));
            Call::patch(path, APPLY_PATCH, text(body))
        }
        Action::ApplyStatus { manager, body } => {
            let path = format!("{}?fieldManager={manager}&force=true", of(Some("status")));
            Call::patch(path, APPLY_PATCH, text(body))
        }
        Action::Patch { subresource, body } => {
            let path = format!("{}?fieldManager={manager}", of(*subresource));
            Call::patch(path, MERGE_PATCH, text(body))
        }
        Action::Replace { subresource, body } => {
            let path = format!("{}?fieldManager={manager}", of(*subresource));
            Call::put(path, text(body))
        }
        Action::Create { body }
        | Action::CreateOrPatch { body, .. }
        | Action::CreateOrUpdate { body } => {
            let path = format!("{}?fieldManager={manager}", path(&all_of(target), None));
            Call::post(path, text(body))
        }
        Action::CreateText { body } => {
            let path = format!("{}?fieldManager={manager}", path(&all_of(target), None));
            Call::post(path, body.as_bytes().to_vec())
        }
        Action::PatchText { body } => {
            let path = format!("{}?fieldManager={manager}", of(None));
            Call::patch(path, MERGE_PATCH, body.as_bytes().to_vec())
        }
        Action::Delete {
            uid,
            resource_version,
            ..
        } => {
            let mut preconditions = json!({"uid": uid});
            if let Some(version) = resource_version {
                preconditions["resourceVersion"] = json!(version);
            }
            delete(of(None), &preconditions, "Background")
        }
        Action::DeleteInForeground { uid, .. } => {
            delete(of(None), &json!({"uid": uid}), "Foreground")
        }
    }
}

fn delete(path: String, preconditions: &Value, policy: &str) -> Call {
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": preconditions,
        "propagationPolicy": policy,
    });
    Call::delete(path, text(&options))
}

/// The resourceVersion that a write names.
pub(super) fn decided_from(action: &Action) -> Option<&str> {
    let (Action::Apply { body, .. }
    | Action::ApplyStatus { body, .. }
    | Action::Patch { body, .. }
    | Action::Replace { body, .. }) = action
    else {
        return None;
    };
    body["metadata"]["resourceVersion"].as_str()
}

/// The kind, without a name.
pub(super) fn all_of(target: &Target) -> Target {
    Target {
        name: String::new(),
        ..target.clone()
    }
}

/// The JSON text of a body.
pub(super) fn text(body: &Value) -> Vec<u8> {
    // `Value::to_string` passes each piece through a Formatter.
    serde_json::to_vec(body).expect("a Value is JSON")
}

/// The path of an object, or of its kind, if it has no name.
pub(super) fn path(target: &Target, subresource: Option<&str>) -> String {
    let kind = &target.resource;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let kind = (&*kind.group, &*kind.version, &*kind.resource);
    let mut path = object_path(kind, namespace, &target.name);
    if let Some(subresource) = subresource {
        path.push('/');
        path.push_str(&segment(subresource));
    }
    path
}

#[cfg(test)]
mod tests {
    use berth_api::GroupVersionResource;

    use super::*;

    #[test]
    fn each_part_is_one_segment() {
        let target = |version: &str, namespace: &str, name: &str| Target {
            resource: GroupVersionResource::new(
                "g.io".to_owned(),
                version.to_owned(),
                "ks".to_owned(),
            ),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        };
        for ((version, namespace, name), expected) in [
            (("v1", "n", "a:b"), "/apis/g.io/v1/namespaces/n/ks/a:b"),
            (
                ("v1?x=", "n", "a"),
                "/apis/g.io/v1%3Fx%3D/namespaces/n/ks/a",
            ),
            (
                ("v1", "n#", "a/status"),
                "/apis/g.io/v1/namespaces/n%23/ks/a%2Fstatus",
            ),
        ] {
            assert_eq!(path(&target(version, namespace, name), None), expected);
        }
    }
}
