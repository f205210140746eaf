use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ManagedClusterSet;

/// Times that the API server accepts in a field of the format `date-time`, but our types do not.
pub(super) const STRANGE_TIMES: [&str; 8] = [
    "9999-12-31T23:59:59Z",
    "0000-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00-26:00",
    "2026-01-01T00:00:00x5Z",
    "2026-01-01T00:00:00.12345678901234567890Z",
    "2026-01-01t00:00:00ztail",
    "2026-01-01T00:00:00Ttail",
];

pub(super) fn condition_at(type_: &str, time: Value) -> Value {
    json!({"type": type_, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": time})
}

fn sound() -> Value {
    let time = json!("2026-01-02T03:04:05Z");
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": "c1", "uid": "u", "resourceVersion": "7", "generation": 3,
            "labels": {"a": "b", "c": ""}, "annotations": {"d": "e"},
            "finalizers": ["f/g", "h/i"], "creationTimestamp": time, "deletionTimestamp": time,
            "managedFields": [{"manager": "m", "operation": "Update", "time": time, "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": "https://c1", "caBundle": "Y2E="}],
            "taints": [
                {"key": "a", "effect": "NoSelect", "timeAdded": time},
                {"key": "b", "value": "x", "effect": "NoSelectIfNew"},
            ],
        },
        "status": {
            "allocatable": {"cpu": "3500m"},
            "capacity": {"cpu": 4, "memory": "16Gi"},
            "clusterClaims": [{"name": "id.k8s.io", "value": "c1"}],
            "conditions": [condition_at("A", time.clone()), condition_at("B", time.clone())],
            "managedNamespaces": [{"clusterSet": "prod", "name": "shop", "conditions": [condition_at("C", time)]}],
            "version": {"kubernetes": "v1.33.1"},
        },
    })
}

#[test]
fn a_well_formed_object_reads_as_its_type_reads_it() {
    let strict = ManagedCluster::deserialize(sound()).unwrap();
    for read in [cluster(&sound()), field_by_field(&sound())] {
        assert_eq!(read.object, strict);
        assert!(read.unreadable.is_empty(), "{}", read.unreadable);
    }
}

#[test]
fn a_field_that_cannot_be_read_is_named_and_the_rest_is_kept() {
    let strict = ManagedCluster::deserialize(sound()).unwrap();
    type Expected = fn(&mut ManagedCluster);
    let rows: [(&str, Value, Expected); 20] = [
        ("/metadata/labels/a", json!(1), |it| {
            it.metadata.labels.as_mut().unwrap().remove("a");
        }),
        ("/metadata/finalizers/0", json!({}), |it| {
            it.metadata.finalizers.as_mut().unwrap().remove(0);
        }),
        ("/metadata/deletionTimestamp", json!("some day"), |it| {
            it.metadata.deletion_timestamp = Some(Time(NO_TIME));
        }),
        ("/metadata/creationTimestamp", json!([]), |it| {
            it.metadata.creation_timestamp = None;
        }),
        ("/spec", json!("yes"), |it| it.spec = Default::default()),
        ("/spec/hubAcceptsClient", json!("yes"), |it| {
            it.spec.hub_accepts_client = false;
        }),
        (
            "/spec/leaseDurationSeconds",
            json!(3_000_000_000_u32),
            |it| {
                it.spec.lease_duration_seconds = None;
            },
        ),
        (
            "/spec/managedClusterClientConfigs/0",
            json!({"url": 1}),
            |it| {
                it.spec.managed_cluster_client_configs.clear();
            },
        ),
        ("/spec/taints", json!({}), |it| it.spec.taints.clear()),
        ("/spec/taints/0", json!({"key": "a"}), |it| {
            it.spec.taints.remove(0);
        }),
        ("/spec/taints/0/timeAdded", json!(STRANGE_TIMES[0]), |it| {
            it.spec.taints[0].time_added = None;
        }),
        ("/status", json!(1), |it| it.status = None),
        ("/status/capacity/cpu", json!([]), |it| {
            it.status.as_mut().unwrap().capacity.remove("cpu");
        }),
        ("/status/clusterClaims/0", json!(1), |it| {
            it.status.as_mut().unwrap().cluster_claims.clear();
        }),
        ("/status/conditions/0", json!("x"), |it| {
            it.status.as_mut().unwrap().conditions.remove(0);
        }),
        ("/status/conditions/0/status", json!(true), |it| {
            it.status.as_mut().unwrap().conditions.remove(0);
        }),
        (
            "/status/conditions/1/observedGeneration",
            json!("x"),
            |it| {
                it.status.as_mut().unwrap().conditions[1].observed_generation = None;
            },
        ),
        (
            "/status/conditions/1/lastTransitionTime",
            json!(STRANGE_TIMES[0]),
            |it| {
                it.status.as_mut().unwrap().conditions[1].last_transition_time = Time(NO_TIME);
            },
        ),
        (
            "/status/managedNamespaces/0/conditions/0/lastTransitionTime",
            json!(STRANGE_TIMES[2]),
            |it| {
                let status = it.status.as_mut().unwrap();
                status.managed_namespaces[0].conditions[0].last_transition_time = Time(NO_TIME);
            },
        ),
        ("/status/managedNamespaces/0/clusterSet", json!(1), |it| {
            it.status.as_mut().unwrap().managed_namespaces.clear();
        }),
    ];
    for (pointer, value, expected) in rows {
        let mut object = sound();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap();
        match last.parse::<usize>() {
            Ok(index) => parent[index] = value,
            Err(_) => parent[last] = value,
        }
        let read = cluster(&object);
        let mut wanted = strict.clone();
        expected(&mut wanted);
        assert_eq!(read.object, wanted, "{pointer}");
        let named = read.unreadable.to_string();
        let field = pointer[1..]
            .split('/')
            .take(2)
            .collect::<Vec<_>>()
            .join(".");
        assert!(named.starts_with(&field), "{pointer}: {named}");
    }
}

