//! Label selectors, decoded strictly: Kubernetes' generated types use the last of two fields of one name, so that an
//! invalid selector could hide behind a valid one. Their lists are limited like [`super::List`].

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::collection::{Entries, Items, Map, Sequence};
use super::list::LONGEST_LIST;
use super::shape::{ByFields, Fields, once};
use super::{ClusterSelector, Text};
use crate::display::Quoted;

/// The maximum number of values of all requirements of a selector together.
pub const MOST_VALUES: usize = 10_000;

/// The size of a selector as submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectorSize {
    /// The number of labels and expressions.
    pub requirements: usize,
    /// The number of values of all expressions.
    pub values: usize,
}

impl SelectorSize {
    /// Returns true if the whole selector is kept.
    pub fn is_whole(self) -> bool {
        self.requirements <= LONGEST_LIST && self.values <= MOST_VALUES
    }

    fn count_requirement(&mut self) -> bool {
        self.requirements += 1;
        self.requirements <= LONGEST_LIST
    }

    fn count_value(&mut self) {
        self.values += 1;
    }
}

/// The fields of a `clusterSelector` decoded so far.
#[derive(Default)]
struct Reading<'a> {
    selector_type: Option<Option<Text<'a>>>,
    label_selector: Option<Option<LabelSelector>>,
    size: SelectorSize,
}

/// Decodes `labelSelector`; `null` counts as absent.
struct Selector<'s> {
    labels: Option<Option<BTreeMap<String, String>>>,
    expressions: Option<Vec<LabelSelectorRequirement>>,
    size: &'s mut SelectorSize,
}

/// Decodes an item of `matchExpressions`.
struct Expression<'a, 's> {
    key: Option<Option<Text<'a>>>,
    operator: Option<Option<Text<'a>>>,
    values: Option<Option<Vec<String>>>,
    size: &'s mut SelectorSize,
}

/// Decodes `null`, or the value of this seed.
struct Nullable<S>(S);

struct Labels<'s>(&'s mut SelectorSize);
struct Expressions<'s>(&'s mut SelectorSize);
struct Values<'s>(&'s mut SelectorSize);

impl<'de: 'a, 'a> Deserialize<'de> for ClusterSelector<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut reading = Reading::default();
        ByFields(&mut reading).deserialize(deserializer)?;
        Ok(Self {
            selector_type: reading.selector_type.flatten().unwrap_or_default(),
            label_selector: reading.label_selector.flatten(),
            size: reading.size,
            stays: false,
        })
    }
}

impl<'de> Fields<'de> for Reading<'de> {
    fn take<A: MapAccess<'de>>(&mut self, field: &str, map: &mut A) -> Result<bool, A::Error> {
        match field {
            "selectorType" => once(&mut self.selector_type, "selectorType", map),
            "labelSelector" => {
                if self.label_selector.is_some() {
                    return Err(A::Error::duplicate_field("labelSelector"));
                }
                let seed = Nullable(Selector {
                    labels: None,
                    expressions: None,
                    size: &mut self.size,
                });
                self.label_selector = Some(map.next_value_seed(seed)?);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Selector<'_> {
    type Value = LabelSelector;

    fn deserialize<D: Deserializer<'de>>(
        mut self,
        deserializer: D,
    ) -> Result<LabelSelector, D::Error> {
        ByFields(&mut self).deserialize(deserializer)?;
        Ok(LabelSelector {
            match_labels: self.labels.flatten(),
            match_expressions: self.expressions.filter(|list| !list.is_empty()),
        })
    }
}

impl<'de> Fields<'de> for Selector<'_> {
    fn take<A: MapAccess<'de>>(&mut self, field: &str, map: &mut A) -> Result<bool, A::Error> {
        match field {
            "matchLabels" => {
                if self.labels.is_some() {
                    return Err(A::Error::duplicate_field("matchLabels"));
                }
                self.labels = Some(map.next_value_seed(Nullable(Map(Labels(self.size))))?);
            }
            "matchExpressions" => {
                if self.expressions.is_some() {
                    return Err(A::Error::duplicate_field("matchExpressions"));
                }
                let expressions =
                    map.next_value_seed(Nullable(Sequence(Expressions(self.size))))?;
                self.expressions = Some(expressions.unwrap_or_default());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl<'de> DeserializeSeed<'de> for Expression<'de, '_> {
    type Value = LabelSelectorRequirement;

    fn deserialize<D: Deserializer<'de>>(
        mut self,
        deserializer: D,
    ) -> Result<LabelSelectorRequirement, D::Error> {
        ByFields(&mut self).deserialize(deserializer)?;
        let text =
            |text: Option<Option<Text<'_>>>| text.flatten().unwrap_or_default().as_str().to_owned();
        Ok(LabelSelectorRequirement {
            key: text(self.key),
            operator: text(self.operator),
            values: self.values.flatten(),
        })
    }
}

impl<'de> Fields<'de> for Expression<'de, '_> {
    fn take<A: MapAccess<'de>>(&mut self, field: &str, map: &mut A) -> Result<bool, A::Error> {
        match field {
            "key" => once(&mut self.key, "key", map),
            "operator" => once(&mut self.operator, "operator", map),
            "values" => {
                if self.values.is_some() {
                    return Err(A::Error::duplicate_field("values"));
                }
                self.values = Some(map.next_value_seed(Nullable(Sequence(Values(self.size))))?);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

impl<'de> Entries<'de> for Labels<'_> {
    type Value = BTreeMap<String, String>;

    const EXPECTED: &'static str = "a map of strings";

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut labels = BTreeMap::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if !self.0.count_requirement() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value::<Text<'de>>()?;
            let key = key.as_str();
            if labels
                .insert(key.to_owned(), value.as_str().to_owned())
                .is_some()
            {
                let key = Quoted(key);
                return Err(A::Error::custom(format_args!("duplicate label {key}")));
            }
        }
        Ok(labels)
    }
}

impl<'de> Items<'de> for Expressions<'_> {
    type Value = Vec<LabelSelectorRequirement>;

    fn read<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut expressions = Vec::new();
        while self.0.requirements < LONGEST_LIST {
            let expression = Expression {
                key: None,
                operator: None,
                values: None,
                size: &mut *self.0,
            };
            match items.next_element_seed(expression)? {
                Some(expression) => expressions.push(expression),
                None => return Ok(expressions),
            }
            self.0.count_requirement();
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            self.0.count_requirement();
        }
        Ok(expressions)
    }
}

