//! Bounds of lists, and messages about many faults.

use serde_json::{Value, json};

use super::content::reached_by;
use super::taints::tainted;
use super::{Row, cluster, in_set};

const USER: &[&str] = &["join:a"];

/// A cluster with taints of these numbers.
pub fn with_taints(numbers: std::ops::Range<usize>) -> Value {
    let taints: Vec<_> = numbers.map(|i| format!("k{i} - NoSelect")).collect();
    tainted(&taints.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A cluster with client configs of these numbers.
pub fn with_configs(numbers: std::ops::Range<usize>) -> Value {
    let urls: Vec<_> = numbers.map(|i| format!("https://h{i}")).collect();
    reached_by(&urls.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The annotation of objects with a part of a stored list that is still too long.
pub const SHRINKS: &str = "tests.berth/shrinks";

/// A cluster with an annotation that takes this many bytes.
fn annotated(bytes: usize) -> Value {
    let mut object = cluster(in_set("a"), json!({}));
    object["metadata"]["annotations"] = json!({ "tests.berth/a": "x".repeat(bytes - 13) });
    object
}

fn with_large_taints(number: usize) -> Value {
    let mut object = with_taints(0..number);
    for taint in object["spec"]["taints"].as_array_mut().unwrap() {
        taint["value"] = "x".repeat(1_000).into();
    }
    object
}

fn with_labels(number: usize) -> Value {
    let labels = (0..number).map(|i| (format!("label-{i:06}"), Value::from("x")));
    let mut object = cluster(in_set("a"), json!({}));
    object["metadata"]["labels"]
        .as_object_mut()
        .unwrap()
        .extend(labels);
    object
}

fn both_texts(mut object: Value, other: Value) -> Value {
    object["metadata"]["labels"] = other["metadata"]["labels"].clone();
    object
}

fn shrinking(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({ SHRINKS: "yes" });
    object
}

fn accepted(mut object: Value) -> Value {
    object["spec"]["hubAcceptsClient"] = true.into();
    object
}

fn both(mut object: Value) -> Value {
    let field = "managedClusterClientConfigs";
    object["spec"][field] = with_configs(0..1_001)["spec"][field].take();
    object
}

pub fn rows() -> Vec<Row> {
    let bad_urls: Vec<_> = (0..30).map(|i| format!("http://h{i}")).collect();
    let mut bad_urls: Vec<_> = bad_urls.iter().map(String::as_str).collect();
    let many_faults = reached_by(&bad_urls);
    bad_urls.insert(0, "http://h0");
    let repeated_faults = reached_by(&bad_urls);
    super::rows(
        "lists",
        [
            ("1,000 taints", USER, None, with_taints(0..1_000), "allow"),
            ("1,001 taints", USER, None, with_taints(0..1_001), "400"),
            (
                "1,001 taints come",
                USER,
                Some(with_taints(0..1)),
                with_taints(0..1_001),
                "400",
            ),
            (
                "1,001 taints stay",
                USER,
                Some(with_taints(0..1_001)),
                with_lease(with_taints(0..1_001)),
                "allow",
            ),
            (
                "1,001 taints become others",
                USER,
                Some(with_taints(0..1_001)),
                with_taints(1..1_002),
                "400",
            ),
            (
                "1,003 taints shrink",
                USER,
                Some(with_taints(0..1_003)),
                shrinking(with_taints(1..1_002)),
                "allow",
            ),
            (
                "1,003 taints shrink to the bound",
                USER,
                Some(with_taints(0..1_003)),
                with_taints(3..1_003),
                "allow",
            ),
            (
                "1,003 taints grow",
                USER,
                Some(with_taints(0..1_003)),
                with_taints(0..1_004),
                "400",
            ),
            (
                "1,001 taints, and the acceptance is taken back",
                &["accept", "join:a"],
                Some(accepted(with_taints(0..1))),
                with_taints(0..1_001),
                "allow",
            ),
            (
                "1,001 taints, and the acceptance is taken back without the permission",
                USER,
                Some(accepted(with_taints(0..1))),
                with_taints(0..1_001),
                "403",
            ),
            (
                "1,000 client configs",
                USER,
                None,
                with_configs(0..1_000),
                "allow",
            ),
            (
                "1,001 client configs",
                USER,
                None,
                with_configs(0..1_001),
                "400",
            ),
            (
                "1,001 client configs stay",
                USER,
                Some(with_configs(0..1_001)),
                with_lease(with_configs(0..1_001)),
                "allow",
            ),
            (
                "1,003 client configs shrink",
                USER,
                Some(with_configs(0..1_003)),
                shrinking(with_configs(1..1_002)),
                "allow",
            ),
            (
                "1,003 client configs grow",
                USER,
                Some(with_configs(0..1_003)),
                with_configs(0..1_004),
                "400",
            ),
            ("64 KiB of text", USER, None, annotated(64 * 1024), "allow"),
            (
                "more than 64 KiB of text",
                USER,
                None,
                annotated(64 * 1024 + 1),
                "400",
            ),
            (
                "900 taints of a kilobyte",
                USER,
                None,
                with_large_taints(900),
                "400",
            ),
            ("12,500 labels", USER, None, with_labels(12_500), "400"),
            (
                "much text grows",
                USER,
                Some(annotated(70_000)),
                annotated(70_001),
                "400",
            ),
            (
                "much text shrinks",
                USER,
                Some(annotated(70_000)),
                annotated(69_999),
                "allow",
            ),
            (
                "much text becomes other text",
                USER,
                Some(annotated(70_000)),
                with_labels(5_200),
                "allow",
            ),
            (
                "more than 64 KiB of text of an accepted cluster",
                &["accept", "join:a"],
                None,
                accepted(annotated(70_000)),
                "allow",
            ),
            (
                "256 KiB of text of an accepted cluster and labels",
                USER,
                Some(accepted(annotated(250_000))),
                accepted(both_texts(annotated(250_000), with_labels(1_500))),
                "400",
            ),
            (
                "much text, and the acceptance is taken back",
                &["accept", "join:a"],
                Some(accepted(annotated(1_000))),
                annotated(70_000),
                "allow",
            ),
            ("both", USER, None, both(with_taints(0..1_001)), "400"),
            ("30 faults", USER, None, many_faults, "400"),
            ("31 faults, one twice", USER, None, repeated_faults, "400"),
            (
                "a bound and another fault",
                USER,
                None,
                with(with_taints(0..1_001), "leaseDurationSeconds", json!(-1)),
                "400",
            ),
            (
                "a bound of client configs and another fault, where no taint changes",
                USER,
                Some(with_configs(0..1)),
                with(with_configs(0..1_001), "leaseDurationSeconds", json!(-1)),
                "400",
            ),
            (
                "a bound and permissions",
                &[],
                None,
                cluster(in_set("b"), with_taints(0..1_001)["spec"].take()),
                "400",
            ),
        ],
    )
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

fn with_lease(object: Value) -> Value {
    with(object, "leaseDurationSeconds", json!(30))
}
