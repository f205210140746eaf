//! Parses queries.

use std::fmt;

use crate::answers::State;

use super::version::{Compared, Version};
use super::{Asks, Query, Term};

/// Upper bound on the bytes of a query.
const LONGEST_QUERY: usize = 1024;

/// Upper bound on the terms of a query.
const MOST_TERMS: usize = 32;

/// The keys before a colon.
const KEYS: &str = "set:, name:, claim:, label: and version with <, <=, =, >= or >";

/// A query that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadQuery {
    /// What is wrong, and what is right.
    pub(crate) why: String,
    /// Where it is, in UTF-16 code units from the beginning: as browsers count.
    pub(crate) at: usize,
}

/// A word of a query.
struct Word {
    /// Without quotes.
    text: String,
    /// Byte offset in the query.
    at: usize,
    /// Byte offset in `text` of the first part that was in quotes: it has no syntax.
    quoted_from: Option<usize>,
}

// === impl BadQuery ===

impl fmt::Display for BadQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

pub(super) fn query(text: &str) -> Result<Query, BadQuery> {
    if text.len() > LONGEST_QUERY {
        let why = format!("the query is longer than {LONGEST_QUERY} bytes");
        return Err(BadQuery { why, at: 0 });
    }
    let bad = |(at, why): (usize, String)| BadQuery {
        why,
        at: text[..at].encode_utf16().count(),
    };
    let words = words(text).map_err(bad)?;
    if let Some(word) = words.get(MOST_TERMS) {
        let why = format!("a query has at most {MOST_TERMS} terms");
        return Err(bad((word.at, why)));
    }
    let terms: Result<_, _> = words.iter().map(|it| term(it).map_err(bad)).collect();
    Ok(Query { terms: terms? })
}

/// Splits at spaces outside of quotes.
fn words(text: &str) -> Result<Vec<Word>, (usize, String)> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| Word {
            text: String::new(),
            at,
            quoted_from: None,
        });
        match (c, quote) {
            ('"', None) => {
                word.quoted_from.get_or_insert(word.text.len());
                quote = Some(at);
            }
            ('"', Some(_)) => quote = None,
            _ => word.text.push(c),
        }
    }
    if let Some(at) = quote {
        return Err((at, "a double quote is missing at the end".to_owned()));
    }
    words.extend(word);
    Ok(words)
}

fn term(word: &Word) -> Result<Term, (usize, String)> {
    let unquoted = word.quoted_from.unwrap_or(word.text.len());
    let negated = word.text[..unquoted].starts_with('!');
    let skipped = usize::from(negated);
    let text = &word.text[skipped..];
    let at = word.at + skipped;
    let syntax = &text[..unquoted - skipped];
    let asks = if let Some(end) = syntax.find([':', '<', '>', '=']) {
        let rest = at + end + syntax[end..].chars().next().map_or(0, char::len_utf8);
        let is_quoted = word.quoted_from.is_some();
        keyed(&text[..end], &text[end..], syntax, is_quoted, (at, rest))?
    } else if text.is_empty() {
        return Err((word.at, "a word is missing".to_owned()));
    } else {
        match state(text).filter(|_| word.quoted_from.is_none()) {
            Some(state) => Asks::State(state),
            None if text == "cordoned" && word.quoted_from.is_none() => Asks::Cordoned,
            None => Asks::Name(text.to_lowercase()),
        }
    };
    Ok(Term { negated, asks })
}

/// `rest` begins with a colon or a comparison.
fn keyed(
    key: &str,
    rest: &str,
    syntax: &str,
    is_quoted: bool,
    (at, value_at): (usize, usize),
) -> Result<Asks, (usize, String)> {
    if key == "version" {
        return version(rest, value_at);
    }
    let Some(value) = rest.strip_prefix(':') else {
        let sign = &rest[..1];
        let why = match sign {
            "=" => format!("{key:?} is compared with =: write label:{key}=... or claim:{key}=..."),
            _ => format!("only version can be compared with {sign}"),
        };
        return Err((at, why));
    };
    // Quotes say that the empty text is meant: set:"" are clusters without a set.
    if value.is_empty() && !is_quoted {
        return Err((value_at, format!("a value is missing after {key}:")));
    }
    // An = in quotes belongs to the key.
    let pair = || match syntax[key.len() + 1..].find('=') {
        Some(end) => (value[..end].to_owned(), Some(value[end + 1..].to_owned())),
        None => (value.to_owned(), None),
    };
    match key {
        "name" => Ok(Asks::Name(value.to_lowercase())),
        "set" => Ok(Asks::Set(value.to_owned())),
        "claim" | "label" => {
            let (name, value) = pair();
            if name.is_empty() {
                return Err((value_at, format!("a key is missing after {key}:")));
            }
            Ok(match key {
                "claim" => Asks::Claim(name, value),
                _ => Asks::Label(name, value),
            })
        }
        "state" => match state(value) {
            Some(state) => Ok(Asks::State(state)),
            None => Err((value_at, format!("{value:?} is not a state: {STATES}"))),
        },
        _ => Err((at, format!("{key:?} is not a key: keys are {KEYS}"))),
    }
}

fn version(rest: &str, at: usize) -> Result<Asks, (usize, String)> {
    let signs = [
        ("<=", Compared::AtMost),
        (">=", Compared::AtLeast),
        ("<", Compared::Less),
        (">", Compared::More),
        ("=", Compared::Equal),
        (":", Compared::Equal),
    ];
    for (sign, compared) in signs {
        if let Some(value) = rest.strip_prefix(sign) {
            let why = || format!("{value:?} is not a version such as 1.33 or 1.33.2");
            let at = at + sign.len() - 1;
            let version = Version::parse(value).ok_or_else(|| (at, why()))?;
            return Ok(Asks::Version(compared, version));
        }
    }
    Err((
        at,
        "version needs a comparison, as in version<1.33".to_owned(),
    ))
}

/// The words of states.
const STATES: &str =
    "states are pending, denied, accepted, joined, available, unavailable, unknown and deleting";

fn state(word: &str) -> Option<State> {
    Some(match word {
        "pending" => State::Pending,
        "denied" => State::Denied,
        "accepted" => State::Accepted,
        "joined" => State::Joined,
        "available" => State::Available,
        "unavailable" => State::Unavailable,
        "unknown" => State::Unknown,
        "deleting" => State::Deleting,
        _ => return None,
    })
}
