//! Sums of Kubernetes quantities (`4`, `1500m`, `16384256Ki`), in the format that Go's `resource.Quantity` gives them.
//!
//! A sum takes the format (binary, decimal, exponent) of its first summand that is not zero, as with `Quantity.Add`.
//! The syntax and the canonical form are documented at
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.

use std::fmt;
use std::str::FromStr;

use super::{as_read, exact};

/// Units of the fixed point number: Kubernetes keeps nothing smaller than 10^-9.
const NANOS: i128 = 1_000_000_000;

/// The largest amount: 2^63 - 1. Kubernetes caps larger ones.
const LARGEST: i128 = i64::MAX as i128 * NANOS;

/// Decimal suffixes by their power of ten.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// Binary suffixes, each 1024 times the one before.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A quantity, exact to 10^-9.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `16Gi`
    Binary,
    /// `1500m`
    Decimal,
    /// `15e2`
    Exponent,
}

/// The text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidQuantity;

/// The text of a quantity after a Go client has read it into its type: the canonical form, or the text itself where Go takes it for
/// canonical. `None` if the text is not a quantity.
#[must_use]
pub fn as_go_writes(text: &str) -> Option<String> {
    let text = text.trim();
    let quantity: Quantity = text.parse().ok()?;
    Some(if as_read(text) {
        text.to_owned()
    } else {
        quantity.to_string()
    })
}

// === impl Quantity ===

impl Quantity {
    /// Nothing, in decimal format.
    pub const ZERO: Self = Self {
        nanos: 0,
        format: Format::Decimal,
    };

    /// The sum, at most 2^63 - 1.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nanos == 0 {
            other.format
        } else {
            self.format
        };
        let nanos = (self.nanos + other.nanos).clamp(-LARGEST, LARGEST);
        Self { nanos, format }
    }
}

/// Two quantities of the same amount are equal, whatever their format.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, InvalidQuantity> {
        let nanos = exact(text).ok_or(InvalidQuantity)?;
        Ok(Self {
            nanos: nanos.clamp(-LARGEST, LARGEST),
            format: Format::of(text),
        })
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: no fraction, the largest suffix that needs none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nanos, format } = *self;
        if nanos == 0 {
            return f.write_str("0");
        }
        let is_small = nanos.abs() < 1024 * NANOS;
        if format == Format::Binary && !is_small && nanos % NANOS == 0 {
            let mut number = nanos / NANOS;
            let mut suffix = "";
            for larger in BINARY {
                if number % 1024 != 0 {
                    break;
                }
                number /= 1024;
                suffix = larger;
            }
            return write!(f, "{number}{suffix}");
        }
        let (mut number, mut power) = (nanos, -9);
        while number % 1000 == 0 && power < 18 {
            number /= 1000;
            power += 3;
        }
        match format {
            Format::Exponent if power != 0 => write!(f, "{number}e{power}"),
            Format::Exponent => write!(f, "{number}"),
            Format::Binary | Format::Decimal => {
                let suffix = DECIMAL.iter().find(|(_, it)| *it == power);
                write!(f, "{number}{}", suffix.map_or("", |(suffix, _)| suffix))
            }
        }
    }
}

// === impl Format ===

