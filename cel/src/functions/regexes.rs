//! Regular expressions. The syntax is RE2's, in which `\w`, `\d`, `\s` and `\b` know ASCII only.

use regex::{Regex, RegexBuilder};

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

/// Upper bound on the memory of a compiled expression.
const SIZE_LIMIT: usize = 256 * 1024;

pub(super) const FUNCTIONS: &[Function] = &[
    global("matches", &[2], matches),
    member("matches", &[2], matches),
    member("find", &[2], |args| {
        let (text, regex) = parts(args)?;
        Ok(Value::from(regex.find(text).map_or("", |it| it.as_str())))
    }),
    member("findAll", &[2], |args| find_all(args, usize::MAX)),
    member("findAll", &[3], |args| match &args[2] {
        Value::Int(limit) => find_all(args, usize::try_from(*limit).unwrap_or(usize::MAX)),
        _ => no_overload(),
    }),
];

fn parts(args: &[Value]) -> Result<(&str, Regex), String> {
    match args {
        [Value::String(text), Value::String(pattern), ..] => {
            let regex = RegexBuilder::new(&translated(pattern))
                .size_limit(SIZE_LIMIT)
                .build();
            Ok((
                text,
                regex.map_err(|_| "not a regular expression, or too large a one".to_owned())?,
            ))
        }
        _ => no_overload(),
    }
}

/// The expression in the syntax of the crate `regex`, where these classes are Unicode's, and where classes nest and have operators.
fn translated(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('d') => made.push_str("[0-9]"),
                Some('D') => made.push_str("[^0-9]"),
                Some('w') => made.push_str("[0-9A-Za-z_]"),
                Some('W') => made.push_str("[^0-9A-Za-z_]"),
                Some('s') => made.push_str("[\\t\\n\\f\\r ]"),
                Some('S') => made.push_str("[^\\t\\n\\f\\r ]"),
                Some('b') => made.push_str("(?-u:\\b)"),
                Some(other) => made.extend(['\\', other]),
                None => made.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                made.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    made.push('^');
                }
                // As the first of a class, it is no end.
                if chars.next_if_eq(&']').is_some() {
                    made.push_str("\\]");
                }
            }
            '[' if chars.peek() == Some(&':') => {
                made.push('[');
                for c in chars.by_ref() {
                    made.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            ']' => {
                in_class = false;
                made.push(']');
            }
            '[' | '&' | '~' if in_class => made.extend(['\\', c]),
            c => made.push(c),
        }
    }
    made
}

fn matches(args: &[Value]) -> Returned {
    let (text, regex) = parts(args)?;
    Ok(Value::Bool(regex.is_match(text)))
}

fn find_all(args: &[Value], limit: usize) -> Returned {
    let (text, regex) = parts(args)?;
    let found = regex.find_iter(text).take(limit);
    Ok(Value::list(found.map(|it| Value::from(it.as_str()))))
}
