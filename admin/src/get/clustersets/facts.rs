//! What bindings and clusters say of sets.

use std::collections::BTreeMap;

use berth_api::cluster_set::SelectorType;
use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, labels};
use berth_lifecycle_core::sets::Membership;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use crate::get::UNREADABLE;
use crate::get::bindings::is_not_bound;
use crate::hub::Item;

/// So many clusters are named in a cell.
const NAMED: usize = 3;
/// What stands for the clusters of a set whose selector is wrong. The status of the set says what is.
const INVALID: &str = "<invalid selector>";

type Labels = BTreeMap<String, String>;

/// What was read. None: it could not be.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// By set and namespace: whether the hub says that the binding is not in force.
    bindings: Option<BTreeMap<String, BTreeMap<String, bool>>>,
    clusters: Option<BTreeMap<String, Labels>>,
}

// === impl Facts ===

impl Facts {
    pub(super) fn bindings_are(&mut self, items: &[Item<ManagedClusterSetBinding>]) {
        self.bindings = Some(BTreeMap::new());
        for item in items {
            self.bound_is(item, true);
        }
    }

    pub(super) fn clusters_are(&mut self, items: &[Item<ManagedCluster>]) {
        let labels = |item: &Item<ManagedCluster>| (item.name(), item.object.labels().clone());
        self.clusters = Some(items.iter().map(labels).collect());
    }

    /// Takes in a binding that is there, or no longer, and returns the name of its set.
    pub(super) fn bound_is(
        &mut self,
        item: &Item<ManagedClusterSetBinding>,
        there: bool,
    ) -> String {
        let binding = &item.object;
        // It has the name of its set, if all is as it should be.
        let set = match binding.spec.cluster_set.as_str() {
            "" => item.name(),
            set => set.to_owned(),
        };
        let namespaces = self.bindings.get_or_insert_default();
        let namespaces = namespaces.entry(set.clone()).or_default();
        let namespace = binding.namespace().unwrap_or_default();
        if there {
            namespaces.insert(namespace, is_not_bound(binding));
        } else {
            namespaces.remove(&namespace);
        }
        set
    }

    /// Takes in a cluster that is there, or no longer, and returns the labels that it had and has.
    pub(super) fn cluster_is(
        &mut self,
        item: &Item<ManagedCluster>,
        there: bool,
    ) -> [Option<Labels>; 2] {
        let clusters = self.clusters.get_or_insert_default();
        let labels = there.then(|| item.object.labels().clone());
        let before = match labels.clone() {
            Some(labels) => clusters.insert(item.name(), labels),
            None => clusters.remove(&item.name()),
        };
        [before, labels]
    }

    /// The namespaces in which a set is bound.
    pub(super) fn bound(&self, set: &str) -> Option<Vec<String>> {
        let namespaces = self.bindings.as_ref()?.get(set).into_iter().flatten();
        let shown = namespaces.map(|(namespace, not_bound)| match not_bound {
            false => namespace.clone(),
            true => format!("{namespace} (not bound)"),
        });
        Some(shown.collect())
    }

    /// The names of the clusters of a set; or what is said instead.
    pub(super) fn clusters_of(
        &self,
        set: &Item<ManagedClusterSet>,
    ) -> Result<Vec<&str>, &'static str> {
        let clusters = self.clusters.as_ref().ok_or(UNREADABLE)?;
        let members = members(set)?;
        let clusters = clusters
            .iter()
            .filter(|(_, labels)| members.matches(labels));
        Ok(clusters.map(|(name, _)| name.as_str()).collect())
    }
}

/// Who belongs to a set; or what is said instead.
pub(super) fn members(set: &Item<ManagedClusterSet>) -> Result<Membership, &'static str> {
    if set.unreadable.is_some() {
        return Err(UNREADABLE);
    }
    let selector = &set.object.spec.cluster_selector;
    Membership::new(&set.name(), selector).map_err(|_| INVALID)
}

/// The first names, and how many more there are, as kubectl has it for endpoints.
pub(super) fn first(names: &[&str]) -> String {
    match names.split_at_checked(NAMED) {
        Some((first, more @ [_, ..])) => format!("{} + {} more...", first.join(","), more.len()),
        _ => names.join(","),
    }
}

/// How a set selects its clusters, as kubectl's `-l` would be given it.
pub(super) fn selector(set: &Item<ManagedClusterSet>) -> String {
    if set.unreadable.is_some() {
        return UNREADABLE.to_owned();
    }
    let selector = &set.object.spec.cluster_selector;
    match (&selector.selector_type, &selector.label_selector) {
        (SelectorType::ExclusiveClusterSetLabel, _) => {
            format!("{}={}", labels::CLUSTER_SET, set.name())
        }
        (SelectorType::Other(other), _) if other.is_empty() => {
            format!("{}={}", labels::CLUSTER_SET, set.name())
        }
        (SelectorType::Other(other), _) => other.clone(),
        (SelectorType::LabelSelector, None) => "<nobody>".to_owned(),
        (SelectorType::LabelSelector, Some(selector)) => match written(selector) {
            text if text.is_empty() => "<all>".to_owned(),
            text => text,
        },
    }
}

fn written(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|it| {
        let values = it.values.as_deref().unwrap_or_default().join(",");
        match it.operator.as_str() {
            "In" => format!("{} in ({values})", it.key),
            "NotIn" => format!("{} notin ({values})", it.key),
            "Exists" => it.key.clone(),
            "DoesNotExist" => format!("!{}", it.key),
            other => format!("{} {other} ({values})", it.key),
        }
    });
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}