impl Format {
    /// The format of a text that is a quantity.
    fn of(text: &str) -> Self {
        if text.ends_with('i') {
            Self::Binary
        } else if text.contains('e') || text.contains('E') && !text.ends_with('E') {
            // `1E` has a suffix, `1E3` an exponent.
            Self::Exponent
        } else {
            Self::Decimal
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(summands: &[&str]) -> String {
        let parse = |text: &&str| text.parse::<Quantity>().unwrap();
        let sum = summands
            .iter()
            .map(parse)
            .fold(Quantity::ZERO, Quantity::plus);
        sum.to_string()
    }

    #[test]
    fn canonical_forms_are_those_of_kubernetes() {
        for (text, canonical) in [
            ("0", "0"),
            ("0Ki", "0"),
            ("4", "4"),
            ("4000", "4k"),
            ("1500m", "1500m"),
            ("1.5", "1500m"),
            ("2000m", "2"),
            ("-1500m", "-1500m"),
            ("+3", "3"),
            (".5", "500m"),
            ("5.", "5"),
            ("100n", "100n"),
            ("0.1n", "1n"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("12e-1", "1200e-3"),
            ("1E", "1E"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1000Ki", "1000Ki"),
            ("16384256Ki", "16384256Ki"),
            ("16Gi", "16Gi"),
            ("1.5Gi", "1536Mi"),
            // Below 1024 the binary format is given up.
            ("0.5Ki", "512"),
            // As is what has no whole number of bytes.
            ("1.00001Ki", "1024010240u"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775807"),
            ("100E", "9223372036854775807"),
            ("1e999999999", "9223372036854775807e0"),
        ] {
            let canonical = canonical.trim_end_matches("e0");
            assert_eq!(sum(&[text]), canonical, "{text}");
        }
    }

    /// Seen with apimachinery's `Quantity`: `json.Unmarshal`, then `ToUnstructured`.
    #[test]
    fn go_writes_the_canonical_form_or_what_it_takes_for_one() {
        for (text, written) in [
            ("4000m", "4"),
            ("4", "4"),
            (" 4 ", "4"),
            ("0", "0"),
            ("00", "0"),
            ("0Ki", "0"),
            ("0.000", "0"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.5", "1500m"),
            ("4000", "4k"),
            ("1100", "1100"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("16384256Ki", "16384256Ki"),
            ("16384264Ki", "16384264Ki"),
            ("16384260Ki", "16384260Ki"),
            ("12e-1", "1200e-3"),
            // Go reads no further if the power of ten is a multiple of three.
            ("1.500", "1.500"),
            ("1.500k", "1.500k"),
            ("0.500", "500m"),
            ("007", "007"),
            ("+3", "+3"),
            ("+3Ki", "+3Ki"),
            ("+8Ki", "8Ki"),
            ("5.", "5."),
            ("1E3", "1E3"),
            ("1E4", "10e3"),
            ("100E", "100E"),
            ("100000000000000001", "100000000000000001"),
            ("+1000000000000000001", "1000000000000000001"),
        ] {
            assert_eq!(as_go_writes(text).as_deref(), Some(written), "{text:?}");
        }
        for text in ["", "1e1.5", "four"] {
            assert_eq!(as_go_writes(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_sum_has_the_format_of_its_first_summand() {
        for (summands, expected) in [
            (&["4", "8"][..], "12"),
            (&["3920m", "80m"], "4"),
            (&["16384256Ki", "16384256Ki"], "32768512Ki"),
            (&["0", "8Gi"], "8Gi"),
            (&["1k", "24Ki"], "25576"),
            (&["24Ki", "1k"], "25576"),
            (&["1Gi", "1024"], "1048577Ki"),
            (&["9223372036854775807", "1"], "9223372036854775807"),
            (&[], "0"),
        ] {
            assert_eq!(sum(summands), expected, "{summands:?}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "",
            ".",
            "-",
            "m",
            "1.2.3",
            "1 Gi",
            "1gi",
            "1KI",
            "1K",
            "0x10",
            "e3",
            "1e",
            "1e3k",
            "1e99999999999",
            "--1",
            "½",
        ] {
            assert_eq!(text.parse::<Quantity>(), Err(InvalidQuantity), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn the_canonical_form_says_the_same_amount(
            number in -1_000_000_000_000_i64..1_000_000_000_000,
            suffix in prop::sample::select(vec!["n", "u", "m", "", "k", "M", "Ki", "Mi", "e2", "e-3"]),
        ) {
            let quantity: Quantity = format!("{number}{suffix}").parse().unwrap();
            let again: Quantity = quantity.to_string().parse().unwrap();
            prop_assert_eq!(quantity, again);
            prop_assert_eq!(again.to_string(), quantity.to_string());
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.eEKMGinumk]{0,60}") {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let again: Quantity = quantity.to_string().parse().unwrap();
                prop_assert_eq!(quantity, again);
            }
        }
    }
}
