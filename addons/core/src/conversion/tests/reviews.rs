//! Whole reviews.

use serde_json::{Value, json};

use crate::conversion::{Conversion, Kind, costs, refuse, respond};

fn request(api_version: &str, to: &str, objects: &Value) -> Value {
    json!({
        "kind": "ConversionReview",
        "apiVersion": api_version,
        "request": {"uid": "u-1", "desiredAPIVersion": to, "objects": objects},
    })
}

fn addon(name: &str) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"namespace": "c1", "name": name},
        "spec": {},
    })
}

fn json_of(conversion: &Conversion) -> Value {
    serde_json::from_slice(&conversion.json).expect("it is JSON")
}

fn failure(api_version: &str, uid: &str, message: &str) -> Value {
    json!({
        "kind": "ConversionReview",
        "apiVersion": api_version,
        "response": {
            "uid": uid,
            "convertedObjects": [],
            "result": {"status": "Failure", "message": message},
        },
    })
}

#[test]
fn all_objects_are_converted_in_their_order_in_both_versions_of_reviews() {
    for api_version in ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"] {
        let objects = json!([addon("one"), addon("two")]);
        let to = "addon.open-cluster-management.io/v1beta1";
        let conversion = respond(request(api_version, to, &objects).to_string().as_bytes());
        let new = |name: &str| {
            let mut object = addon(name);
            object["apiVersion"] = json!(to);
            object
        };
        let expected = json!({
            "kind": "ConversionReview",
            "apiVersion": api_version,
            "response": {
                "uid": "u-1",
                "convertedObjects": [new("one"), new("two")],
                "result": {"status": "Success"},
            },
        });
        assert_eq!(json_of(&conversion), expected);
        assert_eq!(conversion.kind, Some(Kind::ManagedClusterAddOn));
        assert_eq!(conversion.result, Ok(2));
    }
}

#[test]
fn one_invalid_object_fails_the_review() {
    let mut invalid = addon("two");
    invalid["spec"] = json!(1);
    let objects = json!([addon("one"), invalid]);
    let to = "addon.open-cluster-management.io/v1beta1";
    let review = request("apiextensions.k8s.io/v1", to, &objects).to_string();
    let conversion = respond(review.as_bytes());
    let message =
        "ManagedClusterAddOn \"c1/two\": spec: expected an object, found a number".to_owned();
    assert_eq!(
        json_of(&conversion),
        failure("apiextensions.k8s.io/v1", "u-1", &message)
    );
    assert_eq!(conversion.result, Err(message));
}

#[test]
fn what_is_no_review_is_refused_with_its_uid() {
    let v1 = "apiextensions.k8s.io/v1";
    let mut no_request = request(v1, "", &json!([]));
    no_request["request"] = Value::Null;
    let mut other_kind = request(v1, "", &json!([]));
    other_kind["kind"] = json!("AdmissionReview");
    for (review, uid, message) in [
        (
            request(v1, "addon.open-cluster-management.io/v2", &json!([])).to_string(),
            "u-1",
            "request.desiredAPIVersion: \"addon.open-cluster-management.io/v2\" is neither \
             addon.open-cluster-management.io/v1alpha1 nor addon.open-cluster-management.io/v1beta1",
        ),
        (
            request("apiextensions.k8s.io/v2", "", &json!([])).to_string(),
            "u-1",
            "expected a ConversionReview of apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1, found kind \
             \"ConversionReview\" of \"apiextensions.k8s.io/v2\"",
        ),
        (
            other_kind.to_string(),
            "u-1",
            "expected a ConversionReview of apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1, found kind \
             \"AdmissionReview\" of \"apiextensions.k8s.io/v1\"",
        ),
        (
            no_request.to_string(),
            "",
            "the ConversionReview has no request",
        ),
        (
            String::new(),
            "",
            "the request is not a ConversionReview: EOF while parsing a value at line 1 column 0",
        ),
        (
            r#"{"request":{"uid":"cut","objects":[{"#.to_owned(),
            "cut",
            "the request is not a ConversionReview: EOF while parsing an object at line 1 column 36",
        ),
    ] {
        let conversion = respond(review.as_bytes());
        assert_eq!(json_of(&conversion), failure(v1, uid, message), "{review}");
        assert_eq!(conversion.kind, None, "{review}");
    }
}

#[test]
fn a_refusal_has_the_version_of_the_review() {
    let review = request("apiextensions.k8s.io/v1beta1", "", &json!([])).to_string();
    let refused = refuse(review.as_bytes(), "too busy".to_owned());
    assert_eq!(
        json_of(&refused),
        failure("apiextensions.k8s.io/v1beta1", "u-1", "too busy")
    );
}

#[test]
fn what_is_echoed_is_bounded() {
    let mut object = addon("one");
    object["kind"] = json!("é".repeat(1 << 20));
    let to = "addon.open-cluster-management.io/v1beta1";
    let mut review = request("apiextensions.k8s.io/v1", to, &json!([object]));
    review["request"]["uid"] = json!("u".repeat(1 << 20));
    let conversion = respond(review.to_string().as_bytes());
    assert!(conversion.json.len() < 4096, "{}", conversion.json.len());
}

#[test]
fn the_costs_bound_the_response() {
    let registrations = json!([{"registrations": vec![json!({}); 10_000]}]);
    let mut object = addon("one");
    object["status"] = registrations[0].clone();
    let to = "addon.open-cluster-management.io/v1beta1";
    let review = request("apiextensions.k8s.io/v1", to, &json!([object])).to_string();
    let conversion = respond(review.as_bytes());
    assert_eq!(conversion.result, Ok(1));
    // The object, a level of it, and the response are in memory at the same time.
    assert!(3 * conversion.json.len() < costs(review.as_bytes()));
}

/// Recorded from a kube-apiserver 1.36, which serves OCM's CRDs.
#[test]
fn recorded_reviews_get_their_responses() {
    for (request, expected) in [
        (
            &include_bytes!("../../../../../tests/data/conversions/clustermanagementaddon.json")[..],
            include_str!(
                "../../../../../tests/data/conversions/clustermanagementaddon.response.json"
            ),
        ),
        (
            include_bytes!("../../../../../tests/data/conversions/managedclusteraddon.json"),
            include_str!("../../../../../tests/data/conversions/managedclusteraddon.response.json"),
        ),
    ] {
        let expected: Value = serde_json::from_str(expected).expect("it is JSON");
        assert_eq!(json_of(&respond(request)), expected);
    }
}
