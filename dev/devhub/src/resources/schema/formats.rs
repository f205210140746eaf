//! Formats of values that are checked. Others are ignored, as Kubernetes ignores those it does not know.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Type;

/// Whether a format is checked on values of a type.
pub(super) fn is_known(format: &str, r#type: Type) -> bool {
    match r#type {
        Type::Any | Type::String => check_of(format).is_some(),
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether a string is of a known format; true for unknown ones.
pub(super) fn matches(format: &str, text: &str) -> bool {
    check_of(format).is_none_or(|check| check(text))
}

fn check_of(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format.replace('-', "").as_str() {
        "datetime" => |text| text.parse::<jiff::Timestamp>().is_ok(),
        "date" => |text| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
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
}
