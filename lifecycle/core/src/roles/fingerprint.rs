//! The digest by which the hub recognizes that an object needs no write.
//!
//! A stored object and a wanted one ([`ClusterObject`]) are digested field by field, in the same order. So a decision, which
//! compares five objects, builds none.

use std::hash::{DefaultHasher, Hash, Hasher};

use berth_api::groups::RBAC;
use berth_api::labels;
use serde_json::Value;

use super::{ClusterObject, agent_groups, configured_labels, text};
use crate::config::Config;
use crate::names;

/// A digest of the parts of a namespace or RBAC object that the hub maintains: its own labels (and no others), rules, subjects
/// and roleRef. An object with the wanted digest needs no write.
///
/// Labels of [`Config::labels`] do not count for the roles that all agents share: these ship as a manifest, and an account that
/// may not grant them may not label them.
///
/// Missing fields count as empty, and a subject without an apiGroup has the API server's default. Order counts, as in OCM.
/// Digests of different processes cannot be compared.
pub fn fingerprint(config: &Config, object: &Value) -> u64 {
    let hasher = &mut DefaultHasher::new();
    let found = &object["metadata"]["labels"];
    let name = text(&object["metadata"]["name"]);
    let is_shared = [names::REGISTRATION_ROLE, names::WORK_ROLE].contains(&name);
    let configured = configured_labels(config).filter(|_| !is_shared);
    let keys = [labels::CLUSTER_NAME].into_iter();
    for key in keys.chain(configured.map(|(key, _)| key)) {
        found[key].as_str().hash(hasher);
    }
    let rules = list(&object["rules"]);
    rules.len().hash(hasher);
    for rule in rules {
        for field in [
            "apiGroups",
            "resources",
            "resourceNames",
            "verbs",
            "nonResourceURLs",
        ] {
            hash_list(list(&rule[field]).iter().map(Value::as_str), hasher);
        }
    }
    let subjects = list(&object["subjects"]);
    subjects.len().hash(hasher);
    for subject in subjects {
        let kind = text(&subject["kind"]);
        let api_group = match text(&subject["apiGroup"]) {
            "" if matches!(kind, "User" | "Group") => RBAC,
            group => group,
        };
        let (name, namespace) = (text(&subject["name"]), text(&subject["namespace"]));
        (kind, api_group, name, namespace).hash(hasher);
    }
    let role_ref = &object["roleRef"];
    let api_group = match text(&role_ref["apiGroup"]) {
        "" if role_ref.is_object() => RBAC,
        group => group,
    };
    (api_group, text(&role_ref["kind"]), text(&role_ref["name"])).hash(hasher);
    hasher.finish()
}

// === impl ClusterObject ===

impl ClusterObject {
    /// The [`fingerprint`] of its body. Not for a cluster with the name of a shared role ([`Reservation::SharedRole`]): its
    /// objects are never compared.
    ///
    /// [`Reservation::SharedRole`]: berth_api::reserved::Reservation::SharedRole
    pub(crate) fn fingerprint(self, config: &Config, cluster: &str) -> u64 {
        let hasher = &mut DefaultHasher::new();
        let configured = configured_labels(config).map(|(_, value)| value);
        for label in [cluster].into_iter().chain(configured) {
            Some(label).hash(hasher);
        }
        let rules = self.rules();
        rules.len().hash(hasher);
        for rule in rules {
            hash_list(rule.api_groups.iter().copied().map(Some), hasher);
            hash_list(rule.resources.iter().copied().map(Some), hasher);
            hash_list(rule.resource_names(cluster).into_iter().map(Some), hasher);
            hash_list(rule.verbs.iter().copied().map(Some), hasher);
            hash_list(std::iter::empty(), hasher);
        }
        let role_name = self.role_name(cluster);
        let groups = role_name.as_ref().map(|_| agent_groups(cluster));
        let groups = groups.as_ref().map_or(&[][..], |groups| groups);
        groups.len().hash(hasher);
        for group in groups {
            ("Group", RBAC, &**group, "").hash(hasher);
        }
        match &role_name {
            Some(name) => (RBAC, "ClusterRole", &**name).hash(hasher),
            None => ("", "", "").hash(hasher),
        }
        hasher.finish()
    }
}

fn hash_list<'a>(
    values: impl ExactSizeIterator<Item = Option<&'a str>>,
    hasher: &mut DefaultHasher,
) {
    values.len().hash(hasher);
    for value in values {
        value.hash(hasher);
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
