//! The owner and the annotations of a ManagedClusterAddOn.
//!
//! A ManagedClusterAddOn of any origin goes with its ClusterManagementAddOn, and managers of add-ons wait for this owner. It gets the
//! annotations of its cluster that are those of add-ons. OCM also removes such annotations that the cluster does not have, among them
//! those that users set.

use std::collections::BTreeMap;

use berth_api::groups;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use crate::facts::{AddOn, OnCluster};
use crate::install::is_installed;

const KIND: &str = "ClusterManagementAddOn";

/// The reference to an add-on as the controller of its ManagedClusterAddOns.
pub(crate) fn owner(add_on: &AddOn) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/v1beta1", groups::ADDON),
        kind: KIND.to_owned(),
        name: add_on.name.clone(),
        uid: add_on.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The metadata that a ManagedClusterAddOn lacks, as a merge patch without its version; `None` if it lacks nothing.
pub(crate) fn metadata(
    add_on: &AddOn,
    cluster: &str,
    on: &OnCluster,
    of_cluster: Option<&BTreeMap<String, String>>,
) -> Option<Value> {
    let mut patch = Map::new();
    if let Some(owners) = owners(add_on, &on.owners) {
        patch.insert("ownerReferences".to_owned(), json!(owners));
    }
    let is_installed = is_installed(add_on, cluster, on);
    let of_cluster = of_cluster.filter(|_| add_on.is_placed());
    let lacking = of_cluster.into_iter().flatten().filter(|(key, value)| {
        match on.annotations.get(*key) {
            None => true,
            // What a user set on an object of their own stays.
            Some(current) => is_installed && current != *value,
        }
    });
    let lacking: BTreeMap<_, _> = lacking.collect();
    if !lacking.is_empty() {
        patch.insert("annotations".to_owned(), json!(lacking));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// The owners with the add-on; `None` if it is one of them.
fn owners(add_on: &AddOn, stored: &[OwnerReference]) -> Option<Vec<OwnerReference>> {
    let is_former =
        |it: &OwnerReference| it.kind == KIND && it.name == add_on.name && it.uid != add_on.uid;
    // The API server allows one controller.
    let has_other = stored
        .iter()
        .any(|it| it.controller == Some(true) && it.uid != add_on.uid && !is_former(it));
    let own = stored.iter().find(|it| it.uid == add_on.uid);
    if has_other || own.is_some_and(|it| it.controller == Some(true)) {
        return None;
    }
    let others = stored
        .iter()
        .filter(|it| it.uid != add_on.uid && !is_former(it));
    Some(others.cloned().chain([owner(add_on)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_on(type_: &str) -> AddOn {
        let object = json!({
            "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": KIND,
            "metadata": {"name": "a", "uid": "u"},
            "spec": {"installStrategy": {"type": type_}},
        });
        AddOn::read(&object.to_string()).unwrap()
    }

    fn reference(kind: &str, name: &str, uid: &str, controller: bool) -> OwnerReference {
        OwnerReference {
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            controller: controller.then_some(true),
            ..OwnerReference::default()
        }
    }

    #[test]
    fn the_add_on_becomes_the_controller_unless_there_is_another() {
        let add_on = add_on("Manual");
        let other = reference("Klusterlet", "k", "x", false);
        for (sentence, stored, expected) in [
            ("without owners", vec![], Some(vec!["u"])),
            (
                "ours, in any version",
                vec![reference(KIND, "a", "u", true)],
                None,
            ),
            (
                "ours, but not the controller",
                vec![reference(KIND, "a", "u", false)],
                Some(vec!["u"]),
            ),
            (
                "beside another owner",
                vec![other.clone()],
                Some(vec!["x", "u"]),
            ),
            (
                "a former add-on of the same name",
                vec![reference(KIND, "a", "old", true), other],
                Some(vec!["x", "u"]),
            ),
            (
                "another controller",
                vec![reference("Own", "o", "x", true)],
                None,
            ),
        ] {
            let found = owners(&add_on, &stored);
            let found = found
                .as_ref()
                .map(|it| it.iter().map(|it| &*it.uid).collect::<Vec<_>>());
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn annotations_of_the_cluster_are_added_and_none_is_removed() {
        let key = "addon.open-cluster-management.io/x";
        let own = "addon.open-cluster-management.io/v1alpha1-install-namespace";
        let mark = ("berth.open-cluster-management.io/installed-for", "u/c1");
        let owner = || vec![owner(&add_on("Placements"))];
        for (sentence, type_, stored, expected) in [
            (
                "new on the cluster",
                "Placements",
                vec![(own, "n")],
                Some(json!({key: "1"})),
            ),
            ("equal", "Placements", vec![(key, "1")], None),
            (
                "changed on the cluster",
                "Placements",
                vec![mark, (key, "0")],
                Some(json!({key: "1"})),
            ),
            ("set by a user", "Placements", vec![(key, "0")], None),
            ("Manual", "Manual", vec![], None),
        ] {
            let on = OnCluster {
                annotations: stored
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
                owners: owner(),
                ..OnCluster::default()
            };
            let of_cluster = [(key.to_owned(), "1".to_owned())].into();
            let found = metadata(&add_on(type_), "c1", &on, Some(&of_cluster));
            let found = found.map(|it| it["annotations"].clone());
            assert_eq!(found, expected, "{sentence}");
        }
    }
}
