//! Which clusters belong to a ManagedClusterSet.
//!
//! A [`Membership`] is the selector of a set, checked once, and then matched without errors.

use std::collections::BTreeMap;

use super::{ManagedClusterSelector, SelectorType};
use crate::labels;
use crate::selector::{Selector, listed};
use crate::text::cut;

/// Upper bound on the characters of an unknown selector type in a message.
const TYPE_SHOWN: usize = 100;

/// The rule by which clusters belong to a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// Clusters whose cluster-set label has this value.
    Label(Box<str>),
    /// Clusters that match the selector.
    Selector(Selector),
    /// No cluster: the type asks for a label selector, and the set has none.
    NoCluster,
}

// === impl Membership ===

impl Membership {
    /// The selector of the set of this name, ready to match.
    ///
    /// # Errors
    /// The mistakes in the selector, as text for users.
    pub fn new(set: &str, selector: &ManagedClusterSelector) -> Result<Self, String> {
        let rule = match &selector.selector_type {
            SelectorType::ExclusiveClusterSetLabel => Rule::Label(set.into()),
            SelectorType::Other(other) if other.is_empty() => Rule::Label(set.into()),
            SelectorType::LabelSelector => match &selector.label_selector {
                None => Rule::NoCluster,
                Some(selector) => Rule::Selector(
                    Selector::parse(selector)
                        .map_err(|errors| listed("spec.clusterSelector.labelSelector", &errors))?,
                ),
            },
            SelectorType::Other(other) => {
                let (shown, _) = cut(other, TYPE_SHOWN);
                return Err(format!(
                    "spec.clusterSelector.selectorType: Unsupported value: {shown:?}: supported values: \
                     \"ExclusiveClusterSetLabel\", \"LabelSelector\""
                ));
            }
        };
        Ok(Self(rule))
    }

    /// A label (key and value) that every member has, if one exists.
    pub fn required(&self) -> Option<(&str, &str)> {
        match &self.0 {
            Rule::Label(set) => Some((labels::CLUSTER_SET, set)),
            Rule::Selector(selector) => selector.required(),
            Rule::NoCluster => None,
        }
    }

    /// The keys of the labels that the rule reads; a key may be repeated.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let (own, selector) = match &self.0 {
            Rule::Label(_) => (Some(labels::CLUSTER_SET), None),
            Rule::Selector(selector) => (None, Some(selector.keys())),
            Rule::NoCluster => (None, None),
        };
        own.into_iter().chain(selector.into_iter().flatten())
    }

    /// As [`Self::matches`], prepared for many clusters: however many requirements the set has, a cluster takes a look for each of its labels.
    pub fn for_many(&self) -> impl Fn(&BTreeMap<String, String>) -> bool {
        let selector = match &self.0 {
            Rule::Selector(selector) => Some(selector.by_key()),
            Rule::Label(_) | Rule::NoCluster => None,
        };
        move |labels| match &selector {
            Some(selector) => selector.matches(labels),
            None => self.matches(labels),
        }
    }

    /// Returns true if a cluster with these labels belongs to the set.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match &self.0 {
            Rule::Label(set) => labels
                .get(labels::CLUSTER_SET)
                .is_some_and(|label| **label == **set),
            Rule::Selector(selector) => selector.matches(labels),
            Rule::NoCluster => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn membership(selector: Value) -> Result<Membership, String> {
        let selector = serde_json::from_value(selector).expect("a cluster selector");
        Membership::new("dev", &selector)
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn members_are_those_of_ocm() {
        let label = [(labels::CLUSTER_SET, "dev")];
        let by_label = || json!({"selectorType": "ExclusiveClusterSetLabel"});
        let by_selector =
            |selector: Value| json!({"selectorType": "LabelSelector", "labelSelector": selector});
        for (sentence, selector, of, expected) in [
            ("the label names the set", by_label(), &label[..], true),
            (
                "the label names another set",
                by_label(),
                &[(labels::CLUSTER_SET, "prod")],
                false,
            ),
            (
                "no type is the type by label",
                json!({"selectorType": ""}),
                &label,
                true,
            ),
            (
                "a selector selects",
                by_selector(json!({"matchLabels": {"a": "b"}})),
                &[("a", "b")],
                true,
            ),
            (
                "a selector does not mind the label",
                by_selector(json!({"matchLabels": {"a": "b"}})),
                &label,
                false,
            ),
            (
                "an empty selector selects every cluster",
                by_selector(json!({})),
                &[],
                true,
            ),
            (
                "an absent selector selects no cluster",
                by_selector(Value::Null),
                &label,
                false,
            ),
        ] {
            let membership = membership(selector).expect(sentence);
            assert_eq!(
                membership.matches(&self::labels(of)),
                expected,
                "{sentence}"
            );
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (selector, expected) in [
            (
                json!({"selectorType": "LabelSelector", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}]}}),
                "spec.clusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Has\": not a valid selector operator",
            ),
            (
                json!({"selectorType": "Some"}),
                "spec.clusterSelector.selectorType: Unsupported value: \"Some\": supported values: \
                 \"ExclusiveClusterSetLabel\", \"LabelSelector\"",
            ),
        ] {
            assert_eq!(membership(selector).expect_err(expected), expected);
        }
    }
}
