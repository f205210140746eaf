//! By which template the agents of an add-on get certificates and permissions on a cluster.
//!
//! `status.configReferences` of the ManagedClusterAddOn names it. The agents of the cluster may write that status, so a template counts only
//! if the ClusterManagementAddOn or `spec.configs` of the ManagedClusterAddOn names it, too, which agents may not write.

use std::sync::Arc;

use berth_api::addon::ConfigSpecHash;

use crate::config::{Configs, TEMPLATE, Template, desired_of, is_of};
use crate::facts::{AddOn, OnCluster};

/// The template of an add-on on a cluster.
#[derive(Clone, Copy, Debug)]
pub enum Registered<'a> {
    /// The add-on has no template there: it is another manager's.
    Nothing,
    /// It is not known, or may not be used: what the agents have stays, and they get nothing new.
    Unknown,
    /// This one, as it is stored.
    Template {
        /// The AddOnTemplate.
        template: &'a Arc<Template>,
        /// Its content is the one that the cluster is to have. Otherwise it was edited, and the cluster's turn has not come.
        is_current: bool,
    },
}

/// Returns the template. `add_on`: `None` if the ClusterManagementAddOn does not exist.
#[must_use]
pub fn registered<'a>(
    add_on: Option<&AddOn>,
    on: &OnCluster,
    configs: &'a Configs,
) -> Registered<'a> {
    let named = desired_of(&on.references, TEMPLATE);
    let Some(ConfigSpecHash {
        name, spec_hash, ..
    }) = named
    else {
        // Until the controller has written the references, nothing is known.
        return match add_on {
            Some(add_on)
                if add_on.has_template() || on.configs.iter().any(|it| is_of(it, TEMPLATE)) =>
            {
                Registered::Unknown
            }
            _ => Registered::Nothing,
        };
    };
    let Some(add_on) = add_on.filter(|it| it.is_managed) else {
        return Registered::Unknown;
    };
    let mut all = add_on.configs().chain(&on.configs);
    if !all.any(|it| is_of(it, TEMPLATE) && it.name == *name) {
        return Registered::Unknown;
    }
    match configs.template(name).filter(|it| it.spec.is_some()) {
        Some(template) => Registered::Template {
            template,
            is_current: template.hash == *spec_hash,
        },
        None => Registered::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Stored;

    const GROUP: &str = "addon.open-cluster-management.io";

    fn configs() -> Configs {
        let mut configs = Configs::default();
        for name in ["t", "other"] {
            let template = json!({"spec": {"addonName": name}});
            let stored = Stored::read(&template.to_string()).unwrap();
            configs.set_template(name, Some(stored.into()));
        }
        let broken = Stored::read(r#"{"spec": 7}"#).unwrap();
        configs.set_template("broken", Some(broken.into()));
        configs
    }

    fn config(name: &str) -> serde_json::Value {
        json!({"group": GROUP, "resource": "addontemplates", "name": name})
    }

    fn add_on(life_cycle: &str, defaults: &[&str]) -> AddOn {
        let defaults: Vec<_> = defaults.iter().map(|it| config(it)).collect();
        let object = json!({
            "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
            "metadata": {"name": "a", "annotations": {"addon.open-cluster-management.io/lifecycle": life_cycle}},
            "spec": {"defaultConfigs": defaults, "installStrategy": {"type": "Placements", "placements": [
                {"namespace": "n", "name": "p", "configs": []},
            ]}},
        });
        AddOn::read(&object.to_string()).unwrap()
    }

    fn on(own: &[&str], referenced: Option<(&str, &str)>) -> OnCluster {
        let own: Vec<_> = own.iter().map(|it| config(it)).collect();
        let references = referenced.into_iter().map(|(name, hash)| {
            json!({"group": GROUP, "resource": "addontemplates", "desiredConfig": {"name": name, "specHash": hash}})
        });
        let object = json!({
            "metadata": {"name": "a", "namespace": "c1"}, "spec": {"configs": own},
            "status": {"configReferences": references.collect::<Vec<_>>()},
        });
        OnCluster::read(&object.to_string()).unwrap()
    }

    #[test]
    fn a_template_counts_if_what_agents_may_not_write_names_it() {
        let configs = configs();
        let hash = &*configs.template("t").unwrap().hash;
        let ours = add_on("addon-manager", &["t", "broken", "gone"]);
        let none = add_on("addon-manager", &[]);
        let foreign = add_on("self", &["t"]);
        let known = |name| Some((name, "h"));
        for (sentence, add_on, on, expected) in [
            (
                "the default",
                Some(&ours),
                on(&[], Some(("t", hash))),
                "t now",
            ),
            ("an edited one", Some(&ours), on(&[], known("t")), "t later"),
            (
                "the cluster's own",
                Some(&none),
                on(&["other"], known("other")),
                "other later",
            ),
            (
                "written by an agent",
                Some(&ours),
                on(&[], known("other")),
                "unknown",
            ),
            (
                "one that does not exist",
                Some(&ours),
                on(&[], known("gone")),
                "unknown",
            ),
            (
                "one that cannot be read",
                Some(&ours),
                on(&[], known("broken")),
                "unknown",
            ),
            ("not referenced yet", Some(&ours), on(&[], None), "unknown"),
            (
                "own, not referenced yet",
                Some(&none),
                on(&["t"], None),
                "unknown",
            ),
            ("without a template", Some(&none), on(&[], None), "nothing"),
            (
                "another manager's",
                Some(&foreign),
                on(&[], known("t")),
                "unknown",
            ),
            ("a deleted add-on", None, on(&[], known("t")), "unknown"),
            (
                "a deleted one without template",
                None,
                on(&[], None),
                "nothing",
            ),
        ] {
            let found = match registered(add_on, &on, &configs) {
                Registered::Nothing => "nothing".to_owned(),
                Registered::Unknown => "unknown".to_owned(),
                Registered::Template {
                    template,
                    is_current,
                } => {
                    let name = &template.spec.as_ref().unwrap().addon_name;
                    format!("{name} {}", if is_current { "now" } else { "later" })
                }
            };
            assert_eq!(found, expected, "{sentence}");
        }
    }
}
