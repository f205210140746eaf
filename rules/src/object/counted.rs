//! Decodes a value of any type, and counts the items of its lists by the name of their field while it is read.
//!
//! A requester chooses the length of a list, and a short item of JSON is large in memory. So items beyond a limit are counted, and not
//! kept ([`super::list`] says more). The types of `berth_api` have no limits of their own; here they get them.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::shape::unexpected;

/// The maximum length of a string in bytes.
const LONGEST_TEXT: usize = 64 * 1024;

/// A limit for the items of all lists and maps with one of these names together.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) fields: &'static [&'static str],
    pub(super) most: usize,
}

/// The limits, and the number of items that were found of each.
#[derive(Debug)]
pub(super) struct Counter<const N: usize> {
    limits: &'static [Limit; N],
    found: [Cell<usize>; N],
}

/// Decides about the items of lists.
trait Count {
    /// The limit for a field of this name, if it has one.
    fn limit_of(&self, field: &str) -> Option<usize>;

    /// Counts an item, and returns true if it is within the limit.
    fn count(&self, limit: usize) -> bool;

    /// Returns true if one more item would be within the limit.
    fn has_room(&self, limit: usize) -> bool;
}

/// A deserializer, seed, visitor or access that counts.
pub(super) struct Counted<'c, T> {
    inner: T,
    counter: &'c dyn Count,
    /// The limit of the field that is being read.
    limit: Option<usize>,
    /// A list is refused: serde also decodes a struct from a list of its values.
    is_struct: bool,
}

/// A key of a map. Its name decides on the limit of the value.
struct Key<'c, S> {
    seed: S,
    counter: &'c dyn Count,
    limit: &'c Cell<Option<usize>>,
}

// === impl Counter ===

impl<const N: usize> Counter<N> {
    pub(super) fn new(limits: &'static [Limit; N]) -> Self {
        Self {
            limits,
            found: [const { Cell::new(0) }; N],
        }
    }

    pub(super) fn counts(&self) -> [usize; N] {
        std::array::from_fn(|index| self.found[index].get())
    }

    /// Wraps a deserializer.
    pub(super) fn watch<D>(&self, deserializer: D) -> Counted<'_, D> {
        Counted {
            inner: deserializer,
            counter: self,
            limit: None,
            is_struct: false,
        }
    }
}

impl<const N: usize> Count for Counter<N> {
    fn limit_of(&self, field: &str) -> Option<usize> {
        self.limits
            .iter()
            .position(|limit| limit.fields.contains(&field))
    }

    fn count(&self, limit: usize) -> bool {
        let (found, most) = (&self.found[limit], self.limits[limit].most);
        found.set(found.get() + 1);
        found.get() <= most
    }

    fn has_room(&self, limit: usize) -> bool {
        self.found[limit].get() < self.limits[limit].most
    }
}

// === impl Counted ===

impl<'c, T> Counted<'c, T> {
    /// The same for a part of the value.
    fn with<U>(&self, inner: U) -> Counted<'c, U> {
        Counted {
            inner,
            counter: self.counter,
            limit: None,
            is_struct: false,
        }
    }

    /// Splits the deserializer from the visitor that it is given.
    fn split<V>(self, visitor: V, is_struct: bool) -> (T, Counted<'c, V>) {
        let Self {
            inner,
            counter,
            limit,
            ..
        } = self;
        let visitor = Counted {
            inner: visitor,
            counter,
            limit,
            is_struct,
        };
        (inner, visitor)
    }
}

/// Methods without other arguments than the visitor.
macro_rules! plain {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let (inner, visitor) = self.split(visitor, false);
            inner.$method(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counted<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option
        deserialize_unit deserialize_seq deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.split(visitor, false);
        inner.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.split(visitor, false);
        inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.split(visitor, false);
        inner.deserialize_tuple(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.split(visitor, false);
        inner.deserialize_tuple_struct(name, length, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.split(visitor, true);
        inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.split(visitor, false);
        inner.deserialize_enum(name, variants, visitor)
    }
}

/// Visits of values without parts.
macro_rules! values {
    ($($method:ident: $type:ty)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_struct {
            return f.write_str("an object");
        }
        self.inner.expecting(f)
    }

    values! { visit_bool: bool visit_i64: i64 visit_i128: i128 visit_u64: u64 visit_u128: u128 visit_f64: f64 }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        if self.is_struct {
            return Err(unexpected(text, &self));
        }
        self.inner.visit_str(bounded(text)?)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        if self.is_struct {
            return Err(unexpected(text, &self));
        }
        self.inner.visit_borrowed_str(bounded(text)?)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let (inner, deserializer) = self.split(deserializer, false);
        inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let (inner, deserializer) = self.split(deserializer, false);
        inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        if self.is_struct {
            return Err(A::Error::invalid_type(serde::de::Unexpected::Seq, &self));
        }
        let (inner, items) = self.split(items, false);
        inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let (inner, map) = self.split(map, false);
        inner.visit_map(Entries {
            map,
            of_value: Cell::new(None),
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(limit) = self.limit else {
            let seed = self.with(seed);
            return self.inner.next_element_seed(seed);
        };
        if self.counter.has_room(limit) {
            let seed = self.with(seed);
            let item = self.inner.next_element_seed(seed)?;
            if item.is_some() {
                self.counter.count(limit);
            }
            return Ok(item);
        }
        while self.inner.next_element::<IgnoredAny>()?.is_some() {
            self.counter.count(limit);
        }
        Ok(None)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Counted<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let (seed, deserializer) = self.split(deserializer, false);
        seed.deserialize(deserializer)
    }
}

/// The entries of a map.
struct Entries<'c, A> {
    map: Counted<'c, A>,
    of_value: Cell<Option<usize>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.of_value.set(None);
        let counter = self.map.counter;
        if let Some(limit) = self.map.limit
            && !counter.has_room(limit)
        {
            while self
                .map
                .inner
                .next_entry::<IgnoredAny, IgnoredAny>()?
                .is_some()
            {
                counter.count(limit);
            }
            return Ok(None);
        }
        let key = Key {
            seed,
            counter,
            limit: &self.of_value,
        };
        let key = self.map.inner.next_key_seed(key)?;
        if let Some(limit) = self.map.limit
            && key.is_some()
        {
            // The names of its entries are no fields.
            self.of_value.set(None);
            counter.count(limit);
        }
        Ok(key)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let mut seed = self.map.with(seed);
        seed.limit = self.of_value.take();
        self.map.inner.next_value_seed(seed)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let Self {
            seed,
            counter,
            limit,
        } = self;
        seed.deserialize(KeyText {
            inner: deserializer,
            counter,
            limit,
        })
    }
}

/// Decodes the key, and looks it up.
struct KeyText<'c, T> {
    inner: T,
    counter: &'c dyn Count,
    limit: &'c Cell<Option<usize>>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for KeyText<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let Self {
            inner,
            counter,
            limit,
        } = self;
        inner.deserialize_any(KeyText {
            inner: visitor,
            counter,
            limit,
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for KeyText<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.limit.set(self.counter.limit_of(text));
        self.inner.visit_str(bounded(text)?)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.limit.set(self.counter.limit_of(text));
        self.inner.visit_borrowed_str(bounded(text)?)
    }
}

