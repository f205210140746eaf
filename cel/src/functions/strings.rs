//! cel-go's extension of strings. Positions count characters.

use super::{Function, Returned, charge_whole, global, member, no_overload, priced};
use crate::failure::charge;
use crate::value::{Key, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    member("charAt", &[2], char_at),
    member("indexOf", &[2, 3], index_of),
    member("lastIndexOf", &[2, 3], last_index_of),
    priced("join", &[1, 2], |args, steps| {
        charge_whole(args, steps)?;
        Ok(join(args)?)
    }),
    member("lowerAscii", &[1], |args| {
        map(args, str::to_ascii_lowercase)
    }),
    member("upperAscii", &[1], |args| {
        map(args, str::to_ascii_uppercase)
    }),
    member("trim", &[1], |args| {
        map(args, |text| text.trim().to_owned())
    }),
    member("reverse", &[1], |args| {
        map(args, |text| text.chars().rev().collect())
    }),
    member("replace", &[3, 4], replace),
    member("split", &[2, 3], split),
    member("substring", &[2, 3], substring),
    priced("format", &[2], |args, steps| {
        charge_whole(args, steps)?;
        if let Value::String(pattern) = &args[0] {
            charge(steps, pattern.split('%').skip(1).map(cost_of_clause).sum())?;
        }
        Ok(format(args)?)
    }),
    global("strings.quote", &[1], |args| map(args, quote)),
];

/// Upper bound on the bytes of a text that a function returns, because a result is charged only after it is made.
const LONGEST: usize = 1 << 20;

fn map(args: &[Value], change: fn(&str) -> String) -> Returned {
    match &args[0] {
        Value::String(text) => Ok(Value::from(change(text).as_str())),
        _ => no_overload(),
    }
}

/// Where a search begins; `None` behind the end of a text of this length.
fn offset(value: Option<&Value>, length: usize) -> Result<Option<usize>, String> {
    match value {
        None => Ok(None),
        Some(Value::Int(offset)) if *offset < 0 => Err(format!("index out of range: {offset}")),
        Some(Value::Int(offset)) => Ok(Some(usize::try_from(*offset).unwrap_or(length + 1))),
        Some(_) => no_overload(),
    }
}

/// A position in a text of this length, which may be its end.
fn position(value: &Value, length: usize) -> Result<usize, String> {
    match value {
        Value::Int(position) => usize::try_from(*position)
            .ok()
            .filter(|position| *position <= length)
            .ok_or_else(|| format!("index out of range: {position}")),
        _ => no_overload(),
    }
}

fn char_at(args: &[Value]) -> Returned {
    let Value::String(text) = &args[0] else {
        return no_overload();
    };
    let chars: Vec<char> = text.chars().collect();
    let at = position(&args[1], chars.len())?;
    let found = chars.get(at).map(char::to_string).unwrap_or_default();
    Ok(Value::from(found.as_str()))
}

fn index_of(args: &[Value]) -> Returned {
    let (Value::String(text), Value::String(part)) = (&args[0], &args[1]) else {
        return no_overload();
    };
    let length = text.chars().count();
    let from = offset(args.get(2), length)?.unwrap_or_default();
    if from > length {
        return Ok(Value::Int(-1));
    }
    let begin = byte_of(text, from);
    let found = text[begin..].find(&**part);
    Ok(number_of(text, found.map(|at| begin + at)))
}

fn last_index_of(args: &[Value]) -> Returned {
    let (Value::String(text), Value::String(part)) = (&args[0], &args[1]) else {
        return no_overload();
    };
    let length = text.chars().count();
    let last = offset(args.get(2), length)?.unwrap_or(length);
    if last > length {
        return Ok(Value::Int(-1));
    }
    // The part may begin at the last position.
    let end = byte_of(text, last) + part.len();
    let mut ends = (0..=end.min(text.len())).rev();
    let end = ends.find(|it| text.is_char_boundary(*it));
    let within = &text[..end.unwrap_or_default()];
    Ok(number_of(text, within.rfind(&**part)))
}

/// The byte of the character at a position; behind the last one, the length.
fn byte_of(text: &str, position: usize) -> usize {
    let found = text.char_indices().nth(position);
    found.map_or(text.len(), |(at, _)| at)
}

/// The position of the character at a byte; -1 for none.
fn number_of(text: &str, at: Option<usize>) -> Value {
    Value::Int(at.map_or(-1, |at| text[..at].chars().count() as i64))
}

