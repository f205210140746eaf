//! Formats numbers for reports.

use std::time::Duration;

/// Formats an integer with a comma every three digits.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.char_indices() {
        let left = digits.len() - i;
        if i > 0 && left % 3 == 0 && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration in milliseconds, with three digits.
pub(crate) fn duration(duration: Duration) -> String {
    format!("{} ms", three_digits(duration.as_secs_f64() * 1000.0))
}

/// Formats a number with three digits, or as an integer if it has more.
pub(crate) fn three_digits(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        ..10.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => thousands(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_cut() {
        let rows = [
            (0.0, "0"),
            (7.4, "7"),
            (999.0, "999"),
            (1000.0, "1,000"),
            (1234567.0, "1,234,567"),
        ];
        for (number, text) in rows {
            assert_eq!(thousands(number), text);
        }
        let rows = [
            (0, "0 ms"),
            (1234, "1.23 ms"),
            (56_789, "56.8 ms"),
            (1_234_567, "1,235 ms"),
        ];
        for (micros, text) in rows {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
    }
}
