//! Formats of values that are checked. Unknown formats are ignored, as in Kubernetes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

use super::Type;

/// Returns true if a format is checked on values of a type.
pub(super) fn is_known(format: &str, r#type: Type) -> bool {
    match r#type {
        Type::Any | Type::String => check_of(format).is_some(),
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Returns true if a string is of a known format; true for unknown ones.
pub(super) fn matches(format: &str, text: &str) -> bool {
    check_of(format).is_none_or(|check| check(text))
}

fn check_of(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format.replace('-', "").as_str() {
        "datetime" => is_date_time,
        "date" => is_date,
        "duration" => |text| text == "0" || text.parse::<jiff::SignedDuration>().is_ok(),
        "byte" => |text| STANDARD.decode(text).is_ok(),
        "uri" => |text| {
            let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
            text.starts_with('/') || scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        },
        "ipv4" => |text| text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => |text| {
            text.split_once('/').is_some_and(|(address, bits)| {
                let most = match address.parse() {
                    Ok(IpAddr::V4(_)) => 32,
                    Ok(IpAddr::V6(_)) => 128,
                    Err(_) => return false,
                };
                bits.parse::<u8>().is_ok_and(|bits| bits <= most)
            })
        },
        "uuid" => |text| uuid::Uuid::parse_str(text).is_ok(),
        _ => return None,
    })
}

/// As go-openapi has it, which takes more than RFC 3339 does: any offset, any character before the fraction, a fraction of
/// any length, and after a second `t` whatever there is.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let clock = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
        Regex::new(&format!("^{clock}(.[0-9]+)?(z|[+-][0-9]{{2}}:[0-9]{{2}})$")).ok()
    });
    TIME.as_ref().is_some_and(|time| time.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_of_its_format_or_not() {
        for (format, text, fits) in [
            ("date-time", "2026-01-01T00:00:00Z", true),
            ("date-time", "2026-01-01T00:00:00.5+02:00", true),
            ("date-time", "2026-01-01T00:00:00", false),
            ("duration", "1h2m3.5s", true),
            ("duration", "1 x", false),
            ("cidr", "10.0.0.0/8", true),
            ("cidr", "10.0.0.0/33", false),
            ("uuid", "x", false),
            ("nobody-knows", "x", true),
        ] {
            assert_eq!(matches(format, text), fits, "{format} {text}");
        }
    }

    #[test]
    fn a_date_time_is_what_go_openapi_takes() {
        for (text, taken) in [
            ("2026-01-01T00:00:00Z", true),
            ("2026-01-01t23:59:59.5z", true),
            ("9999-12-31T23:59:59Z", true),
            ("2026-01-01T00:00:00+99:99", true),
            ("2026-01-01T00:00:00-26:00", true),
            ("2026-01-01T00:00:00x5Z", true),
            ("2026-01-01T00:00:00.12345678901234567890Z", true),
            ("2026-01-01T00:00:00.5-26:00", true),
            ("2026-01-01T00:00:00Ztail", true),
            ("2026-01-01T00:00:00", false),
            ("2026-01-01T00:00:00.Z", false),
            ("2026-01-01T00:00:00xZ", false),
            ("2026-01-01T24:00:00Z", false),
            ("2026-01-01T00:00:60Z", false),
            ("2026-02-30T00:00:00Z", false),
            ("2026-01-01 00:00:00Z", false),
            ("2026-01-01T00:00:00+9:99", false),
            ("2026-01-01T00:00é00Z", false),
            ("T", false),
            ("", false),
        ] {
            assert_eq!(matches("date-time", text), taken, "{text}");
        }
    }
}
