//! ClusterRoles, and what aggregation makes of them.
//!
//! On a hub a controller copies the rules of the selected roles into an aggregated role, again and again until nothing
//! changes; whatever rules the role's author wrote are overwritten. Here nothing is copied: an aggregated role's rules are
//! those of every role it reaches through selectors that is not aggregated itself. Roles that select each other, or
//! themselves, therefore add nothing to one another.
//!
//! Two accidents of the controller are left out, both in favour of granting less: on a hub the author's rules stay as long
//! as the selectors have never yielded a rule, and rules which a circle of roles once held may survive in it.

use berth_api::selector::Selector;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterRoles {
    roles: BTreeMap<String, Stored>,
    /// For each aggregated role its selectors. Kept up to date on every change, so that evaluation compares no labels.
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
                // A selector that does not parse has been refused before.
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

    /// The rules of a role, aggregated ones in the order the controller would write them: by selector, then by name.
    /// None when there is no such role.
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

    /// The names of the aggregated roles.
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
