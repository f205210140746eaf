//! Numbers as in Go: a JSON number is an int64, or else a float64.

use serde_json::{Number, Value};

/// A JSON number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    pub(super) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or_default()),
        }
    }

    pub(super) fn as_f64(self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "as Go converts it")]
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// As an integer, if nothing is lost.
    pub(super) fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) => whole(float),
        }
    }

    /// The number as an error shows it: `1`, not `1.0`.
    pub(super) fn value(self) -> Value {
        match self.as_int() {
            Some(int) => int.into(),
            None => self.as_f64().into(),
        }
    }
}

/// A float that is an int64.
fn whole(float: f64) -> Option<i64> {
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be whole and in range"
    )]
    (in_range && float.fract() == 0.0).then_some(float as i64)
}