#[test]
fn no_time_that_the_api_server_takes_hides_a_condition() {
    for time in STRANGE_TIMES {
        let mut object = sound();
        object["status"]["conditions"][0]["lastTransitionTime"] = json!(time);
        object["spec"]["taints"][0]["timeAdded"] = json!(time);
        let read = cluster(&object);
        let conditions = read.object.status.unwrap().conditions;
        assert_eq!(conditions.len(), 2, "{time}");
        assert_eq!(read.object.spec.taints.len(), 2, "{time}");
        assert_eq!(
            read.unreadable.to_string(),
            "spec.taints[0].timeAdded, status.conditions[0].lastTransitionTime",
            "{time}"
        );
    }
}

#[test]
fn the_time_of_a_managed_field_decides_nothing() {
    let mut object = sound();
    object["metadata"]["managedFields"][0]["time"] = json!(STRANGE_TIMES[0]);
    let read = cluster(&object);
    assert!(read.object.spec.hub_accepts_client);
    assert!(read.unreadable.is_empty(), "{}", read.unreadable);
}

#[test]
fn the_names_are_bounded_and_are_the_types_own() {
    let mut object = sound();
    object["status"]["conditions"] = vec![json!({"type": {}}); 1000].into();
    object["metadata"]["labels"] = json!({"\u{1b}[31m": 1, "b": 2});
    let named = cluster(&object).unreadable.to_string();
    assert_eq!(
        named,
        "metadata.labels, status.conditions[0], status.conditions[1], status.conditions[2], status.conditions[3] and 996 more"
    );
}

#[test]
fn of_other_kinds_the_conditions_are_spared() {
    let set = |selector: Value, time: &str| {
        json!({
            "metadata": {"name": "s", "managedFields": [{"time": time}]},
            "spec": {"clusterSelector": selector},
            "status": {"conditions": [condition_at("A", json!(time)), 7]},
        })
    };
    let selector = json!({"selectorType": "LabelSelector"});
    let read = with_conditions::<ManagedClusterSet>(&set(selector, STRANGE_TIMES[0])).unwrap();
    assert_eq!(read.object.metadata.name.as_deref(), Some("s"));
    assert_eq!(read.object.status.unwrap().conditions.len(), 1);
    assert_eq!(
        read.unreadable.to_string(),
        "status.conditions[0].lastTransitionTime, status.conditions[1]"
    );
    with_conditions::<ManagedClusterSet>(&set(json!([[]]), STRANGE_TIMES[0])).unwrap_err();
    with_conditions::<ManagedClusterSet>(&json!([1])).unwrap_err();
}

