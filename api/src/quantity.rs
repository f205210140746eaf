//! The amount of a Kubernetes quantity as a floating point number, with the rounding of Go's `resource.Quantity`.
//!
//! Scores are truncated to integers, so the last bit of an amount can decide on a score. This follows `AsApproximateFloat64`: an
//! integer of at most 63 bits times a power of ten where the quantity fits, and otherwise an integer number of 10^-9, rounded up.
//! The syntax is documented at
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.

mod canonical;

pub use canonical::{InvalidQuantity, Quantity, as_go_writes};

/// Kubernetes keeps nothing smaller than 10^-9.
const NANO: i32 = -9;

/// The most decimal digits that Go reads as an integer.
const INTEGER_DIGITS: i32 = 18;

/// The largest amount in binary format: 2^63 - 1.
const LARGEST: f64 = i64::MAX as f64;

/// Returns the amount of a quantity; `None` if the text is not a quantity.
#[must_use]
pub fn amount(text: &str) -> Option<f64> {
    let (is_negative, whole, fraction, scale) = parts(text)?;
    let size = integer(whole, fraction, scale).or_else(|| nanos(whole, fraction, scale))?;
    Some(if is_negative { -size } else { size })
}

/// Returns the amount of a quantity as a number of 10^-9, rounded away from zero and capped; `None` if the text is not a quantity.
#[must_use]
pub fn exact(text: &str) -> Option<i128> {
    let (is_negative, whole, fraction, scale) = parts(text)?;
    let largest = match scale {
        Scale::Ten(_) => i128::MAX / 4,
        Scale::Two(_) => i128::from(i64::MAX) * 1_000_000_000,
    };
    let nanos = exact_nanos(whole, fraction, scale).map_or(largest, |nanos| nanos.min(largest));
    Some(if is_negative { -nanos } else { nanos })
}

/// The sign, the digits before and after the point, and the suffix of a quantity.
fn parts(text: &str) -> Option<(bool, &str, &str, Scale)> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    Some((is_negative, whole, fraction, Scale::of(suffix)?))
}

