//! Regular expressions. The syntax is RE2's, in which `\w`, `\d`, `\s` and `\b` know ASCII only.

use regex::{Regex, RegexBuilder};

use super::{Function, no_overload, priced};
use crate::failure::{Evaluated, EvaluationError, charge};
use crate::value::Value;

/// Upper bound on the memory of a compiled expression.
const SIZE_LIMIT: usize = 256 * 1024;

/// What a regular expression costs that is compiled to at most `size` bytes. It is compiled each time.
struct Tier {
    size: usize,
    /// The steps to compile it.
    compile: u64,
    /// The steps of a byte of text: in the worst case, each goes through the compiled expression.
    byte: u64,
}

/// A larger regular expression is an error.
const TIERS: [Tier; 3] = [
    Tier {
        size: 8 * 1024,
        compile: 250,
        byte: 1,
    },
    Tier {
        size: 32 * 1024,
        compile: 2_500,
        byte: 8,
    },
    Tier {
        size: SIZE_LIMIT,
        compile: 16_000,
        byte: 64,
    },
];

/// What a class costs that has hundreds of ranges, which are made without a bound: `\p{L}`, and any class without regard to case.
const RANGES: u64 = 2_000;

/// What any other class costs.
const CLASS: u64 = 20;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        is_member: false,
        ..priced("matches", &[2], matches)
    },
    priced("matches", &[2], matches),
    priced("find", &[2], |args, steps| {
        let (text, regex) = parts(args, steps)?;
        Ok(Value::from(regex.find(text).map_or("", |it| it.as_str())))
    }),
    priced("findAll", &[2], |args, steps| {
        find_all(args, usize::MAX, steps)
    }),
    priced("findAll", &[3], |args, steps| match &args[2] {
        Value::Int(limit) => find_all(args, usize::try_from(*limit).unwrap_or(usize::MAX), steps),
        _ => Ok(no_overload()?),
    }),
];

fn parts<'a>(args: &'a [Value], steps: &mut u64) -> Evaluated<(&'a str, Regex)> {
    let [Value::String(text), Value::String(pattern), ..] = args else {
        return Ok(no_overload()?);
    };
    charge(steps, pattern.len() as u64 + cost_of_classes(pattern))?;
    let translated = translated(pattern);
    for tier in &TIERS {
        charge(steps, tier.compile)?;
        let regex = RegexBuilder::new(&translated).size_limit(tier.size).build();
        match regex {
            Ok(regex) => {
                charge(steps, (text.len() as u64).saturating_mul(tier.byte))?;
                return Ok((text, regex));
            }
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => break,
        }
    }
    let message = "not a regular expression, or too large a one";
    Err(EvaluationError::Error(message.to_owned()))
}

fn cost_of_classes(pattern: &str) -> u64 {
    let ignores_case = pattern.split("(?").skip(1).any(|flags| {
        let mut flags = flags.chars().take_while(char::is_ascii_alphabetic);
        flags.any(|flag| flag == 'i')
    });
    let count = |start: char| pattern.matches(start).count() as u64;
    let each = if ignores_case { RANGES } else { CLASS };
    let of_unicode = pattern.matches("\\p").count() + pattern.matches("\\P").count();
    each * (count('[') + count('\\')) + RANGES * of_unicode as u64
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

fn matches(args: &[Value], steps: &mut u64) -> Evaluated {
    let (text, regex) = parts(args, steps)?;
    Ok(Value::Bool(regex.is_match(text)))
}

fn find_all(args: &[Value], limit: usize, steps: &mut u64) -> Evaluated {
    let (text, regex) = parts(args, steps)?;
    let found = regex.find_iter(text).take(limit);
    Ok(Value::list(found.map(|it| Value::from(it.as_str()))))
}
