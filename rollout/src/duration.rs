//! Durations as Go writes them.

use jiff::SignedDuration;

/// Each unit in nanoseconds. A unit comes before those it begins with.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Upper bound on the digits of a number. Go's longest duration has 19.
const DIGITS: usize = 19;

/// Reads a duration such as `1h30m`, `1.5s` or `0`. It is shorter than 293 years.
pub(super) fn go_duration(text: &str) -> Option<SignedDuration> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (unit, after) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((unit, after.strip_prefix(name)?)))?;
        sum += number(whole.trim_start_matches('0'))? * unit;
        // More digits than these are below a nanosecond.
        let fraction = &fraction[..fraction.len().min(DIGITS - 1)];
        sum += number(fraction)? * unit / 10_i128.pow(fraction.len() as u32);
        rest = after;
        // Go's durations have 64 bits.
        i64::try_from(sum).ok()?;
    }
    i64::try_from(sign * sum)
        .ok()
        .map(SignedDuration::from_nanos)
}

/// Splits a text behind its leading digits.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn number(digits: &str) -> Option<i128> {
    match digits.len() {
        0 => Some(0),
        1..=DIGITS => digits.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, nanos) in [
            ("0", 0),
            ("-0", 0),
            ("0s", 0),
            ("90s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("90ms", 90_000_000),
            ("3µs", 3_000),
            ("-1m", -60_000_000_000),
            ("+1ns", 1),
            ("0.0000000000000000000000000001h", 0),
            ("00000000000000000000000000001s", 1_000_000_000),
            ("2562047h47m16.854775807s", i64::MAX),
        ] {
            let expected = Some(SignedDuration::from_nanos(nanos));
            assert_eq!(go_duration(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_durations() {
        for text in [
            "",
            "-",
            "+",
            "1",
            "s",
            ".s",
            "1d",
            "1 s",
            "1s ",
            "1h1",
            "--1s",
            "1e3s",
            "∞",
            "1µ",
            "2562048h",
            "99999999999999999999s",
        ] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }
}
