#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::resources::{Verb, builtin};

/// An encoded message, for tests: fields are (number, bytes).
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    field.extend_from_slice(content);
    field
}

fn object(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let type_meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, message)].concat()
}

#[test]
fn what_kubectl_sends_is_read() {
    // kubectl create configmap a --from-literal=k=v
    let sent = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x1b\n\x11\n\x01a\x12\0\x1a\0\"\0*\x002\08\0B\0\x12\x06\n\x01k\x12\x01v\x1a\0\"\0";
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"},
    });
    assert_eq!(decode(sent), Ok(expected));
}

#[test]
fn bytes_times_and_pointers_are_what_they_are_in_json() {
    // A Secret: data, immutable = false.
    let entry = [bytes(1, b"k"), bytes(2, b"\xff")].concat();
    let time = [vec![8], vec![0x80, 0xa0, 0x9e, 0xe0, 0x06]].concat();
    let metadata = bytes(8, &time);
    let message = [bytes(1, &metadata), bytes(2, &entry), vec![5 << 3, 0]].concat();
    let read = decode(&object("v1", "Secret", &message)).unwrap();
    assert_eq!(read["data"], json!({"k": "/w=="}));
    assert_eq!(read["immutable"], json!(false));
    assert_eq!(
        read["metadata"]["creationTimestamp"],
        json!("2027-06-08T06:09:04Z")
    );

    // A Lease: holderIdentity, leaseDurationSeconds, renewTime.
    let micro = [vec![8, 0x80, 0xa0, 0x9e, 0xe0, 0x06, 16, 0xc0, 0x84, 0x3d]].concat();
    let spec = [bytes(1, b"me"), vec![2 << 3, 15], bytes(4, &micro)].concat();
    let read = decode(&object("coordination.k8s.io/v1", "Lease", &bytes(2, &spec))).unwrap();
    assert_eq!(
        read["spec"],
        json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2027-06-08T06:09:04.001000Z"})
    );
}

#[test]
fn lists_maps_of_lists_and_inlined_messages_are_read() {
    // A SubjectAccessReview: groups, extra.
    let extra = [
        bytes(1, b"x"),
        bytes(2, &[bytes(1, b"1"), bytes(1, b"2")].concat()),
    ]
    .concat();
    let spec = [bytes(4, b"g"), bytes(4, b"h"), bytes(5, &extra)].concat();
    let read = decode(&object(
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        &bytes(2, &spec),
    ));
    assert_eq!(
        read.unwrap()["spec"],
        json!({"groups": ["g", "h"], "extra": {"x": ["1", "2"]}})
    );

    // A webhook's rules: the rule is inlined.
    let rule = bytes(3, b"pods");
    let rules = [bytes(1, b"CREATE"), bytes(2, &rule)].concat();
    let webhook = bytes(3, &rules);
    let read = decode(&object(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        &bytes(2, &webhook),
    ));
    assert_eq!(
        read.unwrap()["webhooks"][0]["rules"],
        json!([{"operations": ["CREATE"], "resources": ["pods"]}])
    );
}

#[test]
fn what_is_no_object_is_refused() {
    assert_eq!(decode(b"{}"), Err(DecodeError::Magic));
    assert_eq!(
        decode(&object("v1", "Pod", b"")).unwrap_err().to_string(),
        "no kind \"Pod\" is registered for version \"v1\" in protobuf"
    );
    let cut = object("v1", "ConfigMap", &bytes(1, b"\x0a\x05a"));
    assert_eq!(decode(&cut), Err(Malformed::Truncated.into()));
    let wrong = object("v1", "ConfigMap", &[1 << 3, 1]);
    assert_eq!(decode(&wrong), Err(Malformed::WireType.into()));
}

#[test]
fn options_of_deletions_are_meta() {
    let read = decode(&object("v1", "DeleteOptions", &bytes(4, b"Orphan"))).unwrap();
    assert_eq!(read["propagationPolicy"], "Orphan");
    assert!(decode(&object("policy/v1", "DeleteOptions", b"")).is_ok());
}

#[test]
fn every_message_that_is_named_is_known() {
    let special_names = [
        "ExtraValue",
        "apiextensions.JSON",
        "apiextensions.JSONSchemaPropsOrArray",
        "apiextensions.JSONSchemaPropsOrBool",
        "apiextensions.JSONSchemaPropsOrStringArray",
        "intstr.IntOrString",
        "meta.FieldsV1",
        "meta.MicroTime",
        "meta.Time",
        "resource.Quantity",
        "runtime.RawExtension",
    ];
    let lines = include_str!("messages.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#')).count();
    assert_eq!(MESSAGES.len(), lines, "each line can be read");
    for (name, message) in MESSAGES.iter() {
        for slot in message.0.values() {
            if let Sort::Message(named) = slot.sort {
                let known = MESSAGES.contains_key(named) || special_names.contains(&named);
                assert!(known, "{named} in {name}");
            }
        }
    }
}

#[test]
fn every_built_in_kind_can_be_sent() {
    let mut all = builtin::all();
    // What there is none of, nobody sends.
    all.retain(|resource| resource.verbs.contains(&Verb::Create));
    for resource in all {
        let api_version = resource.api_version();
        assert!(
            message_of(&api_version, &resource.kind).is_some(),
            "{resource:?}"
        );
        for part in &resource.subresources {
            assert!(
                message_of(&part.api_version(), &part.kind).is_some(),
                "{resource:?}/{}",
                part.name
            );
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(message in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100)) {
        let _ = (decode(&message), decode(&object("v1", "Secret", &message)));
    }
}
