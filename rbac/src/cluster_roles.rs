//! ClusterRoles and their aggregation.
//!
//! On a hub, a controller copies the rules of the selected roles into an aggregated role until nothing changes, and overwrites the rules
//! of the role's author. This module does not copy: the rules of an aggregated role are those of all roles that it reaches through
//! selectors and that are not aggregated themselves. So roles that select each other, or themselves, add nothing to each other.
//!
//! Two side effects of the controller are not reproduced, so that fewer permissions are granted: on a hub, the author's rules stay until
//! the selectors yield a rule for the first time, and former rules of a circle of roles may remain in it.

use berth_api::selector::Selector;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterRoles {
    roles: BTreeMap<String, Stored>,
    /// The selectors of each aggregated role. They are updated on every change, so that evaluation does not compare labels.
    aggregations: BTreeMap<String, Vec<Selected>>,
}

#[derive(Clone, Debug)]
struct Stored {
    labels: BTreeMap<String, String>,
    /// Empty for an aggregated role.
    rules: Vec<PolicyRule>,
}

/// A selector and the names of the roles it selects.
#[derive(Clone, Debug)]
struct Selected {
    selector: Selector,
    roles: BTreeSet<String>,
}

impl ClusterRoles {
    pub(crate) fn upsert(&mut self, name: String, role: ClusterRole) {
        self.remove(&name);
        let labels = role.metadata.labels.unwrap_or_default();
        for selected in self.aggregations.values_mut().flatten() {
            if selected.selector.matches(&labels) {
                selected.roles.insert(name.clone());
            }
        }
        let rules = match role.aggregation_rule {
            None => role.rules.unwrap_or_default(),
            Some(aggregation) => {
                let selectors = aggregation.cluster_role_selectors.unwrap_or_default();
                // Invalid selectors were refused before.
                let selectors = selectors
                    .iter()
                    .filter_map(|selector| Selector::parse(selector).ok());
                let selected = selectors.map(|selector| self.select(selector)).collect();
                self.aggregations.insert(name.clone(), selected);
                Vec::new()
            }
        };
        self.roles.insert(name, Stored { labels, rules });
    }

    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.aggregations.remove(name);
        for selected in self.aggregations.values_mut().flatten() {
            selected.roles.remove(name);
        }
        self.roles.remove(name).is_some()
    }

    /// Returns the rules of a role, or `None` if it does not exist. Aggregated rules are in the controller's order: by selector, then by
    /// name.
    pub(crate) fn rules(&self, name: &str) -> Option<Vec<&PolicyRule>> {
        let (name, _) = self.roles.get_key_value(name)?;
        let mut rules = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = vec![name];
        while let Some(name) = next.pop() {
            if !seen.insert(name) {
                continue;
            }
            rules.extend(self.roles.get(name).iter().flat_map(|role| &role.rules));
            let selected = self.aggregations.get(name).into_iter().flatten();
            let members: Vec<_> = selected.flat_map(|selected| &selected.roles).collect();
            next.extend(members.into_iter().rev());
        }
        Some(rules)
    }

    /// Returns the names of the aggregated roles.
    pub(crate) fn aggregated(&self) -> impl Iterator<Item = &str> {
        self.aggregations.keys().map(String::as_str)
    }

    fn select(&self, selector: Selector) -> Selected {
        let matching = self
            .roles
            .iter()
            .filter(|(_, role)| selector.matches(&role.labels));
        let roles = matching.map(|(name, _)| name.clone()).collect();
        Selected { selector, roles }
    }
}