fn join(args: &[Value]) -> Returned {
    let separator = match args.get(1) {
        None => "",
        Some(Value::String(separator)) => separator,
        Some(_) => return no_overload(),
    };
    let Value::List(items) = &args[0] else {
        return no_overload();
    };
    let mut texts = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item {
            Value::String(text) => texts.push(&**text),
            _ => return no_overload(),
        }
    }
    let length: usize = texts.iter().map(|text| text.len() + separator.len()).sum();
    bounded(length)?;
    Ok(Value::from(texts.join(separator).as_str()))
}

fn bounded(length: usize) -> Result<(), String> {
    match length {
        length if length > LONGEST => Err("the text becomes too long".to_owned()),
        _ => Ok(()),
    }
}

fn limit(args: &[Value], at: usize) -> Result<usize, String> {
    match args.get(at) {
        None => Ok(usize::MAX),
        // A negative limit means no limit.
        Some(Value::Int(limit)) => Ok(usize::try_from(*limit).unwrap_or(usize::MAX)),
        Some(_) => no_overload(),
    }
}

fn replace(args: &[Value]) -> Returned {
    let (Value::String(text), Value::String(old), Value::String(new)) =
        (&args[0], &args[1], &args[2])
    else {
        return no_overload();
    };
    let limit = limit(args, 3)?;
    let found = text.matches(&**old).take(limit).count();
    bounded(text.len() + found * new.len())?;
    Ok(Value::from(text.replacen(&**old, new, limit).as_str()))
}

fn split(args: &[Value]) -> Returned {
    let (Value::String(text), Value::String(separator)) = (&args[0], &args[1]) else {
        return no_overload();
    };
    let parts: Vec<Value> = match limit(args, 2)? {
        0 => Vec::new(),
        limit if separator.is_empty() => {
            let starts = text.char_indices().map(|(start, _)| start);
            let mut starts: Vec<usize> = starts.take(limit).collect();
            starts.push(text.len());
            let parts = starts.windows(2);
            parts.map(|it| Value::from(&text[it[0]..it[1]])).collect()
        }
        limit => text.splitn(limit, &**separator).map(Value::from).collect(),
    };
    Ok(Value::List(parts.into()))
}

