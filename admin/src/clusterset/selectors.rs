//! Selectors of sets: parsed, compared and described.

use berth_api::cluster_set::{ManagedClusterSelector, SelectorType};
use berth_api::selector::{Selector, text};
use berth_api::{labels, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::hub::Filter;
use crate::print::plain;

/// How a set selects its clusters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selects<'s> {
    /// By the cluster-set label.
    ByName,
    /// By other labels. Without a selector, it selects no clusters.
    ByLabels(Option<&'s LabelSelector>),
    /// By a selector type that this version does not know.
    Unknown(&'s str),
}

// === impl Selects ===

impl<'s> Selects<'s> {
    pub(crate) fn of(selector: &'s ManagedClusterSelector) -> Self {
        match &selector.selector_type {
            SelectorType::ExclusiveClusterSetLabel => Self::ByName,
            SelectorType::LabelSelector => Self::ByLabels(selector.label_selector.as_ref()),
            SelectorType::Other(other) if other.is_empty() => Self::ByName,
            SelectorType::Other(other) => Self::Unknown(other),
        }
    }

    /// Returns the filter of the members of a set. None: the set has no members, or its selector is unknown or invalid.
    pub(super) fn members(&self, set: &str) -> Option<Filter> {
        match self {
            Self::ByName => names::label_value(set)
                .is_empty()
                .then(|| Filter::labels(format!("{}={set}", labels::CLUSTER_SET))),
            Self::ByLabels(Some(selector)) => Selector::parse(selector)
                .is_ok()
                .then(|| Filter::labels(text::written(selector))),
            Self::ByLabels(None) | Self::Unknown(_) => None,
        }
    }

    /// Describes the selector in words that follow the name of the set.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::ByName => format!("selects clusters by the label {}", labels::CLUSTER_SET),
            Self::ByLabels(None) => "selects no clusters: it has no selector".to_owned(),
            Self::ByLabels(Some(selector)) => match text::written(selector).as_str() {
                "" => "selects all clusters".to_owned(),
                selector => format!("selects the clusters with {}", plain(selector)),
            },
            Self::Unknown(how) => {
                format!("selects clusters by {how:?}, which this version of berth does not know")
            }
        }
    }
}

/// Parses the selector of a new set.
pub(super) fn parse(selector: &str) -> Result<LabelSelector, String> {
    text::label_selector(selector)
}

/// Returns true if two selectors have the same requirements, in any order and form.
pub(super) fn same(one: &LabelSelector, other: &LabelSelector) -> bool {
    requirements(one) == requirements(other)
}

fn requirements(selector: &LabelSelector) -> Vec<(String, String, Vec<String>)> {
    let equal = selector.match_labels.iter().flatten();
    let equal = equal.map(|(key, value)| (key.clone(), "In".to_owned(), vec![value.clone()]));
    let expressions = selector.match_expressions.iter().flatten().map(|it| {
        let LabelSelectorRequirement {
            key,
            operator,
            values,
        } = it.clone();
        let mut values = values.unwrap_or_default();
        values.sort();
        values.dedup();
        (key, operator, values)
    });
    let mut requirements: Vec<_> = equal.chain(expressions).collect();
    requirements.sort();
    requirements.dedup();
    requirements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_the_same_whatever_their_form() {
        for (one, other, expected) in [
            ("", "", true),
            ("a=b,c=d", "c=d,a in (b)", true),
            ("a in (b,c)", "a in (c,b,b)", true),
            ("!a,b", "b,!a,b", true),
            ("a=b", "", false),
            ("a=b", "a!=b", false),
            ("a in (b,c)", "a in (b)", false),
            ("a", "!a", false),
        ] {
            let (first, second) = (parse(one).unwrap(), parse(other).unwrap());
            assert_eq!(same(&first, &second), expected, "{one:?} and {other:?}");
            assert_eq!(same(&second, &first), expected, "{other:?} and {one:?}");
        }
    }

    #[test]
    fn how_a_set_finds_its_clusters_is_told_and_asked() {
        let by = |selector_type, label_selector: Option<&str>| ManagedClusterSelector {
            selector_type,
            label_selector: label_selector.map(|it| parse(it).unwrap()),
        };
        let label = labels::CLUSTER_SET;
        for (selector, words, members) in [
            (
                by(SelectorType::ExclusiveClusterSetLabel, None),
                format!("selects clusters by the label {label}"),
                Some(format!("{label}=prod")),
            ),
            (
                by(SelectorType::Other(String::new()), None),
                format!("selects clusters by the label {label}"),
                Some(format!("{label}=prod")),
            ),
            (
                by(SelectorType::LabelSelector, Some("a=b,!c")),
                "selects the clusters with a=b,!c".to_owned(),
                Some("a=b,!c".to_owned()),
            ),
            (
                by(SelectorType::LabelSelector, Some("")),
                "selects all clusters".to_owned(),
                Some(String::new()),
            ),
            (
                by(SelectorType::LabelSelector, None),
                "selects no clusters: it has no selector".to_owned(),
                None,
            ),
            (
                by(SelectorType::Other("Magic".to_owned()), None),
                "selects clusters by \"Magic\", which this version of berth does not know"
                    .to_owned(),
                None,
            ),
        ] {
            let selects = Selects::of(&selector);
            assert_eq!(selects.words(), words);
            assert_eq!(
                selects.members("prod").map(|it| it.labels.unwrap()),
                members
            );
        }
        assert!(Selects::ByName.members(&"x".repeat(64)).is_none());
    }
}
