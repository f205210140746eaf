//! Facts about sets, from bindings and clusters.

use std::collections::BTreeMap;

use berth_api::cluster_set::Membership;
use berth_api::cluster_set::SelectorType;
use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use crate::get::UNREADABLE;
use crate::get::bindings::is_not_bound;
use crate::hub::Item;

/// Upper bound on the clusters that a cell names.
const NAMED: usize = 3;
/// The text of a cell if the set's selector is invalid. The status of the set has the details.
const INVALID: &str = "<invalid selector>";

type Labels = BTreeMap<String, String>;

/// The facts. None: the objects could not be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// By set and namespace: true if the hub reports that the binding is not effective.
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

    /// Adds or removes a binding. Returns the name of its set.
    pub(super) fn bound_is(
        &mut self,
        item: &Item<ManagedClusterSetBinding>,
        there: bool,
    ) -> String {
        let binding = &item.object;
        // The gate keeps the name of a binding equal to that of its set.
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

    /// Adds or removes a cluster. Returns its labels before and after.
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

    /// Returns the namespaces that a set is bound to.
    pub(super) fn bound(&self, set: &str) -> Option<Vec<String>> {
        let namespaces = self.bindings.as_ref()?.get(set).into_iter().flatten();
        let shown = namespaces.map(|(namespace, not_bound)| match not_bound {
            false => namespace.clone(),
            true => format!("{namespace} (not bound)"),
        });
        Some(shown.collect())
    }

    /// Returns the names of the clusters of a set, or the text of the cell if they are unknown.
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

/// Returns the membership rule of a set, or the text of the cell if it is unknown.
pub(super) fn members(set: &Item<ManagedClusterSet>) -> Result<Membership, &'static str> {
    if set.unreadable.is_some() {
        return Err(UNREADABLE);
    }
    let selector = &set.object.spec.cluster_selector;
    Membership::new(&set.name(), selector).map_err(|_| INVALID)
}

/// Formats the first names and the number of the others, as kubectl does for endpoints.
pub(super) fn first(names: &[&str]) -> String {
    match names.split_at_checked(NAMED) {
        Some((first, more @ [_, ..])) => format!("{} + {} more...", first.join(","), more.len()),
        _ => names.join(","),
    }
}

/// Formats the selector of a set in the syntax of kubectl's `-l`.
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
        (SelectorType::LabelSelector, None) => "<none>".to_owned(),
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