/// What a suffix multiplies with.
#[derive(Clone, Copy)]
enum Scale {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

// === impl Scale ===

impl Scale {
    fn of(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "" => Self::Ten(0),
            "n" => Self::Ten(-9),
            "u" => Self::Ten(-6),
            "m" => Self::Ten(-3),
            "k" => Self::Ten(3),
            "M" => Self::Ten(6),
            "G" => Self::Ten(9),
            "T" => Self::Ten(12),
            "P" => Self::Ten(15),
            "E" => Self::Ten(18),
            "Ki" => Self::Two(10),
            "Mi" => Self::Two(20),
            "Gi" => Self::Two(30),
            "Ti" => Self::Two(40),
            "Pi" => Self::Two(50),
            "Ei" => Self::Two(60),
            _ => Self::Ten(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }
}

/// The amount, if it is an integer of 63 bits times a power of ten.
fn integer(whole: &str, fraction: &str, scale: Scale) -> Option<f64> {
    let digits = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    // Go reads an absent number as the digit 0.
    let before = digits(whole).max(1);
    let written = before.saturating_add(digits(fraction));
    let (factor, power) = match scale {
        Scale::Ten(power) if written <= INTEGER_DIGITS => (1, power - digits(fraction)),
        // Go estimates the digits of 2^n as 0.3 n.
        Scale::Two(bits) if fraction.is_empty() => {
            let taken = i32::try_from(bits * 3 / 10).unwrap_or(i32::MAX);
            if before.saturating_add(taken) > 14 {
                return None;
            }
            (1_i64 << bits, 0)
        }
        _ => return None,
    };
    if power < NANO {
        return None;
    }
    let value = parsed(whole, fraction)?;
    let value = i64::try_from(value).ok()?.checked_mul(factor)?;
    // Nothing times infinity, which Go returns for 0e999, would not be a number.
    Some(if value == 0 {
        0.0
    } else {
        value as f64 * ten_to(power)
    })
}

/// Returns whether Go keeps the text of a quantity instead of its canonical form. The conditions are those of `ParseQuantity`, which
/// does not compare the texts.
fn as_read(text: &str) -> bool {
    let Some((_, whole, fraction, scale)) = parts(text) else {
        return false;
    };
    if integer(whole, fraction, scale).is_none() {
        return false;
    }
    match scale {
        Scale::Two(_) => parsed(whole, "").is_some_and(|value| value % 8 != 0),
        // A number below one starts with the digit 0.
        Scale::Ten(power) => {
            let is_triple = (i64::from(power) - fraction.len() as i64) % 3 == 0;
            text == "0"
                || is_triple && !whole.is_empty() && !format!("{whole}{fraction}").ends_with("000")
        }
    }
}

/// The amount by way of an integer number of 10^-9, rounded up.
fn nanos(whole: &str, fraction: &str, scale: Scale) -> Option<f64> {
    let size = match exact_nanos(whole, fraction, scale) {
        Some(nanos) => nanos as f64 * ten_to(NANO),
        // Too large for exact arithmetic.
        None => {
            let number: f64 = format!("0{whole}.{fraction}0").parse().ok()?;
            match scale {
                Scale::Ten(power) => number * ten_to(power),
                Scale::Two(bits) => number * (1_u64 << bits) as f64,
            }
        }
    };
    Some(match scale {
        Scale::Ten(_) => size,
        Scale::Two(_) => size.min(LARGEST),
    })
}

/// The amount as an integer number of 10^-9, rounded up; `None` if it is too large.
fn exact_nanos(whole: &str, fraction: &str, scale: Scale) -> Option<i128> {
    let fraction = fraction.trim_end_matches('0');
    let mut value = parsed(whole, fraction)?;
    if value == 0 {
        return Some(0);
    }
    let mut power = i32::try_from(fraction.len()).ok()?.checked_neg()?;
    match scale {
        Scale::Ten(more) => power = power.checked_add(more)?,
        Scale::Two(bits) => value = value.checked_mul(1_i128 << bits)?,
    }
    let shift = power.checked_sub(NANO)?;
    let ten = 10_i128.checked_pow(shift.unsigned_abs());
    if shift >= 0 {
        value.checked_mul(ten?)
    } else {
        // Below the smallest unit: rounded up to one.
        Some(ten.map_or(1, |ten| (value - 1) / ten + 1))
    }
}

/// The digits as an integer.
fn parsed(whole: &str, fraction: &str) -> Option<i128> {
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value.checked_mul(10)?.checked_add((digit - b'0').into())?;
    }
    Some(value)
}

/// A power of ten, correctly rounded.
fn ten_to(power: i32) -> f64 {
    match power {
        0 => 1.0,
        // The text is a number.
        _ => format!("1e{power}").parse().unwrap_or(f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_those_of_go() {
        for (text, expected) in [
            ("0", 0.0),
            ("0Ki", 0.0),
            ("4", 4.0),
            ("007", 7.0),
            ("1500m", 1.5),
            ("1.5", 1.5),
            // 3 times the number nearest to 0.1, which is not the number nearest to 0.3.
            ("0.3", 3.0 * 0.1),
            ("-250m", -0.25),
            ("+3", 3.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("16384256Ki", 16_384_256.0 * 1024.0),
            ("1.5Gi", 1_610_612_736_000_000_000.0 * 1e-9),
            ("2E", 2e18),
            ("1e3", 1000.0),
            ("12E-1", 1.2000000000000002),
            ("0.1n", 1e-9),
            ("0e999", 0.0),
            ("-0e999", 0.0),
            ("0.000000000000000000000e999", 0.0),
            ("0e-999", 0.0),
            ("100Ei", LARGEST),
            (
                "99999999999999999999",
                99_999_999_999_999_999_999_000_000_000.0 * 1e-9,
            ),
        ] {
            assert_eq!(amount(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn exact_amounts_are_rounded_up_and_capped() {
        let largest = i128::from(i64::MAX) * 1_000_000_000;
        for (text, expected) in [
            ("0", 0),
            ("0e30", 0),
            ("0e999", 0),
            ("0.0Ei", 0),
            ("1500m", 1_500_000_000),
            ("-1500m", -1_500_000_000),
            ("0.1n", 1),
            ("1e-999", 1),
            ("1Ki", 1_024_000_000_000),
            ("100Ei", largest),
            ("-100Ei", -largest),
            ("1e999", i128::MAX / 4),
        ] {
            assert_eq!(exact(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_have_no_amount() {
        for text in [
            "",
            ".",
            "-",
            "m",
            "1.2.3",
            "1 Gi",
            "1gi",
            "1K",
            "0x10",
            "e3",
            "1e",
            "1e3k",
            "½",
            "1e99999999999",
        ] {
            assert_eq!(amount(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_an_amount_or_none(text in "[-+0-9.eEKMGinumk]{0,60}") {
            if let Some(amount) = amount(&text) {
                prop_assert!(!amount.is_nan(), "{}", text);
            }
        }

        #[test]
        fn an_amount_is_near_the_number(number in -1_000_000_000_i64..1_000_000_000, thousandths in 0_u32..1000) {
            let text = format!("{number}.{thousandths:03}");
            let near: f64 = text.parse().expect("a number");
            let amount = amount(&text).expect("a quantity");
            prop_assert!((amount - near).abs() <= near.abs() * 1e-15, "{} is {}", text, amount);
        }
    }
}
