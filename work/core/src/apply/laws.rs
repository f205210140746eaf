//! Laws, for any manifest and any object.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ApplyOutcome, Applying, Response, Settled, Step};
use crate::testing::{Server, apply, drive, mapped, owner, settled, strategy};

/// Small values of any shape, with the lists that the model merges.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..3).prop_map(Value::from),
        prop_oneof![Just("a"), Just("b"), Just("1"), Just("")].prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            fields(inner.clone()),
            containers(inner),
        ]
    })
}

fn fields(inner: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("a"),
        Just("b"),
        Just("data"),
        Just("rules"),
        Just("replicas"),
        Just("nodeSelector")
    ];
    prop::collection::btree_map(name.prop_map(str::to_owned), inner, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// A list that is merged by name.
fn containers(inner: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let names = prop::sample::subsequence(vec!["x", "y", "z"], 0..3);
    (names, inner).prop_map(|(names, inner)| {
        let items = names
            .into_iter()
            .map(|name| json!({"name": name, "image": inner}));
        json!({"containers": items.collect::<Vec<_>>()})
    })
}

fn object() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just(("v1", "ConfigMap")),
        Just(("v1", "Secret")),
        Just(("v1", "Service")),
        Just(("v1", "Pod")),
        Just(("rbac.authorization.k8s.io/v1", "ClusterRole")),
        Just(("rbac.authorization.k8s.io/v1", "RoleBinding")),
        Just(("apiextensions.k8s.io/v1", "CustomResourceDefinition")),
        Just((
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration"
        )),
        Just(("storage.k8s.io/v1", "StorageClass")),
        Just(("storage.k8s.io/v1", "CSIDriver")),
        Just(("apps/v1", "Deployment")),
        Just(("example.com/v1", "Widget")),
    ];
    let labels = || {
        let key = prop_oneof![Just("l"), Just("m"), Just("l-")].prop_map(str::to_owned);
        prop::collection::btree_map(key, "[ab]", 0..3)
    };
    (kind, fields(value()), fields(value()), labels(), labels()).prop_map(
        |((version, kind), spec, content, labels, annotations)| {
            let mut object = json!({
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": "a", "namespace": "n", "labels": labels, "annotations": annotations},
            });
            if kind == "Deployment" || kind == "Widget" || kind == "Service" {
                object["spec"] = spec;
            } else {
                for (name, value) in content.as_object().unwrap() {
                    object[name] = value.clone();
                }
            }
            object
        },
    )
}

fn how() -> impl Strategy<Value = Value> {
    let ignored = prop_oneof![
        Just(json!([])),
        Just(json!([{"condition": "OnSpokePresent", "jsonPaths": [".spec.a"]}])),
        Just(json!([{"condition": "OnSpokeChange", "jsonPointers": ["/spec/replicas"]}])),
        Just(
            json!([{"condition": "OnSpokePresent", "jsonPointers": ["/spec/a/0", "/spec/nodeSelector/a"]}])
        ),
    ];
    prop_oneof![
        4 => Just(json!({"type": "Update"})),
        1 => Just(json!({"type": "CreateOnly"})),
        1 => Just(json!({"type": "ReadOnly"})),
        4 => (any::<bool>(), ignored).prop_map(|(force, ignored)| {
            json!({"type": "ServerSideApply", "serverSideApply": {"force": force, "ignoreFields": ignored}})
        }),
    ]
}

/// The same kind as another object, for a live object.
fn like(manifest: &Value, mut live: Value) -> Value {
    live["apiVersion"] = manifest["apiVersion"].clone();
    live["kind"] = manifest["kind"].clone();
    live
}

fn admission() -> impl Strategy<Value = fn(&mut Value)> {
    prop_oneof![
        3 => Just((|_: &mut Value| {}) as fn(&mut Value)),
        1 => Just((|object: &mut Value| object["spec"] = json!({"a": "fixed"})) as fn(&mut Value)),
        1 => Just((|object: &mut Value| object["metadata"]["labels"] = json!({"l": "forced"})) as fn(&mut Value)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_pair_settles_and_a_second_pass_writes_nothing(
        manifest in object(),
        live in prop::option::of((object(), prop_oneof![Just("kubectl"), Just("work-agent")])),
        earlier in prop::option::of(object()),
        how in how(),
        admission in admission(),
        refuse_patch in prop::bool::weighted(0.2),
        knows_earlier in any::<bool>(),
    ) {
        let mut server = match live {
            None => Server::empty(),
            Some((live, manager)) => Server::with(&like(&manifest, live), manager),
        };
        // What was applied before, by this agent.
        let earlier = earlier.map(|earlier| like(&manifest, earlier));
        if let Some(earlier) = &earlier
            && Applying::new(mapped(earlier), None, owner("w"), Settled::default(), None).is_ok()
        {
            apply(&mut server, earlier, json!({"type": "Update"}), owner("w"), Settled::default());
        }
        server.admission = admission;
        server.refuse_patch = refuse_patch;
        let strategy = strategy(how.clone());
        let before = earlier.filter(|_| knows_earlier).map(|earlier| mapped(&earlier));
        let machine = Applying::new(mapped(&manifest), strategy.as_ref(), owner("w"), Settled::default(), before.as_ref());
        let Ok(mut machine) = machine else { return Ok(()) };
        let (outcome, requests) = drive(&mut machine, &mut server);
        prop_assert!(requests.len() <= 8, "{:?}", requests);
        if let ApplyOutcome::Applied(_) = outcome {
            let remembered = settled(outcome);
            let (again, requests) = apply(&mut server, &manifest, how, owner("w"), remembered.clone());
            prop_assert_eq!(requests, ["get"], "{:?}", again);
            let machine = Applying::new(mapped(&manifest), strategy.as_ref(), owner("w"), remembered, None);
            let verdict = machine.unwrap().differs(&server.live().unwrap());
            prop_assert!(!verdict.write, "{:?}", verdict);
        }
    }

    // A law of the model of the API server, which the other laws stand on.
    #[test]
    fn an_apply_keeps_the_identity_of_the_object(
        live in object(),
        body in object(),
        bare in any::<bool>(),
        manager in prop_oneof![Just("kubectl"), Just("work-agent")],
    ) {
        let mut server = Server::with(&live, "kubectl");
        let mut body = like(&live, body);
        if bare {
            body["metadata"] = json!({"name": "a", "namespace": "n"});
        }
        let before = server.live().unwrap();
        let manager = manager.to_owned();
        let step = Step::<()>::Apply { manager, force: true, body };
        let response = server.answer(step);
        let Response::Written(after) = &response else {
            panic!("{response:?}");
        };
        for field in ["name", "namespace", "uid"] {
            prop_assert_eq!(&after["metadata"][field], &before["metadata"][field], "{}", field);
        }
        prop_assert_eq!(&after["metadata"]["resourceVersion"], &json!(server.version().to_string()));
    }

    #[test]
    fn no_manifest_and_no_object_panic(manifest in object(), live in value(), metadata in value(), fields in value()) {
        let mut live = live;
        if live.is_object() {
            live["metadata"] = metadata;
            if live["metadata"].is_object() {
                live["metadata"]["managedFields"] = json!([{"manager": "work-agent", "operation": "Apply", "fieldsV1": fields}]);
            }
        }
        for how in [json!(null), json!({"type": "ServerSideApply"})] {
            if let Ok(mut machine) = Applying::new(mapped(&manifest), strategy(how).as_ref(), owner("w"), Settled::default(), None) {
                let _ = machine.differs(&live);
                let _ = machine.next(Some(Response::Found(live.clone())));
            }
        }
    }
}
