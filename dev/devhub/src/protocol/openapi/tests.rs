#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::OpenApi;
use crate::resources::{Registry, Resource, custom};

fn served() -> Vec<Arc<Resource>> {
    let mut all: Vec<_> = Registry::new().all().as_ref().clone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    for name in [
        "managedclusters",
        "managedclustersets",
        "managedclustersetbindings",
    ] {
        let file = folder.join(format!("cluster.open-cluster-management.io_{name}.yaml"));
        let definition = serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        all.extend(
            custom::resources(&definition)
                .unwrap()
                .into_iter()
                .map(Arc::new),
        );
    }
    all
}

fn document(open_api: &OpenApi, path: &str) -> Value {
    serde_json::from_slice(&open_api.document(path).unwrap().body).unwrap()
}

fn references(json: &Value, found: &mut BTreeSet<String>) {
    match json {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.rsplit('/').next().unwrap().to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let open_api = OpenApi::of(&served(), None);
    let index: Value = serde_json::from_slice(&open_api.index()).unwrap();
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.contains_key("api/v1"));
    assert!(paths.contains_key("apis/cluster.open-cluster-management.io/v1beta2"));
    for (path, entry) in paths {
        let document = document(&open_api, path);
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for name in found {
            assert!(schemas.contains_key(&name), "{path}: {name}");
        }
        let hash = &open_api.document(path).unwrap().hash;
        assert_eq!(
            entry["serverRelativeURL"],
            format!("/openapi/v3/{path}?hash={hash}")
        );
    }
}

#[test]
fn documents_stay_while_their_resources_do() {
    let mut resources = served();
    let before = OpenApi::of(&resources, None);
    let core = before.document("api/v1").unwrap().body.clone();
    resources.pop();
    let after = OpenApi::of(&resources, Some(&before));
    assert_eq!(
        after.document("api/v1").unwrap().body.as_ptr(),
        core.as_ptr()
    );
    assert_ne!(before.index(), after.index());
    assert!(after.document("apis/nothing.dev/v1").is_none());
}

#[test]
fn documents_are_found_by_path_and_hash() {
    let documents = super::Documents::default();
    let served = Arc::new(served());
    let ask = |path: &str, hash: Option<&str>, accept: &str| {
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::ACCEPT, accept.parse().unwrap());
        let answer = documents.answer(Arc::clone(&served), path, hash, &headers);
        answer.map(|answer| (answer.status().as_u16(), answer.headers().clone()))
    };
    assert_eq!(
        ask("/openapi/v3", None, "application/json, */*").unwrap().0,
        200
    );
    let (code, headers) = ask("/openapi/v3/api/v1", None, "application/json").unwrap();
    assert_eq!(
        (code, &headers["cache-control"]),
        (200, &"no-cache, private".parse().unwrap())
    );
    let hash = headers["etag"]
        .to_str()
        .unwrap()
        .trim_matches('"')
        .to_owned();
    let (code, headers) = ask("/openapi/v3/api/v1", Some(&hash), "*/*").unwrap();
    assert_eq!(
        (code, &headers["cache-control"]),
        (200, &"public, immutable".parse().unwrap())
    );
    let (code, headers) = ask("/openapi/v3/api/v1", Some("old"), "*/*").unwrap();
    assert_eq!(code, 301);
    assert_eq!(
        headers["location"],
        format!("/openapi/v3/api/v1?hash={hash}")
    );
    assert!(ask("/openapi/v3/apis/nothing.dev/v1", None, "*/*").is_none());
    assert!(ask("/openapi/v4", None, "*/*").is_none());
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (code, headers) = ask("/openapi/v2", None, protobuf).unwrap();
    assert_eq!(
        (code, headers["content-type"].to_str().unwrap()),
        (
            200,
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        )
    );
    assert_eq!(ask("/openapi/v3/api/v1", None, protobuf).unwrap().0, 406);
    assert_eq!(ask("/openapi/v2", None, "text/html").unwrap().0, 406);
    assert!(ask("/openapi/v2", None, "application/json").is_none());
}
