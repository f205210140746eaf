use serde_json::{Value, json};

use super::*;

/// `group/resource namespace/name=hash`, comma-separated.
fn entries(text: &str) -> Vec<(AddOnConfig, String)> {
    let entries = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let entries = entries.map(|entry| {
        let (kind, config) = entry.split_once(' ').unwrap();
        let (group, resource) = kind.split_once('/').unwrap();
        let (config, hash) = config.split_once('=').unwrap_or((config, ""));
        let (namespace, name) = config.split_once('/').unwrap();
        let config =
            json!({"group": group, "resource": resource, "namespace": namespace, "name": name});
        (serde_json::from_value(config).unwrap(), hash.to_owned())
    });
    entries.collect()
}

fn reference_of((config, hash): (AddOnConfig, String)) -> Value {
    json!({
        "group": config.group, "resource": config.resource,
        "desiredConfig": {"namespace": config.namespace, "name": config.name, "specHash": hash},
    })
}

fn all<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    let all = entries(text).into_iter().map(reference_of);
    all.map(|it| serde_json::from_value(it).unwrap()).collect()
}

fn on(own: &str, stored: &str) -> OnCluster {
    OnCluster {
        configs: entries(own).into_iter().map(|(config, _)| config).collect(),
        references: all(stored),
        ..OnCluster::default()
    }
}

fn shown(desired: &[Desired]) -> String {
    let shown = desired.iter().map(|it| {
        let config = &it.config;
        let hash = &config.spec_hash;
        format!(
            "{}/{} {}/{}={hash}",
            it.group, it.resource, config.namespace, config.name
        )
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_clusters_own_configs_come_before_those_of_its_placement_and_the_defaults() {
    for (sentence, defaults, placed, own, stored, expected) in [
        ("nothing", "", "", "", "", ""),
        ("the default", "g/r n/d1=1", "", "", "", "g/r n/d1=1"),
        (
            "the placement's",
            "g/r n/d1=1",
            "g/r n/p1=2",
            "",
            "",
            "g/r n/p1=2",
        ),
        (
            "the cluster's own, before its manager has read it",
            "g/r n/d1=1",
            "g/r n/p1=2",
            "g/r n/m1",
            "g/r n/p1=2",
            "g/r n/m1=",
        ),
        (
            "the cluster's own, with the hash of its manager",
            "g/r n/d1=1",
            "g/r n/p1=2",
            "g/r n/m1",
            "g/r n/m1=3",
            "g/r n/m1=3",
        ),
        (
            "kinds are independent, and sorted by group and resource",
            "g/s n/d=1, a/z n/d=2",
            "g/r n/p=3",
            "/c /m",
            "",
            "/c /m=, a/z n/d=2, g/r n/p=3, g/s n/d=1",
        ),
        (
            "several of one kind are replaced as a whole, and keep their order",
            "g/r n/d1=1, g/r n/d2=2, g/s n/d=3",
            "g/r n/p2=4, g/r n/p1=5",
            "",
            "",
            "g/r n/p2=4, g/r n/p1=5, g/s n/d=3",
        ),
    ] {
        let shared = shared(&all(defaults), &all(placed));
        let found = desired(&shared, &on(own, stored), None);
        assert_eq!(shown(&found), expected, "{sentence}");
    }
}

#[test]
fn a_reference_without_a_config_is_no_config() {
    let without: DefaultConfigReference =
        serde_json::from_value(json!({"group": "g", "resource": "r"})).unwrap();
    assert!(shared(&[without], &[]).is_empty());
}

#[test]
fn an_add_on_with_a_template_gets_the_current_hashes() {
    let mut configs = Configs::default();
    let kind = |resource: &str| format!("{}/{resource}", groups::ADDON);
    let (adc, template) = (
        kind(groups::ADDON_DEPLOYMENT_CONFIGS),
        kind(groups::ADDON_TEMPLATES),
    );
    assert!(configs.set_deployment_config("n", "a", Some(stored("1"))));
    assert!(!configs.set_deployment_config("n", "a", Some(stored("1"))));
    assert!(configs.set_template("t", Some(stored("2"))));
    for (own, expected) in [
        (format!("{adc} n/a"), format!("{adc} n/a=1")),
        (format!("{adc} n/b"), format!("{adc} n/b=")),
        (format!("{template} /t"), format!("{template} /t=2")),
        // Nobody reads a config of this kind.
        ("g/r n/a".to_owned(), "g/r n/a=".to_owned()),
    ] {
        let on = on(&own, &format!("{own}=old"));
        let found = desired(&[], &on, Some(&configs));
        assert_eq!(shown(&found), expected);
    }
    assert!(configs.set_template("t", None));
    assert!(!configs.set_template("t", None));
    assert_eq!(configs.hash_of(TEMPLATE, "", "t"), Some(""));
}

fn stored<T>(hash: &str) -> Arc<Stored<T>> {
    Arc::new(Stored {
        hash: hash.to_owned(),
        spec: None,
    })
}

#[test]
fn references_are_compared_with_their_hashes_in_any_order() {
    for (sentence, wanted, stored, expected) in [
        ("both empty", "", "", true),
        (
            "equal",
            "g/r n/a=1, g/s n/b=2",
            "g/s n/b=2, g/r n/a=1",
            true,
        ),
        ("another hash", "g/r n/a=1", "g/r n/a=2", false),
        (
            "another name with the same hash",
            "g/r n/a=1",
            "g/r n/b=1",
            false,
        ),
        ("one is missing", "g/r n/a=1, g/s n/b=2", "g/r n/a=1", false),
        ("one too many", "g/r n/a=1", "g/r n/a=1, g/s n/b=2", false),
    ] {
        let wanted = shared(&all(wanted), &[]);
        assert_eq!(is_referenced(&wanted, &all(stored)), expected, "{sentence}");
    }
}

#[test]
fn what_is_known_of_a_config_stays_with_its_name() {
    let mut stored: Vec<ConfigReference> = all("g/r n/a=1, g/s n/b=2");
    for it in &mut stored {
        it.last_applied_config = it.desired_config.clone();
        it.last_observed_generation = 7;
    }
    let wanted = shared(&all("g/r n/a=9, g/s n/c=2"), &[]);
    let found = references(&wanted, &stored);
    let applied = found[0].last_applied_config.as_ref().unwrap();
    assert_eq!(
        (&*applied.spec_hash, found[0].last_observed_generation),
        ("1", 7)
    );
    assert_eq!(found[1].last_applied_config, None);
    assert!(is_referenced(&wanted, &found));
}

#[test]
fn a_default_without_a_name_is_none() {
    for (name, expected) in [("a", true), ("", false), ("__reserved_no_default__", false)] {
        let config = AddOnConfig {
            name: name.to_owned(),
            ..AddOnConfig::default()
        };
        assert_eq!(names_a_default(&config), expected, "{name}");
    }
}