/// JSON values, some of them close to those of the types.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        proptest::sample::select(STRANGE_TIMES.to_vec()).prop_map(Value::from),
        Just(json!("2026-01-02T03:04:05Z")),
    ];
    let key = prop_oneof![
        proptest::sample::select(vec![
            "type",
            "status",
            "key",
            "effect",
            "name",
            "clusterSet",
            "conditions",
            "url",
            "lastTransitionTime",
            "timeAdded",
            "resourceStatus",
            "manifests",
            "resourceMeta",
            "statusFeedback",
        ])
        .prop_map(str::to_owned),
        ".{0,4}",
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// All pointers into a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, it)| (i.to_string(), it))
            .collect(),
        _ => Vec::new(),
    };
    for (step, child) in children {
        let at = format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"));
        places(child, &at, found);
        found.push(at);
    }
}

/// A valid object with other values in a few places.
fn mutilated() -> impl Strategy<Value = Value> {
    let change = (any::<proptest::sample::Index>(), any_json());
    proptest::collection::vec(change, 0..5).prop_map(|changes| {
        let mut object = sound();
        for (place, value) in changes {
            let mut all = Vec::new();
            places(&object, "", &mut all);
            let place = place.get(&all).clone();
            *object.pointer_mut(&place).unwrap() = value;
        }
        object
    })
}

fn laws_hold(object: &Value) -> Result<(), TestCaseError> {
    let read = cluster(object);
    let lenient = field_by_field(object);
    match ManagedCluster::deserialize(object) {
        Ok(strict) => {
            prop_assert_eq!(&read.object, &strict);
            prop_assert!(read.unreadable.is_empty());
        }
        Err(_) => prop_assert_eq!(&read, &lenient),
    }
    // The fields that decide are kept, whatever the rest contains.
    let it = &lenient.object;
    let metadata = &object["metadata"];
    prop_assert_eq!(it.metadata.name.as_deref(), metadata["name"].as_str());
    prop_assert_eq!(it.metadata.uid.as_deref(), metadata["uid"].as_str());
    prop_assert_eq!(
        it.metadata.deletion_timestamp.is_some(),
        !metadata["deletionTimestamp"].is_null()
    );
    prop_assert_eq!(
        it.spec.hub_accepts_client,
        object["spec"]["hubAcceptsClient"] == true
    );
    let texts = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    prop_assert_eq!(
        it.metadata.finalizers.clone().unwrap_or_default(),
        texts(&metadata["finalizers"])
    );
    let labels = metadata["labels"].as_object().into_iter().flatten();
    let labels = labels.filter_map(|(key, it)| Some((key.clone(), it.as_str()?.to_owned())));
    prop_assert_eq!(
        it.metadata.labels.clone().unwrap_or_default(),
        labels.collect::<BTreeMap<_, _>>()
    );
    // Valid conditions and taints are kept, in their order.
    let sound: Vec<Condition> = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|item| item.is_object())
        .filter_map(|item| Condition::deserialize(item).ok())
        .collect();
    let mut kept = it.status.iter().flat_map(|status| &status.conditions);
    for condition in &sound {
        prop_assert!(kept.any(|it| it == condition), "{condition:?}");
    }
    // The result is written as a well-formed object, which reads the same.
    let written = serde_json::to_value(it).unwrap();
    let again = ManagedCluster::deserialize(&written);
    prop_assert!(again.is_ok(), "{again:?}");
    prop_assert!(field_by_field(&written).unreadable.is_empty());
    Ok(())
}

proptest! {
    #[test]
    fn every_mutilated_object_gives_a_cluster(object in mutilated()) {
        laws_hold(&object)?;
    }

    #[test]
    fn every_object_gives_a_cluster(metadata in any_json(), spec in any_json(), status in any_json()) {
        let metadata = if metadata.is_object() { metadata } else { json!({"name": "c1"}) };
        laws_hold(&json!({"metadata": metadata, "spec": spec, "status": status}))?;
    }
}
