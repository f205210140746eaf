//! Times of taints, and duplicates.

use serde_json::{Value, json};

use super::{Row, cluster, deleting, in_set};
use crate::write::Verb;

pub const USER: &[&str] = &["join:a"];
pub const LONG_AGO: &str = "2020-02-02T02:02:02Z";
pub const LATER: &str = "2021-03-03T03:03:03Z";
const ZERO: &str = "0001-01-01T00:00:00Z";

/// A cluster with taints, each `key value effect [time]`; the value `-` is none, and the time `null` is null.
pub fn tainted(taints: &[&str]) -> Value {
    let taint = |text: &&str| {
        let words: Vec<_> = text.split(' ').collect();
        let mut taint = json!({ "key": words[0], "effect": words[2] });
        if words[1] != "-" {
            taint["value"] = words[1].into();
        }
        match words.get(3) {
            None => {}
            Some(&"null") => taint["timeAdded"] = Value::Null,
            Some(time) => taint["timeAdded"] = (*time).into(),
        }
        taint
    };
    let taints: Vec<_> = taints.iter().map(taint).collect();
    cluster(in_set("a"), json!({ "taints": taints }))
}

/// A cluster with a taint that was added long ago.
pub fn stored() -> Value {
    tainted(&[&format!("k v NoSelect {LONG_AGO}")])
}

/// A cluster with two taints of one key and effect.
pub fn twins() -> Value {
    tainted(&[
        &format!("k - NoSelect {LONG_AGO}"),
        &format!("k - NoSelect {LATER}"),
    ])
}

