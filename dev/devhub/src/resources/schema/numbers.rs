//! Numbers as Go has them, whose words are shown to people: a JSON number is an int64, or else a float64.

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

/// Go's int64(float).
#[expect(clippy::cast_possible_truncation, reason = "as Go converts it")]
pub(super) fn truncated(float: f64) -> i64 {
    float as i64
}

/// A float as Go's `%v` prints it.
pub(super) fn shown(float: f64) -> String {
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    float.to_string()
}

/// Whether a float is an integer, as JSON schemas see it.
pub(super) fn is_whole(float: f64) -> bool {
    float.is_finite() && float.fract() == 0.0
}
