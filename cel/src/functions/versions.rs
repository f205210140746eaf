//! Semantic versions (<https://semver.org>).

use std::cmp::Ordering;

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

/// A version. Build metadata does not count.
#[derive(Clone, Debug)]
pub struct Version {
    numbers: [u64; 3],
    /// The identifiers of a pre-release.
    before: Vec<Identifier>,
    /// The bytes of its text.
    pub(crate) length: usize,
}

/// Numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

pub(super) const FUNCTIONS: &[Function] = &[
    global("semver", &[1], |args| match &args[0] {
        Value::String(text) => {
            let version = Version::parse(text).map(|version| Value::Version(version.into()));
            version.ok_or_else(|| "not a semantic version".to_owned())
        }
        _ => no_overload(),
    }),
    global("isSemver", &[1], |args| match &args[0] {
        Value::String(text) => Ok(Value::Bool(Version::parse(text).is_some())),
        _ => no_overload(),
    }),
    member("major", &[1], |args| number(args, 0)),
    member("minor", &[1], |args| number(args, 1)),
    member("patch", &[1], |args| number(args, 2)),
    member("compareTo", &[2], |args| {
        compared(args, |order| Value::Int(order as i64))
    }),
    member("isGreaterThan", &[2], |args| {
        compared(args, |order| Value::Bool(order.is_gt()))
    }),
    member("isLessThan", &[2], |args| {
        compared(args, |order| Value::Bool(order.is_lt()))
    }),
];

fn number(args: &[Value], index: usize) -> Returned {
    match &args[0] {
        Value::Version(version) => {
            let number = i64::try_from(version.numbers[index]).ok();
            number
                .map(Value::Int)
                .ok_or_else(|| "integer overflow".to_owned())
        }
        _ => no_overload(),
    }
}

fn compared(args: &[Value], read: fn(Ordering) -> Value) -> Returned {
    match args {
        [Value::Version(one), Value::Version(other)] => Ok(read(one.compare(other))),
        _ => no_overload(),
    }
}

// === impl Version ===

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let is_word = |text: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
            !text.is_empty() && text.chars().all(is_part)
        };
        let length = text.len();
        let (text, build) = text
            .split_once('+')
            .map_or((text, None), |(a, b)| (a, Some(b)));
        if build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let (release, before) = text
            .split_once('-')
            .map_or((text, None), |(a, b)| (a, Some(b)));
        let numbers: Vec<u64> = release.split('.').map(plain).collect::<Option<_>>()?;
        let identifiers = before.into_iter().flat_map(|before| before.split('.'));
        let identifier = |text: &str| {
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                plain(text).map(Identifier::Number)
            } else {
                is_word(text).then(|| Identifier::Text(text.to_owned()))
            }
        };
        Some(Self {
            numbers: numbers.try_into().ok()?,
            before: identifiers.map(identifier).collect::<Option<_>>()?,
            length,
        })
    }

    /// The order of two versions. A pre-release comes before its release.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let release = self.numbers.cmp(&other.numbers);
        release.then_with(|| match (self.before.is_empty(), other.before.is_empty()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => self.before.cmp(&other.before),
        })
    }
}

/// A number without leading zeros.
fn plain(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}
