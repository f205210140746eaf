//! What kube-apiserver 1.36 did with sequences of writes, and what is done here.

#![allow(clippy::unwrap_used, reason = "tests")]

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Event, Namespace, Node, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::resources::schema::Type;

/// The schema of a kind in the goldens.
pub(crate) fn schema(kind: &str) -> Schema {
    match kind {
        "CertificateSigningRequest" => Schema::of::<CertificateSigningRequest>(),
        "ClusterRole" => Schema::of::<ClusterRole>(),
        "ClusterRoleBinding" => Schema::of::<ClusterRoleBinding>(),
        "ConfigMap" => Schema::of::<ConfigMap>(),
        "CustomResourceDefinition" => Schema::of::<CustomResourceDefinition>(),
        "Deployment" => Schema::of::<Deployment>(),
        "Event" => Schema::of::<Event>(),
        "Lease" => Schema::of::<Lease>(),
        "Namespace" => Schema::of::<Namespace>(),
        "Node" => Schema::of::<Node>(),
        "Secret" => Schema::of::<Secret>(),
        "Service" => Schema::of::<Service>(),
        "ServiceAccount" => Schema::of::<ServiceAccount>(),
        "ValidatingWebhookConfiguration" => Schema::of::<ValidatingWebhookConfiguration>(),
        "Widget" => {
            let widget: Value = serde_json::from_str(include_str!("goldens/widget.json")).unwrap();
            Schema::read(&widget, "").unwrap()
        }
        _ => panic!("no schema of {kind}"),
    }
}

fn object(value: &Value) -> Object {
    Object::try_from(value.clone()).unwrap()
}

fn ignored(kind: &str, subresource: &str) -> &'static [&'static [&'static str]] {
    match (kind, subresource) {
        ("CertificateSigningRequest", "") => &[&["spec"], &["status"]],
        ("CertificateSigningRequest", "approval") => &[&["spec"], &["status", "certificate"]],
        ("CertificateSigningRequest", "status") => &[&["spec"], &["status", "conditions"]],
        ("Widget", "status") => &[&["metadata"], &["spec"]],
        (_, "status") => &[&["spec"]],
        _ => &[&["status"]],
    }
}

/// Fills in defaults, and drops what is not kept.
fn settle(value: &mut Value, schema: &Schema, root: bool) {
    match value {
        // A Go string cannot be null.
        Value::Null if schema.r#type == Type::String && !schema.nullable => *value = json!(""),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let known = schema.properties.get(name).or(schema.additional.as_deref());
                if let Some(schema) = known {
                    settle(value, schema, false);
                }
            }
            for (name, schema) in &schema.properties {
                if let Some(default) = &schema.default {
                    fields.entry(name).or_insert_with(|| default.clone());
                }
            }
            if !root && !schema.properties.is_empty() && !schema.preserve_unknown {
                fields.retain(|name, _| schema.properties.contains_key(name));
            }
        }
        Value::Array(items) => {
            for item in items {
                settle(item, schema.items.as_ref().unwrap(), false);
            }
        }
        _ => {}
    }
}

/// Go structs keep no nulls, and no empty lists and maps.
fn without_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        for (name, value) in fields.iter_mut() {
            if name != "managedFields" {
                without_empty(value);
            }
        }
        fields.retain(|_, value| !value.is_null() && *value != json!({}) && *value != json!([]));
    }
}

/// Of errors other than conflicts, the words are the real server's own.
fn told(mut outcome: Value) -> Value {
    if outcome["code"] != 409
        && let Some(fields) = outcome.as_object_mut()
    {
        fields.remove("message");
        fields.remove("causes");
    }
    outcome
}

