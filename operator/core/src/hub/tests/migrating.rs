//! Objects are stored in a version that the hub is to lose.

use berth_api::plan::Target;
use berth_manifests::files;

use super::*;

const SETS: &str = "managedclustersets.cluster.open-cluster-management.io";

/// A hub of a former OCM: its sets may be stored in v1beta1.
fn former() -> Play {
    let mut play = Play::new(json!({}));
    let mut definition = files::CRD_SETS.documents().remove(0);
    let today = definition["spec"]["versions"][0].clone();
    let mut before = today.clone();
    before["name"] = json!("v1beta1");
    before["storage"] = json!(false);
    definition["spec"]["versions"] = json!([before, today]);
    definition["metadata"]["labels"] = json!({CREATED_BY: "cluster-manager"});
    play.put(sets(), definition);
    let stored = play.store.get_mut(&sets()).unwrap();
    stored["status"]["storedVersions"] = json!(["v1beta1", "v1beta2"]);
    play
}

/// The same, when Berth's components run.
fn rolled_out() -> Play {
    let mut play = former();
    play.settle();
    play.roll_out();
    play.publish("QQ==");
    play.settle();
    play
}

impl Play {
    fn migrations(&self) -> Vec<Migration> {
        self.with_facts(migrations)
    }
}

fn sets() -> Id {
    Id {
        kind: Kind::Definition,
        namespace: String::new(),
        name: SETS.to_owned(),
    }
}

/// The versions: whether each is served, and stored.
fn versions(play: &Play) -> Vec<(&str, bool, bool)> {
    let definition = play.stored(Kind::Definition, SETS).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap().iter();
    let versions = versions.map(|it| {
        let name = it["name"].as_str().unwrap();
        (name, it["served"] == true, it["storage"] == true)
    });
    versions.collect()
}

const SUCCEEDED: &str = "MigrationSucceeded";

#[test]
fn a_version_stays_until_nothing_is_stored_in_it() {
    let mut play = former();
    play.settle();
    assert_eq!(
        versions(&play),
        [("v1beta2", true, true), ("v1beta1", true, false)],
        "clients of before are served until the new components run"
    );
    assert_eq!(play.migrations(), []);
    let processing = (
        "False".to_owned(),
        "StorageVersionMigrationProcessing".to_owned(),
        format!(
            "the objects of {SETS} are written anew in version v1beta2, and until then it keeps v1beta1"
        ),
    );
    assert_eq!(play.condition(SUCCEEDED), processing);
    play.roll_out();
    play.publish("QQ==");
    play.settle();
    assert_eq!(
        versions(&play),
        [("v1beta2", true, true), ("v1beta1", false, false)]
    );
    assert_eq!(play.condition(SUCCEEDED), processing);
    let [migration] = &play.migrations()[..] else {
        panic!();
    };
    play.unmigrated = vec![Failure {
        kind: Kind::Definition,
        message: "no".to_owned(),
    }];
    play.settle();
    assert_eq!(
        play.said(SUCCEEDED),
        pair("False", "StorageVersionMigrationFailed")
    );
    assert!(play.condition(SUCCEEDED).2.starts_with("no; "));

    play.unmigrated.clear();
    play.carry_out(migration.done());
    assert_eq!(play.migrations(), []);
    play.settle();
    assert_eq!(versions(&play), [("v1beta2", true, true)]);
    assert_eq!(
        play.said(SUCCEEDED),
        pair("True", "StorageVersionMigrationSucceed")
    );
}

#[test]
fn nothing_is_written_anew_for_who_has_no_hub() {
    let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    let is_due = |change: &dyn Fn(&mut Play)| {
        let mut play = rolled_out();
        change(&mut play);
        !play.migrations().is_empty()
    };
    assert!(is_due(&|_| {}));
    let metadata = |of: &mut Value| json_patch::merge(&mut of["metadata"], &deleted);
    assert!(!is_due(&|play| metadata(&mut play.object)));
    assert!(!is_due(&|play| metadata(
        play.store.get_mut(&sets()).unwrap()
    )));
    // Another ClusterManager's.
    assert!(!is_due(&|play| {
        let definition = play.store.get_mut(&sets()).unwrap();
        definition["metadata"]["labels"][CREATED_BY] = json!("other");
    }));
}

#[test]
fn a_definition_that_changed_in_what_does_not_matter_is_told_again() {
    let play = rolled_out();
    let [migration] = &play.migrations()[..] else {
        panic!();
    };
    for (field, value, is_same) in [
        ("resourceVersion", json!("99"), true),
        ("generation", json!(99), false),
        ("uid", json!("another"), false),
    ] {
        let mut definition = play.stored(Kind::Definition, SETS).unwrap().clone();
        definition["metadata"][field] = value;
        let stored = Stored::read(&definition.to_string(), CREATED_BY).unwrap();
        let again = migration.again(&stored);
        assert_eq!(again.is_some(), is_same, "{field}");
    }
}

#[test]
fn a_hub_without_former_versions_says_nothing_of_them() {
    let play = Play::installed(json!({}));
    assert_eq!(play.said(SUCCEEDED), pair("", ""));
}

#[test]
fn an_object_is_written_anew_with_the_one_value_that_was_renamed() {
    let play = rolled_out();
    let [migration] = &play.migrations()[..] else {
        panic!();
    };
    let target = Target {
        resource: migration.objects.clone(),
        namespace: None,
        name: "a".to_owned(),
    };
    for (object, body) in [
        (json!({}), json!({})),
        (
            json!({"spec": {"clusterSelector": {"selectorType": "LabelSelector"}}}),
            json!({}),
        ),
        (
            json!({"metadata": {"resourceVersion": "7"}, "spec": {"clusterSelector": {"selectorType": "LegacyClusterSetLabel"}}}),
            json!({"metadata": {"resourceVersion": "7"}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
        ),
    ] {
        let write = migration.anew(&target, &object);
        assert_eq!(write.target, target);
        assert_eq!(
            write.action,
            Action::Patch {
                subresource: None,
                body
            }
        );
    }
}
