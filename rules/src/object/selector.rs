//! Label selectors, read as strictly as the rest: Kubernetes' generated types take the last of two fields of one name, so
//! that a bad selector could hide behind a good one.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::shape::{FromObject, objects};

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a label selector")]
struct Selector {
    match_labels: Option<Labels>,
    #[serde(deserialize_with = "objects")]
    match_expressions: Vec<Requirement>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, expecting = "a requirement of a label selector")]
struct Requirement {
    key: Option<String>,
    operator: Option<String>,
    values: Option<Vec<String>>,
}

struct Labels(BTreeMap<String, String>);

/// A selector in which no key is there twice.
pub(super) fn strict<'de, D>(deserializer: D) -> Result<Option<LabelSelector>, D::Error>
where
    D: Deserializer<'de>,
{
    let selector = Option::<FromObject<Selector>>::deserialize(deserializer)?;
    Ok(selector.map(|FromObject(selector)| selector.into()))
}

impl From<Selector> for LabelSelector {
    fn from(selector: Selector) -> Self {
        let expressions = selector.match_expressions.into_iter().map(Into::into);
        Self {
            match_labels: selector.match_labels.map(|Labels(labels)| labels),
            match_expressions: Some(expressions.collect()).filter(|list: &Vec<_>| !list.is_empty()),
        }
    }
}

impl From<Requirement> for LabelSelectorRequirement {
    fn from(requirement: Requirement) -> Self {
        Self {
            key: requirement.key.unwrap_or_default(),
            operator: requirement.operator.unwrap_or_default(),
            values: requirement.values,
        }
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;

        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    if labels.contains_key(&key) {
                        return Err(A::Error::custom(format_args!("duplicate label {key:?}")));
                    }
                    labels.insert(key, value);
                }
                Ok(Labels(labels))
            }
        }

        deserializer.deserialize_map(LabelsVisitor)
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
}