impl<'de> Items<'de> for Values<'_> {
    type Value = Vec<String>;

    fn read<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while self.0.values < MOST_VALUES {
            match items.next_element::<Text<'de>>()? {
                Some(value) => values.push(value.as_str().to_owned()),
                None => return Ok(values),
            }
            self.0.count_value();
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            self.0.count_value();
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::ClusterSelector;

    fn read(selector: &str) -> Result<Option<serde_json::Value>, String> {
        let text = format!(r#"{{"selectorType":"LabelSelector","labelSelector":{selector}}}"#);
        serde_json::from_str::<ClusterSelector<'_>>(&text)
            .map(|read| read.label_selector.map(|selector| json!(selector)))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn selectors_are_read_as_they_are_stored() {
        for selector in [
            json!({}),
            json!({"matchLabels": {"a": "b", "c": ""}}),
            json!({"matchExpressions": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": "a", "operator": "Exists"},
            ]}),
        ] {
            assert_eq!(read(&selector.to_string()), Ok(Some(selector)));
        }
        assert_eq!(read("null"), Ok(None));
        let unknown = r#"{"matchExpressions":[],"unknown":[1]}"#;
        assert_eq!(
            read(unknown),
            Ok(Some(json!({}))),
            "what is unknown is passed over"
        );
    }

    #[test]
    fn nothing_is_hidden_behind_a_key_that_is_there_twice() {
        for (selector, words) in [
            (
                r#"{"matchLabels":{"a b":"x"},"matchLabels":{}}"#,
                "duplicate field `matchLabels`",
            ),
            (
                r#"{"matchLabels":{"a":"!","a":"b"}}"#,
                "duplicate label \"a\"",
            ),
            (
                r#"{"matchExpressions":[{"key":"a","operator":"Has","operator":"Exists"}]}"#,
                "duplicate field `operator`",
            ),
            (
                r#"{"matchExpressions":[["a","Exists"]]}"#,
                "expected an object",
            ),
            ("[]", "expected an object"),
        ] {
            let error = read(selector).expect_err(selector);
            assert!(error.contains(words), "{selector}: {error}");
        }
    }

    #[test]
    fn a_selector_is_held_up_to_its_bounds_and_counted_beyond() {
        let labels = |number: usize| {
            let labels: Vec<_> = (0..number).map(|i| format!(r#""l{i}":"""#)).collect();
            format!(r#""matchLabels":{{{}}}"#, labels.join(","))
        };
        let expressions = |number: usize, values: usize| {
            let values = vec![r#""v""#; values].join(",");
            let expression = format!(r#"{{"key":"k","operator":"In","values":[{values}]}}"#);
            format!(
                r#""matchExpressions":[{}]"#,
                vec![expression; number].join(",")
            )
        };
        for (sentence, selector, requirements, values, whole) in [
            ("labels", labels(1_000), 1_000, 0, true),
            ("too many labels", labels(5_000), 5_000, 0, false),
            ("expressions", expressions(1_000, 10), 1_000, 10_000, true),
            ("too many values", expressions(10, 1_001), 10, 10_010, false),
            ("too many in one", expressions(1, 50_000), 1, 50_000, false),
            (
                "too many expressions",
                expressions(9_000, 1),
                9_000,
                1_000,
                false,
            ),
            (
                "too many of both",
                format!("{},{}", labels(600), expressions(600, 0)),
                1_200,
                0,
                false,
            ),
        ] {
            let text = format!(r#"{{"labelSelector":{{{selector}}}}}"#);
            let read: ClusterSelector<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!(read.size.requirements, requirements, "{sentence}");
            assert_eq!(read.size.values, values, "{sentence}");
            assert_eq!(read.size.is_whole(), whole, "{sentence}");
            let held = read.label_selector.unwrap();
            let expressions = held.match_expressions.unwrap_or_default();
            let labels = held.match_labels.unwrap_or_default();
            assert!(expressions.len() + labels.len() <= 1_000, "{sentence}");
            let values = expressions.iter().filter_map(|one| one.values.as_ref());
            assert!(values.map(Vec::len).sum::<usize>() <= 10_000, "{sentence}");
        }
    }
}
