//! Finds the uid and the version of a review that cannot be decoded.
//!
//! To an API server, a response without the uid is a failed call, and its message is lost. So the uid is read from any part
//! of the body that can be read, even if the rest is invalid, truncated or of another type.

use std::fmt;

use berth_rules::object::Text;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::header::{ApiVersion, Header, LONGEST_UID};

/// Returns the readable part of the header, and defaults for the rest.
pub(crate) fn salvage(body: &[u8]) -> Header<'_> {
    let mut header = Header::default();
    let mut decoder = serde_json::Deserializer::from_slice(body);
    // An error does not matter: the header keeps the fields before it.
    let _ = Fields {
        header: &mut header,
        of: Level::Review,
    }
    .deserialize(&mut decoder);
    header
}

/// Reads the fields of an object one by one into the header.
struct Fields<'h, 'a> {
    header: &'h mut Header<'a>,
    of: Level,
}

enum Level {
    Review,
    Request,
}

/// A string, or `None` for another type.
struct AnyShape<'a>(Option<Text<'a>>);

impl<'a> DeserializeSeed<'a> for Fields<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Fields<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'a>>()? {
            match (&self.of, key.as_str()) {
                (Level::Review, "apiVersion") => {
                    if let AnyShape(Some(version)) = map.next_value()? {
                        self.header.api_version =
                            ApiVersion::parse(version.as_str()).unwrap_or_default();
                    }
                }
                (Level::Review, "request") => {
                    map.next_value_seed(Fields {
                        header: self.header,
                        of: Level::Request,
                    })?;
                }
                (Level::Request, "uid") => {
                    if let AnyShape(Some(uid)) = map.next_value()?
                        && uid.as_str().len() <= LONGEST_UID
                    {
                        self.header.uid = uid;
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for AnyShape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(value.get()).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uid_is_found_in_any_readable_part() {
        for (body, uid, version) in [
            (
                r#"{"apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u","object":{"a"#,
                "u",
                "v1beta1",
            ),
            (
                r#"{"apiVersion":"admission.k8s.io/v1","request":{"name":3,"uid":"u","object":[[["#,
                "u",
                "v1",
            ),
            (r#"{"request":{"uid":"u"}} trailing"#, "u", "v1"),
            (r#"{"request":{"uid":7}}"#, "", "v1"),
            (r#"{"apiVersion":3,"request":{"uid":"u"}}"#, "u", "v1"),
            (
                r#"{"apiVersion":null,"request":{"uid":"u\u00e9"}}"#,
                "ué",
                "v1",
            ),
            (
                r#"{"request":{"uid":[{"a":1}],"uid":"u"},"apiVersion":{}}"#,
                "u",
                "v1",
            ),
            (r#"{"request":[]}"#, "", "v1"),
            ("not json", "", "v1"),
            ("", "", "v1"),
        ] {
            let header = salvage(body.as_bytes());
            assert_eq!(header.uid.as_str(), uid, "{body}");
            assert_eq!(
                header.api_version.as_str(),
                format!("admission.k8s.io/{version}"),
                "{body}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_walked_without_recursion() {
        let body = format!(r#"{{"request":{{"object":{}"#, "[".repeat(100_000));
        assert_eq!(salvage(body.as_bytes()).uid.as_str(), "");
        let closed = format!(
            r#"{{"request":{{"object":{}{},"uid":"u"}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(salvage(closed.as_bytes()).uid.as_str(), "u");
    }
}
