//! The spec of a Placement, which is decoded only if the change concerns it.

use berth_api::placement::PlacementSpec;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::counted::{Counter, Limit};
use super::{GuardedObject, LONGEST_LIST, MOST_VALUES, Metadata, Text, metadata, or_default};
use crate::path::explain_spec;

/// The fields of a Placement that rules read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a Placement")]
pub struct Placement<'a> {
    /// `apiVersion`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub api_version: Text<'a>,
    /// `kind`.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub kind: Text<'a>,
    /// `metadata`.
    #[serde(borrow, default, deserialize_with = "metadata")]
    pub metadata: Metadata<'a>,
    /// The text of `spec`.
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
}

/// The spec of a Placement.
#[derive(Clone, Debug)]
pub(crate) struct ReadSpec {
    /// The spec. Items of lists beyond their limit are left out.
    pub spec: PlacementSpec,
    /// The sizes that are limited, as submitted.
    sizes: [usize; LIMITS.len()],
    /// The bytes of all CEL expressions.
    expressions: usize,
}

/// Lists of a spec that are too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// The names of the lists.
    pub what: String,
    /// The number of items, or of bytes.
    pub number: usize,
    /// The maximum.
    pub most: usize,
}

/// The maximum length of all CEL expressions together, in bytes. It bounds the time for checking them.
pub const LONGEST_EXPRESSIONS: usize = 64 * 1024;

/// The limits of lists, each for all lists of these names in the spec together.
static LIMITS: [Limit; 9] = [
    limit(&["clusterSets"], LONGEST_LIST),
    limit(&["predicates"], LONGEST_LIST),
    limit(&["celExpressions"], LONGEST_LIST),
    limit(&["matchLabels", "matchExpressions"], LONGEST_LIST),
    limit(&["values"], MOST_VALUES),
    limit(&["tolerations"], LONGEST_LIST),
    limit(&["configurations"], LONGEST_LIST),
    limit(&["decisionGroups"], LONGEST_LIST),
    limit(&["spreadConstraints"], LONGEST_LIST),
];

const fn limit(fields: &'static [&'static str], most: usize) -> Limit {
    Limit { fields, most }
}

// === impl Placement ===

impl Placement<'_> {
    /// Returns true if both have the same spec, as text.
    pub(crate) fn has_spec_of(&self, other: &Self) -> bool {
        let text = |placement: &Self| placement.spec.map(RawValue::get);
        text(self) == text(other)
    }

    /// Decodes the spec.
    ///
    /// # Errors
    /// A value has another type than in the API.
    pub(crate) fn read(&self) -> Result<ReadSpec, String> {
        let counter = Counter::new(&LIMITS);
        let text = self.spec.map_or("null", RawValue::get);
        let mut json = serde_json::Deserializer::from_str(text);
        let spec = Option::<PlacementSpec>::deserialize(counter.watch(&mut json));
        let spec = spec.map_err(|error| explain_spec(text, &error))?;
        let spec = spec.unwrap_or_default();
        let selectors = spec
            .predicates
            .iter()
            .map(|it| &it.required_cluster_selector);
        let expressions = selectors.flat_map(|it| &it.cel_selector.cel_expressions);
        Ok(ReadSpec {
            expressions: expressions.map(String::len).sum(),
            sizes: counter.counts(),
            spec,
        })
    }
}

impl<'a> GuardedObject<'a> for Placement<'a> {
    fn api_version(&self) -> &str {
        self.api_version.as_str()
    }

    fn kind(&self) -> &str {
        self.kind.as_str()
    }

    fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }
}

// === impl ReadSpec ===

impl ReadSpec {
    /// Returns the sizes over their limit. A stored spec may keep its size, and shrink.
    pub(crate) fn too_many(&self, stored: Option<&Self>) -> Vec<TooMany> {
        let is_over = |too_many: &TooMany, stored: Option<usize>| {
            too_many.number > too_many.most && stored.is_none_or(|it| too_many.number > it)
        };
        let lists = LIMITS.iter().enumerate().filter_map(|(index, limit)| {
            let too_many = TooMany {
                what: limit.fields.join(" and "),
                number: self.sizes[index],
                most: limit.most,
            };
            is_over(&too_many, stored.map(|it| it.sizes[index])).then_some(too_many)
        });
        let bytes = TooMany {
            what: "bytes of celExpressions".to_owned(),
            number: self.expressions,
            most: LONGEST_EXPRESSIONS,
        };
        let bytes = is_over(&bytes, stored.map(|it| it.expressions)).then_some(bytes);
        lists.chain(bytes).collect()
    }

    /// Returns true if no size is over its limit.
    pub(crate) fn is_whole(&self) -> bool {
        let mut sizes = LIMITS.iter().zip(self.sizes);
        sizes.all(|(limit, size)| size <= limit.most) && self.expressions <= LONGEST_EXPRESSIONS
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn over(spec: &Value, stored: Option<&Value>) -> Vec<String> {
        let read = |spec: &Value| {
            let text = json!({"spec": spec}).to_string();
            let placement: Placement<'_> = serde_json::from_str(&text).unwrap();
            placement.read().unwrap()
        };
        let stored = stored.map(read);
        let new = read(spec);
        let too_many = new.too_many(stored.as_ref());
        assert_eq!(new.too_many(None).is_empty(), new.is_whole());
        let too_many = too_many.iter();
        too_many
            .map(|it| format!("{} {}/{}", it.what, it.number, it.most))
            .collect()
    }

    #[test]
    fn sizes_are_limited_and_stored_ones_may_stay() {
        let sets = |count: usize| json!({"clusterSets": vec!["a"; count]});
        let selector = |selector: Value| json!({"requiredClusterSelector": selector});
        let values = |count: usize| {
            let expression = json!({"key": "a", "operator": "In", "values": vec!["v"; count]});
            selector(json!({"claimSelector": {"matchExpressions": [expression]}}))
        };
        let cel = |count: usize, length: usize| {
            selector(json!({"celSelector": {"celExpressions": vec!["x".repeat(length); count]}}))
        };
        let groups = |count: usize| {
            let group = json!({"groupName": "g", "groupClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}});
            json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": vec![group; count]}}})
        };
        for (sentence, spec, stored, expected) in [
            ("no spec", json!(null), None, &[][..]),
            ("a thousand sets", sets(1_000), None, &[]),
            ("more", sets(1_001), None, &["clusterSets 1001/1000"]),
            ("stored ones", sets(1_001), Some(sets(1_001)), &[]),
            ("fewer than stored", sets(1_001), Some(sets(5_000)), &[]),
            (
                "more than stored",
                sets(5_001),
                Some(sets(5_000)),
                &["clusterSets 5001/1000"],
            ),
            (
                "values of several predicates",
                json!({"predicates": [values(6_000), values(4_001)]}),
                None,
                &["values 10001/10000"],
            ),
            (
                "groups, and their labels",
                groups(1_002),
                None,
                &[
                    "matchLabels and matchExpressions 1000/1000",
                    "decisionGroups 1002/1000",
                ][1..],
            ),
            (
                "expressions",
                json!({"predicates": [cel(600, 1), cel(401, 1)]}),
                None,
                &["celExpressions 1001/1000"],
            ),
            (
                "long expressions",
                json!({"predicates": [cel(4, 16_384)]}),
                None,
                &[],
            ),
            (
                "too long ones",
                json!({"predicates": [cel(4, 16_384), cel(1, 1)]}),
                None,
                &["bytes of celExpressions 65537/65536"],
            ),
        ] {
            assert_eq!(over(&spec, stored.as_ref()), expected, "{sentence}");
        }
    }
}
