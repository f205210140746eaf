//! Taints of one key and effect.

use super::taints::{USER, stored, tainted, twins};
use super::{Row, deleting};

pub fn rows() -> Vec<Row> {
    super::rows(
        "duplicates",
        [
            (
                "two effects",
                USER,
                None,
                tainted(&["k - NoSelect", "k - PreferNoSelect"]),
                "allow",
            ),
            (
                "the same effect",
                USER,
                None,
                tainted(&["k - NoSelect", "k - NoSelect"]),
                "400",
            ),
            (
                "the same effect, other values",
                USER,
                None,
                tainted(&["k v NoSelect", "k w NoSelect"]),
                "400",
            ),
            (
                "three",
                USER,
                None,
                tainted(&["k - NoSelect", "k - NoSelect", "k - NoSelect"]),
                "400",
            ),
            (
                "two pairs",
                USER,
                None,
                tainted(&[
                    "k - NoSelect",
                    "j - NoSelect",
                    "k - NoSelect",
                    "j - NoSelect",
                ]),
                "400",
            ),
            (
                "stored ones stay",
                USER,
                Some(twins()),
                tainted(&["k - NoSelect", "j - NoSelect", "k - NoSelect"]),
                "allow",
            ),
            (
                "others come",
                USER,
                Some(twins()),
                tainted(&[
                    "k - NoSelect",
                    "j - NoSelect",
                    "k - NoSelect",
                    "j - NoSelect",
                ]),
                "400",
            ),
            (
                "with another value",
                USER,
                Some(twins()),
                tainted(&["k x NoSelect", "k y NoSelect"]),
                "allow",
            ),
            (
                "while it is deleted",
                USER,
                Some(deleting(stored())),
                tainted(&["k - NoSelect", "k - NoSelect"]),
                "allow",
            ),
        ],
    )
}
