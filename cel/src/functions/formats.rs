//! Kubernetes' named formats.

use berth_api::names;

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

/// A named format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Dns1123Label,
    Dns1123Subdomain,
    Dns1035Label,
    QualifiedName,
    Dns1123LabelPrefix,
    Dns1123SubdomainPrefix,
    Dns1035LabelPrefix,
    LabelValue,
    Uri,
    Uuid,
    Byte,
    Date,
    DateTime,
}

/// The formats by name.
const NAMED: [(&str, Format); 13] = [
    ("dns1123Label", Format::Dns1123Label),
    ("dns1123Subdomain", Format::Dns1123Subdomain),
    ("dns1035Label", Format::Dns1035Label),
    ("qualifiedName", Format::QualifiedName),
    ("dns1123LabelPrefix", Format::Dns1123LabelPrefix),
    ("dns1123SubdomainPrefix", Format::Dns1123SubdomainPrefix),
    ("dns1035LabelPrefix", Format::Dns1035LabelPrefix),
    ("labelValue", Format::LabelValue),
    ("uri", Format::Uri),
    ("uuid", Format::Uuid),
    ("byte", Format::Byte),
    ("date", Format::Date),
    ("datetime", Format::DateTime),
];

pub(super) const FUNCTIONS: &[Function] = &[
    global("format.named", &[1], |args| match &args[0] {
        Value::String(name) => {
            let found = NAMED.into_iter().find(|(it, _)| **it == **name);
            Ok(Value::optional(
                found.map(|(_, format)| Value::Format(format)),
            ))
        }
        _ => no_overload(),
    }),
    member("validate", &[2], validate),
    global("format.dns1123Label", &[0], |_| {
        Ok(Value::Format(Format::Dns1123Label))
    }),
    global("format.dns1123Subdomain", &[0], |_| {
        Ok(Value::Format(Format::Dns1123Subdomain))
    }),
    global("format.dns1035Label", &[0], |_| {
        Ok(Value::Format(Format::Dns1035Label))
    }),
    global("format.qualifiedName", &[0], |_| {
        Ok(Value::Format(Format::QualifiedName))
    }),
    global("format.dns1123LabelPrefix", &[0], |_| {
        Ok(Value::Format(Format::Dns1123LabelPrefix))
    }),
    global("format.dns1123SubdomainPrefix", &[0], |_| {
        Ok(Value::Format(Format::Dns1123SubdomainPrefix))
    }),
    global("format.dns1035LabelPrefix", &[0], |_| {
        Ok(Value::Format(Format::Dns1035LabelPrefix))
    }),
    global("format.labelValue", &[0], |_| {
        Ok(Value::Format(Format::LabelValue))
    }),
    global("format.uri", &[0], |_| Ok(Value::Format(Format::Uri))),
    global("format.uuid", &[0], |_| Ok(Value::Format(Format::Uuid))),
    global("format.byte", &[0], |_| Ok(Value::Format(Format::Byte))),
    global("format.date", &[0], |_| Ok(Value::Format(Format::Date))),
    global("format.datetime", &[0], |_| {
        Ok(Value::Format(Format::DateTime))
    }),
];

/// Returns the mistakes in the text; absent if it has the format.
fn validate(args: &[Value]) -> Returned {
    let (Value::Format(format), Value::String(text)) = (&args[0], &args[1]) else {
        return no_overload();
    };
    let is_valid = match format {
        Format::LabelValue => names::label_value(text).is_empty(),
        Format::QualifiedName => names::qualified_name(text).is_empty(),
        Format::Dns1123Label => is_label(text, false),
        Format::Dns1123Subdomain => is_subdomain(text),
        Format::Dns1035Label => is_label(text, true),
        Format::Dns1123LabelPrefix => is_label(&as_prefix(text), false),
        Format::Dns1123SubdomainPrefix => is_subdomain(&as_prefix(text)),
        Format::Dns1035LabelPrefix => is_label(&as_prefix(text), true),
        Format::Uri => super::urls::parsed(text).is_some(),
        Format::Uuid => is_uuid(text),
        Format::Byte => is_base64(text),
        Format::Date => is_date(text),
        Format::DateTime => super::times::rfc3339(text).is_some(),
    };
    let mistake = format!("not a valid {}", format.name());
    let mistakes = (!is_valid).then(|| Value::list([Value::from(mistake.as_str())]));
    Ok(Value::optional(mistakes))
}

/// A prefix may end with a hyphen.
fn as_prefix(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(before) if !before.is_empty() => format!("{before}a"),
        _ => text.to_owned(),
    }
}

fn is_label(text: &str, starts_with_letter: bool) -> bool {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = bytes.first().copied().unwrap_or_default();
    let is_first = first.is_ascii_lowercase() || !starts_with_letter && first.is_ascii_digit();
    let is_last = bytes.last().is_some_and(is_part);
    bytes.len() <= 63
        && is_first
        && is_last
        && bytes.iter().all(|byte| is_part(byte) || *byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        let is_end = |byte: Option<&u8>| {
            byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        };
        let is_inner = |byte: &u8| is_end(Some(byte)) || *byte == b'-';
        is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_uuid(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let is_grouped = groups == [8, 4, 4, 4, 12] || groups == [32];
    is_grouped && digits.iter().all(u8::is_ascii_hexdigit)
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && body.bytes().all(is_digit)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.as_bytes()[4] == b'-' && text.parse::<jiff::civil::Date>().is_ok()
}

// === impl Format ===

impl Format {
    fn name(self) -> &'static str {
        let found = NAMED.into_iter().find(|(_, format)| *format == self);
        found.map_or("format", |(name, _)| name)
    }
}
