//! Laws, for objects that proptest makes up.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{SIGNER, converted, object};
use crate::conversion::{Kind, Version, convert, respond};

const INSTALL: &str = "addon.open-cluster-management.io/v1alpha1-install-namespace";

fn other(version: Version) -> Version {
    match version {
        Version::V1alpha1 => Version::V1beta1,
        Version::V1beta1 => Version::V1alpha1,
    }
}

/// Any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z\"\\\\é]{0,6}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Fields that no version knows.
fn unknown() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("x-[a-z\"é]{1,4}", any_json(), 0..3).prop_map(|fields| fields.into_iter().collect())
}

/// An object of these fields, some of which are absent, and of unknown ones.
fn fields(known: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let known: Vec<_> = known
        .into_iter()
        .map(|(name, value)| option::of(value).prop_map(move |it| it.map(|it| (name, it))))
        .collect();
    (known, unknown())
        .prop_map(|(known, mut all)| {
            let known = known.into_iter().flatten();
            all.extend(known.map(|(name, value)| (name.to_owned(), value)));
            Value::Object(all)
        })
        .boxed()
}

fn list(items: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    vec(items, 0..4).prop_map(Value::from).boxed()
}

fn text() -> BoxedStrategy<Value> {
    "[a-z\"é]{1,8}".prop_map(Value::from).boxed()
}

fn texts() -> BoxedStrategy<Value> {
    list(text())
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// A reference to a config by name.
fn named() -> BoxedStrategy<Value> {
    let rest = fields(vec![("namespace", text())]);
    (rest, text())
        .prop_map(|(rest, name)| with(rest, "name", name))
        .boxed()
}

/// A name and a namespace without anything else.
fn default_config() -> BoxedStrategy<Value> {
    (text(), option::of(text()))
        .prop_map(|(name, namespace)| match namespace {
            Some(namespace) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": name}),
        })
        .boxed()
}

/// Parts of a ClusterManagementAddOn in v1alpha1, without what v1beta1 cannot say.
fn old_definition() -> BoxedStrategy<Value> {
    let config = fields(vec![
        ("group", text()),
        ("resource", text()),
        ("defaultConfig", default_config()),
    ]);
    fields(vec![
        (
            "spec",
            fields(vec![
                ("supportedConfigs", list(config)),
                ("installStrategy", any_json().boxed()),
            ]),
        ),
        (
            "status",
            fields(vec![("defaultconfigReferences", any_json().boxed())]),
        ),
    ])
}

/// Parts of a ClusterManagementAddOn in v1beta1.
fn new_definition() -> BoxedStrategy<Value> {
    let with_name = |name: BoxedStrategy<Value>| {
        (
            fields(vec![("resource", text()), ("namespace", text())]),
            name,
        )
            .prop_map(|(config, name)| with(config, "name", name))
            .boxed()
    };
    let without = fields(vec![("resource", text())])
        .prop_map(|config| with(config, "name", json!("__reserved_no_default__")));
    let config = prop_oneof![with_name(text()), without].boxed();
    fields(vec![
        ("spec", fields(vec![("defaultConfigs", list(config))])),
        (
            "status",
            fields(vec![("defaultConfigReferences", any_json().boxed())]),
        ),
    ])
}

/// A reference of a status; in v1alpha1 with the copy of the desired name.
fn references(has_copy: bool) -> BoxedStrategy<Value> {
    let reference = (fields(vec![("resource", text())]), option::of(named())).prop_map(
        move |(mut reference, desired)| {
            if let Some(desired) = desired {
                if has_copy {
                    reference["name"] = desired["name"].clone();
                    if let Some(namespace) = desired.get("namespace") {
                        reference["namespace"] = namespace.clone();
                    }
                }
                reference["desiredConfig"] = desired;
            }
            reference
        },
    );
    list(reference.boxed())
}

/// Parts of a ManagedClusterAddOn in v1alpha1, without what v1beta1 cannot say.
fn old_addon() -> BoxedStrategy<Value> {
    let subject = |units: bool| {
        let mut known = vec![("user", text()), ("groups", texts())];
        if units {
            known.push(("organizationUnit", texts()));
        }
        fields(known)
    };
    let registration = |signer: BoxedStrategy<Value>, units| {
        (fields(vec![("subject", subject(units))]), signer)
            .prop_map(|(registration, signer)| with(registration, "signerName", signer))
            .boxed()
    };
    let client = || registration(Just(json!(SIGNER)).boxed(), false);
    let custom = registration(text(), true);
    let drivers = prop_oneof![Just(json!("csr")), Just(json!("token"))];
    let registrations = (vec(custom, 0..3), option::of((client(), drivers)));
    let status = (
        fields(vec![("configReferences", references(true))]),
        registrations,
    );
    let status = status.prop_map(|(mut status, (mut registrations, client))| {
        if let Some((client, driver)) = client {
            registrations.push(client);
            status["kubeClientDriver"] = driver;
        }
        with(status, "registrations", registrations.into())
    });
    let annotations = option::of(btree_map("[a-z]{1,4}", text(), 1..3));
    (
        fields(vec![("installNamespace", text())]),
        status,
        annotations,
    )
        .prop_map(|(spec, status, annotations)| parts(&spec, &status, annotations))
        .boxed()
}

/// Parts of a ManagedClusterAddOn in v1beta1, with one driver for all registrations.
fn new_addon() -> BoxedStrategy<Value> {
    let subject = fields(vec![("user", text()), ("groups", texts())]);
    let custom = fields(vec![(
        "subject",
        fields(vec![("user", text()), ("organizationUnits", texts())]),
    )]);
    let known_only = |mut settings: Value| {
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|name, _| !name.starts_with("x-"));
        }
        settings
    };
    let custom = (custom, text(), unknown()).prop_map(move |(custom, signer, rest)| {
        let custom = with(known_only(custom), "signerName", signer);
        let registration = with(Value::Object(rest), "type", json!("customSigner"));
        with(registration, "customSigner", custom)
    });
    let client = (option::of(subject), unknown()).prop_map(|(subject, rest)| {
        let settings = subject.map_or(json!({}), |subject| json!({"subject": subject}));
        let registration = with(Value::Object(rest), "type", json!("kubeClient"));
        with(registration, "kubeClient", settings)
    });
    let registration = prop_oneof![custom, client].boxed();
    let driver = option::of(prop_oneof![Just("csr"), Just("token")]);
    let status = (
        fields(vec![("configReferences", references(false))]),
        vec(registration, 0..4),
        driver,
    );
    let status = status.prop_map(|(status, mut registrations, driver)| {
        if let Some(driver) = driver {
            for registration in &mut registrations {
                if registration["type"] == "kubeClient" {
                    registration["kubeClient"]["driver"] = json!(driver);
                }
            }
        }
        with(status, "registrations", registrations.into())
    });
    let annotations = option::of(btree_map("[a-z]{1,4}", text(), 1..3));
    (fields(vec![]), status, annotations, option::of(text()))
        .prop_map(|(spec, status, annotations, namespace)| {
            let mut annotations = annotations;
            if let Some(namespace) = namespace {
                let annotations = annotations.get_or_insert_default();
                annotations.insert(INSTALL.to_owned(), namespace);
            }
            parts(&spec, &status, annotations)
        })
        .boxed()
}

