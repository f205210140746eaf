//! Standard functions, without those of times.

use super::strings::plain;
use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    global("size", &[1], size),
    member("size", &[1], size),
    member("contains", &[2], |args| {
        pair(args, |text, part| text.contains(part))
    }),
    member("startsWith", &[2], |args| {
        pair(args, |text, part| text.starts_with(part))
    }),
    member("endsWith", &[2], |args| {
        pair(args, |text, part| text.ends_with(part))
    }),
    global("int", &[1], int),
    global("uint", &[1], uint),
    global("double", &[1], double),
    global("string", &[1], string),
    global("bytes", &[1], bytes),
    global("bool", &[1], bool),
    global("dyn", &[1], |args| Ok(args[0].clone())),
    global("type", &[1], |args| Ok(Value::Type(args[0].type_name()))),
];

fn size(args: &[Value]) -> Returned {
    let size = match &args[0] {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        _ => return no_overload(),
    };
    Ok(Value::Int(size as i64))
}

fn pair(args: &[Value], test: fn(&str, &str) -> bool) -> Returned {
    match args {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(test(text, part))),
        _ => no_overload(),
    }
}

fn int(args: &[Value]) -> Returned {
    let value = match &args[0] {
        Value::Int(value) => Some(*value),
        Value::Uint(value) => i64::try_from(*value).ok(),
        // The bounds themselves are not exact.
        Value::Double(value) if value.abs() < 9_223_372_036_854_775_808.0 => Some(*value as i64),
        Value::Double(_) => None,
        Value::String(text) => text.parse().ok(),
        Value::Timestamp(time) => Some(time.as_second()),
        _ => return no_overload(),
    };
    value
        .map(Value::Int)
        .ok_or_else(|| "not an integer of 64 bits".to_owned())
}

fn uint(args: &[Value]) -> Returned {
    let value = match &args[0] {
        Value::Uint(value) => Some(*value),
        Value::Int(value) => u64::try_from(*value).ok(),
        Value::Double(value) if *value >= 0.0 && *value < 18_446_744_073_709_551_616.0 => {
            Some(*value as u64)
        }
        Value::Double(_) => None,
        Value::String(text) => text.parse().ok(),
        _ => return no_overload(),
    };
    value
        .map(Value::Uint)
        .ok_or_else(|| "not an unsigned integer of 64 bits".to_owned())
}

fn double(args: &[Value]) -> Returned {
    Ok(Value::Double(match &args[0] {
        Value::Double(value) => *value,
        Value::Int(value) => *value as f64,
        Value::Uint(value) => *value as f64,
        Value::String(text) => text.parse().map_err(|_| "not a number".to_owned())?,
        _ => return no_overload(),
    }))
}

fn bool(args: &[Value]) -> Returned {
    match &args[0] {
        Value::Bool(value) => Ok(Value::Bool(*value)),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err("neither true nor false".to_owned()),
        },
        _ => no_overload(),
    }
}

fn bytes(args: &[Value]) -> Returned {
    match &args[0] {
        Value::Bytes(_) => Ok(args[0].clone()),
        Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
        _ => no_overload(),
    }
}

fn string(args: &[Value]) -> Returned {
    let text = match &args[0] {
        Value::String(_) => return Ok(args[0].clone()),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Double(value) => shortest(*value),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err("bytes that are not UTF-8".to_owned()),
        },
        Value::Timestamp(time) => time.to_string(),
        Value::Duration(duration) => format!("{}s", plain(duration.as_secs_f64())),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(address, length) => format!("{address}/{length}"),
        _ => return no_overload(),
    };
    Ok(Value::from(text.as_str()))
}

/// A number as Go writes it: with an exponent if that is less than -4 or more than 5.
fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}
