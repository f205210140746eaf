//! How a set finds its clusters: read, compared, and told.

use berth_api::cluster_set::{ManagedClusterSelector, SelectorType};
use berth_api::selector::{Selector, text};
use berth_api::{labels, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::hub::Filter;
use crate::print::plain;

/// How a set finds its clusters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Finds<'s> {
    /// By the cluster-set label.
    ByName,
    /// By other labels; without a selector it finds none.
    ByLabels(Option<&'s LabelSelector>),
    /// In a way that this version does not know.
    Unknown(&'s str),
}

// === impl Finds ===

impl<'s> Finds<'s> {
    pub(super) fn of(selector: &'s ManagedClusterSelector) -> Self {
        match &selector.selector_type {
            SelectorType::ExclusiveClusterSetLabel => Self::ByName,
            SelectorType::LabelSelector => Self::ByLabels(selector.label_selector.as_ref()),
            SelectorType::Other(other) if other.is_empty() => Self::ByName,
            SelectorType::Other(other) => Self::Unknown(other),
        }
    }

    /// Which clusters a set of this name has. None: it has none, or they cannot be told.
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

    /// `takes ...`, to follow the set's name.
    pub(super) fn words(&self) -> String {
        match self {
            Self::ByName => format!("takes clusters by the label {}", labels::CLUSTER_SET),
            Self::ByLabels(None) => "takes no clusters: it has no selector".to_owned(),
            Self::ByLabels(Some(selector)) => match text::written(selector).as_str() {
                "" => "takes all clusters".to_owned(),
                selector => format!("takes the clusters with {}", plain(selector)),
            },
            Self::Unknown(how) => {
                format!("takes clusters by {how:?}, which this version of berth does not know")
            }
        }
    }
}

/// Reads the selector of a new set.
pub(super) fn parse(selector: &str) -> Result<LabelSelector, String> {
    text::label_selector(selector)
}

/// Whether two selectors ask for the same, in whatever order and form.
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
                format!("takes clusters by the label {label}"),
                Some(format!("{label}=prod")),
            ),
            (
                by(SelectorType::Other(String::new()), None),
                format!("takes clusters by the label {label}"),
                Some(format!("{label}=prod")),
            ),
            (
                by(SelectorType::LabelSelector, Some("a=b,!c")),
                "takes the clusters with a=b,!c".to_owned(),
                Some("a=b,!c".to_owned()),
            ),
            (
                by(SelectorType::LabelSelector, Some("")),
                "takes all clusters".to_owned(),
                Some(String::new()),
            ),
            (
                by(SelectorType::LabelSelector, None),
                "takes no clusters: it has no selector".to_owned(),
                None,
            ),
            (
                by(SelectorType::Other("Magic".to_owned()), None),
                "takes clusters by \"Magic\", which this version of berth does not know".to_owned(),
                None,
            ),
        ] {
            let finds = Finds::of(&selector);
            assert_eq!(finds.words(), words);
            assert_eq!(finds.members("prod").map(|it| it.labels.unwrap()), members);
        }
        assert!(Finds::ByName.members(&"x".repeat(64)).is_none());
    }
}
