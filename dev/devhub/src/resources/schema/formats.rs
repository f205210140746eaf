//! Formats of strings that kube-apiserver checks. Those it does not know it ignores, with a warning when the definition is
//! written; so does devhub, with a few that nobody uses besides (`isbn`, `creditcard`, `rgbcolor`).

use std::net::{Ipv4Addr, Ipv6Addr};

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
        "datetime" => is_date_time,
        "date" => is_date,
        "duration" => is_duration,
        "byte" => |text| STANDARD.decode(text).is_ok(),
        "password" => |_| true,
        "uri" => |text| {
            text.starts_with('/')
                || text
                    .split_once(':')
                    .is_some_and(|(scheme, _)| is_scheme(scheme))
        },
        "email" => |text| {
            text.rsplit_once('@').is_some_and(|(user, host)| {
                !user.is_empty() && !host.is_empty() && !text.contains(' ')
            })
        },
        "hostname" => is_hostname,
        "ipv4" => |text| text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |text| is_uuid(text, None),
        "uuid3" => |text| is_uuid(text, Some('3')),
        "uuid4" => |text| is_uuid(text, Some('4')),
        "uuid5" => |text| is_uuid(text, Some('5')),
        "bsonobjectid" => |text| text.len() == 24 && text.chars().all(|c| c.is_ascii_hexdigit()),
        "hexcolor" => |text| {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && digits.chars().all(|c| c.is_ascii_hexdigit())
        },
        "ssn" => is_ssn,
        "k8sshortname" => berth_api::names::is_dns1123_label,
        "k8slongname" => berth_api::names::is_dns1123_subdomain,
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

/// `^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$`
fn is_time(text: &str) -> bool {
    fn clock<const N: usize>(text: &str, highest: [&str; N]) -> bool {
        let numbers: Vec<&str> = text.split(':').collect();
        let is_number = |it: &&str| it.len() == 2 && it.bytes().all(|byte| byte.is_ascii_digit());
        numbers.len() == N
            && numbers.iter().all(is_number)
            && numbers.iter().zip(highest).all(|(it, most)| *it <= most)
    }
    let Some((time, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let zone = |rest: &str| {
        let (fraction, zone) = rest.split_at_checked(rest.len().checked_sub(6)?)?;
        let offset = zone.strip_prefix(['+', '-'])?;
        clock(offset, ["99", "99"]).then(|| fraction.to_owned())
    };
    let fraction = rest
        .strip_suffix('z')
        .map(str::to_owned)
        .or_else(|| zone(rest));
    let Some(fraction) = fraction else {
        return false;
    };
    let mut fraction = fraction.chars();
    let digits = match fraction.next() {
        None => return clock(time, ["23", "59", "59"]),
        Some('\n') => return false,
        Some(_) => fraction.as_str(),
    };
    clock(time, ["23", "59", "59"])
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Go's `time.ParseDuration`, and `3 days` as Scala writes it.
fn is_duration(text: &str) -> bool {
    is_go_duration(text)
        || text.trim().split_once(' ').is_some_and(|(number, unit)| {
            const UNITS: [&str; 8] = ["ns", "us", "ms", "second", "minute", "hour", "day", "week"];
            let unit = unit.trim();
            let unit = unit
                .strip_suffix('s')
                .filter(|unit| unit.len() > 1)
                .unwrap_or(unit);
            number.parse::<u64>().is_ok()
                && (UNITS.contains(&unit)
                    || matches!(unit, "s" | "m" | "h" | "d" | "w" | "n" | "u"))
        })
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (digits, tail) = rest.split_at(number);
        if !digits.contains(|c: char| c.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        // The longer units come first: m is the start of ms.
        let Some(unit) = ["ns", "us", "µs", "μs", "ms", "h", "m", "s"]
            .iter()
            .find(|unit| tail.starts_with(**unit))
        else {
            return false;
        };
        rest = &tail[unit.len()..];
    }
    true
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn is_hostname(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
        })
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let Ok(bits) = bits.parse::<u8>() else {
        return false;
    };
    address.parse::<Ipv4Addr>().is_ok() && bits <= 32
        || address.parse::<Ipv6Addr>().is_ok() && bits <= 128
}

fn is_mac(text: &str) -> bool {
    let separator = if text.contains('-') { '-' } else { ':' };
    let bytes: Vec<&str> = text.split(separator).collect();
    matches!(bytes.len(), 6 | 8 | 20)
        && bytes
            .iter()
            .all(|byte| byte.len() == 2 && byte.chars().all(|c| c.is_ascii_hexdigit()))
}

/// With or without dashes, in either case; of any version, or of this one.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let digits = text.replace('-', "");
    let dashes = text.len() - digits.len();
    digits.len() == 32
        && dashes <= 4
        && digits.chars().all(|c| c.is_ascii_hexdigit())
        && version.is_none_or(|version| {
            let variant = digits.chars().nth(16).unwrap_or('0').to_ascii_lowercase();
            digits.chars().nth(12) == Some(version) && (version == '3' || "89ab".contains(variant))
        })
}

fn is_ssn(text: &str) -> bool {
    let digits = text.replace(['-', ' '], "");
    digits.len() == 9 && digits.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

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
