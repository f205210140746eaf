//! Timestamps and durations.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    global("timestamp", &[1], timestamp),
    global("duration", &[1], duration),
    member("getFullYear", &[1, 2], |args| {
        field(args, |it| it.year().into())
    }),
    member("getMonth", &[1, 2], |args| {
        field(args, |it| i64::from(it.month()) - 1)
    }),
    member("getDate", &[1, 2], |args| field(args, |it| it.day().into())),
    member("getDayOfMonth", &[1, 2], |args| {
        field(args, |it| i64::from(it.day()) - 1)
    }),
    member("getDayOfWeek", &[1, 2], |args| {
        field(args, |it| it.weekday().to_sunday_zero_offset().into())
    }),
    member("getDayOfYear", &[1, 2], |args| {
        field(args, |it| i64::from(it.day_of_year()) - 1)
    }),
    member("getHours", &[1, 2], |args| {
        whole(args, 3600).map_or_else(|| field(args, |it| it.hour().into()), Ok)
    }),
    member("getMinutes", &[1, 2], |args| {
        whole(args, 60).map_or_else(|| field(args, |it| it.minute().into()), Ok)
    }),
    member("getSeconds", &[1, 2], |args| {
        whole(args, 1).map_or_else(|| field(args, |it| it.second().into()), Ok)
    }),
    member("getMilliseconds", &[1, 2], |args| match args {
        [Value::Duration(duration)] => {
            let millis = i64::try_from(duration.as_millis());
            millis
                .map(Value::Int)
                .map_err(|_| "integer overflow".to_owned())
        }
        _ => field(args, |it| it.millisecond().into()),
    }),
];

fn timestamp(args: &[Value]) -> Returned {
    let time = match &args[0] {
        Value::Timestamp(time) => Some(*time),
        Value::String(text) => rfc3339(text),
        Value::Int(seconds) => Timestamp::from_second(*seconds).ok(),
        _ => return no_overload(),
    };
    time.map(Value::Timestamp)
        .ok_or_else(|| "not a time (RFC 3339)".to_owned())
}

/// Reads a time in the form that RFC 3339 allows. jiff allows others, too.
pub(super) fn rfc3339(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let is_sign_at = |at: usize, sign: u8| bytes.get(at) == Some(&sign);
    let is_date = is_sign_at(4, b'-') && is_sign_at(7, b'-') && is_sign_at(10, b'T');
    // jiff reads a leap second as the second before.
    let is_time = is_sign_at(13, b':') && is_sign_at(16, b':') && !is_sign_at(17, b'6');
    let zone = text
        .get(19..)?
        .trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let is_zone = zone == "Z" || zone.len() == 6 && zone.as_bytes()[3] == b':';
    text.parse().ok().filter(|_| is_date && is_time && is_zone)
}

fn duration(args: &[Value]) -> Returned {
    match &args[0] {
        Value::Duration(_) => Ok(args[0].clone()),
        Value::String(text) => {
            let duration = parsed(text).map(Value::Duration);
            duration.ok_or_else(|| "not a duration, such as 1h30m".to_owned())
        }
        _ => no_overload(),
    }
}

/// Reads a duration as Go writes it.
fn parsed(text: &str) -> Option<SignedDuration> {
    let (is_negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let units = [
            ("ns", 1.0),
            ("us", 1e3),
            ("µs", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("m", 6e10),
            ("h", 3.6e12),
        ];
        let found = units.into_iter().find(|(unit, _)| {
            rest.strip_prefix(unit)
                .is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
        });
        let (unit, factor) = found?;
        nanos += number * factor;
        rest = &rest[unit.len()..];
    }
    let is_in_range = nanos < i64::MAX as f64;
    let nanos = if is_negative { -nanos } else { nanos };
    is_in_range.then(|| SignedDuration::from_nanos(nanos as i64))
}

/// The whole duration in a unit.
fn whole(args: &[Value], seconds: i64) -> Option<Value> {
    match args {
        [Value::Duration(duration)] => Some(Value::Int(duration.as_secs() / seconds)),
        _ => None,
    }
}

/// A field of a time, in UTC or in the time zone of the second argument.
fn field(args: &[Value], field: fn(&Zoned) -> i64) -> Returned {
    let (time, zone) = match args {
        [Value::Timestamp(time)] => (*time, TimeZone::UTC),
        [Value::Timestamp(time), Value::String(zone)] => (*time, offset(zone)?),
        _ => return no_overload(),
    };
    Ok(Value::Int(field(&time.to_zoned(zone))))
}

/// A time zone: `UTC`, or an offset such as `-08:00`. Names of places need a data base that this process may lack.
fn offset(zone: &str) -> Result<TimeZone, String> {
    if matches!(zone, "UTC" | "" | "Etc/UTC" | "GMT") {
        return Ok(TimeZone::UTC);
    }
    let wrong = || format!("{zone:?} is not an offset such as -08:00");
    let (sign, digits) = match zone.as_bytes().first() {
        Some(b'-') => (-1, &zone[1..]),
        Some(b'+') => (1, &zone[1..]),
        _ => (1, zone),
    };
    let (hours, minutes) = digits.split_once(':').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<i32>().map_err(|_| wrong());
    let seconds =
        sign * (number(hours)?.saturating_mul(3600) + number(minutes)?.saturating_mul(60));
    let offset = jiff::tz::Offset::from_seconds(seconds).map_err(|_| wrong())?;
    Ok(TimeZone::fixed(offset))
}
