//! `status.capacity` and `status.allocatable`: sums over the nodes of the managed cluster.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::quantity::Quantity;

/// What decides about a node. Amounts are as the node reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// `spec.unschedulable`. Such a node counts for the capacity, and not for what can be allocated, as with OCM's agent.
    pub is_unschedulable: bool,
    /// `status.capacity`.
    pub capacity: BTreeMap<String, String>,
    /// `status.allocatable`.
    pub allocatable: BTreeMap<String, String>,
}

/// The sums over all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Over all nodes.
    pub capacity: BTreeMap<String, String>,
    /// Over the nodes on which pods may be scheduled.
    pub allocatable: BTreeMap<String, String>,
    /// Resources of which some node reports an amount that cannot be read. That node counts as nothing.
    pub unreadable: BTreeSet<String>,
}

/// Sums what the nodes report.
///
/// A resource that no node has any more is left out. OCM's agent keeps it in the capacity forever, so a GPU pool that was removed stays
/// visible to placements.
#[must_use]
pub fn sum<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Resources {
    let mut capacity = BTreeMap::new();
    let mut allocatable = BTreeMap::new();
    let mut unreadable = BTreeSet::new();
    for node in nodes {
        add(&mut capacity, &node.capacity, &mut unreadable);
        if !node.is_unschedulable {
            add(&mut allocatable, &node.allocatable, &mut unreadable);
        }
    }
    Resources {
        capacity: texts(capacity),
        allocatable: texts(allocatable),
        unreadable,
    }
}

/// Returns true if both maps name the same resources with equal amounts, whatever their format (`1` and `1000m` are equal).
#[must_use]
pub fn are_equal(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
    let is_equal = |(name, amount): (&String, &String)| {
        other.get(name).is_some_and(|other| {
            amount == other || matches!((amount.parse::<Quantity>(), other.parse()), (Ok(one), Ok(other)) if one == other)
        })
    };
    one.len() == other.len() && one.iter().all(is_equal)
}

fn add(
    sums: &mut BTreeMap<String, Quantity>,
    amounts: &BTreeMap<String, String>,
    unreadable: &mut BTreeSet<String>,
) {
    for (name, amount) in amounts {
        match amount.parse::<Quantity>() {
            Ok(amount) => {
                let sum = sums.entry(name.clone()).or_insert(Quantity::ZERO);
                *sum = sum.plus(amount);
            }
            Err(_) => {
                unreadable.insert(name.clone());
            }
        }
    }
}

fn texts(sums: BTreeMap<String, Quantity>) -> BTreeMap<String, String> {
    let text = |(name, sum): (String, Quantity)| (name, sum.to_string());
    sums.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(text: &str) -> BTreeMap<String, String> {
        let pair = |pair: &str| {
            let (name, amount) = pair.split_once('=').unwrap();
            (name.to_owned(), amount.to_owned())
        };
        text.split_whitespace().map(pair).collect()
    }

    fn node(capacity: &str, allocatable: &str) -> Node {
        Node {
            is_unschedulable: false,
            capacity: amounts(capacity),
            allocatable: amounts(allocatable),
        }
    }

    #[test]
    fn every_resource_of_every_node_counts() {
        let nodes = [
            node("cpu=4 memory=16384256Ki", "cpu=3920m memory=15Gi"),
            node(
                "cpu=8 memory=16384256Ki nvidia.com/gpu=2",
                "cpu=7910m memory=15Gi nvidia.com/gpu=2",
            ),
        ];
        let sums = sum(&nodes);
        assert_eq!(
            sums.capacity,
            amounts("cpu=12 memory=32768512Ki nvidia.com/gpu=2")
        );
        assert_eq!(
            sums.allocatable,
            amounts("cpu=11830m memory=30Gi nvidia.com/gpu=2")
        );
        assert!(sums.unreadable.is_empty());
        // The pool with the GPUs goes, and so do they.
        assert_eq!(
            sum(&nodes[..1]).capacity,
            amounts("cpu=4 memory=16384256Ki")
        );
    }

    #[test]
    fn a_cordoned_node_counts_for_the_capacity_only() {
        let mut cordoned = node("cpu=4", "cpu=4");
        cordoned.is_unschedulable = true;
        let sums = sum(&[cordoned, node("cpu=2", "cpu=2")]);
        assert_eq!(
            (sums.capacity, sums.allocatable),
            (amounts("cpu=6"), amounts("cpu=2"))
        );
    }

    #[test]
    fn an_unreadable_amount_concerns_its_node_and_resource_only() {
        let sums = sum(&[node("cpu=4 memory=lots", ""), node("cpu=2 memory=1Gi", "")]);
        assert_eq!(sums.capacity, amounts("cpu=6 memory=1Gi"));
        assert_eq!(sums.unreadable, BTreeSet::from(["memory".to_owned()]));
    }

    #[test]
    fn a_cluster_without_nodes_or_capacity_has_no_resources() {
        assert_eq!(sum(&[]), Resources::default());
        assert_eq!(sum(&[Node::default()]), Resources::default());
    }

    #[test]
    fn equality_is_by_amount() {
        for (one, other, expected) in [
            ("", "", true),
            ("cpu=1", "cpu=1000m", true),
            ("memory=1Gi", "memory=1048576Ki", true),
            ("cpu=1", "cpu=2", false),
            ("cpu=1", "memory=1", false),
            ("cpu=1", "cpu=1 memory=1", false),
            ("cpu=x", "cpu=x", true),
            ("cpu=x", "cpu=1", false),
        ] {
            assert_eq!(
                are_equal(&amounts(one), &amounts(other)),
                expected,
                "{one} {other}"
            );
        }
    }
}
