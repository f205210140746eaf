//! How the selected clusters are divided into groups.
//!
//! Each group of the placement takes the clusters that it selects and that no earlier group took. The others form groups without a name.
//! A group with more clusters than allowed becomes several. The number of clusters per group is a number, or a percentage of all
//! selected clusters, rounded up; zero, and more than are selected, mean all. A percentage is a whole number from 1 to 100, as the schema
//! says. OCM's controller itself reads any floating-point number.

use std::cmp::Ordering;

use berth_api::placement::GroupStrategy;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::misconfigured::Misconfiguration;
use crate::predicates::Selectors;
use crate::ranking::Ranked;

/// A group of selected clusters.
#[derive(Clone, Debug, Default)]
pub struct Group<'a> {
    /// The name; empty for clusters that no group of the placement selects.
    pub name: &'a str,
    /// The clusters, by name or by score.
    pub clusters: Vec<Ranked<'a>>,
}

/// The groups of a placement, checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupRules {
    size: Size,
    named: Vec<(String, Selectors)>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Size {
    #[default]
    All,
    Number(usize),
    /// From 1 to 100.
    Percentage(u8),
}

/// The order of clusters within a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    ByName,
    ByScore,
}

// === impl GroupRules ===

impl GroupRules {
    /// Checks the groups, and reports their mistakes. Groups with a mistake are left out.
    pub(crate) fn new(strategy: &GroupStrategy, mistakes: &mut Vec<Misconfiguration>) -> Self {
        let size = Size::new(strategy.clusters_per_decision_group.as_ref());
        let size = size.map_err(|mistake| mistakes.push(mistake));
        let mut named = Vec::new();
        for (group, it) in strategy.decision_groups.iter().enumerate() {
            let selector = &it.group_cluster_selector;
            let report = |part, errors| {
                mistakes.push(Misconfiguration::GroupSelector {
                    group,
                    part,
                    errors,
                });
            };
            let selectors =
                Selectors::new(&selector.label_selector, &selector.claim_selector, report);
            named.extend(selectors.map(|selectors| (it.group_name.clone(), selectors)));
        }
        Self {
            size: size.unwrap_or_default(),
            named,
        }
    }

    /// The comparisons that a cluster takes at most.
    pub(crate) fn tests(&self) -> u64 {
        self.named.iter().map(|(_, it)| it.tests()).sum()
    }

    /// Divides the selected clusters. There is at least one group, which is empty if no cluster is selected.
    pub(crate) fn divide<'a>(&'a self, selected: &[Ranked<'a>], order: Order) -> Vec<Group<'a>> {
        let length = self.size.of(selected.len());
        let mut left = selected.to_vec();
        left.sort_unstable_by(|one, other| order.compare(one, other));
        let mut groups = Vec::new();
        for (name, selectors) in &self.named {
            let (taken, others): (Vec<_>, _) =
                (left.into_iter()).partition(|it| selectors.matches(it.cluster));
            groups.extend(chunks(name, &taken, length));
            left = others;
        }
        groups.extend(chunks("", &left, length));
        if groups.is_empty() {
            groups.push(Group::default());
        }
        groups
    }
}

fn chunks<'a>(
    name: &'a str,
    clusters: &[Ranked<'a>],
    length: usize,
) -> impl Iterator<Item = Group<'a>> {
    clusters.chunks(length.max(1)).map(move |clusters| Group {
        name,
        clusters: clusters.to_vec(),
    })
}

// === impl Order ===

impl Order {
    fn compare(self, one: &Ranked<'_>, other: &Ranked<'_>) -> Ordering {
        match self {
            Self::ByName => one.cluster.name.cmp(&other.cluster.name),
            Self::ByScore => (other.score.cmp(&one.score))
                .then_with(|| one.cluster.name.cmp(&other.cluster.name)),
        }
    }
}

// === impl Size ===

impl Size {
    fn new(size: Option<&IntOrString>) -> Result<Self, Misconfiguration> {
        match size {
            None => Ok(Self::All),
            Some(IntOrString::Int(number)) => {
                Ok(usize::try_from(*number).map_or(Self::All, Self::Number))
            }
            Some(IntOrString::String(text)) => {
                let number = text.strip_suffix('%');
                let is_number = number.is_some_and(|it| it.parse::<f64>().is_ok());
                match number.and_then(percentage) {
                    Some(percentage) => Ok(Self::Percentage(percentage)),
                    None if is_number => Err(Misconfiguration::GroupPercentage(text.clone())),
                    None => Err(Misconfiguration::GroupSize(text.clone())),
                }
            }
        }
    }

    fn of(self, selected: usize) -> usize {
        let length = match self {
            Self::All => selected,
            Self::Number(number) => number,
            // In OCM's order of operations: 7 % of 100 are 8.
            Self::Percentage(percentage) => {
                (f64::from(percentage) / 100.0 * selected as f64).ceil() as usize
            }
        };
        if length == 0 {
            selected
        } else {
            length.min(selected)
        }
    }
}

/// Reads the number of a percentage: 1 to 100, in digits, without leading zeros.
fn percentage(number: &str) -> Option<u8> {
    let is_plain = number.bytes().all(|it| it.is_ascii_digit()) && !number.starts_with('0');
    let percentage = number.parse().ok().filter(|_| is_plain)?;
    (1..=100).contains(&percentage).then_some(percentage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_ocm() {
        let text = |text: &str| IntOrString::String(text.to_owned());
        for (size, selected, expected) in [
            (None, 4, 4),
            (Some(IntOrString::Int(1)), 4, 1),
            (Some(IntOrString::Int(5)), 4, 4),
            (Some(IntOrString::Int(0)), 4, 4),
            (Some(IntOrString::Int(-3)), 4, 4),
            (Some(text("25%")), 4, 1),
            (Some(text("25%")), 3, 1),
            (Some(text("34%")), 3, 2),
            (Some(text("100%")), 3, 3),
            (Some(text("1%")), 3, 1),
            (Some(text("9%")), 3, 1),
            (Some(text("7%")), 100, 8),
            (Some(text("100%")), 0, 0),
        ] {
            let length = Size::new(size.as_ref()).expect("valid").of(selected);
            assert_eq!(length, expected, "{size:?} of {selected}");
        }
    }

    #[test]
    fn a_text_that_is_no_percentage_is_refused() {
        for size in ["5", "", "%", "a%", "5 %", " 5%", "5%%", "--5%", "5,5%"] {
            let error = Size::new(Some(&IntOrString::String(size.to_owned()))).expect_err(size);
            assert_eq!(
                error.to_string(),
                format!("{size} invalid type: string is not a percentage")
            );
        }
    }

    #[test]
    fn a_percentage_that_the_schema_refuses_is_refused() {
        for size in [
            "0%",
            "00%",
            "05%",
            "101%",
            "300%",
            "25.5%",
            "25.%",
            "-3%",
            "+5%",
            "1e2%",
            "NaN%",
            "inf%",
            "-inf%",
            "infinity%",
            "1e999%",
        ] {
            let error = Size::new(Some(&IntOrString::String(size.to_owned()))).expect_err(size);
            assert_eq!(
                error.to_string(),
                format!(
                    "clustersPerDecisionGroup is {size}, and must be a whole percentage from 1% to 100%"
                )
            );
        }
    }
}
