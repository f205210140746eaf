//! The requester in a review: kept as raw JSON until a question needs it, and limited then.

use std::collections::BTreeMap;

use berth_rules::object::{Entries, Items, Map, Sequence, Text};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess};
use serde_json::value::RawValue;

use crate::Requester;
use crate::refusal::{Refusal, one_line};

/// The maximum memory of a decoded requester, in bytes: name, uid, groups and `extra`. API servers limit the header of a
/// request, which contains all of these, to 1 MiB.
const LARGEST: usize = 1024 * 1024;

/// The bytes of memory of a string, besides its content.
const EACH: usize = 48;

/// `request.userInfo`. Only the name is needed for every review.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct UserInfo<'a> {
    #[serde(borrow)]
    pub(crate) username: Text<'a>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    #[serde(borrow)]
    groups: Option<&'a RawValue>,
    #[serde(borrow)]
    extra: Option<&'a RawValue>,
}

/// The rest of the memory for a requester.
struct Room(usize);

impl UserInfo<'_> {
    /// Decodes the whole requester, for questions.
    pub(crate) fn requester(&self) -> Result<Requester, Refusal> {
        let mut room = Room(LARGEST);
        let uid = self.uid.as_ref().map_or("", Text::as_str);
        for text in [self.username.as_str(), uid] {
            room.take::<serde_json::Error>(text)
                .map_err(|error| refusal("", &error))?;
        }
        let groups = read(self.groups, Sequence(Strings(&mut room)));
        let groups = groups.map_err(|error| refusal(".groups", &error))?;
        let extra = read(self.extra, Map(Extra(&mut room)));
        Ok(Requester {
            username: self.username.as_str().to_owned(),
            uid: uid.to_owned(),
            groups,
            extra: extra.map_err(|error| refusal(".extra", &error))?,
        })
    }
}

fn read<'a, S>(raw: Option<&'a RawValue>, seed: S) -> serde_json::Result<S::Value>
where
    S: DeserializeSeed<'a>,
    S::Value: Default,
{
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(S::Value::default()),
        Some(text) => seed.deserialize(&mut serde_json::Deserializer::from_str(text)),
    }
}

fn refusal(field: &str, error: &serde_json::Error) -> Refusal {
    let error = one_line(&error.to_string());
    Refusal::malformed(format!("request.userInfo{field}: {error}"))
}

impl Room {
    fn take<E: Error>(&mut self, text: &str) -> Result<(), E> {
        let left = self.0.checked_sub(text.len() + EACH);
        self.0 = left.ok_or_else(|| {
            E::custom(format_args!(
                "name, groups and extra are larger than {LARGEST} bytes in all"
            ))
        })?;
        Ok(())
    }
}

/// A list of strings.
struct Strings<'r>(&'r mut Room);

impl<'de> Items<'de> for Strings<'_> {
    type Value = Vec<String>;

    fn read<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
        let mut strings = Vec::new();
        while let Some(text) = items.next_element::<Text<'de>>()? {
            self.0.take(text.as_str())?;
            strings.push(text.as_str().to_owned());
        }
        Ok(strings)
    }
}

/// A map from strings to lists of strings.
struct Extra<'r>(&'r mut Room);

impl<'de> Entries<'de> for Extra<'_> {
    type Value = BTreeMap<String, Vec<String>>;

    const EXPECTED: &'static str = "a map";

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut extra = BTreeMap::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            self.0.take(key.as_str())?;
            let values = map.next_value_seed(Sequence(Strings(self.0)))?;
            extra.insert(key.as_str().to_owned(), values);
        }
        Ok(extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requester_is_charged_by_what_it_costs_decoded() {
        let groups = |number: usize| {
            format!(
                r#"{{"username":"u","groups":[{}]}}"#,
                vec![r#""""#; number].join(",")
            )
        };
        let extra = |number: usize| {
            let entries: Vec<_> = (0..number).map(|i| format!(r#""k{i}":[""]"#)).collect();
            format!(r#"{{"username":"u","extra":{{{}}}}}"#, entries.join(","))
        };
        for (sentence, text, good) in [
            ("many groups", groups(10_000), true),
            ("too many groups", groups(100_000), false),
            ("much in extra", extra(5_000), true),
            ("too much in extra", extra(50_000), false),
            (
                "a long name",
                format!(r#"{{"username":"{}"}}"#, "x".repeat(900_000)),
                true,
            ),
            (
                "a name without end",
                format!(r#"{{"username":"{}"}}"#, "x".repeat(2_000_000)),
                false,
            ),
            (
                "nulls",
                r#"{"username":"u","groups":null,"extra":{"k":null}}"#.to_owned(),
                true,
            ),
        ] {
            let user: UserInfo<'_> = serde_json::from_str(&text).unwrap();
            match user.requester() {
                Ok(_) => assert!(good, "{sentence}"),
                Err(refusal) => {
                    assert!(!good, "{sentence}: {}", refusal.message);
                    assert!(
                        refusal.message.contains("larger than 1048576 bytes in all"),
                        "{sentence}: {}",
                        refusal.message
                    );
                }
            }
        }
    }
}