pub fn rows() -> Vec<Row> {
    let at = |taint: &str, time: &str| format!("{taint} {time}");
    let one = |taint: &str, time: &str| tainted(&[&at(taint, time)]);
    let two_effects = || {
        tainted(&[
            &at("k v NoSelect", LONG_AGO),
            &at("k v PreferNoSelect", LATER),
        ])
    };
    let mut rows = super::rows(
        "times on CREATE",
        [
            (
                "a new taint",
                USER,
                None,
                tainted(&["k v NoSelect"]),
                "allow",
            ),
            (
                "without a value",
                USER,
                None,
                tainted(&["k - NoSelect"]),
                "allow",
            ),
            ("a time that is made up", USER, None, stored(), "allow"),
            (
                "a time of now",
                USER,
                None,
                one("k v NoSelect", "@now"),
                "allow",
            ),
            (
                "a time just before",
                USER,
                None,
                one("k v NoSelect", "@now-2"),
                "allow",
            ),
            (
                "a time soon",
                USER,
                None,
                one("k v NoSelect", "@now+2"),
                "allow",
            ),
            (
                "a minute ago",
                USER,
                None,
                one("k v NoSelect", "@now-60"),
                "allow",
            ),
            (
                "in a minute",
                USER,
                None,
                one("k v NoSelect", "@now+60"),
                "allow",
            ),
            ("null", USER, None, one("k v NoSelect", "null"), "allow"),
            (
                "Go's zero time",
                USER,
                None,
                one("k v NoSelect", ZERO),
                "allow",
            ),
            (
                "another zone",
                USER,
                None,
                one("k v NoSelect", "2020-02-02T02:02:02+02:00"),
                "allow",
            ),
            (
                "several",
                USER,
                None,
                tainted(&[
                    "k v NoSelect",
                    &at("j w NoSelect", LONG_AGO),
                    "i - PreferNoSelect",
                ]),
                "allow",
            ),
        ],
    );
    rows.extend(super::rows(
        "times on UPDATE",
        [
            (
                "a new taint",
                USER,
                Some(stored()),
                tainted(&[&at("k v NoSelect", LONG_AGO), "j v NoSelect"]),
                "allow",
            ),
            (
                "the stored time is echoed",
                USER,
                Some(stored()),
                with_lease(stored()),
                "allow",
            ),
            (
                "the stored time is left out",
                USER,
                Some(stored()),
                tainted(&["k v NoSelect"]),
                "allow",
            ),
            (
                "the stored time is null",
                USER,
                Some(stored()),
                one("k v NoSelect", "null"),
                "allow",
            ),
            (
                "the stored time is Go's zero time",
                USER,
                Some(stored()),
                one("k v NoSelect", ZERO),
                "allow",
            ),
            (
                "another time",
                USER,
                Some(stored()),
                one("k v NoSelect", LATER),
                "400",
            ),
            (
                "a time of now",
                USER,
                Some(stored()),
                one("k v NoSelect", "@now"),
                "400",
            ),
            (
                "the stored time in other words",
                USER,
                Some(stored()),
                one("k v NoSelect", "2020-02-02T04:02:02+02:00"),
                "allow",
            ),
            (
                "the stored time with a fraction",
                USER,
                Some(stored()),
                one("k v NoSelect", "2020-02-02T02:02:02.5Z"),
                "400",
            ),
            (
                "another value without a time",
                USER,
                Some(stored()),
                tainted(&["k w NoSelect"]),
                "allow",
            ),
            (
                "another value with the old time",
                USER,
                Some(stored()),
                one("k w NoSelect", LONG_AGO),
                "allow",
            ),
            (
                "another value with the old time in other words",
                USER,
                Some(stored()),
                one("k w NoSelect", "2020-02-02T04:02:02+02:00"),
                "allow",
            ),
            (
                "another value with another time",
                USER,
                Some(stored()),
                one("k w NoSelect", LATER),
                "400",
            ),
            (
                "another value with a time of now",
                USER,
                Some(stored()),
                one("k w NoSelect", "@now"),
                "allow",
            ),
            (
                "another value with a time just before",
                USER,
                Some(stored()),
                one("k w NoSelect", "@now-2"),
                "allow",
            ),
            (
                "another value with a time soon",
                USER,
                Some(stored()),
                one("k w NoSelect", "@now+2"),
                "allow",
            ),
            (
                "another value a minute ago",
                USER,
                Some(stored()),
                one("k w NoSelect", "@now-60"),
                "400",
            ),
            (
                "another value in a minute",
                USER,
                Some(stored()),
                one("k w NoSelect", "@now+60"),
                "400",
            ),
            (
                "another effect with the old time",
                USER,
                Some(stored()),
                one("k v PreferNoSelect", LONG_AGO),
                "allow",
            ),
            (
                "another key with the old time",
                USER,
                Some(stored()),
                one("j v NoSelect", LONG_AGO),
                "400",
            ),
            (
                "no value with the old time",
                USER,
                Some(stored()),
                one("k - NoSelect", LONG_AGO),
                "allow",
            ),
            (
                "two effects keep their times",
                USER,
                Some(two_effects()),
                with_lease(tainted(&["k v NoSelect", "k v PreferNoSelect"])),
                "allow",
            ),
            (
                "two effects in another order",
                USER,
                Some(two_effects()),
                tainted(&["k v PreferNoSelect", "k v NoSelect"]),
                "allow",
            ),
            (
                "two effects with each other's times",
                USER,
                Some(two_effects()),
                tainted(&[
                    &at("k v NoSelect", LATER),
                    &at("k v PreferNoSelect", LONG_AGO),
                ]),
                "400",
            ),
            (
                "any stored time of the key is echoed",
                USER,
                Some(two_effects()),
                tainted(&[&at("k w NoSelect", LATER), &at("k v PreferNoSelect", LATER)]),
                "allow",
            ),
            (
                "twins keep their times",
                USER,
                Some(twins()),
                with_lease(twins()),
                "allow",
            ),
            (
                "twins in another order",
                USER,
                Some(twins()),
                tainted(&[&at("k - NoSelect", LATER), &at("k - NoSelect", LONG_AGO)]),
                "allow",
            ),
            (
                "twins without times get the first one",
                USER,
                Some(twins()),
                tainted(&["k - NoSelect", "k - NoSelect"]),
                "allow",
            ),
            (
                "one twin is left",
                USER,
                Some(twins()),
                one("k - NoSelect", LATER),
                "allow",
            ),
            (
                "a third twin comes",
                USER,
                Some(twins()),
                tainted(&["k - NoSelect", "k - NoSelect", "k - NoSelect"]),
                "400",
            ),
            (
                "a stored taint without a time",
                USER,
                Some(tainted(&["k v NoSelect"])),
                with_lease(tainted(&["k v NoSelect"])),
                "allow",
            ),
            (
                "a stored taint without a time gets one",
                USER,
                Some(tainted(&["k v NoSelect"])),
                stored(),
                "400",
            ),
            (
                "a stored taint without a time is null",
                USER,
                Some(tainted(&["k v NoSelect"])),
                one("k v NoSelect", "null"),
                "allow",
            ),
            ("all go", USER, Some(stored()), tainted(&[]), "allow"),
            (
                "the field goes",
                USER,
                Some(stored()),
                cluster(in_set("a"), json!({ "leaseDurationSeconds": 60 })),
                "allow",
            ),
            (
                "while it is deleted",
                USER,
                Some(deleting(stored())),
                one("k w NoSelect", LATER),
                "allow",
            ),
            (
                "a new one while it is deleted",
                USER,
                Some(deleting(stored())),
                tainted(&["j v NoSelect"]),
                "allow",
            ),
            (
                "several refused",
                USER,
                Some(stored()),
                tainted(&[
                    &at("k v NoSelect", LATER),
                    &at("j v NoSelect", LATER),
                    &at("i v NoSelect", LATER),
                ]),
                "400",
            ),
            (
                "refused before permissions",
                &[],
                Some(stored()),
                moved(one("k v NoSelect", LATER)),
                "400",
            ),
            (
                "refused before other content",
                USER,
                Some(stored()),
                with(
                    one("k v NoSelect", LATER),
                    "leaseDurationSeconds",
                    json!(-1),
                ),
                "400",
            ),
            ("twelve refused", USER, Some(stored()), twelve(), "400"),
        ],
    ));
    let applied = [
        ("applied again", tainted(&["k v NoSelect"]), "allow"),
        (
            "applied with another value",
            tainted(&["k w NoSelect"]),
            "allow",
        ),
        ("applied with a time", one("k v NoSelect", LATER), "400"),
    ];
    for (sentence, new, expected) in applied {
        let old = Some(stored());
        rows.extend(super::rows("times", [(sentence, USER, old, new, expected)]));
        rows.last_mut().unwrap().verb = Verb::Apply;
    }
    rows
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

pub fn with_lease(object: Value) -> Value {
    with(object, "leaseDurationSeconds", json!(30))
}

fn moved(mut object: Value) -> Value {
    object["metadata"]["labels"] = in_set("b");
    object
}

fn twelve() -> Value {
    let taints: Vec<_> = (0..12)
        .map(|i| format!("new{i} v NoSelect {LATER}"))
        .collect();
    tainted(&taints.iter().map(String::as_str).collect::<Vec<_>>())
}
