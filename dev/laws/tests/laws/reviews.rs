//! Runs the laws of reviews on recorded reviews of a kube-apiserver with random changes.

use std::fs;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

static RECORDED: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/review");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap())
        .collect()
});

/// A valid or invalid value to put into a review.
fn value() -> impl Strategy<Value = Value> {
    const TEXTS: &[&str] = &[
        "",
        "default",
        "set-a",
        "set-b",
        "c1",
        "c8",
        "terminating-1",
        "edge-1",
        "a.b",
        "alice",
        "bob",
        "CREATE",
        "UPDATE",
        "DELETE",
        "LabelSelector",
        "In",
        "Exists",
        "https://hub.example",
        "https:x",
        "0001-01-01T00:00:00Z",
        "2026-11-21T12:00:03Z",
        "2026-11-20T12:00:00Z",
        "NoSelect",
        "admission.k8s.io/v1beta1",
        "\u{1b}[31m",
        "é\"\\\n",
    ];
    prop_oneof![
        4 => select(TEXTS).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        1 => prop_oneof![Just(-1), Just(0), Just(60), Just(86_401), any::<i64>()].prop_map(Value::from),
        3 => select(vec![
            json!(null),
            json!({}),
            json!([]),
            json!([[]]),
            json!({"matchLabels": {"a": "b"}}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
            json!({"\u{1b}[31m": 1}),
            json!([{"key": "k", "effect": "NoSelect"}]),
            json!([{"key": "k", "effect": "NoSelect", "timeAdded": "2026-11-21T12:00:01Z"}]),
            json!({"cluster.open-cluster-management.io/clusterset": "set-b"}),
            json!({"open-cluster-management.io/clusterset": "set-b"}),
        ]),
    ]
}

/// A change at one place of a review.
#[derive(Clone, Debug)]
enum Edit {
    Set(Value),
    Remove,
    /// The value of another place.
    Copy(Index),
    /// An additional field of an object, or item of a list.
    Add(String, Value),
}

fn edit() -> impl Strategy<Value = (Index, Edit)> {
    const KEYS: &[&str] = &[
        "labels",
        "deletionTimestamp",
        "cluster.open-cluster-management.io/clusterset",
        "taints",
        "hubAcceptsClient",
        "leaseDurationSeconds",
        "timeAdded",
        "dryRun",
        "subResource",
        "namespace",
    ];
    let edit = prop_oneof![
        3 => value().prop_map(Edit::Set),
        1 => Just(Edit::Remove),
        2 => any::<Index>().prop_map(Edit::Copy),
        2 => (select(KEYS), value()).prop_map(|(key, value)| Edit::Add(key.to_owned(), value)),
    ];
    (any::<Index>(), edit)
}

/// Returns the pointers to all values except the review itself.
fn places(value: &Value, at: &str, places: &mut Vec<String>) {
    let mut visit = |token: String, value| {
        let at = format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"));
        self::places(value, &at, places);
        places.push(at);
    };
    match value {
        Value::Object(object) => object
            .iter()
            .for_each(|(key, value)| visit(key.clone(), value)),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                visit(i.to_string(), item);
            }
        }
        _ => {}
    }
}

fn apply(review: &mut Value, (at, edit): (Index, Edit)) {
    let mut places = Vec::new();
    self::places(review, "", &mut places);
    if places.is_empty() {
        return;
    }
    let place = &places[at.index(places.len())];
    let value = match edit {
        Edit::Copy(from) => review
            .pointer(&places[from.index(places.len())])
            .unwrap()
            .clone(),
        Edit::Set(value) => value,
        Edit::Remove => {
            let (parent, key) = place.rsplit_once('/').unwrap();
            if let Some(Value::Object(parent)) = review.pointer_mut(parent) {
                parent.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            return;
        }
        Edit::Add(key, value) => {
            match review.pointer_mut(place).unwrap() {
                Value::Object(object) => drop(object.insert(key, value)),
                Value::Array(items) => items.push(value),
                _ => {}
            }
            return;
        }
    };
    *review.pointer_mut(place).unwrap() = value;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_for_reviews_in_which_anything_became_anything(
        recorded in any::<Index>(), edits in vec(edit(), 0..5),
    ) {
        let mut review = recorded.get(&RECORDED).clone();
        for edit in edits {
            apply(&mut review, edit);
        }
        berth_laws::review(review.to_string().as_bytes());
    }

    #[test]
    fn the_laws_hold_for_reviews_with_a_few_other_bytes(
        recorded in any::<Index>(), bytes in vec((any::<Index>(), any::<u8>()), 1..4), end in any::<Index>(),
    ) {
        let mut review = recorded.get(&RECORDED).to_string().into_bytes();
        for (at, byte) in bytes {
            *at.get_mut(&mut review) = byte;
        }
        review.truncate(end.index(review.len() * 4));
        berth_laws::review(&review);
    }

    #[test]
    fn the_laws_hold_for_any_bytes(bytes: Vec<u8>) {
        berth_laws::review(&bytes);
    }
}
