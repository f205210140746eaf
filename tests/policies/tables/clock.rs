//! The policies' clock: managedFields.

use serde_json::{Value, json};

use super::Row;
use super::taints::{LONG_AGO, USER, stored, tainted, with_lease};

pub fn rows() -> Vec<Row> {
    super::rows(
        "the clock",
        [
            (
                "an entry of the past",
                USER,
                None,
                entry(tainted(&["k v NoSelect"]), LONG_AGO),
                "allow",
            ),
            (
                "an entry of the future",
                USER,
                None,
                entry(tainted(&["k v NoSelect"]), "@now+3600"),
                "allow",
            ),
            (
                "an entry of the past on UPDATE",
                USER,
                Some(stored()),
                entry(tainted(&["j v NoSelect"]), LONG_AGO),
                "allow",
            ),
            (
                "an entry of the future on UPDATE",
                USER,
                Some(stored()),
                entry(tainted(&["j v NoSelect"]), "@now+3600"),
                "allow",
            ),
            (
                "an entry of the future without taints",
                USER,
                Some(stored()),
                entry(with_lease(stored()), "@now+3600"),
                "allow",
            ),
            (
                "no entries any more",
                USER,
                Some(stored()),
                without_entries(tainted(&["j v NoSelect"])),
                "allow",
            ),
            (
                "no entries any more, and a stored time",
                USER,
                Some(stored()),
                without_entries(tainted(&["k v NoSelect"])),
                "allow",
            ),
        ],
    )
}

/// The object with an entry of managedFields that the requester made up.
fn entry(mut object: Value, time: &str) -> Value {
    object["metadata"]["managedFields"] = json!([{
        "manager": "forger",
        "operation": "Update",
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": { "f:metadata": { "f:labels": {} } },
    }]);
    object
}

/// The object of a requester who turns managedFields off.
fn without_entries(mut object: Value) -> Value {
    object["metadata"]["managedFields"] = json!([{}]);
    object
}