#[test]
fn sequences_of_writes_end_as_on_kube_apiserver() {
    let sequences: Vec<Value> =
        serde_json::from_str(include_str!("goldens/sequences.json")).unwrap();
    let mut wrong = Vec::new();
    for sequence in &sequences {
        let kind = sequence["kind"].as_str().unwrap();
        let schema = schema(kind);
        let mut live: Option<Object> = None;
        for (index, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let at = format!("{} [{index}]", sequence["name"]);
            let (expected, actual) = play(step, kind, &schema, live.as_ref());
            if told(expected.clone()) != told(actual.clone()) {
                wrong.push(format!("{at}\nexpected {expected}\nactual   {actual}"));
            }
            if let Some(result) = step.get("result") {
                live = Some(object(result));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The real one names managers in any order.
fn in_order(mut error: Value) -> Value {
    if let Some(Value::Array(causes)) = error.get_mut("causes") {
        causes.sort_by_cached_key(ToString::to_string);
    }
    error
}

fn play(step: &Value, kind: &str, schema: &Schema, live: Option<&Object>) -> (Value, Value) {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    let manager = Manager {
        name: text("manager"),
        api_version: text("apiVersion"),
        kind,
        custom: kind == "Widget",
        subresource: text("subresource"),
        ignored: ignored(kind, text("subresource")),
        now: text("now").parse().unwrap(),
    };
    let live = live.map(|live| {
        let mut live = live.clone();
        live.set_type(manager.api_version, kind);
        live
    });
    let owners = |object: &Value| object["metadata"]["managedFields"].clone();
    if text("do") != "apply" {
        let mut new = object(&step["result"]);
        match &step["sent"] {
            Value::Null => drop(new.remove(&["metadata", "managedFields"])),
            sent => new.set(&["metadata", "managedFields"], sent.clone()),
        }
        // What the server fills in after it has given the fields to their owner.
        for path in step["later"].as_array().into_iter().flatten() {
            let path: Vec<&str> = path
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            new.remove(&path);
        }
        track(live.as_ref(), &mut new, schema, &manager);
        if let Some(live) = &live {
            keep_times(live, &mut new);
        }
        return (owners(&step["result"]), owners(&new.into_value()));
    }

    let configuration = object(&step["body"]);
    let applied = apply(
        live.as_ref(),
        &configuration,
        schema,
        &manager,
        step["force"] == true,
    );
    match (applied, step.get("result")) {
        (Ok(mut applied), Some(result)) => {
            let mut expected = result.clone();
            // What is ignored comes from the stored object.
            let owned = applied.at(&["metadata", "managedFields"]).cloned();
            for path in manager.ignored {
                let kept = live.as_ref().and_then(|live| live.at(path).cloned());
                match kept {
                    Some(kept) => applied.set(path, kept),
                    None => drop(applied.remove(path)),
                }
            }
            if let Some(owned) = owned {
                applied.set(&["metadata", "managedFields"], owned);
            }
            let mut actual = applied.into_value();
            settle(&mut actual, schema, true);
            if kind == "Widget" {
                // Metadata is a Go struct in custom resources, too.
                without_empty(&mut actual["metadata"]);
            } else {
                without_empty(&mut actual);
            }
            let mut applied = object(&actual);
            if let Some(live) = &live {
                keep_times(live, &mut applied);
            }
            let actual = applied.into_value();
            let exact = [
                "ClusterRole",
                "ConfigMap",
                "Lease",
                "ServiceAccount",
                "Widget",
            ];
            if !exact.contains(&kind) {
                // The server has filled in more.
                return (owners(&expected), owners(&actual));
            }
            if kind != "Widget" {
                without_empty(&mut expected);
            }
            (expected, actual)
        }
        // The server found something else to be wrong, later.
        (Ok(_), None) if step["error"]["code"] == 422 => (Value::Null, Value::Null),
        (Ok(applied), None) => (step["error"].clone(), applied.into_value()),
        (Err(error), _) => {
            let mut actual = json!({
                "code": error.code.as_u16(),
                "reason": error.reason,
                "message": error.message,
            });
            let status = error.status();
            if let Some(causes) = status["details"].get("causes") {
                actual["causes"] = causes.clone();
            }
            let expected = step.get("error").or(step.get("result")).unwrap();
            (in_order(expected.clone()), in_order(actual))
        }
    }
}

fn manager(name: &'static str) -> Manager<'static> {
    Manager {
        name,
        api_version: "play.test/v1",
        kind: "Widget",
        custom: true,
        subresource: "",
        ignored: &[&["status"]],
        now: Timestamp::UNIX_EPOCH,
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        "[a-c]".prop_map(Value::from)
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A Widget that says something about some of its fields.
fn configuration() -> impl Strategy<Value = Object> {
    use proptest::collection::{btree_map, vec};
    use proptest::option::of;
    let text = "[a-c]{0,1}";
    let port = (of("TCP|UDP"), of(text), of(btree_map("[a-c]", text, 0..3)));
    let ports = btree_map(1..6, port, 0..5).prop_map(|ports| {
        let ports = ports.into_iter().map(|(port, (protocol, name, opts))| {
            let mut item = json!({ "port": port });
            if let Some(protocol) = protocol {
                item["protocol"] = protocol.into();
            }
            if let Some(name) = name {
                item["name"] = name.into();
            }
            if let Some(opts) = opts {
                item["opts"] = json!(opts);
            }
            item
        });
        ports.collect::<Vec<_>>()
    });
    let ports = ports.prop_shuffle().prop_map(Value::Array);
    let fields = (
        of(vec("[a-g]", 0..6)),
        of(ports),
        of(btree_map("[a-c]", text, 0..3)),
        of(anything()),
        of(vec("[a-c]", 0..3)),
    );
    (fields, of(btree_map("[a-c]", text, 0..3))).prop_map(
        |((tags, ports, labels, free, words), meta)| {
            let mut widget = object(
                &json!({"apiVersion": "play.test/v1", "kind": "Widget", "metadata": {"name": "w"}}),
            );
            let mut put = |path: &[&str], value: Option<Value>| {
                if let Some(value) = value {
                    widget.set(path, value);
                }
            };
            let tags = tags.map(|tags| {
                let mut seen = std::collections::BTreeSet::new();
                tags.into_iter()
                    .filter(|tag| seen.insert(tag.clone()))
                    .collect::<Vec<_>>()
            });
            put(&["spec", "tags"], tags.map(|tags| json!(tags)));
            put(&["spec", "ports"], ports);
            put(&["spec", "labels"], labels.map(|labels| json!(labels)));
            put(
                &["spec", "free"],
                free.filter(|free| free.is_object() || free.is_null()),
            );
            put(&["spec", "words"], words.map(|words| json!(words)));
            put(&["metadata", "labels"], meta.map(|labels| json!(labels)));
            widget
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn applied_a_second_time_nothing_changes(
        others in proptest::collection::vec((0..3_usize, configuration()), 0..4),
        mut mine in configuration(),
    ) {
        // Who owns nothing is forgotten, and then all that is there belongs to `before-first-apply`.
        mine.set(&["spec", "size"], 1);
        let schema = schema("Widget");
        let mut live = None;
        for (who, theirs) in &others {
            let who = manager(["a", "b", "c"][*who]);
            live = Some(apply(live.as_ref(), theirs, &schema, &who, true).unwrap());
        }
        let once = apply(live.as_ref(), &mine, &schema, &manager("me"), true).unwrap();
        let later = Manager {
            now: "2030-01-01T00:00:00Z".parse().unwrap(),
            ..manager("me")
        };
        // There is nothing to force: whatever it says is so.
        let twice = apply(Some(&once), &mine, &schema, &later, false).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_nobody_else_owns_goes_with_its_owner(
        mut theirs in configuration(),
        mut mine in configuration(),
        nothing in Just(json!({"apiVersion": "play.test/v1", "kind": "Widget", "metadata": {"name": "w"}})),
    ) {
        let schema = schema("Widget");
        let apply = |live: Option<&Object>, what: &Object, who: &'static str| {
            apply(live, what, &schema, &manager(who), true).unwrap()
        };
        theirs.set(&["spec", "size"], 1);
        mine.set(&["spec", "size"], 2);
        let nothing = object(&nothing);
        let both = apply(Some(&apply(None, &theirs, "them")), &mine, "me");
        let neither = apply(Some(&apply(Some(&both), &nothing, "them")), &nothing, "me");
        prop_assert_eq!(neither.at(&["metadata", "managedFields"]), None);
        for path in ["spec", "metadata"] {
            let mut left = neither.at(&[path]).cloned().unwrap_or_default();
            without_empty(&mut left);
            // Empty lists of items are nobody's.
            prop_assert!(left == Value::Null || left == json!({}) || left == json!({"name": "w"}), "{}", left);
        }
    }

    #[test]
    fn nothing_written_is_too_strange_to_track(old in anything(), new in anything(), sent in anything()) {
        let schema = schema("Widget");
        let object = |spec: Value| object(&json!({"metadata": {"name": "w"}, "spec": spec}));
        let old = object(json!({"ports": old.clone(), "tags": old.clone(), "free": old}));
        let mut new = object(json!({"ports": new.clone(), "tags": new.clone(), "free": new}));
        new.set(&["metadata", "managedFields"], sent);
        let mut created = new.clone();
        track(None, &mut created, &schema, &manager("a"));
        track(Some(&created), &mut new, &schema, &manager("b"));
        track(Some(&old), &mut new, &schema, &manager("b"));
    }
}
