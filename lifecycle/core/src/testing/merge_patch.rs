//! Applies a merge patch as the API server does, for tests that apply a plan and decide again.

use serde::Serialize;
use serde::de::DeserializeOwned;

use berth_api::plan::Write;

use super::patch_of;

/// The object after this patch. It must name the resourceVersion that the object has; the new one is larger.
#[track_caller]
pub(crate) fn patched<K: Serialize + DeserializeOwned>(object: &K, write: &Write) -> K {
    let body = patch_of(write);
    let mut json = serde_json::to_value(object).unwrap();
    for field in ["uid", "resourceVersion"] {
        let (patch, stored) = (&body["metadata"][field], &json["metadata"][field]);
        assert!(stored.is_string(), "{field} of {json}");
        assert_eq!(patch, stored, "the patch names the {field}");
    }
    json_patch::merge(&mut json, body);
    let version = json["metadata"]["resourceVersion"].as_str().unwrap();
    let version: u64 = version.parse().unwrap();
    json["metadata"]["resourceVersion"] = (version + 1).to_string().into();
    serde_json::from_value(json).unwrap()
}