fn parts(spec: &Value, status: &Value, annotations: Option<BTreeMap<String, Value>>) -> Value {
    let metadata = annotations.map_or(json!({}), |it| json!({"annotations": it}));
    json!({"spec": spec, "status": status, "metadata": metadata})
}

/// An object of any kind and version that both versions can express.
fn expressible() -> BoxedStrategy<(Version, Value)> {
    let of = |kind, version, parts: BoxedStrategy<Value>| {
        parts.prop_map(move |parts| (version, object(kind, version, &parts)))
    };
    let (definition, addon) = (Kind::ClusterManagementAddOn, Kind::ManagedClusterAddOn);
    prop_oneof![
        of(definition, Version::V1alpha1, old_definition()),
        of(definition, Version::V1beta1, new_definition()),
        of(addon, Version::V1alpha1, old_addon()),
        of(addon, Version::V1beta1, new_addon()),
    ]
    .boxed()
}

/// Metadata without annotations.
fn metadata(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("annotations");
    }
    metadata
}

proptest! {
    #[test]
    fn there_and_back_is_the_same((version, object) in expressible()) {
        let there = converted(&object, other(version));
        prop_assert_eq!(there["apiVersion"].as_str(), Some(&*other(version).api_version()));
        prop_assert_eq!(metadata(&there), metadata(&object));
        prop_assert_eq!(converted(&there, version), object);
    }

    /// After one conversion, both versions say the same: nothing more is lost.
    #[test]
    fn what_was_converted_once_is_not_changed_by_more_conversions(
        kind in prop_oneof![Just(Kind::ClusterManagementAddOn), Just(Kind::ManagedClusterAddOn)],
        version in prop_oneof![Just(Version::V1alpha1), Just(Version::V1beta1)],
        parts in prop_oneof![old_definition(), new_definition(), old_addon(), new_addon(), any_json().boxed()],
    ) {
        let object = object(kind, version, &parts);
        // An object of any shape has an error or is converted.
        if let Ok((_, json)) = convert(&object.to_string(), other(version)) {
            let there: Value = serde_json::from_str(&json).expect("it is JSON");
            let back = converted(&there, version);
            let again = converted(&back, other(version));
            prop_assert_eq!(converted(&again, version), back);
        }
    }

    /// No bytes make it panic, and each response is a ConversionReview.
    #[test]
    fn every_request_gets_a_response(
        body in prop_oneof![
            vec(any::<u8>(), 0..64),
            any_json().prop_map(|json| json.to_string().into_bytes()),
            any_json().prop_map(|objects| {
                let request = json!({"uid": "u", "desiredAPIVersion": "addon.open-cluster-management.io/v1beta1", "objects": objects});
                let review = json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request});
                review.to_string().into_bytes()
            }),
        ],
    ) {
        let response: Value = serde_json::from_slice(&respond(&body).json).expect("it is JSON");
        prop_assert_eq!(&response["kind"], "ConversionReview");
    }
}
