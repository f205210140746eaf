//! The tables: each row is a write and its decision, as in `rules/tests`.

mod acceptance;
pub mod bindings;
mod clock;
pub mod content;
mod duplicates;
pub mod facts;
pub mod lists;
mod membership;
pub mod requests;
mod reserved_names;
pub mod selectors;
pub mod taints;
mod words;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use facts::{
    ACCEPTED, BINDINGS, JUST_ACCEPTED, PREFIXED_WITH_NAMESPACE, TERMINATING, WORKSPACE,
};

use crate::compare::{Comparison, compare};
use crate::differences;
use crate::hub::Hub;
use crate::users::{User, grant};
use crate::write::{Verb, Write};

/// A write and its decision.
pub struct Row {
    pub sentence: String,
    pub user: User,
    pub verb: Verb,
    /// The stored object; `None` for a new one.
    pub old: Option<Value>,
    /// Its labels, annotations and spec are written. Without a name it gets one.
    pub new: Value,
    /// What the gate decides, in short.
    pub expected: &'static str,
}

/// A row of a table: sentence, permissions, stored object, written object, decision.
pub type Cells = (
    &'static str,
    &'static [&'static str],
    Option<Value>,
    Value,
    &'static str,
);

/// A write of a table that can be sent.
pub struct Prepared {
    pub sentence: String,
    pub write: Write,
    pub expected: &'static str,
}

/// The rows of a table, with this name in front of their sentences.
pub fn rows<const N: usize>(table: &str, cells: [Cells; N]) -> Vec<Row> {
    cells
        .into_iter()
        .map(|(sentence, permissions, old, new, expected)| Row {
            sentence: format!("{table}: {sentence}"),
            user: User::new(permissions),
            verb: if old.is_some() {
                Verb::Replace
            } else {
                Verb::Create
            },
            old,
            new,
            expected,
        })
        .collect()
}

/// Prepares the hub for all tables, and returns their writes.
pub async fn prepared(hub: &Hub) -> Vec<Prepared> {
    facts::store(hub).await;
    let rows = [
        acceptance::rows(),
        bindings::rows(),
        clock::rows(),
        content::rows(),
        duplicates::rows(),
        lists::rows(),
        membership::rows(),
        requests::rows(),
        reserved_names::rows(),
        selectors::rows(),
        taints::rows(),
        words::rows(),
    ];
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    grant(&hub.admin, rows.iter().map(|row| &row.user)).await;
    let mut prepared = Vec::new();
    for (number, row) in rows.into_iter().enumerate() {
        prepared.push(prepare(hub, row, number).await);
    }
    prepared
}

async fn prepare(hub: &Hub, row: Row, number: usize) -> Prepared {
    let mut object = row.new;
    let metadata = &mut object["metadata"];
    if metadata["name"].is_null() && metadata["generateName"].is_null() {
        metadata["name"] = format!("c{number}").into();
    }
    if let Some(mut old) = row.old {
        if old["metadata"]["name"].is_null() {
            old["metadata"]["name"] = object["metadata"]["name"].clone();
        }
        let stored = hub.store(&old).await;
        if row.verb == Verb::Replace {
            object = changed(stored, &object);
        }
    }
    Prepared {
        sentence: row.sentence,
        write: Write {
            user: row.user,
            verb: row.verb,
            object,
        },
        expected: row.expected,
    }
}

/// The stored object with the labels, annotations and spec of another.
pub fn changed(mut stored: Value, new: &Value) -> Value {
    for field in ["labels", "annotations"] {
        let metadata = stored["metadata"].as_object_mut().unwrap();
        metadata.remove(field);
        if !new["metadata"][field].is_null() {
            metadata.insert(field.to_owned(), new["metadata"][field].clone());
        }
    }
    if !new["metadata"]["managedFields"].is_null() {
        stored["metadata"]["managedFields"] = new["metadata"]["managedFields"].clone();
    }
    if !new["spec"].is_null() {
        stored["spec"] = new["spec"].clone();
    }
    stored
}

/// A ManagedCluster with these labels and this spec.
pub fn cluster(labels: Value, spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "labels": labels },
        "spec": spec,
    })
}

/// The label that adds a cluster to a set.
pub fn in_set(set: &str) -> Value {
    json!({ berth_api::labels::CLUSTER_SET: set })
}

/// The object, which is being deleted.
pub fn deleting(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into();
    object
}

/// The object with a name.
pub fn called(mut object: Value, name: &str) -> Value {
    object["metadata"]["name"] = name.into();
    object
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_row_is_decided_equally() {
    let Some(hub) = Hub::shared().await else {
        return;
    };
    let prepared = prepared(&hub).await;
    let mut failures = Vec::new();
    let mut seen: BTreeMap<&str, usize> = differences::ALL
        .iter()
        .map(|difference| (difference.name, 0))
        .collect();
    for Prepared {
        sentence,
        write,
        expected: decision,
    } in &prepared
    {
        let [gate, policies] = hub.outcomes(write).await;
        if gate.short() != *decision {
            failures.push(format!(
                "{sentence}: {} instead of {decision}: {gate:?}",
                gate.short()
            ));
        }
        match compare(write, &gate, &policies) {
            Comparison::Equal(recognised) => {
                for name in recognised {
                    *seen.entry(name).or_default() += 1;
                }
            }
            Comparison::Different(text) => failures.push(format!("{sentence}:\n{text}")),
        }
    }
    println!("{} rows; documented differences: {seen:#?}", prepared.len());
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    for (name, number) in seen {
        assert!(number > 0, "no case has the documented difference: {name}");
    }
}
