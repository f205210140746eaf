use serde_json::{Value, json};

use super::*;

fn config(resource: &str, name: &str) -> Value {
    json!({"group": "g", "resource": resource, "namespace": "n", "name": name})
}

fn reference(resource: &str, name: &str, hash: &str) -> Value {
    let desired = json!({"namespace": "n", "name": name, "specHash": hash});
    json!({"group": "g", "resource": resource, "desiredConfig": desired})
}

fn add_on(defaults: Value, strategy: Value, status: Value) -> AddOn {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "a", "uid": "u"},
        "spec": {"defaultConfigs": defaults, "installStrategy": strategy},
        "status": status,
    });
    AddOn::read(&object.to_string()).unwrap()
}

fn placements(configs: Value) -> Value {
    json!({"type": "Placements", "placements": [{"namespace": "n", "name": "p", "configs": configs}]})
}

fn shown(status: &ClusterManagementAddOnStatus) -> Vec<String> {
    let of = |config: &Option<ConfigSpecHash>| {
        let config = config.clone().unwrap_or_default();
        format!("{}={}", config.name, config.spec_hash)
    };
    let defaults = status.default_config_references.iter();
    let defaults = defaults.map(|it| format!("{} {}", it.resource, of(&it.desired_config)));
    let progressions = status.install_progressions.iter().flat_map(|progression| {
        progression.config_references.iter().map(|it| {
            let applied = of(&it.last_applied_config);
            let conditions = progression.conditions.len();
            let name = &progression.name;
            let desired = of(&it.desired_config);
            format!(
                "{name}: {} {desired}, applied {applied}, {conditions}",
                it.resource
            )
        })
    });
    defaults.chain(progressions).collect()
}

#[test]
fn the_defaults_are_those_with_a_name() {
    let defaults = json!([
        config("s", "d2"), config("r", "d1"), config("t", "__reserved_no_default__"), {"group": "g", "resource": "u"},
    ]);
    let manual = json!({"type": "Manual"});
    let stored =
        json!({"defaultConfigReferences": [reference("r", "d1", "1"), reference("s", "old", "2")]});
    let found = lists(&add_on(defaults, manual, stored), None);
    assert_eq!(
        shown(&found),
        ["s d2=", "r d1=1"],
        "the hash goes with the name"
    );
}

#[test]
fn a_placement_has_the_defaults_unless_it_has_configs_of_the_same_kind() {
    let defaults = json!([config("s", "d2"), config("r", "d1")]);
    let stored =
        json!({"defaultConfigReferences": [reference("s", "d2", "2"), reference("r", "d1", "1")]});
    for (sentence, own, expected) in [
        (
            "none",
            json!([]),
            ["p: r d1=, applied =, 0", "p: s d2=, applied =, 0"],
        ),
        (
            "one of a kind",
            json!([config("r", "p1")]),
            ["p: r p1=, applied =, 0", "p: s d2=, applied =, 0"],
        ),
    ] {
        let add_on = add_on(defaults.clone(), placements(own), stored.clone());
        assert_eq!(shown(&lists(&add_on, None))[2..], expected, "{sentence}");
    }
}

/// OCM forgets the hashes and what was applied of all configs when one of them is replaced.
#[test]
fn what_is_known_stays_with_the_name_of_a_config_and_conditions_with_all_names() {
    let condition = json!({
        "type": "Progressing", "status": "False", "reason": "Completed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let mut known = reference("r", "p1", "1");
    known["lastAppliedConfig"] = known["desiredConfig"].clone();
    let stored = json!({"installProgressions": [{
        "namespace": "n", "name": "p", "configReferences": [known, reference("s", "p2", "2")], "conditions": [condition],
    }]});
    let lists_of = |own| lists(&add_on(json!([]), placements(own), stored.clone()), None);
    let both = lists_of(json!([config("s", "p2"), config("r", "p1")]));
    assert_eq!(
        shown(&both),
        ["p: r p1=1, applied p1=1, 1", "p: s p2=2, applied =, 1"]
    );
    let one = lists_of(json!([config("s", "p3"), config("r", "p1")]));
    assert_eq!(
        shown(&one),
        ["p: r p1=1, applied p1=1, 0", "p: s p3=, applied =, 0"]
    );
}

#[test]
fn the_list_of_an_add_on_without_placements_is_empty() {
    let stored = json!({"installProgressions": [{"namespace": "n", "name": "p"}]});
    let found = lists(&add_on(json!([]), json!({"type": "Manual"}), stored), None);
    assert!(found.install_progressions.is_empty());
}

/// A status that OCM's add-on manager wrote stays as it is.
#[test]
fn a_stored_order_of_defaults_stays() {
    let defaults = json!([config("s", "d2"), config("r", "d1")]);
    let stored =
        json!({"defaultConfigReferences": [reference("r", "d1", "1"), reference("s", "d2", "2")]});
    let add_on = add_on(defaults, json!({"type": "Manual"}), stored);
    assert_eq!(lists(&add_on, None), add_on.status);
}

#[test]
fn an_add_on_with_a_template_has_the_current_hashes() {
    let group = berth_api::groups::ADDON;
    let defaults = json!([
        {"group": group, "resource": "addontemplates", "name": "t"},
        {"group": group, "resource": "addondeploymentconfigs", "namespace": "n", "name": "c"},
        config("r", "d"),
    ]);
    let stored = json!({"defaultConfigReferences": [
        {"group": group, "resource": "addontemplates", "desiredConfig": {"name": "t", "specHash": "old"}},
        reference("r", "d", "9"),
    ]});
    let mut configs = Configs::default();
    let template = crate::config::Stored {
        hash: "1".to_owned(),
        spec: None,
    };
    configs.set_template("t", Some(template.into()));
    let add_on = add_on(defaults, json!({"type": "Manual"}), stored);
    assert!(add_on.has_template());
    let found = lists(&add_on, Some(&configs));
    // A config that does not exist has no hash.
    assert_eq!(
        shown(&found),
        ["addontemplates t=1", "addondeploymentconfigs c=", "r d=9"]
    );
}