/// Errors of decoders quote a text as a whole, and it is copied, so its length is limited.
fn bounded<E: Error>(text: &str) -> Result<&str, E> {
    if text.len() <= LONGEST_TEXT {
        return Ok(text);
    }
    Err(E::custom(format_args!(
        "a string has {} bytes: must have at most {LONGEST_TEXT}",
        text.len()
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    const LIMITS: [Limit; 2] = [
        Limit {
            fields: &["items"],
            most: 3,
        },
        Limit {
            fields: &["labels", "values"],
            most: 2,
        },
    ];

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Object {
        items: Vec<Object>,
        values: Option<Vec<String>>,
        labels: BTreeMap<String, Vec<u8>>,
        other: Vec<u8>,
    }

    fn read(text: &str) -> Result<(Object, [usize; 2]), String> {
        let counter = Counter::new(&LIMITS);
        let mut json = serde_json::Deserializer::from_str(text);
        let object = Object::deserialize(counter.watch(&mut json)).map_err(|it| it.to_string())?;
        Ok((object, counter.counts()))
    }

    #[test]
    fn items_are_counted_by_field_and_those_beyond_the_limit_are_dropped() {
        for (text, counts, items, values, labels) in [
            ("{}", [0, 0], 0, 0, 0),
            (r#"{"items":[{},{},{}]}"#, [3, 0], 3, 0, 0),
            (r#"{"items":[{},{},{},{},{}]}"#, [5, 0], 3, 0, 0),
            (r#"{"items":[{"items":[{},{}]},{},{}]}"#, [5, 0], 1, 0, 0),
            (r#"{"other":[1,2,3,4,5,6]}"#, [0, 0], 0, 0, 0),
            (r#"{"values":null}"#, [0, 0], 0, 0, 0),
            (r#"{"values":["a","b","c"]}"#, [0, 3], 0, 2, 0),
            // The keys of a map are not fields.
            (r#"{"labels":{"items":[1,2,3,4],"b":[]}}"#, [0, 2], 0, 0, 2),
            (
                r#"{"labels":{"a":[],"b":[],"c":[1]},"values":["a"]}"#,
                [0, 4],
                0,
                0,
                2,
            ),
        ] {
            let (object, found) = read(text).expect(text);
            assert_eq!(found, counts, "{text}");
            let held = object.values.map_or(0, |values| values.len());
            assert_eq!(
                (object.items.len(), held, object.labels.len()),
                (items, values, labels),
                "{text}"
            );
        }
    }

    #[test]
    fn a_list_is_no_object_and_a_long_text_is_refused() {
        let long = format!(r#"{{"values":["{}"]}}"#, "x".repeat(LONGEST_TEXT + 1));
        let long_key = format!(
            r#"{{"labels":{{"{}":[]}}}}"#,
            "\\n".repeat(LONGEST_TEXT + 1)
        );
        for (text, words) in [
            ("[]", "invalid type: sequence, expected an object"),
            (
                r#"{"items":[[]]}"#,
                "invalid type: sequence, expected an object",
            ),
            (
                r#"{"items":["a"]}"#,
                "invalid type: string \"a\", expected an object",
            ),
            (r#"{"items":{}}"#, "invalid type: map, expected a sequence"),
            (r#"{"items":[],"items":[]}"#, "duplicate field `items`"),
            (
                long.as_str(),
                "a string has 65537 bytes: must have at most 65536",
            ),
            (
                long_key.as_str(),
                "a string has 65537 bytes: must have at most 65536",
            ),
        ] {
            let error = read(text).expect_err(words);
            assert!(error.starts_with(words), "{error}");
        }
        let longest = format!(r#"{{"values":["{}"]}}"#, "x".repeat(LONGEST_TEXT));
        assert_eq!(read(&longest).map(|(_, counts)| counts), Ok([0, 1]));
    }
}