fn substring(args: &[Value]) -> Returned {
    let Value::String(text) = &args[0] else {
        return no_overload();
    };
    let length = text.chars().count();
    let start = position(&args[1], length)?;
    let end = args
        .get(2)
        .map_or(Ok(length), |end| position(end, length))?;
    if start > end {
        return Err(format!("index out of range: {start} is after {end}"));
    }
    let part: String = text.chars().skip(start).take(end - start).collect();
    Ok(Value::from(part.as_str()))
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// `format`: %s, %d, %f, %e, %b, %x, %X, %o and %%, with a precision for %f and %e.
fn format(args: &[Value]) -> Returned {
    let (Value::String(pattern), Value::List(values)) = (&args[0], &args[1]) else {
        return no_overload();
    };
    let mut values = values.iter();
    let mut made = String::new();
    let mut rest = &**pattern;
    while let Some((before, clause)) = rest.split_once('%') {
        made.push_str(before);
        let end = clause.find(|c: char| c != '.' && !c.is_ascii_digit());
        let end = end.ok_or("a formatting clause has no end")?;
        let verb = clause[end..].chars().next().unwrap_or_default();
        rest = &clause[end + verb.len_utf8()..];
        if verb == '%' {
            made.push('%');
            continue;
        }
        let precision = match clause[..end].strip_prefix('.') {
            None if end == 0 => 6,
            precision => {
                let precision = precision.and_then(|it| it.parse().ok());
                precision.filter(|it| *it <= 100).ok_or("not a precision")?
            }
        };
        let value = values
            .next()
            .ok_or("fewer values than formatting clauses")?;
        formatted(verb, precision, value, &mut made)?;
        bounded(made.len())?;
    }
    if values.next().is_some() {
        return Err("more values than formatting clauses".to_owned());
    }
    made.push_str(rest);
    Ok(Value::from(made.as_str()))
}

/// What a clause costs, which is `rest` up to its verb. The exact digits of a number such as 1e300 are hundreds.
fn cost_of_clause(rest: &str) -> u64 {
    let verb = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    if verb.starts_with(['f', 'e']) {
        300
    } else {
        16
    }
}

fn formatted(verb: char, precision: usize, value: &Value, to: &mut String) -> Result<(), String> {
    let text = match (verb, value) {
        ('s', value) => return shown(value, to),
        ('d', Value::Int(value)) => value.to_string(),
        ('d', Value::Uint(value)) => value.to_string(),
        ('d', Value::Double(value)) => plain(*value),
        ('f', Value::Double(value)) => fixed(*value, |it| format!("{it:.precision$}")),
        ('f', Value::Int(value)) => format!("{:.precision$}", *value as f64),
        ('e', Value::Double(value)) => fixed(*value, |it| exponential(*it, precision)),
        ('e', Value::Int(value)) => exponential(*value as f64, precision),
        ('b', Value::Int(value)) => signed(*value, |it| format!("{it:b}")),
        ('b', Value::Uint(value)) => format!("{value:b}"),
        ('b', Value::Bool(value)) => u8::from(*value).to_string(),
        ('o', Value::Int(value)) => signed(*value, |it| format!("{it:o}")),
        ('o', Value::Uint(value)) => format!("{value:o}"),
        ('x', Value::Int(value)) => signed(*value, |it| format!("{it:x}")),
        ('x', Value::Uint(value)) => format!("{value:x}"),
        ('x', Value::String(text)) => hex(text.as_bytes()),
        ('x', Value::Bytes(bytes)) => hex(bytes),
        ('X', Value::Int(value)) => signed(*value, |it| format!("{it:X}")),
        ('X', Value::Uint(value)) => format!("{value:X}"),
        ('X', Value::String(text)) => hex(text.as_bytes()).to_uppercase(),
        ('X', Value::Bytes(bytes)) => hex(bytes).to_uppercase(),
        ('d' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X', _) => {
            return Err(format!("%{verb} does not format a {}", value.type_name()));
        }
        _ => return Err(format!("no formatting clause %{verb}")),
    };
    to.push_str(&text);
    Ok(())
}

fn signed(value: i64, digits: fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |it: u8| char::from_digit(it.into(), 16).unwrap_or_default();
    let digits = |byte: &u8| [digit(byte >> 4), digit(byte & 15)];
    bytes.iter().flat_map(digits).collect()
}

fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// A number without an exponent.
pub(super) fn plain(value: f64) -> String {
    fixed(value, f64::to_string)
}

/// A number, written in this way if it is finite.
fn fixed(value: f64, write: impl Fn(&f64) -> String) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => write(&value),
    }
}

/// A value in words, for %s.
fn shown(value: &Value, to: &mut String) -> Result<(), String> {
    match value {
        Value::String(text) => to.push_str(text),
        Value::Null => to.push_str("null"),
        Value::Bool(value) => to.push_str(&value.to_string()),
        Value::Int(value) => to.push_str(&value.to_string()),
        Value::Uint(value) => to.push_str(&value.to_string()),
        Value::Double(value) => to.push_str(&plain(*value)),
        Value::Bytes(bytes) => to.push_str(&String::from_utf8_lossy(bytes)),
        Value::Timestamp(time) => to.push_str(&time.to_string()),
        Value::Duration(duration) => {
            to.push_str(&plain(duration.as_secs_f64()));
            to.push('s');
        }
        Value::Type(name) => to.push_str(name),
        Value::List(items) => {
            to.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    to.push_str(", ");
                }
                shown(item, to)?;
                bounded(to.len())?;
            }
            to.push(']');
        }
        Value::Map(entries) => {
            to.push('{');
            let mut texts = Vec::new();
            for (key, item) in entries.iter() {
                let mut text = String::new();
                shown_key(key, &mut text);
                text.push_str(": ");
                shown(item, &mut text)?;
                bounded(to.len() + text.len())?;
                texts.push(text);
            }
            texts.sort();
            to.push_str(&texts.join(", "));
            to.push('}');
        }
        _ => return Err(format!("%s does not format a {}", value.type_name())),
    }
    Ok(())
}

fn shown_key(key: &Key, to: &mut String) {
    match key {
        Key::String(text) => to.push_str(text),
        Key::Bool(value) => to.push_str(&value.to_string()),
        Key::Int(value) => to.push_str(&value.to_string()),
        Key::Uint(value) => to.push_str(&value.to_string()),
    }
}
